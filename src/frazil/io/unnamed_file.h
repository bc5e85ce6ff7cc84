#pragma once

#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::io {

/// A local file without a name, for what does not fit into memory: it goes with its last descriptor or mapping, also when the
/// process is killed. One thread.
class UnnamedFile {
 public:
  /// In `folder`, which is made if it is missing; empty: the system's for temporary files, which may be memory itself. `what`
  /// will be in it, for messages. kIo naming the folder.
  static Result<UnnamedFile> Create(const std::string& folder, std::string_view what);
  ~UnnamedFile();
  UnnamedFile(UnnamedFile&& other) noexcept;
  UnnamedFile& operator=(UnnamedFile&& other) noexcept;

  int fd() const { return fd_; }
  /// Another descriptor of the file, with the same place in it, for the caller to close. kIo.
  Result<int> Duplicate() const;
  const std::string& folder() const { return folder_; }  ///< for messages

 private:
  UnnamedFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}

  int fd_ = -1;
  std::string folder_;
};

}  // namespace frazil::io
