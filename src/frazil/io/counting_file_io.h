#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/base/request_counters.h"
#include "frazil/io/file_io.h"

namespace frazil::io {

/// A FileIO that counts and times each request to the one behind it. Operations: open, read, create, write,
/// delete, list, exists. Appends of an output file count as bytes of its one "write", the Close().
class CountingFileIO : public FileIO {
 public:
  /// `counters` must not be null; it may outlive this.
  CountingFileIO(std::shared_ptr<FileIO> inner, std::shared_ptr<RequestCounters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  Result<std::unique_ptr<InputFile>> Open(const std::string& path) const override;
  Result<std::unique_ptr<OutputFile>> Create(const std::string& path) override;
  Status Delete(const std::vector<std::string>& paths) override;
  Result<std::vector<FileInfo>> List(const std::string& prefix) const override;
  Status ForEachFile(const std::string& prefix, const VisitFile& visit) const override;
  Result<bool> Exists(const std::string& path) const override;

 private:
  std::shared_ptr<FileIO> inner_;
  std::shared_ptr<RequestCounters> counters_;
};

}  // namespace frazil::io
