#include "frazil/base/uuid.h"

#include <cstdint>
#include <cstring>

#include <sys/random.h>

#include "frazil/base/bytes.h"

namespace frazil {

Uuid Uuid::Random() {
  std::array<std::byte, 16> bytes{};
  // The kernel's generator: forked children must never repeat their parent's ids.
  size_t filled = 0;
  while (filled < bytes.size()) {
    ssize_t n = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (n > 0) filled += static_cast<size_t>(n);
  }
  bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x40};
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return Uuid(bytes);
}

Result<Uuid> Uuid::Parse(std::string_view text) {
  auto refuse = [&] { return Fail(ErrorCode::kInvalidArgument, "not a UUID: '{}'", text); };
  if (text.size() != 36) return refuse();
  std::array<std::byte, 16> bytes{};
  size_t digit = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return refuse();
      continue;
    }
    int value;
    if (c >= '0' && c <= '9') {
      value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      value = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      value = c - 'A' + 10;
    } else {
      return refuse();
    }
    bytes[digit / 2] |= static_cast<std::byte>(value << (digit % 2 == 0 ? 4 : 0));
    ++digit;
  }
  return Uuid(bytes);
}

std::string Uuid::ToString() const {
  const std::string hex = ToHex(bytes_);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20);
}

int64_t RandomSnapshotNumber() {
  const Uuid uuid = Uuid::Random();
  const auto high = LoadBig<uint64_t>(uuid.bytes().data());
  const auto low = LoadBig<uint64_t>(uuid.bytes().data() + 8);
  return static_cast<int64_t>((high ^ low) & 0x7fff'ffff'ffff'ffffULL);
}

}  // namespace frazil
