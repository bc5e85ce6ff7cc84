#include "frazil/table/manifest_cache.h"

#include <fmt/format.h>

#include "frazil/format/manifest_file.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

/// Rough, but in proportion: what counts is that the cache is bounded.
int64_t BytesOf(const std::vector<spec::ManifestEntry>& entries) {
  constexpr int64_t kPerMapNode = 64;
  int64_t bytes = 0;
  for (const spec::ManifestEntry& entry : entries) {
    const spec::DataFile& file = entry.data_file;
    const size_t nodes = file.column_sizes.size() + file.value_counts.size() + file.null_value_counts.size() +
                         file.nan_value_counts.size() + 2 * (file.lower_bounds.size() + file.upper_bounds.size());
    bytes += static_cast<int64_t>(sizeof(entry) + file.file_path.size() + file.split_offsets.size() * sizeof(int64_t) +
                                  file.partition.size() * sizeof(spec::Value)) +
             kPerMapNode * static_cast<int64_t>(nodes);
  }
  return bytes;
}

int64_t BytesOf(const std::vector<spec::ManifestFile>& rows) {
  int64_t bytes = 0;
  for (const spec::ManifestFile& row : rows) {
    bytes += static_cast<int64_t>(sizeof(row) + row.manifest_path.size() +
                                  row.partitions.size() * (sizeof(spec::PartitionFieldSummary) + 32));
  }
  return bytes;
}

}  // namespace

ManifestCache::ManifestCache(std::shared_ptr<io::FileIO> io, int64_t capacity_bytes, MemoryBudget* budget)
    : io_(std::move(io)), decoded_(capacity_bytes, budget) {}

Result<ManifestList> ManifestCache::List(const spec::Snapshot& snapshot) {
  if (snapshot.manifest_list.empty()) {
    return Fail(ErrorCode::kNotSupported, "reading a snapshot that names its manifests without a manifest list: {}",
                snapshot.id);
  }
  if (snapshot.key_id) {
    return Fail(ErrorCode::kNotSupported, "reading encrypted manifest lists: {}", snapshot.manifest_list);
  }
  if (const auto found = decoded_.Find(snapshot.manifest_list); found != nullptr) return found->list;
  FRAZIL_ASSIGN(auto rows, format::ReadManifestList(*io_, snapshot.manifest_list));
  const int64_t bytes = BytesOf(rows);
  auto list = std::make_shared<const std::vector<spec::ManifestFile>>(std::move(rows));
  decoded_.Insert(snapshot.manifest_list, std::make_shared<const Decoded>(Decoded{.entries = {}, .list = list}), bytes);
  return list;
}

Result<ManifestEntries> ManifestCache::Entries(const spec::ManifestFile& manifest,
                                               const spec::TableMetadata& metadata) {
  if (manifest.key_metadata) {
    return Fail(ErrorCode::kNotSupported, "reading encrypted manifests: {}", manifest.manifest_path);
  }
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec,
                FindSpec(metadata, manifest.partition_spec_id, manifest.manifest_path));
  const spec::SchemaPtr schema = SchemaOfSpec(metadata, *spec);
  std::string key = fmt::format("{}|{}|{}|{}|{}|{}", metadata.table_uuid.ToString(), manifest.manifest_path,
                                manifest.sequence_number, manifest.first_row_id ? manifest.first_row_id->value() : -1,
                                manifest.added_snapshot_id, schema->id());
  // Partition values come in the types of the schema, so a promotion makes another value of the same file. Ids alone would
  // not do: two tables may have the UUID of the one that both were registered from.
  for (const spec::PartitionField& field : spec->fields()) {
    const spec::Field* source = schema->FindField(field.source_id);
    key += fmt::format("|{}({})", field.transform.ToString(), source == nullptr ? "" : source->type.ToString());
  }
  if (const auto found = decoded_.Find(key); found != nullptr) return found->entries;
  FRAZIL_ASSIGN(auto decoded, format::ReadManifest(*io_, manifest, metadata.partition_specs, *schema));
  const int64_t bytes = BytesOf(decoded);
  auto entries = std::make_shared<const std::vector<spec::ManifestEntry>>(std::move(decoded));
  decoded_.Insert(key, std::make_shared<const Decoded>(Decoded{.entries = entries, .list = {}}), bytes);
  return entries;
}

}  // namespace frazil::table
