#include "frazil/spec/decimal_text.h"

#include <algorithm>

namespace frazil::spec {
namespace {

__extension__ using Uint128 = unsigned __int128;

}  // namespace

std::string FormatDecimal(Int128 unscaled, int scale) {
  Uint128 rest = static_cast<Uint128>(unscaled);
  if (unscaled < 0) rest = -rest;
  std::string text;  // backwards
  do {
    text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  if (scale > 0) {
    const auto num_fraction_digits = static_cast<size_t>(scale);
    if (text.size() <= num_fraction_digits) text.append(num_fraction_digits + 1 - text.size(), '0');
    text.insert(num_fraction_digits, 1, '.');
  }
  if (unscaled < 0) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

std::optional<Int128> ParseDecimal(std::string_view text, int precision, int scale, ScaleRule rule) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  Int128 unscaled = 0;
  Int128 limit = 1;
  for (int i = 0; i < precision; ++i) limit *= 10;
  int num_digits = 0;
  int num_fraction_digits = 0;
  bool in_fraction = false;
  auto append = [&](int digit) {
    if (unscaled > (limit - 1 - digit) / 10) return false;  // before it overflows: ten times 38 nines does
    unscaled = unscaled * 10 + digit;
    return true;
  };
  for (const char c : text) {
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    ++num_digits;
    if (in_fraction && ++num_fraction_digits > scale) return std::nullopt;
    if (!append(c - '0')) return std::nullopt;
  }
  if (num_digits == 0 || (in_fraction && num_fraction_digits == 0)) return std::nullopt;
  if (rule == ScaleRule::kExact && num_fraction_digits != scale) return std::nullopt;
  for (; num_fraction_digits < scale; ++num_fraction_digits) {
    if (!append(0)) return std::nullopt;
  }
  return negative ? -unscaled : unscaled;
}

Bytes MinimalBytes(Int128 unscaled) {
  size_t num_bytes = 1;
  while (num_bytes < sizeof(unscaled)) {
    const Int128 rest = unscaled >> (8 * num_bytes - 1);  // sign bits only, when the bytes so far suffice
    if (rest == 0 || rest == -1) break;
    ++num_bytes;
  }
  Bytes bytes(num_bytes);
  for (size_t i = 0; i < num_bytes; ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<uint8_t>(unscaled >> (8 * (num_bytes - 1 - i))));
  }
  return bytes;
}

}  // namespace frazil::spec
