#include "tests/support/foreign_table.h"

#include <algorithm>
#include <regex>

#include <arrow/api.h>
#include <arrow/extension_type.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <parquet/arrow/writer.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/format/avro_file.h"
#include "frazil/format/avro_type.h"
#include "frazil/format/avro_value.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"
#include "frazil/format/puffin.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_fetcher.h"
#include "frazil/spec/table_metadata_json.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"
#include "frazil/table/spec_schema.h"

namespace frazil::test {
namespace {

constexpr char kLocation[] = "memory:/lake/db/t";

using spec::Field;
using spec::FieldId;

std::vector<Field> DeleteColumns() {
  return {{.id = spec::kDeleteFilePathColumnId,
           .name = "file_path",
           .required = true,
           .type = spec::Type::Primitive(spec::TypeId::kString)},
          {.id = spec::kDeletePosColumnId,
           .name = "pos",
           .required = true,
           .type = spec::Type::Primitive(spec::TypeId::kLong)}};
}

std::shared_ptr<arrow::Field> WithoutIds(const std::shared_ptr<arrow::Field>& field) {
  std::shared_ptr<arrow::DataType> type = field->type();
  if (type->id() == arrow::Type::STRUCT) {
    arrow::FieldVector members;
    for (const auto& member : type->fields()) members.push_back(WithoutIds(member));
    type = arrow::struct_(members);
  } else if (type->id() == arrow::Type::LIST) {
    type = arrow::list(WithoutIds(type->field(0)));
  } else if (type->id() == arrow::Type::MAP) {
    const auto& map = static_cast<const arrow::MapType&>(*type);
    type = std::make_shared<arrow::MapType>(WithoutIds(map.key_field()), WithoutIds(map.item_field()));
  }
  return arrow::field(field->name(), type, field->nullable());
}

std::shared_ptr<arrow::Table> TableOf(const std::vector<Field>& fields, const std::vector<std::string>& columns,
                                      FieldIds ids) {
  arrow::FieldVector arrow_fields;
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < fields.size(); ++i) {
    auto field = format::ToArrowField(fields[i]);
    EXPECT_THAT(field, IsOk());
    arrow_fields.push_back(ids == FieldIds::kNone ? WithoutIds(*field) : *field);
    const auto& type = arrow_fields.back()->type();
    const bool is_extension = type->id() == arrow::Type::EXTENSION;
    auto array = arrow::json::ArrayFromJSONString(
        is_extension ? static_cast<const arrow::ExtensionType&>(*type).storage_type() : type, columns[i]);
    EXPECT_TRUE(array.ok()) << array.status().ToString();
    arrays.push_back(is_extension ? arrow::ExtensionType::WrapArray(type, *array) : *array);
  }
  return arrow::Table::Make(arrow::schema(arrow_fields), arrays);
}

/// One value as WriteAvroSchema declares it.
void Encode(const Field& field, const arrow::Array& array, int64_t row, format::AvroEncoder& out) {
  if (!field.required) {
    if (array.IsNull(row)) return out.Null();
    out.Present();
  }
  switch (field.type.id()) {
    case spec::TypeId::kStruct: {
      const auto& members = static_cast<const arrow::StructArray&>(array);
      for (int i = 0; i < members.num_fields(); ++i)
        Encode(field.type.fields()[static_cast<size_t>(i)], *members.field(i), row, out);
      return;
    }
    case spec::TypeId::kList: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      if (list.value_length(row) > 0) {
        out.Long(list.value_length(row));
        for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i)
          Encode(field.type.element(), *list.values(), i, out);
      }
      return out.Long(0);
    }
    case spec::TypeId::kMap: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      if (map.value_length(row) > 0) {
        out.Long(map.value_length(row));
        for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
          Encode(field.type.key(), *map.keys(), i, out);
          Encode(field.type.map_value(), *map.items(), i, out);
        }
      }
      return out.Long(0);
    }
    default: break;
  }
  auto value = format::ValueAt(array, field.type, row);
  ASSERT_THAT(value, IsOk());
  ASSERT_THAT(format::EncodeAvroValue(field.type, *value, out), IsOk());
}

