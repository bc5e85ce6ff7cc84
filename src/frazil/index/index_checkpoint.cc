#include "frazil/index/index_checkpoint.h"

#include <vector>

#include "frazil/index/row_map_reading.h"

namespace frazil::index {
namespace {

std::string FileNameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::shared_ptr<const Run>> OpenRun(const RunRecord& record, const IndexDirectory& directory) {
  const std::string path = directory.PathOf(record.file_name);
  FRAZIL_ASSIGN(std::shared_ptr<const Run> run, Run::Open(path));
  if (run->checksum() != record.checksum || run->num_entries() != record.num_entries) {
    return Fail(ErrorCode::kCorruptData, "a run of the index is not the one that its manifest lists: {}", path);
  }
  return run;
}

/// Row maps are shared by the sources of one rewrite.
class RowMapLoader {
 public:
  RowMapLoader(const IndexDirectory& directory, MemoryBudget* budget) : directory_(directory), budget_(budget) {}

  Result<std::shared_ptr<const table::RowMap>> Load(const std::string& file_name, const IndexedFileRecord& record) {
    const auto [found, is_new] = by_name_.try_emplace(file_name);
    if (is_new) found->second = ReadRowMap(directory_.files(), directory_.PathOf(file_name), budget_);
    if (!found->second) return tl::unexpected(found->second.error());
    std::shared_ptr<const table::RowMap> row_map = *found->second;  // the other sources want it too
    const bool fits = record.row_map_source < row_map->sources().size() &&
                      row_map->sources()[record.row_map_source].path == record.file.path &&
                      row_map->outputs().size() == record.forward_to.size();
    if (!fits) {
      return Fail(ErrorCode::kCorruptData, "a row map of the index is not that of {}: {}", record.file.path, file_name);
    }
    return row_map;
  }

 private:
  const IndexDirectory& directory_;
  MemoryBudget* const budget_;
  std::map<std::string, Result<std::shared_ptr<const table::RowMap>>> by_name_;
};

/// Live files that `number` leads to, through any chain.
void FindLiveTargets(const FileDictionary& dictionary, FileNumber number, std::set<FileNumber>& seen,
                     std::set<FileNumber>& live) {
  if (!seen.insert(number).second) return;
  const FileState* state = dictionary.Find(number);
  if (state == nullptr) return;
  if (state->is_live) live.insert(number);
  if (state->forwarding == nullptr) return;
  for (const std::optional<FileNumber>& output : state->forwarding->outputs) {
    if (output) FindLiveTargets(dictionary, *output, seen, live);
  }
}

}  // namespace

IndexManifest MakeManifest(const IndexVersion& version, const std::string& table_uuid, const std::string& key_version) {
  IndexManifest manifest;
  manifest.table_uuid = table_uuid;
  manifest.key_version = key_version;
  manifest.key_reading = version.key_reading;
  manifest.snapshot_id = version.snapshot;
  manifest.markers = version.markers;
  manifest.num_live_rows = version.num_live_rows;
  manifest.next_number = version.dictionary.next_number();
  manifest.num_shards = static_cast<uint32_t>(version.shards.size());
  for (const RunList& runs : version.shards) {
    std::vector<RunRecord>& records = manifest.shards.emplace_back();
    for (const std::shared_ptr<const Run>& run : runs) {
      records.push_back({.file_name = FileNameOf(run->path()),
                         .num_entries = run->num_entries(),
                         .size_bytes = run->size_bytes(),
                         .checksum = run->checksum()});
    }
  }
  version.dictionary.ForEach([&](const FileState& state) {
    IndexedFileRecord record{.file = *state.file, .is_live = state.is_live, .deletes_id = state.deletes_id};
    if (state.forwarding != nullptr) {
      record.row_map = state.forwarding->file_name;
      record.row_map_source = state.forwarding->source;
      for (const std::optional<FileNumber>& output : state.forwarding->outputs) {
        // A number that was forgotten is that of a file that is gone for good.
        const bool is_known = output && version.dictionary.Find(*output) != nullptr;
        record.forward_to.push_back(is_known ? output : std::nullopt);
      }
    }
    manifest.files.push_back(std::move(record));
  });
  return manifest;
}

LoadedVersion LoadVersion(const IndexManifest& manifest, const IndexDirectory& directory, MemoryBudget* budget) {
  LoadedVersion loaded;
  loaded.version = std::make_shared<IndexVersion>();
  loaded.version->snapshot = manifest.snapshot_id;
  loaded.version->markers = manifest.markers;
  loaded.version->num_live_rows = manifest.num_live_rows;
  loaded.version->key_reading = manifest.key_reading;
  loaded.version->shards.resize(manifest.num_shards);
  for (uint32_t shard = 0; shard < manifest.num_shards; ++shard) {
    RunList& runs = loaded.version->shards[shard];
    for (const RunRecord& record : manifest.shards[shard]) {
      auto run = OpenRun(record, directory);
      if (!run) {
        loaded.damaged_shards[shard] = run.error().ToString();
        loaded.has_missing_files |= run.error().code() == ErrorCode::kNotFound;
        runs.clear();
        break;
      }
      runs.push_back(*std::move(run));
    }
  }

  FileDictionary& dictionary = loaded.version->dictionary;
  RowMapLoader row_maps(directory, budget);
  std::vector<FileNumber> led_to;  // by lost row maps
  for (const IndexedFileRecord& record : manifest.files) {
    FileState state;
    state.file = std::make_shared<const IndexedFile>(record.file);
    state.is_live = record.is_live;
    state.deletes_id = record.deletes_id;
    if (record.row_map) {
      auto row_map = row_maps.Load(*record.row_map, record);
      if (!row_map) {
        loaded.lost_row_maps.insert(row_map.error().ToString());
        loaded.has_missing_files |= row_map.error().code() == ErrorCode::kNotFound;
        for (const std::optional<FileNumber>& output : record.forward_to) {
          if (output) led_to.push_back(*output);
        }
        continue;  // forgotten: entries that name it are dead, and what they led to is read again
      }
      state.forwarding = std::make_shared<const Forwarding>(Forwarding{.row_map = *std::move(row_map),
                                                                       .file_name = *record.row_map,
                                                                       .source = record.row_map_source,
                                                                       .outputs = record.forward_to});
    }
    if (state.is_live || state.forwarding != nullptr) dictionary.Set(std::move(state));
  }
  dictionary.set_next_number(manifest.next_number);
  std::set<FileNumber> seen;
  for (const FileNumber number : led_to) FindLiveTargets(dictionary, number, seen, loaded.incomplete);
  return loaded;
}

}  // namespace frazil::index
