#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "frazil/maintain/file_set.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

enum class FileKind {
  kDataFile,
  kPositionDeletes,  ///< Parquet position deletes, and Puffins of vectors
  kEqualityDeletes,
  kManifest,
  kManifestList,
  kStatistics,  ///< of a table and of partitions
  kRowMap,
  kMetadata,  ///< metadata.json, version hint
  kUnknown,
};
std::string_view FileKindName(FileKind kind);

/// An error ends the walk.
using TakeFile = std::function<Status(const std::string& path, FileKind kind)>;

/// Walks what snapshots need: their manifest lists, manifests, live content files, row maps and statistics (maintenance.md
/// section 5 rule 3). A manifest is read once however many snapshots list it. One thread.
class ReachableWalk {
 public:
  /// `table`: for its files and cache; the metadata walked may be of another moment.
  explicit ReachableWalk(const table::Table& table) : table_(table) {}

  /// Files of one snapshot; those that this walk has already told may be left out. kCorruptData, kNotFound, ...: what
  /// it told so far is true, but not all.
  Status Walk(const spec::TableMetadata& metadata, const spec::Snapshot& snapshot, const TakeFile& take);

  /// As if every file of these manifests had been told: they are somebody else's as well.
  void Skip(const std::unordered_set<std::string>& manifests) { told_.insert(manifests.begin(), manifests.end()); }
  const std::unordered_set<std::string>& manifests() const { return told_; }

 private:
  const table::Table& table_;
  std::unordered_set<std::string> told_;  ///< manifests
};

/// What one state of a table needs besides its snapshots: its own metadata file, those of the log, the version hint.
Status WalkMetadataFiles(const spec::TableMetadata& metadata, const std::string& metadata_location,
                         const TakeFile& take);

/// Statistics and partition statistics files, with the snapshot each is of.
Status WalkStatistics(const spec::TableMetadata& metadata,
                      const std::function<Status(spec::SnapshotId, const std::string& path)>& take);

/// Adds everything that a state of a table needs: all of its snapshots, and all besides them. `walk`: of that table; what it
/// has told before went into `live` as well.
Status AddEverythingLive(const table::Table& table, ReachableWalk& walk, FileSet& live);

/// Adds the outputs of unfinished rewrites of this machine (RewriteJournal keeps them as manifests). An error when a journal
/// cannot be read. An empty state directory has none.
Status AddJournalled(const std::string& state_directory, const spec::TableMetadata& metadata, FileSet& live);

}  // namespace frazil::maintain
