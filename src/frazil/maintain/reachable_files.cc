#include "frazil/maintain/reachable_files.h"

#include "frazil/format/manifest_file.h"
#include "frazil/table/row_map.h"

namespace frazil::maintain {
namespace {

FileKind KindOf(const spec::DataFile& file) {
  switch (file.content) {
    case spec::FileContent::kData: return FileKind::kDataFile;
    case spec::FileContent::kPositionDeletes: return FileKind::kPositionDeletes;
    case spec::FileContent::kEqualityDeletes: return FileKind::kEqualityDeletes;
  }
  return FileKind::kUnknown;
}

}  // namespace

std::string_view FileKindName(FileKind kind) {
  switch (kind) {
    case FileKind::kDataFile: return "data file";
    case FileKind::kPositionDeletes: return "position deletes";
    case FileKind::kEqualityDeletes: return "equality deletes";
    case FileKind::kManifest: return "manifest";
    case FileKind::kManifestList: return "manifest list";
    case FileKind::kStatistics: return "statistics";
    case FileKind::kRowMap: return "row map";
    case FileKind::kMetadata: return "metadata";
    case FileKind::kUnknown: break;
  }
  return "file";
}

Status ReachableWalk::Walk(const spec::TableMetadata& metadata, const spec::Snapshot& snapshot, const TakeFile& take) {
  if (!snapshot.manifest_list.empty()) FRAZIL_TRY(take(snapshot.manifest_list, FileKind::kManifestList));
  if (const auto row_map = snapshot.summary.find(table::kRowMapSummaryKey); row_map != snapshot.summary.end()) {
    FRAZIL_TRY(take(row_map->second, FileKind::kRowMap));
  }
  FRAZIL_ASSIGN(const table::ManifestList list, table_.manifests().List(snapshot));
  for (const spec::ManifestFile& manifest : *list) {
    if (told_.contains(manifest.manifest_path)) continue;
    FRAZIL_TRY(table_.manifests().ForEachEntry(manifest, metadata, [&](const spec::ManifestEntry& entry) -> Status {
      return entry.is_live() ? take(entry.data_file.file_path, KindOf(entry.data_file)) : Status();
    }));
    FRAZIL_TRY(take(manifest.manifest_path, FileKind::kManifest));
    told_.insert(manifest.manifest_path);
  }
  return {};
}

Status WalkMetadataFiles(const spec::TableMetadata& metadata, const std::string& metadata_location,
                         const TakeFile& take) {
  FRAZIL_TRY(take(metadata_location, FileKind::kMetadata));
  for (const spec::MetadataLogEntry& entry : metadata.metadata_log) {
    FRAZIL_TRY(take(entry.metadata_file, FileKind::kMetadata));
  }
  return take(metadata.location + "/metadata/version-hint.text", FileKind::kMetadata);
}

Status WalkStatistics(const spec::TableMetadata& metadata,
                      const std::function<Status(spec::SnapshotId, const std::string& path)>& take) {
  for (const spec::StatisticsFile& file : metadata.statistics) {
    FRAZIL_TRY(take(file.snapshot_id, file.statistics_path));
  }
  for (const spec::PartitionStatisticsFile& file : metadata.partition_statistics) {
    FRAZIL_TRY(take(file.snapshot_id, file.statistics_path));
  }
  return {};
}

Status AddEverythingLive(const table::Table& table, ReachableWalk& walk, FileSet& live) {
  const spec::TableMetadata& metadata = *table.metadata();
  const TakeFile take = [&](const std::string& path, FileKind) { return live.Add(path); };
  for (const spec::Snapshot& snapshot : metadata.snapshots) {
    if (Status walked = walk.Walk(metadata, snapshot, take); !walked) {
      return tl::unexpected(std::move(walked).error().WithContext("finding out what is live; no file was deleted"));
    }
  }
  FRAZIL_TRY(WalkMetadataFiles(metadata, table.metadata_location(), take));
  return WalkStatistics(metadata, [&](spec::SnapshotId, const std::string& path) { return live.Add(path); });
}

Status AddJournalled(const std::string& state_directory, const spec::TableMetadata& metadata, FileSet& live) {
  if (state_directory.empty()) return {};
  const auto refusal = [](Error error) {
    return tl::unexpected(std::move(error)
                              .WithContext("the journal of rewrites cannot be read; no file was deleted")
                              .WithHint("what it names may still be committed"));
  };
  const auto io = io::MakeLocalFileIO();
  const auto files = io->List(state_directory + "/" + metadata.table_uuid.ToString() + "/journal");
  if (!files) return refusal(files.error());
  for (const io::FileInfo& file : *files) {
    if (!file.path.ends_with(".avro")) continue;
    auto bytes = io->ReadFile(file.path);
    // Of a group that was committed or given up meanwhile.
    if (!bytes && bytes.error().code() == ErrorCode::kNotFound) continue;
    if (!bytes) return refusal(std::move(bytes).error());
    const auto entries = format::ReadManifestBytes(*std::move(bytes), file.path);
    if (!entries) return refusal(entries.error());
    for (const spec::ManifestEntry& entry : *entries) FRAZIL_TRY(live.Add(entry.data_file.file_path));
  }
  return {};
}

}  // namespace frazil::maintain
