#pragma once

#include <memory>
#include <string>

#include "frazil/base/result.h"

namespace frazil::index {

/// An exclusive lock on `<folder>/lock` that says who holds it; released with the object or the process, however it ends.
/// The file stays: deleting it would let two processes hold two locks of one name. One thread.
class FolderLock {
 public:
  /// Makes the folder. kFenced: "... is in use by process 1234 (frazil ingest, since 2026-01-31T12:00:00Z): <folder>".
  /// kIo when the folder cannot be made or written.
  static Result<std::unique_ptr<FolderLock>> Take(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// kFenced when the lock file was deleted or replaced meanwhile, so that another process may work in the folder too.
  Status CheckHeld() const;

  /// "process 1234 (frazil ingest, since ...)" when a process holds the lock of a folder, else empty.
  static std::string HolderOf(const std::string& folder);

 private:
  FolderLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
};

}  // namespace frazil::index
