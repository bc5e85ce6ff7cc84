#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "frazil/io/file_io.h"

namespace frazil::io {

/// A FileIO that asks before each operation and after it whether it fails. For tests.
///
/// `decide(operation, path)` gets "open", "read", "create", "append", "close.before", "close.after" (the file is there,
/// the answer is lost), "delete.before", "delete.after", "list", "exists"; what it returns is what the caller sees.
/// Must be thread-safe when used from threads.
class FaultInjectingFileIO : public FileIO {
 public:
  using Decide = std::function<Status(std::string_view operation, const std::string& path)>;

  FaultInjectingFileIO(std::shared_ptr<FileIO> inner, Decide decide)
      : inner_(std::move(inner)), decide_(std::move(decide)) {}

  Result<std::unique_ptr<InputFile>> Open(const std::string& path) const override;
  Result<std::unique_ptr<OutputFile>> Create(const std::string& path) override;
  Status Delete(const std::vector<std::string>& paths) override;
  Result<std::vector<FileInfo>> List(const std::string& prefix) const override;
  Status ForEachFile(const std::string& prefix, const VisitFile& visit) const override;
  Result<bool> Exists(const std::string& path) const override;

 private:
  std::shared_ptr<FileIO> inner_;
  Decide decide_;
};

}  // namespace frazil::io