std::vector<std::string> TextRows(const arrow::RecordBatch& batch) {
  std::vector<std::string> rows;
  auto cells = sql::CellsOf(batch);
  EXPECT_THAT(cells, IsOk());
  for (const auto& row : *cells) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string cell = row[i].is_null ? "null" : row[i].text;
      if (batch.column(static_cast<int>(i))->type_id() == arrow::Type::TIMESTAMP && cell.ends_with("+00")) {
        cell.resize(cell.size() - 3);  // the rows that are compared say none
      }
      text += (i > 0 ? "|" : "") + cell;
    }
    rows.push_back(std::move(text));
  }
  return rows;
}

}  // namespace

void AddMetrics(const io::FileIO& io, spec::DataFile& file) {
  auto parquet = format::ParquetReader::Open(*io.Open(file.file_path));
  ASSERT_THAT(parquet, IsOk());
  ASSERT_EQ((*parquet)->row_groups().size(), 1u);
  auto metrics = (*parquet)->RowGroupAsFile(0);
  ASSERT_THAT(metrics, IsOk());
  file.value_counts = metrics->value_counts;
  file.null_value_counts = metrics->null_value_counts;
  file.lower_bounds = metrics->lower_bounds;
  file.upper_bounds = metrics->upper_bounds;
}

Field Column(int id, std::string name, spec::Type type) {
  return {.id = FieldId(id), .name = std::move(name), .type = std::move(type)};
}
Field Column(int id, std::string name, spec::TypeId type) {
  return Column(id, std::move(name), spec::Type::Primitive(type));
}

ForeignTable::ForeignTable(int format_version, std::vector<Field> fields) : io_(std::make_shared<io::MemoryFileIO>()) {
  metadata_.format_version = format_version;
  metadata_.table_uuid = Uuid::Random();
  metadata_.location = kLocation;
  metadata_.last_updated_ms = 1'700'000'000'000;
  metadata_.partition_specs.emplace_back(spec::SpecId(0), std::vector<spec::PartitionField>());
  metadata_.sort_orders.emplace_back();
  Evolve(std::move(fields));
}

ForeignTable::~ForeignTable() = default;

void ForeignTable::Evolve(std::vector<Field> fields) {
  const spec::SchemaId id(static_cast<int32_t>(metadata_.schemas.size()));
  auto schema = spec::Schema::Make(id, std::move(fields));
  ASSERT_THAT(schema, IsOk());
  metadata_.last_column_id = std::max(metadata_.last_column_id, (*schema)->highest_field_id());
  metadata_.schemas.push_back(*std::move(schema));
  metadata_.current_schema_id = id;
}

void ForeignTable::Partition(std::vector<spec::PartitionField> fields) {
  const spec::SpecId id(static_cast<int32_t>(metadata_.partition_specs.size()));
  metadata_.partition_specs.emplace_back(id, std::move(fields));
  metadata_.default_spec_id = id;
  metadata_.last_partition_id =
      std::max(metadata_.last_partition_id, metadata_.partition_specs.back().last_assigned_field_id());
}

std::string ForeignTable::NewPath(const std::string& extension) {
  return fmt::format("{}/data/{:05}.{}", kLocation, num_files_++, extension);
}

spec::DataFile ForeignTable::Described(std::string path, spec::FileFormat format, int64_t record_count,
                                       spec::PartitionTuple partition) {
  spec::DataFile file;
  file.file_size_in_bytes = (*io_->Open(path))->size_bytes();
  file.file_path = std::move(path);
  file.file_format = format;
  file.record_count = record_count;
  file.spec_id = metadata_.default_spec_id;
  file.partition = std::move(partition);
  return file;
}

