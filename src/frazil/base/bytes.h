#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace frazil {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView AsBytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view AsText(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
inline Bytes CopyBytes(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

static_assert(std::endian::native == std::endian::little, "big-endian machines need byte swaps in bytes.h");

/// Reads a little-endian integer; the caller has checked that sizeof(T) bytes are there.
template <typename T>
T LoadLittle(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
T LoadBig(const std::byte* from) {
  std::byte swapped[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i) swapped[i] = from[sizeof(T) - 1 - i];
  return LoadLittle<T>(swapped);
}

template <typename T>
void AppendLittle(Bytes& out, T value) {
  std::byte raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.insert(out.end(), raw, raw + sizeof(T));
}

template <typename T>
void AppendBig(Bytes& out, T value) {
  std::byte raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.insert(out.end(), std::make_reverse_iterator(raw + sizeof(T)), std::make_reverse_iterator(raw));
}

inline void AppendBytes(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

/// Lower-case hexadecimal text.
std::string ToHex(ByteView bytes);

}  // namespace frazil
