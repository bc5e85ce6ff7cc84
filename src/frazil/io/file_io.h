#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::io {

/// An open file of fixed content. Thread-safe: reads carry their own offset.
class InputFile {
 public:
  virtual ~InputFile() = default;
  virtual const std::string& path() const = 0;
  virtual int64_t size_bytes() const = 0;
  /// Fills all of `out` from `offset`; kCorruptData with the path when the file ends before.
  virtual Status ReadAt(int64_t offset, std::span<std::byte> out) const = 0;
};

/// A file being written. Nothing is visible at its path before Close() succeeded; afterwards all of it is, durably.
/// Dropping without Close() leaves nothing behind (kill -9 may leave a hidden temporary). One thread at a time.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual Status Append(ByteView bytes) = 0;
  virtual int64_t bytes_written() const = 0;
  virtual Status Close() = 0;
};

struct FileInfo {
  std::string path;  ///< in the spelling of the listed prefix
  int64_t size_bytes = 0;
  int64_t modified_ms = 0;  ///< by the store's clock
};

/// The one door to files and objects. Paths are opaque absolute URIs or plain absolute paths as found in metadata.
/// Never overwrites: Create() of an existing path fails with kAlreadyExists. Thread-safe.
///
/// Errors: kNotFound, kAlreadyExists, kIo (disk full, permission; the path and the system's text), kUnavailable.
class FileIO {
 public:
  virtual ~FileIO() = default;
  virtual Result<std::unique_ptr<InputFile>> Open(const std::string& path) const = 0;
  virtual Result<std::unique_ptr<OutputFile>> Create(const std::string& path) = 0;
  /// Deletes files; those that are already gone count as deleted. Tries all; the first error is returned.
  virtual Status Delete(const std::vector<std::string>& paths) = 0;
  /// All files below a folder, recursively, in no order; none when the folder does not exist. Hidden temporaries of
  /// OutputFile are not listed.
  virtual Result<std::vector<FileInfo>> List(const std::string& prefix) const = 0;
  /// The same, one after the other, for folders of very many files: a store that can does not hold them all in memory. An
  /// error of `visit` ends it.
  using VisitFile = std::function<Status(const FileInfo& file)>;
  virtual Status ForEachFile(const std::string& prefix, const VisitFile& visit) const;
  virtual Result<bool> Exists(const std::string& path) const = 0;

  /// The whole file; kResourceExhausted when it is larger than `max_bytes`.
  Result<Bytes> ReadFile(const std::string& path, int64_t max_bytes = int64_t{1} << 31) const;
  Status WriteFile(const std::string& path, ByteView bytes);
};

/// Files of this machine: "/x", "file:/x" and "file:///x" name the same file. Creates parent folders. Writes go to a
/// hidden temporary beside the target, are synced and linked in exclusively.
/// Sync points: "local_file.create.{before,after}", "local_file.delete.{before,after}".
std::shared_ptr<FileIO> MakeLocalFileIO();

/// "/x" of "file:/x", "file:///x" or "/x"; kNotSupported naming the scheme for others.
Result<std::string> LocalPath(const std::string& uri);

}  // namespace frazil::io
