#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_without_ids_test_support.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/format/puffin.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/table/row_map.h"
#include "frazil/table/spec_schema.h"
#include "frazil/table/table.h"

namespace frazil::index {

// A table in memory whose every snapshot is written from a model of it, so that the model knows what is live without
// asking the code under test. Anything that any engine may legally do to a table is one call. Fast: no catalog, no commit
// loop, one manifest of each kind a snapshot, and that of the snapshot before where nothing changed.

/// A null in the key: a row that nobody can ask for. Foreign files may hold such.
inline constexpr int64_t kNullId = -1;

/// A data file as it was written. What its keys are may change with the table's name mapping.
struct ModelFile {
  std::string path;
  std::vector<int64_t> ids;                             ///< by position; kNullId too
  std::map<std::string, std::vector<int64_t>> by_name;  ///< of a file without field ids: what each column holds
  std::vector<std::optional<int64_t>> stored_row_ids;   ///< by position; empty: the file has no such column
  int spec_id = 0;
  std::optional<std::string> part;  ///< of spec 1
};

/// A data file in a state of the table.
struct ModelEntry {
  std::shared_ptr<const ModelFile> file;
  int64_t sequence = 0;
  int64_t file_sequence = 0;
  std::optional<int64_t> first_row_id;
  std::set<int64_t> dead;  ///< positions; not those that only an equality delete hides

  std::optional<int64_t> RowIdAt(int64_t position) const {
    if (!first_row_id) return std::nullopt;
    const auto at = static_cast<size_t>(position);
    if (at < file->stored_row_ids.size() && file->stored_row_ids[at]) return file->stored_row_ids[at];
    return *first_row_id + position;
  }
  bool IsSame(const ModelEntry& other) const {
    return file == other.file && sequence == other.sequence && first_row_id == other.first_row_id;
  }
};

struct ModelEqualityDelete {
  spec::DataFile file;
  std::shared_ptr<const ModelFile> keys;
  int64_t sequence = 0;
};

struct ModelState {
  std::map<std::string, ModelEntry> files;
  std::map<std::string, spec::DataFile> vectors;                               ///< v3, by data file
  std::map<std::string, std::pair<spec::DataFile, int64_t>> position_deletes;  ///< v2, by own path; sequence
  std::vector<ModelEqualityDelete> equality_deletes;

  bool IsHidden(const ModelEntry& entry, int64_t position) const {
    return std::any_of(equality_deletes.begin(), equality_deletes.end(), [&](const ModelEqualityDelete& by) {
      const std::vector<int64_t>& ids = by.keys->ids;
      if (by.sequence <= entry.sequence) return false;
      if (std::find(ids.begin(), ids.end(), entry.file->ids[static_cast<size_t>(position)]) == ids.end()) return false;
      if (by.file.spec_id.value() == 0) return true;
      return entry.file->spec_id == by.file.spec_id.value() &&
             by.file.partition == spec::PartitionTuple{spec::Value(*entry.file->part)};
    });
  }
  std::vector<int64_t> LivePositions(const ModelEntry& entry) const {
    std::vector<int64_t> positions;
    for (int64_t p = 0; p < static_cast<int64_t>(entry.file->ids.size()); ++p) {
      if (!entry.dead.contains(p) && !IsHidden(entry, p)) positions.push_back(p);
    }
    return positions;
  }
};

/// A live row of the model.
struct ModelRow {
  int64_t id = 0;
  std::string path;
  int64_t position = 0;
  std::optional<int64_t> row_id;
  auto operator<=>(const ModelRow&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const ModelRow& row) {
  return out << row.id << "@" << row.path << ":" << row.position << "#" << row.row_id.value_or(-1);
}

class ModelTable {
 public:
  explicit ModelTable(int format_version)
      : io_(std::make_shared<io::MemoryFileIO>()), catalog_(catalog::MakeMemoryCatalog("test", "memory:/lake", io_)) {
    metadata_.format_version = format_version;
    metadata_.table_uuid = Uuid::Random();
    metadata_.location = "memory:/lake/t";
    metadata_.partition_specs.emplace_back(spec::SpecId(0), std::vector<spec::PartitionField>());
    metadata_.partition_specs.emplace_back(
        spec::SpecId(1), std::vector<spec::PartitionField>{
                             {spec::FieldId(2), spec::FieldId(1000), "part", spec::Transform::Identity()}});
    metadata_.sort_orders.emplace_back();
    Evolve(spec::TypeId::kInt, "id");
  }

