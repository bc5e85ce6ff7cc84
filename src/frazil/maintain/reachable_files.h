#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frazil/maintain/file_place.h"
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

using TakeFile = std::function<void(const std::string& path, FileKind kind)>;

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
void WalkMetadataFiles(const spec::TableMetadata& metadata, const std::string& metadata_location, const TakeFile& take);

/// Statistics and partition statistics files, with the snapshot each is of.
void WalkStatistics(const spec::TableMetadata& metadata,
                    const std::function<void(spec::SnapshotId, const std::string& path)>& take);

/// A set of files by place. Knows paths by a 64-bit hash, so it stays small for millions of files: a collision makes it
/// hold one file too many, which only keeps that file.
class FileSet {
 public:
  enum class Match {
    kNone,
    kSame,
    kOtherRoot,  ///< the path is known under another scheme or authority only
  };

  explicit FileSet(EqualNames schemes = EqualNames({}, {{"s3n,s3a", "s3"}}), EqualNames authorities = EqualNames({}))
      : schemes_(std::move(schemes)), authorities_(std::move(authorities)) {}

  void Add(const std::string& path);
  /// A root that one side does not say equals every other.
  Match Find(const FilePlace& place) const;
  bool Contains(const std::string& path) const { return Find(PlaceOf(path)) != Match::kNone; }
  /// Scheme and authority under which the path is known; empty when it is not.
  std::string RootOf(const FilePlace& place) const;
  size_t size() const { return roots_by_path_.size(); }

 private:
  struct Root {
    std::string scheme;
    std::string authority;
    bool operator==(const Root&) const = default;
  };
  Root ResolvedRoot(const FilePlace& place) const;

  EqualNames schemes_;
  EqualNames authorities_;
  std::vector<Root> roots_;
  /// Index into roots_; kSeveral: the path is known under several.
  static constexpr uint32_t kSeveral = UINT32_MAX;
  std::unordered_map<uint64_t, uint32_t> roots_by_path_;
};

/// Adds everything that a state of a table needs: all of its snapshots, and all besides them. `walk`: of that table; what it
/// has told before went into `live` as well.
Status AddEverythingLive(const table::Table& table, ReachableWalk& walk, FileSet& live);

/// Adds the outputs of unfinished rewrites of this machine (RewriteJournal keeps them as manifests). An error when a journal
/// cannot be read. An empty state directory has none.
Status AddJournalled(const std::string& state_directory, const spec::TableMetadata& metadata, FileSet& live);

}  // namespace frazil::maintain
