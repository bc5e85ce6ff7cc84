#pragma once

#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::io {

/// What a failed system call means to callers: "<doing>: <the system's text>: <path>".
///
/// kNotFound for a missing file, kAlreadyExists for an existing one, kIo with a hint for what people can repair (disk
/// full, permission, a file where a folder is needed), kIo for the rest.
Error SystemError(int error_number, std::string_view doing, const std::string& path);

}  // namespace frazil::io
