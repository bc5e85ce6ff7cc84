#include "frazil/sql/metadata_columns.h"

#include <algorithm>

#include "frazil/spec/single_value.h"
#include "frazil/sql/partition_type.h"

namespace frazil::sql {

using spec::Field;
using spec::Type;
using spec::TypeId;

namespace {

class MemoryRows final : public DatumRows {
 public:
  explicit MemoryRows(std::shared_ptr<const MadeUpTable> table) : table_(std::move(table)) {}
  Result<std::vector<DatumRow>> Next() override {
    if (is_read_) return std::vector<DatumRow>();
    is_read_ = true;
    return table_->rows;
  }

 private:
  std::shared_ptr<const MadeUpTable> table_;
  bool is_read_ = false;
};

template <typename T>
Datum CountsDatum(const std::map<spec::FieldId, T>& counts) {
  std::vector<Datum> children;
  for (const auto& [id, count] : counts) {
    children.push_back(IntDatum(id.value()));
    children.push_back(Datum(spec::Value(count)));
  }
  return counts.empty() ? Datum() : Datum::Nested(std::move(children));
}

/// Leaf columns with their full names: what readable_metrics has a member for.
std::vector<std::pair<const Field*, std::string>> MetricColumns(const spec::Schema& schema) {
  std::vector<std::pair<const Field*, std::string>> columns;
  for (const auto& [field, name] : schema.AllFields()) {
    if (field->type.is_primitive() && field->type.id() != TypeId::kTimestampTzNs) columns.emplace_back(field, name);
  }
  std::sort(columns.begin(), columns.end(),
            [](const auto& left, const auto& right) { return left.second < right.second; });
  return columns;
}

Type MetricsType(const std::vector<std::pair<const Field*, std::string>>& columns) {
  std::vector<Field> members;
  for (const auto& [field, name] : columns) {
    members.push_back(MetadataColumn(
        name, Type::StructOf(
                  {MetadataColumn("column_size", TypeId::kLong), MetadataColumn("value_count", TypeId::kLong),
                   MetadataColumn("null_value_count", TypeId::kLong), MetadataColumn("nan_value_count", TypeId::kLong),
                   MetadataColumn("lower_bound", field->type), MetadataColumn("upper_bound", field->type)})));
  }
  return Type::StructOf(std::move(members));
}

}  // namespace

Field MetadataColumn(std::string name, Type type) {
  return {spec::FieldId(0), std::move(name), false, std::move(type)};
}
Field MetadataColumn(std::string name, TypeId type) { return MetadataColumn(std::move(name), Type::Primitive(type)); }
Type MetadataList(Type element) { return Type::ListOf(Field{spec::FieldId(0), "element", false, std::move(element)}); }
Type MetadataMap(Type key, Type value) {
  return Type::MapOf(Field{spec::FieldId(0), "key", true, std::move(key)},
                     Field{spec::FieldId(0), "value", false, std::move(value)});
}

Datum MomentDatum(int64_t milliseconds) { return LongDatum(milliseconds * 1000); }

MetadataTable InMemory(MadeUpTable table) {
  auto kept = std::make_shared<const MadeUpTable>(std::move(table));
  return {
      kept->columns, {}, [kept]() -> Result<std::unique_ptr<DatumRows>> { return std::make_unique<MemoryRows>(kept); }};
}

DataFileColumns::DataFileColumns(const spec::TableMetadata& metadata)
    : partition_type_(UnifiedPartitionType(metadata)),
      schema_(metadata.schema()),
      metric_columns_(MetricColumns(*schema_)),
      metrics_type_(MetricsType(metric_columns_)) {
  metadata_.partition_specs = metadata.partition_specs;
  const Type counts = MetadataMap(Type::Primitive(TypeId::kInt), Type::Primitive(TypeId::kLong));
  const Type bounds = MetadataMap(Type::Primitive(TypeId::kInt), Type::Primitive(TypeId::kBinary));
  columns_ = {MetadataColumn("content", TypeId::kInt), MetadataColumn("file_path", TypeId::kString),
              MetadataColumn("file_format", TypeId::kString), MetadataColumn("spec_id", TypeId::kInt)};
  if (is_partitioned()) columns_.push_back(MetadataColumn("partition", partition_type_));
  for (Field& column : std::vector<Field>{
           MetadataColumn("record_count", TypeId::kLong), MetadataColumn("file_size_in_bytes", TypeId::kLong),
           MetadataColumn("column_sizes", counts), MetadataColumn("value_counts", counts),
           MetadataColumn("null_value_counts", counts), MetadataColumn("nan_value_counts", counts),
           MetadataColumn("lower_bounds", bounds), MetadataColumn("upper_bounds", bounds),
           MetadataColumn("key_metadata", TypeId::kBinary),
           MetadataColumn("split_offsets", MetadataList(Type::Primitive(TypeId::kLong))),
           MetadataColumn("equality_ids", MetadataList(Type::Primitive(TypeId::kInt))),
           MetadataColumn("sort_order_id", TypeId::kInt), MetadataColumn("first_row_id", TypeId::kLong),
           MetadataColumn("referenced_data_file", TypeId::kString), MetadataColumn("content_offset", TypeId::kLong),
           MetadataColumn("content_size_in_bytes", TypeId::kLong)}) {
    columns_.push_back(std::move(column));
  }
}

const std::set<std::string>& DataFileColumns::ByFieldId() {
  static const std::set<std::string> names = {"column_sizes", "value_counts", "null_value_counts", "nan_value_counts",
                                              "lower_bounds", "upper_bounds", "key_metadata",      "split_offsets"};
  return names;
}

DatumRow DataFileColumns::RowOf(const spec::DataFile& file) const {
  std::vector<Datum> splits, equality;
  for (int64_t offset : file.split_offsets) splits.push_back(LongDatum(offset));
  for (spec::FieldId id : file.equality_ids) equality.push_back(IntDatum(id.value()));
  DatumRow row = {IntDatum(static_cast<int32_t>(file.content)), TextDatum(file.file_path),
                  TextDatum(std::string(spec::FileFormatName(file.file_format))), IntDatum(file.spec_id.value())};
  if (is_partitioned()) row.push_back(UnifiedPartition(partition_type_, metadata_, file.spec_id, file.partition));
  for (Datum& cell : std::vector<Datum>{
           LongDatum(file.record_count), LongDatum(file.file_size_in_bytes), CountsDatum(file.column_sizes),
           CountsDatum(file.value_counts), CountsDatum(file.null_value_counts), CountsDatum(file.nan_value_counts),
           CountsDatum(file.lower_bounds), CountsDatum(file.upper_bounds),
           file.key_metadata ? Datum(spec::Value(*file.key_metadata)) : Datum(),
           splits.empty() ? Datum() : Datum::Nested(std::move(splits)),
           equality.empty() ? Datum() : Datum::Nested(std::move(equality)),
           file.sort_order_id ? IntDatum(file.sort_order_id->value()) : Datum(),
           file.first_row_id ? LongDatum(file.first_row_id->value()) : Datum(),
           file.referenced_data_file ? TextDatum(*file.referenced_data_file) : Datum(),
           OptionalLongDatum(file.content_offset), OptionalLongDatum(file.content_size_in_bytes)}) {
    row.push_back(std::move(cell));
  }
  return row;
}

Datum DataFileColumns::MetricsOf(const spec::DataFile& file) const {
  auto count = [](const std::map<spec::FieldId, int64_t>& counts, spec::FieldId id) {
    auto found = counts.find(id);
    return found == counts.end() ? Datum() : LongDatum(found->second);
  };
  auto bound = [](const std::map<spec::FieldId, Bytes>& bounds, const Field& field) {
    auto found = bounds.find(field.id);
    if (found == bounds.end()) return Datum();
    auto value = spec::DecodeSingleValue(field.type, found->second);
    return value ? Datum(*std::move(value)) : Datum();  // a bound we cannot read is no reason to hide the file
  };
  std::vector<Datum> members;
  for (const auto& [field, name] : metric_columns_) {
    members.push_back(Datum::Nested({count(file.column_sizes, field->id), count(file.value_counts, field->id),
                                     count(file.null_value_counts, field->id), count(file.nan_value_counts, field->id),
                                     bound(file.lower_bounds, *field), bound(file.upper_bounds, *field)}));
  }
  return Datum::Nested(std::move(members));
}

Result<std::vector<spec::ManifestFile>> ManifestsOf(const table::Table& table, std::optional<spec::SnapshotId> id) {
  std::vector<spec::ManifestFile> manifests;
  if (!id) return manifests;
  const spec::Snapshot* snapshot = table.metadata()->FindSnapshot(*id);
  if (snapshot == nullptr) return Fail(ErrorCode::kInternal, "snapshot of a metadata table is gone: {}", *id);
  FRAZIL_ASSIGN(const table::ManifestList list, table.manifests().List(*snapshot));
  return *list;
}

Result<std::vector<spec::ManifestFile>> AllManifestsOf(const table::Table& table) {
  std::vector<spec::ManifestFile> manifests;
  std::set<std::string> seen;
  for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
    FRAZIL_ASSIGN(const table::ManifestList list, table.manifests().List(snapshot));
    for (const spec::ManifestFile& manifest : *list) {
      if (seen.insert(manifest.manifest_path).second) manifests.push_back(manifest);
    }
  }
  return manifests;
}

}  // namespace frazil::sql
