#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/index/index_manifest.h"
#include "frazil/io/file_io.h"

namespace frazil::index {

/// The folder of one index: names of its files, the manifest of the newest version, and the lock.
///
/// Files: `manifest-<version>.json`, `run-<id>.run`, `rowmap-<id>.puffin`, `lock`. A file counts iff the newest manifest
/// that checks lists it. One thread.
class IndexDirectory {
 public:
  enum class Access { kReadWrite, kReadOnly };

  /// kReadWrite makes the folder and takes the lock (flock, so it goes with the process): kFenced naming the holder's
  /// process id, program and start otherwise. kReadOnly: kNotFound when there is no manifest.
  static Result<std::unique_ptr<IndexDirectory>> Open(const std::string& path, Access access);
  ~IndexDirectory();

  const std::string& path() const;
  io::FileIO& files() const;  ///< local files of this machine
  std::shared_ptr<io::FileIO> shared_files() const;

  /// The newest manifest. None: no manifest at all. kCorruptData naming file and reason when one is there but does not
  /// check (the caller rebuilds and says so).
  Result<std::optional<IndexManifest>> ReadManifest() const;
  /// Writes the manifest as the next version, durably, then deletes older ones and every run and row map that it does
  /// not list (`also_kept`: files being written by a merge). Deleting is best effort: what stays is deleted next time.
  Status WriteManifest(const IndexManifest& manifest, const std::set<std::string>& also_kept);
  /// Deletes everything but the lock: a rebuild begins from nothing.
  Status Clear();

  /// Path for a new file; never used before, a crash included.
  std::string NewRunPath();
  std::string NewRowMapPath();
  std::string PathOf(const std::string& file_name) const;

 private:
  class Impl;
  explicit IndexDirectory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// An exclusive lock on `<folder>/lock` that says who holds it; released with the object or the process.
class FolderLock {
 public:
  /// kFenced: "... is in use by process 1234 (frazil ingest ..., since ...)".
  static Result<std::unique_ptr<FolderLock>> Take(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace frazil::index
