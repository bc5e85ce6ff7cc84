#pragma once

#include <cstdint>
#include <string>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::catalog {

/// Whether the bytes begin with gzip's magic.
bool IsGzip(ByteView bytes);

Result<Bytes> Gzip(ByteView bytes);

/// Undoes gzip, several members in a row included, with every checksum checked. `path` is for messages: kCorruptData,
/// and kResourceExhausted as soon as the result passes `max_bytes` (a few kilobytes can claim to be terabytes).
Result<Bytes> Gunzip(ByteView bytes, int64_t max_bytes, const std::string& path);

}  // namespace frazil::catalog
