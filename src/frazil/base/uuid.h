#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil {

/// 16 bytes, big-endian as in RFC 4122. A value type.
class Uuid {
 public:
  Uuid() = default;
  explicit Uuid(const std::array<std::byte, 16>& bytes) : bytes_(bytes) {}

  /// A random version-4 UUID. Thread-safe.
  static Uuid Random();
  /// Parses the canonical 36-character form, either case.
  static Result<Uuid> Parse(std::string_view text);

  const std::array<std::byte, 16>& bytes() const { return bytes_; }
  /// Lower-case canonical form.
  std::string ToString() const;

  auto operator<=>(const Uuid&) const = default;

 private:
  std::array<std::byte, 16> bytes_{};
};

/// A random positive 63-bit number: version-4 UUID, high half XOR low half (spec section 1.3).
int64_t RandomSnapshotNumber();

}  // namespace frazil
