#pragma once

#include <memory>
#include <optional>
#include <string>

#include "frazil/io/file_io.h"

namespace frazil::io {

/// Names of files being written: they are hidden from List().
bool IsTemporaryName(std::string_view file_name);

/// Writes "<folder>/.frazil-<uuid>.tmp", then syncs it, gives it its name without ever replacing another file, and
/// syncs the folder. After a failed write every later call fails with the same error: no torn file gets a name.
class LocalOutputFile : public OutputFile {
 public:
  /// `uri` is for messages; `path` is what the system knows. Makes missing folders, durably.
  static Result<std::unique_ptr<OutputFile>> Create(std::string uri, std::string path);
  ~LocalOutputFile() override;
  LocalOutputFile(const LocalOutputFile&) = delete;
  LocalOutputFile& operator=(const LocalOutputFile&) = delete;

  Status Append(ByteView bytes) override;
  int64_t bytes_written() const override { return bytes_written_; }
  Status Close() override;

 private:
  LocalOutputFile(std::string uri, std::string path, std::string temporary, int fd)
      : uri_(std::move(uri)), path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  Status WriteAll(ByteView bytes);
  Status Publish();
  void Drop();

  std::string uri_;
  std::string path_;
  std::string temporary_;
  int fd_;  // -1 once closed or dropped
  Bytes buffer_;
  int64_t bytes_written_ = 0;
  std::optional<Error> failure_;
};

}  // namespace frazil::io