spec::DataFile ForeignTable::File(const std::string& name, ByteView bytes, spec::FileFormat format,
                                  int64_t record_count) {
  const std::string path = fmt::format("{}/data/{}", kLocation, name);
  EXPECT_THAT(io_->WriteFile(path, bytes), IsOk());
  return Described(path, format, record_count, {});
}

spec::DataFile ForeignTable::ParquetOf(const arrow::Table& table, bool int96, int64_t row_group_rows) {
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  parquet::ArrowWriterProperties::Builder properties;
  if (int96) properties.enable_deprecated_int96_timestamps();
  const auto writer_properties = parquet::WriterProperties::Builder().enable_write_page_index()->build();
  const arrow::Status status = parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, row_group_rows,
                                                          writer_properties, properties.build());
  EXPECT_TRUE(status.ok()) << status.ToString();
  const std::string bytes = sink->Finish().ValueOrDie()->ToString();
  const std::string path = NewPath("parquet");
  EXPECT_THAT(io_->WriteFile(path, AsBytes(bytes)), IsOk());
  return Described(path, spec::FileFormat::kParquet, table.num_rows(), {});
}

spec::DataFile ForeignTable::Parquet(const std::vector<Field>& fields, const std::vector<std::string>& columns,
                                     FieldIds ids, spec::PartitionTuple partition) {
  spec::DataFile file = ParquetOf(*TableOf(fields, columns, ids));
  file.partition = std::move(partition);
  return file;
}

spec::DataFile ForeignTable::Avro(const std::vector<Field>& fields, const std::vector<std::string>& columns,
                                  spec::PartitionTuple partition, FieldIds ids) {
  const auto table = TableOf(fields, columns, FieldIds::kWritten);
  auto schema = format::WriteAvroSchema("table", fields);
  EXPECT_THAT(schema, IsOk());
  const std::string path = NewPath("avro");
  if (ids == FieldIds::kNone) {
    static const std::regex id_attribute(R"(,"(field|element|key|value)-id":[0-9]+)");
    *schema = std::regex_replace(*schema, id_attribute, "");
  }
  format::AvroFileWriter writer(*io_->Create(path), *schema, format::AvroCodec::kDeflate, {});
  for (int64_t row = 0; row < table->num_rows(); ++row) {
    Bytes record;
    format::AvroEncoder encoder(record);
    for (size_t i = 0; i < fields.size(); ++i)
      Encode(fields[i], *table->column(static_cast<int>(i))->chunk(0), row, encoder);
    EXPECT_THAT(writer.Append(record), IsOk());
  }
  EXPECT_THAT(writer.Finish(), IsOk());
  return Described(path, spec::FileFormat::kAvro, table->num_rows(), std::move(partition));
}

spec::DataFile ForeignTable::PositionDeletes(const std::vector<std::pair<std::string, int64_t>>& rows,
                                             spec::FileFormat format, spec::PartitionTuple partition) {
  std::string paths, positions;
  for (const auto& [path, position] : rows) {
    paths += fmt::format("{}\"{}\"", paths.empty() ? "" : ", ", path);
    positions += fmt::format("{}{}", positions.empty() ? "" : ", ", position);
  }
  const std::vector<std::string> columns = {"[" + paths + "]", "[" + positions + "]"};
  spec::DataFile file =
      format == spec::FileFormat::kAvro ? Avro(DeleteColumns(), columns) : Parquet(DeleteColumns(), columns);
  file.content = spec::FileContent::kPositionDeletes;
  file.partition = std::move(partition);
  return file;
}

spec::DataFile ForeignTable::EqualityDeletes(const std::vector<Field>& fields, const std::vector<std::string>& columns,
                                             std::vector<int> ids, spec::FileFormat format,
                                             spec::PartitionTuple partition) {
  spec::DataFile file = format == spec::FileFormat::kAvro ? Avro(fields, columns) : Parquet(fields, columns);
  file.content = spec::FileContent::kEqualityDeletes;
  for (const int id : ids) file.equality_ids.push_back(FieldId(id));
  file.partition = std::move(partition);
  return file;
}

