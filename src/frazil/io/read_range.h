#pragma once

#include <cstdint>
#include <string>

#include "frazil/base/result.h"

namespace frazil::io {

/// Whether `length` bytes from `offset` lie within a file of `size_bytes`; kCorruptData with the path when they do not,
/// since offsets come from footers and manifests that promised them.
inline Status CheckReadRange(int64_t offset, size_t length, int64_t size_bytes, const std::string& path) {
  if (offset < 0 || offset > size_bytes || length > static_cast<uint64_t>(size_bytes - offset)) {
    return Fail(ErrorCode::kCorruptData, "file ends early: {} bytes wanted at offset {}, it has {}: {}", length, offset,
                size_bytes, path);
  }
  return {};
}

}  // namespace frazil::io
