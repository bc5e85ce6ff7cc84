#include "frazil/ingest/column_record_decoder.h"

#include <algorithm>
#include <limits>

#include <arrow/api.h>

#include "frazil/format/parquet_schema.h"
#include "frazil/ingest/avro_column_filler.h"
#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/column_array.h"
#include "frazil/ingest/column_change.h"
#include "frazil/ingest/json_column_filler.h"
#include "frazil/ingest/json_record_decoder.h"

namespace frazil::ingest {

using Kind = ColumnSource::Kind;

namespace {

// Arrow's offsets are 32-bit numbers, and a column takes no more bytes than records and their defaults have. One record's
// defaults still fit (AvroPlan holds those of nested fields to as much).
constexpr int64_t kMaxBufferedBytes = std::numeric_limits<int32_t>::max() - (int64_t{64} << 20);

/// Failures of something else than the record: the pipeline waits or stops, the record is innocent.
bool IsPoison(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kCorruptData || code == ErrorCode::kNotSupported ||
         code == ErrorCode::kNotFound || code == ErrorCode::kInvalidTable;
}

bool IsMetadata(Kind kind) { return kind != Kind::kValue && kind != Kind::kKey; }

}  // namespace

ColumnRecordDecoder::ColumnRecordDecoder(RecordColumns columns, std::shared_ptr<SchemaRegistry> registry)
    : record_columns_(std::move(columns)),
      registry_(std::move(registry)),
      schemas_(std::make_shared<AvroSchemaCache>(registry_)) {}

ColumnRecordDecoder::~ColumnRecordDecoder() = default;

Result<std::unique_ptr<ColumnRecordDecoder>> ColumnRecordDecoder::Make(spec::SchemaPtr schema, RecordColumns columns,
                                                                       std::shared_ptr<SchemaRegistry> registry) {
  const bool has_avro =
      columns.key_format == RecordFormat::kAvroConfluent || columns.value_format == RecordFormat::kAvroConfluent;
  if (has_avro && registry == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "avro-confluent needs a schema registry");
  }
  if (columns.value_format != RecordFormat::kAvroConfluent && columns.value_format != RecordFormat::kJson) {
    return Fail(ErrorCode::kInvalidArgument, "value.format must be avro-confluent or json");
  }
  std::unique_ptr<ColumnRecordDecoder> decoder(new ColumnRecordDecoder(std::move(columns), std::move(registry)));
  FRAZIL_TRY(decoder->UseSchema(std::move(schema)));
  return decoder;
}

bool ColumnRecordDecoder::IsIdentifier(const spec::Schema& schema, const spec::Field& field) const {
  const auto& ids = schema.identifier_field_ids();
  return std::find(ids.begin(), ids.end(), field.id) != ids.end();
}

Status ColumnRecordDecoder::CheckSources(const spec::Schema& schema) const {
  std::vector<std::string> names;
  for (const spec::Field& field : schema.fields()) names.push_back(field.name);
  for (const auto& [column, source] : record_columns_.source_of) {
    if (std::find(names.begin(), names.end(), column) == names.end()) {
      const std::string near = spec::NearestName(column, names);
      Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' is not in the table", column));
      return tl::unexpected(near.empty() ? error : std::move(error).WithHint(fmt::format("did you mean {}?", near)));
    }
    FRAZIL_ASSIGN(const ColumnSource parsed, SourceOf(record_columns_, column));
    if (parsed.kind == Kind::kKey && record_columns_.key_format == RecordFormat::kNone) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                  fmt::format("column '{}' comes from a key without a format: {}", column, source))
                                .WithHint("set key.format"));
    }
  }
  return {};
}

