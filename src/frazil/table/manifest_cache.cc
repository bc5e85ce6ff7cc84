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

ManifestCache::ManifestCache(std::shared_ptr<io::FileIO> io, int64_t capacity_bytes)
    : io_(std::move(io)), capacity_bytes_(capacity_bytes) {}

Result<ManifestList> ManifestCache::List(const spec::Snapshot& snapshot) {
  if (snapshot.manifest_list.empty()) {
    return Fail(ErrorCode::kNotSupported, "reading a snapshot that names its manifests without a manifest list: {}",
                snapshot.id);
  }
  if (snapshot.key_id) {
    return Fail(ErrorCode::kNotSupported, "reading encrypted manifest lists: {}", snapshot.manifest_list);
  }
  if (const Slot found = Find(snapshot.manifest_list); found.list) return found.list;
  FRAZIL_ASSIGN(auto rows, format::ReadManifestList(*io_, snapshot.manifest_list));
  Slot slot;
  slot.key = snapshot.manifest_list;
  slot.bytes = BytesOf(rows);
  slot.list = std::make_shared<const std::vector<spec::ManifestFile>>(std::move(rows));
  ManifestList list = slot.list;
  Insert(std::move(slot));
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
  if (const Slot found = Find(key); found.entries) return found.entries;
  FRAZIL_ASSIGN(auto decoded, format::ReadManifest(*io_, manifest, metadata.partition_specs, *schema));
  Slot slot;
  slot.key = std::move(key);
  slot.bytes = BytesOf(decoded);
  slot.entries = std::make_shared<const std::vector<spec::ManifestEntry>>(std::move(decoded));
  ManifestEntries entries = slot.entries;
  Insert(std::move(slot));
  return entries;
}

void ManifestCache::Insert(Slot slot) {
  const std::lock_guard lock(mutex_);
  if (slot.bytes > capacity_bytes_ || by_key_.contains(slot.key)) return;
  bytes_ += slot.bytes;
  slots_.push_front(std::move(slot));
  by_key_[slots_.front().key] = slots_.begin();
  while (bytes_ > capacity_bytes_) {
    bytes_ -= slots_.back().bytes;
    by_key_.erase(slots_.back().key);
    slots_.pop_back();
  }
}

ManifestCache::Slot ManifestCache::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return {};
  slots_.splice(slots_.begin(), slots_, found->second);
  return slots_.front();
}

}  // namespace frazil::table
