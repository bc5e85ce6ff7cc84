#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/index/folder_lock.h"
#include "frazil/index/index_manifest.h"
#include "frazil/io/file_io.h"

namespace frazil::index {

/// The folder of one index: names of its files, the manifest of the newest version, and the lock.
///
/// Files: `manifest-<version>.json`, `run-<id>.run`, `rowmap-<id>.puffin`, `lock`. A file counts iff the newest manifest
/// that checks lists it; files of other names are not touched. One thread, but for the names of new files.
class IndexDirectory {
 public:
  enum class Access { kReadWrite, kReadOnly };

  /// kReadWrite makes the folder, takes the lock (it goes with the process) and deletes what a killed process
  /// left half written: kFenced naming the holder's process id, program and start; kIo when it cannot be written.
  /// kReadOnly: kNotFound when there is no manifest. `files`: null, or a stand-in for the local files (tests).
  static Result<std::unique_ptr<IndexDirectory>> Open(const std::string& path, Access access,
                                                      std::shared_ptr<io::FileIO> files = nullptr);
  ~IndexDirectory();

  const std::string& path() const;
  io::FileIO& files() const;  ///< local files of this machine
  std::shared_ptr<io::FileIO> shared_files() const;

  /// The newest manifest that checks. None: no manifest at all. kCorruptData naming file and reason when there are some
  /// but none checks (the caller rebuilds and says so). Of an opening for reading: files that it lists may be deleted at
  /// any time by the process that holds the lock; one that is missing then means: read the manifest again.
  Result<std::optional<IndexManifest>> ReadManifest() const;
  /// Names or paths of files that are in use although no manifest lists them.
  using FilesInUse = std::function<std::set<std::string>()>;
  /// Writes the manifest as the next version, durably, then does as DeleteUnlisted(). Deleting is best effort: what stays
  /// is deleted next time. kInternal for a manifest that could not be read back, kFenced when the lock file is gone; after
  /// any error the older manifest and its files are still there.
  Status WriteManifest(const IndexManifest& manifest, const FilesInUse& in_use);
  /// Deletes every manifest but the newest that was read or written here, and every run and row map that neither it lists
  /// nor `in_use` (may be null) names nor any NewFiles holds: what merges, checkpoints and a killed process left. A manifest
  /// whose writing failed counts as well, for it may be there.
  Status DeleteUnlisted(const FilesInUse& in_use);
  /// Deletes everything but the lock: a rebuild begins from nothing.
  Status Clear();

  /// Path for a new file; never used before, a crash included. Thread-safe. NewFiles protects and cleans up such files.
  std::string NewRunPath();
  std::string NewRowMapPath();
  std::string PathOf(const std::string& file_name) const;

 private:
  friend class NewFiles;
  class Impl;
  explicit IndexDirectory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The files that one piece of work writes into the folder of an index: not deleted by others meanwhile, and deleted with
/// this object unless Keep() says that a version of the index has them. Outlived by the directory; thread-safe names.
class NewFiles {
 public:
  explicit NewFiles(IndexDirectory& directory) : directory_(directory) {}
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  std::string NewRunPath() { return Begin(directory_.NewRunPath()); }
  std::string NewRowMapPath() { return Begin(directory_.NewRowMapPath()); }
  IndexDirectory& directory() const { return directory_; }
  /// After the version that has them took its place.
  void Keep() { is_kept_ = true; }

 private:
  std::string Begin(std::string path);

  IndexDirectory& directory_;
  std::mutex mutex_;
  std::vector<std::string> paths_;  ///< guarded by mutex_
  bool is_kept_ = false;
};

}  // namespace frazil::index