Result<std::vector<ColumnBinding>> ColumnRecordDecoder::BindingsOf(Part part, const spec::Schema& schema,
                                                                   bool with_columns) const {
  std::vector<ColumnBinding> bindings;
  for (size_t i = 0; i < schema.fields().size(); ++i) {
    const spec::Field& field = schema.fields()[i];
    if (field.type.id() == spec::TypeId::kUnknown) continue;
    FRAZIL_ASSIGN(const ColumnSource source, SourceOf(record_columns_, field.name));
    ColumnBinding binding;
    binding.field = &field;
    binding.column = with_columns ? columns_[i].get() : nullptr;
    binding.path = source.path;
    binding.is_identifier = IsIdentifier(schema, field);
    const bool from_value = source.kind == Kind::kValue;
    const bool from_key = source.kind == Kind::kKey;
    if (part != Part::kValue && binding.is_identifier && from_value) {
      // The key stands in for a value that lacks the field; it may call it as the value does or as the table does.
      binding.other_path = source.path == field.name ? "" : field.name;
      binding.only_if_missing = part == Part::kKeyOfUpsert;
    }
    const bool is_wanted = part == Part::kValue         ? from_value
                           : part == Part::kKeyOfUpsert ? from_key || (from_value && binding.is_identifier)
                                                        : !IsMetadata(source.kind) && binding.is_identifier;
    if (is_wanted) bindings.push_back(std::move(binding));
  }
  return bindings;
}

Result<std::unique_ptr<ColumnFiller>> ColumnRecordDecoder::MakeFiller(Part part, const spec::Schema& schema) const {
  FRAZIL_ASSIGN(std::vector<ColumnBinding> bindings, BindingsOf(part, schema, true));
  const bool is_value = part == Part::kValue;
  switch (is_value ? record_columns_.value_format : record_columns_.key_format) {
    case RecordFormat::kAvroConfluent: {
      AvroGrowth growth;
      growth.adds_columns = is_value && record_columns_.adds_columns;
      growth.ignored_fields = record_columns_.ignored_fields;
      // Nor does a field become a column whose name is taken by one that comes from elsewhere.
      for (const auto& [column, source] : record_columns_.source_of) growth.ignored_fields.push_back(column);
      return MakeAvroFiller(schemas_, schema.id(), std::move(bindings), std::move(growth));
    }
    case RecordFormat::kJson: return MakeJsonFiller(std::move(bindings), record_columns_.json_timestamps);
    case RecordFormat::kRaw: return MakeRawFiller(std::move(bindings));
    case RecordFormat::kNone: break;
  }
  return std::unique_ptr<ColumnFiller>();
}

Status ColumnRecordDecoder::StartColumns(const spec::Schema& schema) {
  columns_.clear();
  identifiers_.clear();
  metadata_.clear();
  metadata_identifiers_.clear();
  key_has_columns_ = false;
  value_has_all_columns_ = true;
  for (const spec::Field& field : schema.fields()) {
    if (field.type.id() == spec::TypeId::kUnknown) {
      columns_.push_back(nullptr);
      continue;
    }
    FRAZIL_ASSIGN(std::unique_ptr<ColumnBuffer> column, ColumnBuffer::Make(field));
    FRAZIL_ASSIGN(const ColumnSource source, SourceOf(record_columns_, field.name));
    const bool is_identifier = IsIdentifier(schema, field);
    if (is_identifier) identifiers_.push_back(column.get());
    if (source.kind == Kind::kKey) key_has_columns_ = true;
    if (source.kind != Kind::kValue) value_has_all_columns_ = false;
    if (IsMetadata(source.kind)) {
      FRAZIL_ASSIGN(MetadataColumn metadata, MetadataColumn::Make(source, field, column.get()));
      if (is_identifier) metadata_identifiers_.push_back(metadata);
      metadata_.push_back(std::move(metadata));
    }
    columns_.push_back(std::move(column));
  }
  return {};
}

Status ColumnRecordDecoder::UseSchema(spec::SchemaPtr schema) {
  if (num_rows_ > 0) return Fail(ErrorCode::kInternal, "another table schema while rows are buffered: {}", num_rows_);
  FRAZIL_TRY(CheckSources(*schema));
  value_schema_ids_ = [ids = value_schema_ids()] { return std::set<int32_t>(ids.begin(), ids.end()); }();
  for (auto& filler : fillers_) filler.reset();
  FRAZIL_TRY(StartColumns(*schema));
  schema_ = std::move(schema);
  for (const Part part : {Part::kValue, Part::kKeyOfUpsert, Part::kKeyOfTombstone}) {
    FRAZIL_ASSIGN(fillers_[static_cast<size_t>(part)], MakeFiller(part, *schema_));
  }
  return {};
}

