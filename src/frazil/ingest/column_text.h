#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "frazil/base/bytes.h"

namespace frazil::ingest {

/// Well-formed UTF-8 (Unicode, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF). Bytes that are all
/// ASCII, nearly all text there is, take the short way.
bool IsWellFormedUtf8(ByteView text);

inline bool IsUtf8(ByteView text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  const std::byte* at = text.data();
  size_t left = text.size();
  uint64_t seen = 0;
  if (left >= 8) {
    seen = LoadLittle<uint64_t>(at + left - 8);  // what is left behind the last eight, some of them twice
    for (; left >= 8; at += 8, left -= 8) seen |= LoadLittle<uint64_t>(at);
  } else {
    for (; left > 0; --left) seen |= std::to_integer<uint64_t>(*at++);
  }
  return (seen & kHighBits) == 0 || IsWellFormedUtf8(text);
}

}  // namespace frazil::ingest