spec::DataFile ForeignTable::Vector(const spec::DataFile& data_file, const std::vector<int64_t>& positions) {
  format::DeletionVector vector;
  EXPECT_THAT(vector.AddAll(positions), IsOk());
  Bytes blob;
  EXPECT_THAT(vector.EncodeTo(blob), IsOk());
  const std::string path = NewPath("puffin");
  format::PuffinBlob described;
  described.type = "deletion-vector-v1";
  described.fields = {FieldId(2147483645)};
  described.properties = {{"referenced-data-file", data_file.file_path},
                          {"cardinality", std::to_string(positions.size())}};
  format::PuffinWriter writer(*io_->Create(path));
  auto written = writer.AddBlob(described, blob);
  EXPECT_THAT(written, IsOk());
  EXPECT_THAT(writer.Finish(), IsOk());
  spec::DataFile file =
      Described(path, spec::FileFormat::kPuffin, static_cast<int64_t>(positions.size()), data_file.partition);
  file.content = spec::FileContent::kPositionDeletes;
  file.spec_id = data_file.spec_id;
  file.referenced_data_file = data_file.file_path;
  file.content_offset = written->offset;
  file.content_size_in_bytes = written->length;
  return file;
}

spec::ManifestFile ForeignTable::WriteManifest(spec::SpecId spec_id, spec::ManifestContent content,
                                               const std::vector<spec::ManifestEntry>& entries,
                                               spec::SnapshotId snapshot_id) {
  format::ManifestWriterOptions options;
  options.format_version = metadata_.format_version;
  options.snapshot_id = snapshot_id;
  options.partition_spec = *metadata_.FindSpec(spec_id);
  options.schema = table::SchemaOfSpec(metadata_, options.partition_spec);
  options.content = content;
  const std::string path = fmt::format("{}/metadata/m{}.avro", kLocation, num_files_++);
  auto writer = format::ManifestWriter::Make(*io_, path, std::move(options));
  EXPECT_THAT(writer, IsOk());
  for (const spec::ManifestEntry& entry : entries) EXPECT_THAT((*writer)->Add(entry), IsOk());
  auto row = (*writer)->Finish(metadata_.last_sequence_number);
  EXPECT_THAT(row, IsOk());
  row->sequence_number = metadata_.last_sequence_number;
  row->added_snapshot_id = snapshot_id;
  return *row;
}

