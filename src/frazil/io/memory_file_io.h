#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "frazil/io/file_io.h"

namespace frazil::io {

/// Files in memory, for tests. Same contract as the local one; modified_ms comes from a counter.
class MemoryFileIO : public FileIO {
 public:
  Result<std::unique_ptr<InputFile>> Open(const std::string& path) const override;
  Result<std::unique_ptr<OutputFile>> Create(const std::string& path) override;
  Status Delete(const std::vector<std::string>& paths) override;
  Result<std::vector<FileInfo>> List(const std::string& prefix) const override;
  Result<bool> Exists(const std::string& path) const override;

  /// Replaces a file's bytes, which the contract forbids to everybody else: for corruption tests.
  void Overwrite(const std::string& path, Bytes bytes);

 private:
  friend class MemoryOutputFile;
  struct Stored {
    std::shared_ptr<const Bytes> bytes;
    int64_t modified_ms;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Stored> files_;
  int64_t next_ms_ = 1;
};

}  // namespace frazil::io
