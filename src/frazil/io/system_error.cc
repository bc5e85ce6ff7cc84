#include "frazil/io/system_error.h"

#include <cerrno>
#include <system_error>

namespace frazil::io {

Error SystemError(int error_number, std::string_view doing, const std::string& path) {
  // std::strerror is not thread-safe; the category's message is.
  const std::string text = fmt::format("{}: {}: {}", doing, std::generic_category().message(error_number), path);
  switch (error_number) {
    case ENOENT: return Error(ErrorCode::kNotFound, text);
    case EEXIST: return Error(ErrorCode::kAlreadyExists, text);
    case ENOTDIR: return Error(ErrorCode::kIo, text).WithHint("a file stands where a folder is needed");
    case EACCES:
    case EPERM:
    case EROFS: return Error(ErrorCode::kIo, text).WithHint("permission denied for this user");
    case ENOSPC:
    case EDQUOT: return Error(ErrorCode::kIo, text).WithHint("disk full: free space or raise the quota");
    case EMFILE:
    case ENFILE: return Error(ErrorCode::kIo, text).WithHint("too many open files: raise `ulimit -n`");
    default: return Error(ErrorCode::kIo, text);
  }
}

}  // namespace frazil::io