void ForeignTable::Commit(const std::vector<spec::DataFile>& added, std::optional<int64_t> sequence_number,
                          const std::vector<std::string>& removed) {
  metadata_.last_sequence_number = spec::SequenceNumber(metadata_.last_sequence_number.value() + 1);
  const spec::SnapshotId snapshot_id(1000 + metadata_.last_sequence_number.value());
  std::erase_if(live_, [&](const spec::ManifestEntry& entry) {
    return std::ranges::find(removed, entry.data_file.file_path) != removed.end();
  });
  for (spec::ManifestEntry& entry : live_) entry.status = spec::EntryStatus::kExisting;
  for (const spec::DataFile& file : added) {
    spec::ManifestEntry entry;
    entry.status = spec::EntryStatus::kAdded;
    entry.snapshot_id = snapshot_id;
    entry.sequence_number = sequence_number ? spec::SequenceNumber(*sequence_number) : metadata_.last_sequence_number;
    entry.file_sequence_number = metadata_.last_sequence_number;
    entry.data_file = file;
    live_.push_back(std::move(entry));
  }
  spec::Snapshot snapshot;
  snapshot.id = snapshot_id;
  snapshot.parent_id = metadata_.current_snapshot_id;
  snapshot.sequence_number = metadata_.last_sequence_number;
  snapshot.timestamp_ms = metadata_.last_updated_ms += 1000;
  snapshot.operation = spec::Operation::kOverwrite;
  snapshot.schema_id = metadata_.current_schema_id;

  // Ids go to data files in the order in which their manifests stand in the list (spec section 3.7).
  std::map<std::pair<bool, spec::SpecId>, std::vector<spec::ManifestEntry*>> manifests;
  for (spec::ManifestEntry& entry : live_) {
    manifests[{entry.data_file.content != spec::FileContent::kData, entry.data_file.spec_id}].push_back(&entry);
  }
  const spec::RowId first_row_id = metadata_.next_row_id;
  std::vector<spec::ManifestFile> list;
  for (const auto& [key, entries] : manifests) {
    const auto& [is_deletes, spec_id] = key;
    const spec::RowId first_of_manifest = metadata_.next_row_id;
    if (metadata_.format_version >= 3 && !is_deletes) {
      for (spec::ManifestEntry* entry : entries) {
        if (entry->data_file.first_row_id) continue;
        entry->data_file.first_row_id = metadata_.next_row_id;
        metadata_.next_row_id = spec::RowId(metadata_.next_row_id.value() + entry->data_file.record_count);
      }
    }
    std::vector<spec::ManifestEntry> written;
    for (const spec::ManifestEntry* entry : entries) written.push_back(*entry);
    list.push_back(WriteManifest(spec_id, is_deletes ? spec::ManifestContent::kDeletes : spec::ManifestContent::kData,
                                 written, snapshot_id));
    if (metadata_.format_version >= 3 && !is_deletes) list.back().first_row_id = first_of_manifest;
    if (change_manifest) change_manifest(list.back());
  }
  format::ManifestListHeader header{.format_version = metadata_.format_version,
                                    .snapshot_id = snapshot_id,
                                    .parent_snapshot_id = snapshot.parent_id,
                                    .sequence_number = snapshot.sequence_number,
                                    .first_row_id = {}};
  if (metadata_.format_version >= 3) {
    header.first_row_id = snapshot.first_row_id = first_row_id;
    snapshot.added_rows = metadata_.next_row_id.value() - first_row_id.value();
  }
  snapshot.manifest_list = fmt::format("{}/metadata/snap-{}.avro", kLocation, snapshot_id);
  ASSERT_THAT(format::WriteManifestList(*io_, snapshot.manifest_list, header, list), IsOk());
  metadata_.current_snapshot_id = snapshot_id;
  metadata_.refs[spec::kMainBranch] = {.snapshot_id = snapshot_id, .type = spec::RefType::kBranch};
  metadata_.snapshot_log.push_back({snapshot.timestamp_ms, snapshot_id});
  metadata_.snapshots.push_back(std::move(snapshot));
}

std::shared_ptr<catalog::Catalog> ForeignTable::MakeCatalog() const {
  auto catalog = catalog::MakeMemoryCatalog("lake", "memory:/lake", io_);
  EXPECT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  auto json = spec::WriteTableMetadata(metadata_);
  EXPECT_THAT(json, IsOk());
  const std::string path = fmt::format("{}/metadata/{}.metadata.json", kLocation, Uuid::Random().ToString());
  EXPECT_THAT(io_->WriteFile(path, AsBytes(*json)), IsOk());
  EXPECT_THAT(catalog->RegisterTable({{"db"}, "t"}, path), IsOk());
  return catalog;
}

