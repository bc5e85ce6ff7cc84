#include "frazil/sql/metadata_table.h"

#include <set>

#include "frazil/sql/file_metadata_tables.h"
#include "frazil/sql/metadata_columns.h"

namespace frazil::sql {

namespace {

using spec::Type;
using spec::TypeId;

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
  table.columns = {
      MetadataColumn("committed_at", TypeId::kTimestampTz),
      MetadataColumn("snapshot_id", TypeId::kLong),
      MetadataColumn("parent_id", TypeId::kLong),
      MetadataColumn("operation", TypeId::kString),
      MetadataColumn("manifest_list", TypeId::kString),
      MetadataColumn("summary", MetadataMap(Type::Primitive(TypeId::kString), Type::Primitive(TypeId::kString)))};
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
  table.columns = {MetadataColumn("made_current_at", TypeId::kTimestampTz),
                   MetadataColumn("snapshot_id", TypeId::kLong), MetadataColumn("parent_id", TypeId::kLong),
                   MetadataColumn("is_current_ancestor", TypeId::kBoolean)};
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
  table.columns = {MetadataColumn("name", TypeId::kString),
                   MetadataColumn("type", TypeId::kString),
                   MetadataColumn("snapshot_id", TypeId::kLong),
                   MetadataColumn("max_reference_age_in_ms", TypeId::kLong),
                   MetadataColumn("min_snapshots_to_keep", TypeId::kInt),
                   MetadataColumn("max_snapshot_age_in_ms", TypeId::kLong)};
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
  table.columns = {MetadataColumn("timestamp", TypeId::kTimestampTz), MetadataColumn("file", TypeId::kString),
                   MetadataColumn("latest_snapshot_id", TypeId::kLong),
                   MetadataColumn("latest_schema_id", TypeId::kInt),
                   MetadataColumn("latest_sequence_number", TypeId::kLong)};
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

}  // namespace

Result<MetadataTable> MakeMetadataTable(std::shared_ptr<const table::Table> table, const std::string& name,
                                        const spec::Snapshot* snapshot) {
  const spec::TableMetadata& metadata = *table->metadata();
  const ManifestScope one{snapshot != nullptr ? std::optional(snapshot->id) : std::nullopt, false};
  const ManifestScope all{std::nullopt, true};
  if (name == "snapshots") return InMemory(Snapshots(metadata));
  if (name == "history") return InMemory(History(metadata));
  if (name == "refs") return InMemory(Refs(metadata));
  if (name == "metadata_log_entries") return InMemory(MetadataLog(*table));
  if (name == "files") return FilesTable(table, one, true, true);
  if (name == "data_files") return FilesTable(table, one, true, false);
  if (name == "delete_files") return FilesTable(table, one, false, true);
  if (name == "all_files") return FilesTable(table, all, true, true);
  if (name == "all_data_files") return FilesTable(table, all, true, false);
  if (name == "all_delete_files") return FilesTable(table, all, false, true);
  if (name == "entries") return EntriesTable(table, one);
  if (name == "all_entries") return EntriesTable(table, all);
  if (name == "manifests") return ManifestsTable(table, one.snapshot);
  if (name == "all_manifests") return AllManifestsTable(table);
  if (name == "partitions") return PartitionsTable(table, one.snapshot);
  if (name == "position_deletes") return PositionDeletesTable(table, one.snapshot);
  return Fail(ErrorCode::kNotSupported, "metadata table is not there yet: {}.{}", table->name().ToString(), name);
}

}  // namespace frazil::sql
