#include "frazil/sql/metadata_table.h"

#include <algorithm>
#include <set>

#include "frazil/format/manifest_file.h"
#include "frazil/spec/single_value.h"
#include "frazil/sql/partition_type.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

namespace {

using spec::Field;
using spec::Type;
using spec::TypeId;

Field Column(std::string name, Type type) { return {spec::FieldId(0), std::move(name), false, std::move(type)}; }
Field Column(std::string name, TypeId type) { return Column(std::move(name), Type::Primitive(type)); }
Type ListType(Type element) { return Type::ListOf(Field{spec::FieldId(0), "element", false, std::move(element)}); }
Type MapType(Type key, Type value) {
  return Type::MapOf(Field{spec::FieldId(0), "key", true, std::move(key)},
                     Field{spec::FieldId(0), "value", false, std::move(value)});
}

Datum MomentDatum(int64_t milliseconds) { return LongDatum(milliseconds * 1000); }

Datum SummaryDatum(const std::map<std::string, std::string>& summary) {
  std::vector<Datum> children;
  for (const auto& [key, value] : summary) {
    children.push_back(TextDatum(key));
    children.push_back(TextDatum(value));
  }
  return Datum::Nested(std::move(children));
}

MadeUpTable Snapshots(const spec::TableMetadata& metadata) {
  MadeUpTable table;
  table.columns = {Column("committed_at", TypeId::kTimestampTz),
                   Column("snapshot_id", TypeId::kLong),
                   Column("parent_id", TypeId::kLong),
                   Column("operation", TypeId::kString),
                   Column("manifest_list", TypeId::kString),
                   Column("summary", MapType(Type::Primitive(TypeId::kString), Type::Primitive(TypeId::kString)))};
  for (const spec::Snapshot& snapshot : metadata.snapshots) {
    table.rows.push_back(
        {MomentDatum(snapshot.timestamp_ms), LongDatum(snapshot.id.value()),
         snapshot.parent_id ? LongDatum(snapshot.parent_id->value()) : Datum(),
         snapshot.operation ? TextDatum(std::string(spec::OperationName(*snapshot.operation))) : Datum(),
         TextDatum(snapshot.manifest_list), SummaryDatum(snapshot.summary)});
  }
  return table;
}

MadeUpTable History(const spec::TableMetadata& metadata) {
  MadeUpTable table;
  table.columns = {Column("made_current_at", TypeId::kTimestampTz), Column("snapshot_id", TypeId::kLong),
                   Column("parent_id", TypeId::kLong), Column("is_current_ancestor", TypeId::kBoolean)};
  std::set<spec::SnapshotId> ancestors;
  const spec::Snapshot* at = metadata.current_snapshot();
  while (at != nullptr && ancestors.insert(at->id).second) {
    at = at->parent_id ? metadata.FindSnapshot(*at->parent_id) : nullptr;
  }
  for (const spec::SnapshotLogEntry& entry : metadata.snapshot_log) {
    const spec::Snapshot* snapshot = metadata.FindSnapshot(entry.snapshot_id);
    table.rows.push_back(
        {MomentDatum(entry.timestamp_ms), LongDatum(entry.snapshot_id.value()),
         snapshot != nullptr && snapshot->parent_id ? LongDatum(snapshot->parent_id->value()) : Datum(),
         BoolDatum(ancestors.count(entry.snapshot_id) > 0)});
  }
  return table;
}

MadeUpTable Refs(const spec::TableMetadata& metadata) {
  MadeUpTable table;
  table.columns = {Column("name", TypeId::kString),
                   Column("type", TypeId::kString),
                   Column("snapshot_id", TypeId::kLong),
                   Column("max_reference_age_in_ms", TypeId::kLong),
                   Column("min_snapshots_to_keep", TypeId::kInt),
                   Column("max_snapshot_age_in_ms", TypeId::kLong)};
  for (const auto& [name, ref] : metadata.refs) {
    table.rows.push_back({TextDatum(name), TextDatum(ref.type == spec::RefType::kBranch ? "BRANCH" : "TAG"),
                          LongDatum(ref.snapshot_id.value()), OptionalLongDatum(ref.max_ref_age_ms),
                          ref.min_snapshots_to_keep ? IntDatum(*ref.min_snapshots_to_keep) : Datum(),
                          OptionalLongDatum(ref.max_snapshot_age_ms)});
  }
  return table;
}

MadeUpTable MetadataLog(const table::Table& source) {
  const spec::TableMetadata& metadata = *source.metadata();
  MadeUpTable table;
  table.columns = {Column("timestamp", TypeId::kTimestampTz), Column("file", TypeId::kString),
                   Column("latest_snapshot_id", TypeId::kLong), Column("latest_schema_id", TypeId::kInt),
                   Column("latest_sequence_number", TypeId::kLong)};
  auto entries = metadata.metadata_log;
  entries.push_back({metadata.last_updated_ms, source.metadata_location()});
  for (const spec::MetadataLogEntry& entry : entries) {
    const spec::Snapshot* latest = nullptr;
    if (auto id = metadata.SnapshotAsOf(entry.timestamp_ms)) latest = metadata.FindSnapshot(*id);
    table.rows.push_back({MomentDatum(entry.timestamp_ms), TextDatum(entry.metadata_file),
                          latest != nullptr ? LongDatum(latest->id.value()) : Datum(),
                          latest != nullptr && latest->schema_id ? IntDatum(latest->schema_id->value()) : Datum(),
                          latest != nullptr ? LongDatum(latest->sequence_number.value()) : Datum()});
  }
  return table;
}

// --- files ------------------------------------------------------------------------------------------------------------

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

Datum MetricsDatum(const spec::DataFile& file, const std::vector<std::pair<const Field*, std::string>>& columns) {
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
  for (const auto& [field, name] : columns) {
    members.push_back(Datum::Nested({count(file.column_sizes, field->id), count(file.value_counts, field->id),
                                     count(file.null_value_counts, field->id), count(file.nan_value_counts, field->id),
                                     bound(file.lower_bounds, *field), bound(file.upper_bounds, *field)}));
  }
  return Datum::Nested(std::move(members));
}

Type MetricsType(const std::vector<std::pair<const Field*, std::string>>& columns) {
  std::vector<Field> members;
  for (const auto& [field, name] : columns) {
    members.push_back(Column(
        name, Type::StructOf({Column("column_size", TypeId::kLong), Column("value_count", TypeId::kLong),
                              Column("null_value_count", TypeId::kLong), Column("nan_value_count", TypeId::kLong),
                              Column("lower_bound", field->type), Column("upper_bound", field->type)})));
  }
  return Type::StructOf(std::move(members));
}

Result<MadeUpTable> Files(const table::Table& source, const spec::Snapshot* snapshot, bool data, bool deletes) {
  const spec::TableMetadata& metadata = *source.metadata();
  Type partition_type = UnifiedPartitionType(metadata);
  bool is_partitioned = !partition_type.fields().empty();
  auto metric_columns = MetricColumns(*metadata.schema());
  Type counts = MapType(Type::Primitive(TypeId::kInt), Type::Primitive(TypeId::kLong));
  Type bounds = MapType(Type::Primitive(TypeId::kInt), Type::Primitive(TypeId::kBinary));

  MadeUpTable table;
  table.columns = {Column("content", TypeId::kInt), Column("file_path", TypeId::kString),
                   Column("file_format", TypeId::kString), Column("spec_id", TypeId::kInt)};
  if (is_partitioned) table.columns.push_back(Column("partition", partition_type));
  for (Field& column : std::vector<Field>{
           Column("record_count", TypeId::kLong), Column("file_size_in_bytes", TypeId::kLong),
           Column("column_sizes", counts), Column("value_counts", counts), Column("null_value_counts", counts),
           Column("nan_value_counts", counts), Column("lower_bounds", bounds), Column("upper_bounds", bounds),
           Column("key_metadata", TypeId::kBinary), Column("split_offsets", ListType(Type::Primitive(TypeId::kLong))),
           Column("equality_ids", ListType(Type::Primitive(TypeId::kInt))), Column("sort_order_id", TypeId::kInt),
           Column("first_row_id", TypeId::kLong), Column("referenced_data_file", TypeId::kString),
           Column("content_offset", TypeId::kLong), Column("content_size_in_bytes", TypeId::kLong)}) {
    table.columns.push_back(std::move(column));
  }
  if (!metric_columns.empty()) table.columns.push_back(Column("readable_metrics", MetricsType(metric_columns)));

  auto add = [&](const spec::DataFile& file) {
    std::vector<Datum> splits, equality;
    for (int64_t offset : file.split_offsets) splits.push_back(LongDatum(offset));
    for (spec::FieldId id : file.equality_ids) equality.push_back(IntDatum(id.value()));
    std::vector<Datum> row = {IntDatum(static_cast<int32_t>(file.content)), TextDatum(file.file_path),
                              TextDatum(std::string(spec::FileFormatName(file.file_format))),
                              IntDatum(file.spec_id.value())};
    if (is_partitioned) row.push_back(UnifiedPartition(partition_type, metadata, file.spec_id, file.partition));
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
    if (!metric_columns.empty()) row.push_back(MetricsDatum(file, metric_columns));
    table.rows.push_back(std::move(row));
  };
  FRAZIL_ASSIGN(table::LiveFiles live, table::LoadLiveFiles(source, snapshot));
  if (data) {
    for (const table::LiveDataFile& file : live.data_files) add(file.file);
  }
  if (deletes) {
    for (const table::LiveDelete& file : live.delete_files) add(file.file);
  }
  return table;
}

// --- manifests --------------------------------------------------------------------------------------------------------

Datum SummaryOf(const spec::PartitionFieldSummary& summary, const Type& type) {
  auto bound = [&](const std::optional<Bytes>& bytes) {
    if (!bytes) return Datum();
    auto value = spec::DecodeSingleValue(type, *bytes);
    return value ? TextDatum(spec::FormatValue(type, *value)) : Datum();
  };
  return Datum::Nested({BoolDatum(summary.contains_null),
                        summary.contains_nan ? BoolDatum(*summary.contains_nan) : Datum(), bound(summary.lower_bound),
                        bound(summary.upper_bound)});
}

Result<MadeUpTable> Manifests(const table::Table& source, const spec::Snapshot* snapshot) {
  const spec::TableMetadata& metadata = *source.metadata();
  MadeUpTable table;
  table.columns = {
      Column("content", TypeId::kInt),
      Column("path", TypeId::kString),
      Column("length", TypeId::kLong),
      Column("partition_spec_id", TypeId::kInt),
      Column("added_snapshot_id", TypeId::kLong),
      Column("added_data_files_count", TypeId::kInt),
      Column("existing_data_files_count", TypeId::kInt),
      Column("deleted_data_files_count", TypeId::kInt),
      Column("added_delete_files_count", TypeId::kInt),
      Column("existing_delete_files_count", TypeId::kInt),
      Column("deleted_delete_files_count", TypeId::kInt),
      Column(
          "partition_summaries",
          ListType(Type::StructOf({Column("contains_null", TypeId::kBoolean), Column("contains_nan", TypeId::kBoolean),
                                   Column("lower_bound", TypeId::kString), Column("upper_bound", TypeId::kString)})))};
  if (snapshot == nullptr) return table;
  FRAZIL_ASSIGN(table::ManifestList list, source.manifests().List(*snapshot));
  for (const spec::ManifestFile& manifest : *list) {
    bool is_data = manifest.content == spec::ManifestContent::kData;
    auto count = [](bool mine, const std::optional<int32_t>& number) {
      return IntDatum(mine ? number.value_or(0) : 0);
    };
    const spec::PartitionSpec* spec = metadata.FindSpec(manifest.partition_spec_id);
    std::vector<Datum> summaries;
    for (size_t i = 0; spec != nullptr && i < manifest.partitions.size() && i < spec->fields().size(); ++i) {
      summaries.push_back(SummaryOf(manifest.partitions[i], spec->ResultType(i, *metadata.schema())));
    }
    table.rows.push_back({IntDatum(static_cast<int32_t>(manifest.content)), TextDatum(manifest.manifest_path),
                          LongDatum(manifest.manifest_length), IntDatum(manifest.partition_spec_id.value()),
                          LongDatum(manifest.added_snapshot_id.value()), count(is_data, manifest.added_files_count),
                          count(is_data, manifest.existing_files_count), count(is_data, manifest.deleted_files_count),
                          count(!is_data, manifest.added_files_count), count(!is_data, manifest.existing_files_count),
                          count(!is_data, manifest.deleted_files_count), Datum::Nested(std::move(summaries))});
  }
  return table;
}

}  // namespace

Result<MadeUpTable> MakeMetadataTable(const table::Table& table, const std::string& name,
                                      const spec::Snapshot* snapshot) {
  if (name == "snapshots") return Snapshots(*table.metadata());
  if (name == "history") return History(*table.metadata());
  if (name == "refs") return Refs(*table.metadata());
  if (name == "metadata_log_entries") return MetadataLog(table);
  if (name == "files") return Files(table, snapshot, true, true);
  if (name == "data_files") return Files(table, snapshot, true, false);
  if (name == "delete_files") return Files(table, snapshot, false, true);
  if (name == "manifests") return Manifests(table, snapshot);
  return Fail(ErrorCode::kNotSupported, "metadata table is not there yet: {}.{}", table.name().ToString(), name);
}

}  // namespace frazil::sql