namespace {

/// Columns of the schema that `names` name, and all hidden ones that readers of rows know.
scan::ReadColumns ColumnsOf(const spec::Schema& schema, const std::vector<std::string>& names) {
  scan::ReadColumns columns;
  columns.row_lineage = columns.position = true;
  for (const std::string& name : names) {
    if (const Field* field = schema.FindField(name)) columns.fields.push_back(field->id);
  }
  return columns;
}

Status AppendText(const arrow::RecordBatch& batch, const std::vector<std::string>& names,
                  std::vector<std::string>& rows) {
  EXPECT_TRUE(batch.ValidateFull().ok()) << batch.ValidateFull().ToString();
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const std::string& name : names) {
    const int i = batch.schema()->GetFieldIndex(name);
    if (i < 0) return Fail(ErrorCode::kNotFound, "no such column: {}", name);
    fields.push_back(batch.schema()->field(i));
    arrays.push_back(batch.column(i));
  }
  for (std::string& row : TextRows(*arrow::RecordBatch::Make(arrow::schema(fields), batch.num_rows(), arrays))) {
    rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> ForeignTable::ReadByFile(const std::vector<std::string>& names) const {
  FRAZIL_ASSIGN(const table::Table table, table::Table::Load(MakeCatalog(), {{"db"}, "t"}));
  FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(table, table.metadata()->current_snapshot(), nullptr));
  const scan::ReadColumns columns = ColumnsOf(*plan.schema, names);
  const auto equality = std::make_shared<scan::EqualityDeletes>(table.io());
  std::vector<std::string> rows;
  for (const table::FileScanTask& task : plan.tasks) {
    FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, columns, equality));
    for (;;) {
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
      if (batch == nullptr) break;
      EXPECT_TRUE(batch->schema()->Equals(*reader->schema()));
      FRAZIL_TRY(AppendText(*batch, names, rows));
    }
  }
  std::ranges::sort(rows);
  return rows;
}

Result<std::vector<std::string>> ForeignTable::ReadByFetch(const std::vector<std::string>& names) const {
  FRAZIL_ASSIGN(const table::Table table, table::Table::Load(MakeCatalog(), {{"db"}, "t"}));
  FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(table, table.metadata()->current_snapshot(), nullptr));
  scan::RowFetcher fetcher(table.io(), int64_t{1} << 20);
  std::vector<std::string> rows;
  for (const table::FileScanTask& task : plan.tasks) {
    FRAZIL_ASSIGN(const format::DeletionVector deleted, table::ReadPositions(*table.io(), task.data_file, task.deletes,
                                                                             scan::ReadPositionDeletes(table.io())));
    for (int64_t position = 0; position < task.data_file.file.record_count; ++position) {
      if (deleted.Contains(spec::RowPosition(position))) continue;
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch,
                    fetcher.Fetch(plan, task, std::span(&position, 1), ColumnsOf(*plan.schema, names), nullptr));
      FRAZIL_TRY(AppendText(*batch, names, rows));
    }
  }
  std::ranges::sort(rows);
  return rows;
}

Result<std::unique_ptr<sql::Session>> ForeignTable::MakeSession() const {
  sql::SessionOptions options;
  options.catalogs["lake"] = MakeCatalog();
  options.default_catalog = "lake";
  options.default_namespace = {"db"};
  options.threads = 2;
  return sql::Session::Make(std::move(options));
}

Result<std::vector<std::string>> ForeignTable::Query(const std::string& query) const {
  FRAZIL_ASSIGN(const auto session, MakeSession());
  return Query(*session, query);
}

Result<std::vector<std::string>> ForeignTable::Query(sql::Session& session, const std::string& query) {
  FRAZIL_ASSIGN(const auto result, session.Execute(query));
  std::vector<std::string> rows;
  for (;;) {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, result->Next());
    if (batch == nullptr) break;
    for (std::string& row : TextRows(*batch)) rows.push_back(std::move(row));
  }
  std::ranges::sort(rows);
  return rows;
}

Result<std::vector<std::string>> ForeignTable::ReadBySql(const std::vector<std::string>& columns,
                                                         const std::string& where) const {
  std::string list;
  for (const std::string& name : columns) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return Query("SELECT " + list + " FROM t" + (where.empty() ? "" : " WHERE " + where));
}

void ForeignTable::ExpectRows(const std::vector<std::string>& columns, std::vector<std::string> rows) const {
  std::ranges::sort(rows);
  EXPECT_THAT(ReadByFile(columns), IsOkAnd(rows)) << "by FileReader";
  EXPECT_THAT(ReadByFetch(columns), IsOkAnd(rows)) << "by RowFetcher";
  EXPECT_THAT(ReadBySql(columns), IsOkAnd(rows)) << "by SQL";
}

}  // namespace frazil::test
