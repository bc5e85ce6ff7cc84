#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::ingest {

/// Records of a file or of standard input, one a line, numbered from 0. A last line without newline is a record.
///
/// The file is recognised again after a restart by its path and the hash of its first MiB (decisions.md); a file may
/// grow at its end. One thread.
class FileSource {
 public:
  /// "-" is standard input. kNotFound, kIo naming the path.
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path);
  ~FileSource();
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  /// Stable name of the source: "file:<absolute path>" or "stdin".
  const std::string& id() const { return id_; }

  /// What goes into the marker: kind, path, bytes and hash of the head. Standard input has only its kind.
  std::map<std::string, std::string> identity() const { return identity_; }

  /// kInvalidArgument when the marker's source is another file under the same name.
  Status CheckSame(const std::map<std::string, std::string>& recorded) const;

  /// The next line without its newline, none at the end. Valid until the next call. kInvalidArgument when a line is
  /// longer than 64 MiB, kShuttingDown when `stop` was set while it waited.
  Result<std::optional<std::string_view>> Next();

  /// A pipe may stay silent for hours: waiting for it ends within a moment of `stop` being set.
  void StopOn(const std::atomic<bool>* stop) { stop_ = stop; }

  /// Skips the records before `ordinal`; kInvalidArgument when the source ends before.
  Status SkipTo(int64_t ordinal);

  int64_t next_ordinal() const { return next_ordinal_; }
  int64_t bytes_read() const { return bytes_read_; }
  /// Unknown for standard input.
  std::optional<int64_t> size_bytes() const { return size_bytes_; }

 private:
  FileSource() = default;
  Status Fill();
  Status WaitForBytes() const;

  std::string path_;
  std::string id_;
  std::map<std::string, std::string> identity_;
  int descriptor_ = -1;
  const std::atomic<bool>* stop_ = nullptr;
  std::optional<int64_t> size_bytes_;
  std::string buffer_;
  size_t begin_ = 0;  // of the unread bytes in buffer_
  bool at_end_ = false;
  int64_t next_ordinal_ = 0;
  int64_t bytes_read_ = 0;
};

}  // namespace frazil::ingest
