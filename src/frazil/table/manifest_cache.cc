#include "frazil/table/manifest_cache.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "frazil/format/manifest_file.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

/// Rough, but in proportion: what counts is that the cache is bounded.
int64_t BytesOf(const std::vector<spec::ManifestFile>& rows) {
  int64_t bytes = 0;
  for (const spec::ManifestFile& row : rows) {
    bytes += static_cast<int64_t>(sizeof(row) + row.manifest_path.size() +
                                  row.partitions.size() * (sizeof(spec::PartitionFieldSummary) + 32));
  }
  return bytes;
}

/// Of all entries, judged by the first ones.
int64_t ExpectedBytes(const spec::ManifestFile& manifest, std::span<const spec::ManifestEntry> first) {
  constexpr int64_t kExpansion = 100;
  if (first.empty()) return 0;
  if (!manifest.added_files_count || !manifest.existing_files_count || !manifest.deleted_files_count) {
    return manifest.manifest_length * kExpansion;
  }
  const int64_t count =
      int64_t{*manifest.added_files_count} + *manifest.existing_files_count + *manifest.deleted_files_count;
  return EstimateBytes(first) / static_cast<int64_t>(first.size()) * count;
}

}  // namespace

int64_t EstimateBytes(std::span<const spec::ManifestEntry> entries) {
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

ManifestCache::ManifestCache(std::shared_ptr<io::FileIO> io, int64_t capacity_bytes, MemoryBudget* budget)
    : io_(std::move(io)), capacity_bytes_(capacity_bytes), decoded_(capacity_bytes, budget) {}

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

/// `schema`: set to the one that the partition values are read with.
Result<std::string> ManifestCache::KeyOf(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata,
                                         spec::SchemaPtr& schema) {
  if (manifest.key_metadata) {
    return Fail(ErrorCode::kNotSupported, "reading encrypted manifests: {}", manifest.manifest_path);
  }
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec,
                FindSpec(metadata, manifest.partition_spec_id, manifest.manifest_path));
  schema = SchemaOfSpec(metadata, *spec);
  std::string key = fmt::format("{}|{}|{}|{}|{}|{}", metadata.table_uuid.ToString(), manifest.manifest_path,
                                manifest.sequence_number, manifest.first_row_id ? manifest.first_row_id->value() : -1,
                                manifest.added_snapshot_id, schema->id());
  // Partition values come in the types of the schema, so a promotion makes another value of the same file. Ids alone would
  // not do: two tables may have the UUID of the one that both were registered from.
  for (const spec::PartitionField& field : spec->fields()) {
    const spec::Field* source = schema->FindField(field.source_id);
    key += fmt::format("|{}({})", field.transform.ToString(), source == nullptr ? "" : source->type.ToString());
  }
  return key;
}

ManifestEntries ManifestCache::Keep(const std::string& key, std::vector<spec::ManifestEntry> decoded) {
  const int64_t bytes = EstimateBytes(decoded);
  auto entries = std::make_shared<const std::vector<spec::ManifestEntry>>(std::move(decoded));
  decoded_.Insert(key, std::make_shared<const Decoded>(Decoded{.entries = entries, .list = {}}), bytes);
  return entries;
}

Result<ManifestEntries> ManifestCache::Entries(const spec::ManifestFile& manifest,
                                               const spec::TableMetadata& metadata) {
  spec::SchemaPtr schema;
  FRAZIL_ASSIGN(const std::string key, KeyOf(manifest, metadata, schema));
  if (const auto found = decoded_.Find(key); found != nullptr) return found->entries;
  FRAZIL_ASSIGN(auto decoded, format::ReadManifest(*io_, manifest, metadata.partition_specs, *schema));
  return Keep(key, std::move(decoded));
}

Result<EntryWalk> ManifestCache::Walk(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata) {
  spec::SchemaPtr schema;
  FRAZIL_ASSIGN(const std::string key, KeyOf(manifest, metadata, schema));
  if (const auto found = decoded_.Find(key); found != nullptr) return EntryWalk(found->entries);
  FRAZIL_ASSIGN(auto reader, format::ManifestReader::Open(*io_, manifest, metadata.partition_specs, *schema));
  FRAZIL_ASSIGN(std::span<spec::ManifestEntry> next, reader->Next());
  // One that would push out half of the others is read again when it is needed again.
  if (ExpectedBytes(manifest, next) > capacity_bytes_ / 2) return EntryWalk(std::move(reader), next);
  std::vector<spec::ManifestEntry> all;
  while (!next.empty()) {
    all.insert(all.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
    FRAZIL_ASSIGN(next, reader->Next());
  }
  return EntryWalk(Keep(key, std::move(all)));
}

Status ManifestCache::ForEachEntry(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata,
                                   const std::function<Status(const spec::ManifestEntry& entry)>& visit) {
  FRAZIL_ASSIGN(EntryWalk walk, Walk(manifest, metadata));
  while (true) {
    FRAZIL_ASSIGN(const std::span<const spec::ManifestEntry> entries, walk.Next());
    if (entries.empty()) return {};
    for (const spec::ManifestEntry& entry : entries) FRAZIL_TRY(visit(entry));
  }
}

Result<std::span<const spec::ManifestEntry>> EntryWalk::Next() {
  if (first_) return *std::exchange(first_, std::nullopt);
  if (reader_ != nullptr) {
    FRAZIL_ASSIGN(const std::span<spec::ManifestEntry> entries, reader_->Next());
    return std::span<const spec::ManifestEntry>(entries);
  }
  if (has_given_all_) return std::span<const spec::ManifestEntry>();
  has_given_all_ = true;
  return std::span<const spec::ManifestEntry>(*entries_);
}

}  // namespace frazil::table