  // ---- the table as it is

  int format_version() const { return metadata_.format_version; }
  const ModelState& state() const { return state_; }
  const std::map<int64_t, ModelState>& history() const { return history_; }
  const std::shared_ptr<io::MemoryFileIO>& io() const { return io_; }
  const std::string uuid() const { return metadata_.table_uuid.ToString(); }
  spec::SchemaPtr schema() const { return metadata_.schema(); }

  /// All handles share one cache of manifests.
  table::Table Handle() const {
    catalog::LoadedTable loaded{.metadata = std::make_shared<const spec::TableMetadata>(metadata_),
                                .metadata_location = "none"};
    if (!handle_) {
      handle_.emplace(catalog_, catalog::TableName{{"db"}, "t"}, std::move(loaded));
    } else {
      handle_->Adopt(std::move(loaded));
    }
    return *handle_;
  }

  /// Those that have a key.
  std::vector<ModelRow> LiveRows() const {
    std::vector<ModelRow> rows;
    for (const auto& [path, entry] : state_.files) {
      for (const int64_t p : state_.LivePositions(entry)) {
        const int64_t id = entry.file->ids[static_cast<size_t>(p)];
        if (id != kNullId) rows.push_back({id, path, p, entry.RowIdAt(p)});
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  // ---- changes; they come together in one snapshot with Commit()

  /// The key column as another type (int, then long) and name.
  void Evolve(spec::TypeId type, const std::string& name) {
    const spec::SchemaId id(static_cast<int32_t>(metadata_.schemas.size()));
    std::vector<spec::Field> fields = {
        {.id = spec::FieldId(1),
         .name = name,
         .required = true,
         .type = spec::Type::Primitive(type),
         .initial_default =
             type == spec::TypeId::kInt ? spec::Value(static_cast<int32_t>(default_id_)) : spec::Value(default_id_)},
        {.id = spec::FieldId(2), .name = "part", .type = spec::Type::Primitive(spec::TypeId::kString)}};
    auto schema = spec::Schema::Make(id, std::move(fields), {spec::FieldId(1)});
    EXPECT_THAT(schema, IsOk());
    metadata_.schemas.push_back(*std::move(schema));
    metadata_.current_schema_id = id;
    metadata_.last_column_id = spec::FieldId(2);
  }
  /// The column of files without field ids that holds the key from now on; in a file that has no such column all rows have
  /// the key `default_id`, the initial default.
  void MapKeyTo(const std::string& column, int64_t default_id) {
    key_column_ = column;
    default_id_ = default_id;
    metadata_.properties[spec::kNameMappingProperty] =
        fmt::format(R"([{{"field-id": 1, "names": ["{}"]}}, {{"field-id": 2, "names": ["part"]}}])", column);
    const spec::Field& key = metadata_.schema()->fields()[0];
    Evolve(key.type.id(), key.name);
    for (const std::shared_ptr<ModelFile>& file : without_ids_) file->ids = MappedIds(*file);
  }
  void UsePartitions(bool use) { metadata_.default_spec_id = spec::SpecId(use ? 1 : 0); }

  /// Writes a data file; it becomes live with Add().
  std::shared_ptr<const ModelFile> Write(const std::vector<int64_t>& ids,
                                         std::vector<std::optional<int64_t>> stored_row_ids = {},
                                         std::optional<std::string> part = "x") {
    auto file = std::make_shared<ModelFile>();
    file->ids = ids;
    file->stored_row_ids = std::move(stored_row_ids);
    file->spec_id = metadata_.default_spec_id.value();
    file->part = file->spec_id == 0 ? std::nullopt : std::move(part);
    file->path = NewPath("parquet");
    WriteParquet(file->path, *file);
    return file;
  }
  /// The same of a file without field ids, as other tools write them: every column could be the key.
  std::shared_ptr<const ModelFile> WriteWithoutIds(std::map<std::string, std::vector<int64_t>> columns,
                                                   std::optional<std::string> part = "x") {
    const std::shared_ptr<ModelFile> file = MakeWithoutIds(std::move(columns));
    file->spec_id = metadata_.default_spec_id.value();
    file->part = file->spec_id == 0 ? std::nullopt : std::move(part);
    return file;
  }
  void Add(const std::shared_ptr<const ModelFile>& file, std::optional<int64_t> sequence = {}) {
    ModelEntry entry;
    entry.file = file;
    entry.sequence = sequence.value_or(next_sequence());
    entry.file_sequence = next_sequence();
    state_.files[file->path] = std::move(entry);
  }
  void Remove(const std::string& path) {
    state_.files.erase(path);
    state_.vectors.erase(path);
  }
  void Kill(const std::string& path, const std::set<int64_t>& positions) {
    ModelEntry& entry = state_.files.at(path);
    entry.dead.insert(positions.begin(), positions.end());
    if (format_version() >= 3) {
      WriteVector(entry);
    } else {
      WritePositionDelete(entry, positions);
    }
  }
  /// As after many rows.
  void SetNextRowId(int64_t next) { metadata_.next_row_id = spec::RowId(next); }
  /// Bits go away again: what a rollback of one file would do, legal by itself.
  void Revive(const std::string& path) {
    ModelEntry& entry = state_.files.at(path);
    entry.dead.clear();
    state_.vectors.erase(path);
    // Those of version 2 are there again after a rollback behind the upgrade.
    std::erase_if(state_.position_deletes,
                  [&](const auto& deletes) { return data_file_of_.at(deletes.first) == path; });
  }
  /// `part`: of one partition of spec 1; none: of all.
  void DeleteByKey(const std::set<int64_t>& ids, const std::optional<std::string>& part) {
    auto keys = std::make_shared<ModelFile>();
    keys->ids.assign(ids.begin(), ids.end());
    keys->path = NewPath("parquet");
    WriteParquet(keys->path, *keys);
    DeleteByKey(std::move(keys), part);
  }
  /// The same by a file without field ids.
  void DeleteByKeyWithoutIds(std::map<std::string, std::vector<int64_t>> columns,
                             const std::optional<std::string>& part) {
    DeleteByKey(MakeWithoutIds(std::move(columns)), part);
  }
  void DeleteByKey(std::shared_ptr<const ModelFile> keys, const std::optional<std::string>& part) {
    ModelEqualityDelete& by = state_.equality_deletes.emplace_back();
    by.sequence = next_sequence();
    by.file = Described(keys->path, spec::FileContent::kEqualityDeletes, static_cast<int64_t>(keys->ids.size()));
    by.keys = std::move(keys);
    by.file.equality_ids = {spec::FieldId(1)};
    if (part) {
      by.file.spec_id = spec::SpecId(1);
      by.file.partition = {spec::Value(*part)};
    }
  }
  /// As a broken writer lists a file.
  void RepeatEqualityDelete() {
    const ModelEqualityDelete last = state_.equality_deletes.back();
    state_.equality_deletes.push_back(last);
  }
  void DropEqualityDeletes() { state_.equality_deletes.clear(); }
  void DropVectorOf(const std::string& path) { state_.vectors.erase(path); }

  void Commit(std::map<std::string, std::string> summary = {}) {
    const spec::SequenceNumber sequence(next_sequence());
    const spec::SnapshotId id(1000 + sequence.value());
    spec::Snapshot snapshot;
    snapshot.id = id;
    snapshot.parent_id = metadata_.current_snapshot_id;
    snapshot.sequence_number = sequence;
    snapshot.timestamp_ms = metadata_.last_updated_ms += 1000;
    snapshot.operation = spec::Operation::kOverwrite;
    snapshot.summary = std::move(summary);
    snapshot.schema_id = metadata_.current_schema_id;
    snapshot.manifest_list = fmt::format("{}/metadata/snap-{}.avro", metadata_.location, id);
    const spec::RowId first_row_id = metadata_.next_row_id;
    if (format_version() >= 3) AssignRowIds();
    std::vector<spec::ManifestFile> list;
    for (int spec_id : {0, 1}) WriteDataManifest(spec_id, snapshot, first_row_id, list);
    for (int spec_id : {0, 1}) WriteDeleteManifest(spec_id, snapshot, list);
    format::ManifestListHeader header{.format_version = format_version(),
                                      .snapshot_id = id,
                                      .parent_snapshot_id = snapshot.parent_id,
                                      .sequence_number = sequence,
                                      .first_row_id = {}};
    if (format_version() >= 3) {
      header.first_row_id = snapshot.first_row_id = first_row_id;
      snapshot.added_rows = metadata_.next_row_id.value() - first_row_id.value();
    }
    EXPECT_THAT(format::WriteManifestList(*io_, snapshot.manifest_list, header, list), IsOk());
    metadata_.last_sequence_number = sequence;
    metadata_.snapshots.push_back(std::move(snapshot));
    MoveHead(id);
    history_[id.value()] = state_;
  }

  // ---- changes of the table that are no snapshot

  void SetHead(int64_t snapshot_id) {
    MoveHead(spec::SnapshotId(snapshot_id));
    state_ = history_.at(snapshot_id);
  }
  /// Everything but the head goes, and so do the delete files that only it had.
  void ExpireAllButHead() {
    std::set<std::string> kept;
    for (const auto& [path, vector] : state_.vectors) kept.insert(vector.file_path);
    for (const auto& [path, file] : state_.position_deletes) kept.insert(path);
    std::set<std::string> dropped;
    for (const auto& [id, old] : history_) {
      for (const auto& [path, vector] : old.vectors) dropped.insert(vector.file_path);
      for (const auto& [path, file] : old.position_deletes) dropped.insert(path);
    }
    for (const std::string& path : kept) dropped.erase(path);
    EXPECT_THAT(io_->Delete({dropped.begin(), dropped.end()}), IsOk());
    std::erase_if(metadata_.snapshots,
                  [&](const spec::Snapshot& snapshot) { return snapshot.id != metadata_.current_snapshot_id; });
    std::erase_if(history_, [&](const auto& old) { return old.first != metadata_.current_snapshot_id->value(); });
  }
  /// To version 3; files get row ids with the next Commit(). Position deletes become vectors, as an engine would.
  void Upgrade() {
    metadata_.format_version = 3;
    state_.position_deletes.clear();
    for (auto& [path, entry] : state_.files) {
      if (!entry.dead.empty()) WriteVector(entry);
    }
  }

  int64_t next_sequence() const { return metadata_.last_sequence_number.value() + 1; }
  std::string NewPath(const std::string& extension) {
    return fmt::format("{}/data/{:04}.{}", metadata_.location, num_files_++, extension);
  }

 private:
  void MoveHead(spec::SnapshotId id) {
    metadata_.current_snapshot_id = id;
    metadata_.refs[spec::kMainBranch] = {.snapshot_id = id, .type = spec::RefType::kBranch};
  }

  void AssignRowIds() {
    for (auto& [path, entry] : state_.files) {
      if (entry.first_row_id) continue;
      entry.first_row_id = metadata_.next_row_id.value();
      metadata_.next_row_id = spec::RowId(metadata_.next_row_id.value() + static_cast<int64_t>(entry.file->ids.size()));
    }
  }

  spec::DataFile Described(const std::string& path, spec::FileContent content, int64_t record_count) const {
    spec::DataFile file;
    file.content = content;
    file.file_path = path;
    file.record_count = record_count;
    file.file_size_in_bytes = (*io_->Open(path))->size_bytes();
    return file;
  }

  void WriteColumns(const std::string& path, std::vector<spec::Field> fields, const arrow::ArrayVector& columns) {
    auto schema = spec::Schema::Make(spec::SchemaId(0), std::move(fields));
    EXPECT_THAT(schema, IsOk());
    format::ParquetWriteOptions options;
    options.properties["write.parquet.compression-codec"] = "uncompressed";
    auto writer = format::ParquetWriter::Make(*io_->Create(path), *schema, std::move(options));
    EXPECT_THAT(writer, IsOk());
    EXPECT_THAT((*writer)->Write(*arrow::RecordBatch::Make((*writer)->arrow_schema(), columns[0]->length(), columns)),
                IsOk());
    EXPECT_THAT((*writer)->Finish(), IsOk());
  }

  template <typename Builder, typename Values>
  static std::shared_ptr<arrow::Array> ArrayOf(const Values& values) {
    Builder builder;
    for (const auto& value : values) EXPECT_TRUE(builder.Append(value).ok());
    return *builder.Finish();
  }

  template <typename Builder, typename Value>
  static std::shared_ptr<arrow::Array> KeysOf(const std::vector<int64_t>& ids) {
    Builder builder;
    for (const int64_t id : ids) {
      EXPECT_TRUE((id == kNullId ? builder.AppendNull() : builder.Append(static_cast<Value>(id))).ok());
    }
    return *builder.Finish();
  }

  /// Key and row ids; readers take the partition column from the partition, or it is null.
  void WriteParquet(const std::string& path, const ModelFile& file) {
    std::vector<spec::Field> fields = {metadata_.schema()->fields()[0]};
    fields[0].required = std::find(file.ids.begin(), file.ids.end(), kNullId) == file.ids.end();
    arrow::ArrayVector columns;
    if (fields[0].type.id() == spec::TypeId::kInt) {
      columns.push_back(KeysOf<arrow::Int32Builder, int32_t>(file.ids));
    } else {
      columns.push_back(KeysOf<arrow::Int64Builder, int64_t>(file.ids));
    }
    if (!file.stored_row_ids.empty()) {
      fields.push_back(
          {.id = spec::kRowIdColumnId, .name = spec::kRowIdColumn, .type = spec::Type::Primitive(spec::TypeId::kLong)});
      arrow::Int64Builder row_ids;
      for (const std::optional<int64_t>& row_id : file.stored_row_ids) {
        EXPECT_TRUE((row_id ? row_ids.Append(*row_id) : row_ids.AppendNull()).ok());
      }
      columns.push_back(*row_ids.Finish());
    }
    WriteColumns(path, std::move(fields), columns);
  }

  std::vector<int64_t> MappedIds(const ModelFile& file) const {
    const auto column = file.by_name.find(key_column_);
    if (column != file.by_name.end()) return column->second;
    return std::vector<int64_t>(file.by_name.begin()->second.size(), default_id_);
  }

  std::shared_ptr<ModelFile> MakeWithoutIds(std::map<std::string, std::vector<int64_t>> columns) {
    auto file = std::make_shared<ModelFile>();
    file->by_name = std::move(columns);
    file->ids = MappedIds(*file);
    file->path = NewPath("parquet");
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const auto& [name, ids] : file->by_name) {
      fields.push_back(arrow::field(name, arrow::int32()));
      arrays.push_back(KeysOf<arrow::Int32Builder, int32_t>(ids));
    }
    const auto table = arrow::Table::Make(arrow::schema(std::move(fields)), std::move(arrays));
    EXPECT_THAT(io_->WriteFile(file->path, format::ParquetWithoutIds(*table)), IsOk());
    without_ids_.push_back(file);
    return file;
  }

  void WriteVector(const ModelEntry& entry) {
    format::DeletionVector vector;
    EXPECT_THAT(vector.AddAll(std::vector<int64_t>(entry.dead.begin(), entry.dead.end())), IsOk());
    Bytes blob;
    EXPECT_THAT(vector.EncodeTo(blob), IsOk());
    const std::string path = NewPath("puffin");
    format::PuffinBlob described;
    described.type = format::kDeletionVectorBlobType;
    described.fields = {spec::kPosColumnId};
    described.properties = {{"referenced-data-file", entry.file->path},
                            {"cardinality", std::to_string(entry.dead.size())}};
    format::PuffinWriter writer(*io_->Create(path));
    const auto written = writer.AddBlob(described, blob);
    EXPECT_THAT(written, IsOk());
    EXPECT_THAT(writer.Finish(), IsOk());
    spec::DataFile file = Described(path, spec::FileContent::kPositionDeletes, static_cast<int64_t>(entry.dead.size()));
    file.file_format = spec::FileFormat::kPuffin;
    file.spec_id = spec::SpecId(entry.file->spec_id);
    if (entry.file->part) file.partition = {spec::Value(*entry.file->part)};
    file.referenced_data_file = entry.file->path;
    file.content_offset = written->offset;
    file.content_size_in_bytes = written->length;
    state_.vectors[entry.file->path] = std::move(file);
  }

  void WritePositionDelete(const ModelEntry& entry, const std::set<int64_t>& positions) {
    const std::string path = NewPath("parquet");
    WriteColumns(path,
                 {{.id = spec::kDeleteFilePathColumnId,
                   .name = "file_path",
                   .required = true,
                   .type = spec::Type::Primitive(spec::TypeId::kString)},
                  {.id = spec::kDeletePosColumnId,
                   .name = "pos",
                   .required = true,
                   .type = spec::Type::Primitive(spec::TypeId::kLong)}},
                 {ArrayOf<arrow::StringBuilder>(std::vector<std::string>(positions.size(), entry.file->path)),
                  ArrayOf<arrow::Int64Builder>(positions)});
    spec::DataFile file = Described(path, spec::FileContent::kPositionDeletes, static_cast<int64_t>(positions.size()));
    file.spec_id = spec::SpecId(entry.file->spec_id);
    if (entry.file->part) file.partition = {spec::Value(*entry.file->part)};
    state_.position_deletes[path] = {std::move(file), next_sequence()};
    data_file_of_[path] = entry.file->path;
  }

  void WriteManifest(int spec_id, spec::ManifestContent content, const std::vector<spec::ManifestEntry>& entries,
                     const spec::Snapshot& snapshot, std::optional<spec::RowId> first_row_id,
                     std::vector<spec::ManifestFile>& list) {
    if (entries.empty()) return;
    std::string contents = fmt::format("version {}", format_version());
    for (const spec::ManifestEntry& entry : entries) {
      contents +=
          fmt::format("\n{} {} {} {}", entry.data_file.file_path, *entry.sequence_number, *entry.file_sequence_number,
                      entry.data_file.first_row_id ? entry.data_file.first_row_id->value() : -1);
    }
    if (const auto found = manifests_.find({spec_id, content, contents}); found != manifests_.end()) {
      list.push_back(found->second);
      return;
    }
    format::ManifestWriterOptions options;
    options.format_version = format_version();
    options.snapshot_id = snapshot.id;
    options.partition_spec = *metadata_.FindSpec(spec::SpecId(spec_id));
    options.schema = metadata_.schema();
    options.content = content;
    const std::string path = fmt::format("{}/metadata/m{}.avro", metadata_.location, num_files_++);
    auto writer = format::ManifestWriter::Make(*io_, path, std::move(options));
    EXPECT_THAT(writer, IsOk());
    for (const spec::ManifestEntry& entry : entries) EXPECT_THAT((*writer)->Add(entry), IsOk());
    auto row = (*writer)->Finish(snapshot.sequence_number);
    EXPECT_THAT(row, IsOk());
    row->sequence_number = snapshot.sequence_number;
    row->added_snapshot_id = snapshot.id;
    row->first_row_id = first_row_id;
    manifests_.insert({{spec_id, content, std::move(contents)}, *row});
    list.push_back(*std::move(row));
  }

  static spec::ManifestEntry EntryOf(spec::DataFile file, int64_t sequence, int64_t file_sequence,
                                     const spec::Snapshot& snapshot) {
    spec::ManifestEntry entry;
    entry.status =
        file_sequence == snapshot.sequence_number.value() ? spec::EntryStatus::kAdded : spec::EntryStatus::kExisting;
    entry.snapshot_id = snapshot.id;
    entry.sequence_number = spec::SequenceNumber(sequence);
    entry.file_sequence_number = spec::SequenceNumber(file_sequence);
    entry.data_file = std::move(file);
    return entry;
  }

  void WriteDataManifest(int spec_id, const spec::Snapshot& snapshot, spec::RowId first_row_id,
                         std::vector<spec::ManifestFile>& list) {
    std::vector<spec::ManifestEntry> entries;
    for (const auto& [path, entry] : state_.files) {
      if (entry.file->spec_id != spec_id) continue;
      spec::DataFile file = Described(path, spec::FileContent::kData, static_cast<int64_t>(entry.file->ids.size()));
      file.spec_id = spec::SpecId(spec_id);
      if (entry.file->part) file.partition = {spec::Value(*entry.file->part)};
      if (entry.first_row_id) file.first_row_id = spec::RowId(*entry.first_row_id);
      entries.push_back(EntryOf(std::move(file), entry.sequence, entry.file_sequence, snapshot));
    }
    WriteManifest(spec_id, spec::ManifestContent::kData, entries, snapshot,
                  format_version() >= 3 ? std::optional(first_row_id) : std::nullopt, list);
  }

  void WriteDeleteManifest(int spec_id, const spec::Snapshot& snapshot, std::vector<spec::ManifestFile>& list) {
    std::vector<spec::ManifestEntry> entries;
    const auto add = [&](const spec::DataFile& file, int64_t sequence) {
      if (file.spec_id.value() == spec_id) entries.push_back(EntryOf(file, sequence, sequence, snapshot));
    };
    // A vector's own sequence is at least its data file's; the snapshot's always is.
    for (const auto& [path, vector] : state_.vectors) add(vector, snapshot.sequence_number.value());
    for (const auto& [path, file] : state_.position_deletes) add(file.first, file.second);
    for (const ModelEqualityDelete& by : state_.equality_deletes) add(by.file, by.sequence);
    WriteManifest(spec_id, spec::ManifestContent::kDeletes, entries, snapshot, std::nullopt, list);
  }

  std::shared_ptr<io::MemoryFileIO> io_;
  std::shared_ptr<catalog::Catalog> catalog_;
  spec::TableMetadata metadata_;
  ModelState state_;
  std::map<std::string, std::string> data_file_of_;  ///< of position deletes of version 2, by their path
  std::map<int64_t, ModelState> history_;
  /// Those that were written, by spec, content and what is in them.
  std::map<std::tuple<int, spec::ManifestContent, std::string>, spec::ManifestFile> manifests_;
  mutable std::optional<table::Table> handle_;
  int num_files_ = 0;
  std::string key_column_;
  int64_t default_id_ = 0;
  std::vector<std::shared_ptr<ModelFile>> without_ids_;
};

}  // namespace frazil::index