Result<ColumnFiller::Filled> ColumnRecordDecoder::Fill(Part part, std::string_view bytes) {
  ColumnFiller& filler = *fillers_[static_cast<size_t>(part)];
  Result<Filled> filled = filler.Fill(bytes, num_rows_);
  if (filled && *filled == Filled::kNeedsSchema) asking_.push_back({part, filler.last_schema_id()});
  return filled;
}

bool ColumnRecordDecoder::LacksIdentifier() const {
  return std::any_of(identifiers_.begin(), identifiers_.end(),
                     [&](const ColumnBuffer* column) { return column->length() == num_rows_; });
}

/// For the marker: keys are looked at even where no column needs them.
void ColumnRecordDecoder::NoteKeySchema(std::string_view key) {
  if (record_columns_.key_format != RecordFormat::kAvroConfluent || key.size() < 5 || key[0] != 0) return;
  const auto id = LoadBig<int32_t>(AsBytes(key).data() + 1);
  if (id == last_key_schema_id_) return;
  last_key_schema_id_ = id;
  key_schema_ids_.insert(id);
}

Result<ColumnFiller::Filled> ColumnRecordDecoder::FillUpsert(const SourceRecord& record) {
  const bool has_key = record.key && fillers_[static_cast<size_t>(Part::kKeyOfUpsert)] != nullptr;
  FRAZIL_ASSIGN(const Filled value, Fill(Part::kValue, *record.value));
  if (value == Filled::kNeedsSchema) {
    // The key may ask for something as well: a record is held up once.
    if (has_key) (void)Fill(Part::kKeyOfUpsert, *record.key);
    return value;
  }
  if (value == Filled::kAll && value_has_all_columns_) return value;
  for (const MetadataColumn& column : metadata_) FRAZIL_TRY(column.Append(record));
  if (has_key && (key_has_columns_ || LacksIdentifier())) {
    FRAZIL_ASSIGN(const Filled key, Fill(Part::kKeyOfUpsert, *record.key));
    if (key == Filled::kNeedsSchema) return key;
  }
  FRAZIL_TRY(FillMissing());
  return Filled::kDone;
}

Status ColumnRecordDecoder::FillMissing() {
  for (ColumnBuffer* column : identifiers_) {
    if (column->length() > num_rows_) continue;
    return Fail(ErrorCode::kInvalidArgument, "identifier column '{}' is neither in the value nor in the key",
                column->field().name);
  }
  for (const auto& column : columns_) {
    if (column == nullptr || column->length() > num_rows_) continue;
    const spec::Field& field = column->field();
    if (field.required && spec::IsNull(field.write_default)) {
      return Fail(ErrorCode::kInvalidArgument, "required column '{}' is missing", field.name);
    }
    column->AppendValue(field.write_default);
    // These bytes are the record's as well: a column holds no more than what is counted.
    if (const auto* text = std::get_if<std::string>(&field.write_default)) row_bytes_ += text->size();
    if (const auto* binary = std::get_if<Bytes>(&field.write_default)) row_bytes_ += binary->size();
  }
  return {};
}

Result<ColumnFiller::Filled> ColumnRecordDecoder::FillTombstone(const SourceRecord& record) {
  if (!record.key) return Fail(ErrorCode::kInvalidArgument, "a tombstone without a key");
  for (const MetadataColumn& column : metadata_identifiers_) FRAZIL_TRY(column.Append(record));
  if (LacksIdentifier()) {
    if (fillers_[static_cast<size_t>(Part::kKeyOfTombstone)] == nullptr) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, "a tombstone whose key has no format").WithHint("set key.format"));
    }
    FRAZIL_ASSIGN(const Filled key, Fill(Part::kKeyOfTombstone, *record.key));
    if (key == Filled::kNeedsSchema) return key;
  }
  for (const ColumnBuffer* column : identifiers_) {
    if (column->length() > num_rows_) continue;
    return Fail(ErrorCode::kInvalidArgument, "a tombstone whose key lacks identifier column '{}'",
                column->field().name);
  }
  for (const auto& column : columns_) {
    if (column != nullptr && column->length() == num_rows_) column->AppendFiller();
  }
  return Filled::kDone;
}

