#include "frazil/ingest/column_text.h"

namespace frazil::ingest {

bool IsWellFormedUtf8(ByteView text) {
  size_t i = 0;
  const auto at = [&](size_t index) { return std::to_integer<unsigned>(text[index]); };
  while (i < text.size()) {
    const unsigned lead = at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if (lead < 0xC2 || lead > 0xF4) return false;
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (text.size() - i < length) return false;
    // The second byte's range depends on the lead: it is where overlong forms, surrogates and too large ones show.
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at(i + 1) < low || at(i + 1) > high) return false;
    for (size_t k = 2; k < length; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace frazil::ingest