Result<Decoded> ColumnRecordDecoder::Decode(const SourceRecord& record) {
  // Numbers take eight bytes in a column, whatever they took in the record.
  row_bytes_ = (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0) + 8 * columns_.size();
  if (buffered_bytes_ + static_cast<int64_t>(row_bytes_) > kMaxBufferedBytes) {
    if (num_rows_ > 0) {
      return Fail(ErrorCode::kResourceExhausted, "the change buffer is full: {} bytes", buffered_bytes_);
    }
    return Refuse(Error(ErrorCode::kInvalidArgument, fmt::format("a record of {} bytes", row_bytes_)));
  }
  asking_.clear();
  Result<Filled> filled = record.value ? FillUpsert(record) : FillTombstone(record);
  if (!filled) return Refuse(std::move(filled).error());
  if (*filled == Filled::kNeedsSchema) {
    CutRow();
    return Decoded::kNeedsSchema;
  }
  if (record.key) NoteKeySchema(*record.key);
  kinds_.push_back(record.value ? ChangeKind::kUpsert : ChangeKind::kTombstone);
  ++num_rows_;
  buffered_bytes_ += static_cast<int64_t>(row_bytes_);
  return Decoded::kRow;
}

void ColumnRecordDecoder::CutRow() {
  for (const auto& column : columns_) {
    if (column != nullptr) column->CutTo(num_rows_);
  }
}

Result<Decoded> ColumnRecordDecoder::Refuse(Error error) {
  CutRow();
  if (!IsPoison(error.code())) return tl::unexpected(std::move(error));
  why_ = error.ToString();
  return Decoded::kPoison;
}

Result<std::vector<spec::TableUpdate>> ColumnRecordDecoder::WantedUpdates(const spec::TableMetadata& metadata) {
  const spec::SchemaPtr schema = metadata.schema();
  std::vector<ColumnChange> changes;
  for (const Asking& asking : asking_) {
    FRAZIL_ASSIGN(const std::vector<ColumnBinding> bindings, BindingsOf(asking.part, *schema, false));
    auto wanted = fillers_[static_cast<size_t>(asking.part)]->Changes(asking.writer_schema_id, *schema, bindings);
    // Whether the key is needed at all shows when the value is taken.
    if (!wanted && asking.part != asking_.front().part) continue;
    FRAZIL_TRY(wanted);
    changes.insert(changes.end(), wanted->begin(), wanted->end());
  }
  return UpdatesFor(changes, metadata);
}

Result<ChangeBatch> ColumnRecordDecoder::Finish() {
  ChangeBatch batch;
  arrow::ArrayVector arrays;
  for (const auto& column : columns_) {
    if (column == nullptr) continue;
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, TakeArray(*column));
    arrays.push_back(std::move(array));
  }
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Schema> schema, format::ToArrowSchema(*schema_));
  batch.rows = arrow::RecordBatch::Make(std::move(schema), num_rows_, std::move(arrays));
  batch.kinds = std::exchange(kinds_, {});
  num_rows_ = 0;
  buffered_bytes_ = 0;
  return batch;
}

std::vector<int32_t> ColumnRecordDecoder::value_schema_ids() const {
  std::set<int32_t> ids = value_schema_ids_;
  if (const auto& filler = fillers_[static_cast<size_t>(Part::kValue)]) {
    for (const int32_t id : filler->schema_ids()) ids.insert(id);
  }
  return {ids.begin(), ids.end()};
}

std::vector<int32_t> ColumnRecordDecoder::key_schema_ids() const {
  return {key_schema_ids_.begin(), key_schema_ids_.end()};
}

Result<std::unique_ptr<RecordDecoder>> MakeAvroRecordDecoder(spec::SchemaPtr table_schema, RecordColumns columns,
                                                             std::shared_ptr<SchemaRegistry> registry) {
  columns.value_format = RecordFormat::kAvroConfluent;
  return ColumnRecordDecoder::Make(std::move(table_schema), std::move(columns), std::move(registry));
}

Result<std::unique_ptr<RecordDecoder>> MakeJsonRecordDecoder(spec::SchemaPtr table_schema, RecordColumns columns,
                                                             std::shared_ptr<SchemaRegistry> registry) {
  columns.value_format = RecordFormat::kJson;
  return ColumnRecordDecoder::Make(std::move(table_schema), std::move(columns), std::move(registry));
}

}  // namespace frazil::ingest
