#include "frazil/spec/value.h"

#include <bit>
#include <cmath>
#include <functional>
#include <string_view>

namespace frazil::spec {
namespace {

// NaNs become one NaN: payloads and signs depend on the machine that computed them.
uint32_t BitsOf(float value) { return std::isnan(value) ? 0x7fc00000U : std::bit_cast<uint32_t>(value); }
uint64_t BitsOf(double value) { return std::isnan(value) ? 0x7ff8000000000000ULL : std::bit_cast<uint64_t>(value); }

// Maps float bits to integers of the same order: negative numbers count backwards.
int32_t TotalOrder(float value) {
  const auto bits = static_cast<int32_t>(BitsOf(value));
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
int64_t TotalOrder(double value) {
  const auto bits = static_cast<int64_t>(BitsOf(value));
  return bits < 0 ? bits ^ 0x7fffffffffffffffLL : bits;
}

std::strong_ordering CompareBytes(std::string_view left, std::string_view right) {
  return left.compare(right) <=> 0;  // char_traits<char> compares as unsigned bytes
}

struct Compare {
  const Value& right;

  std::strong_ordering operator()(std::monostate) const { return std::strong_ordering::equal; }
  std::strong_ordering operator()(float left) const { return TotalOrder(left) <=> TotalOrder(std::get<float>(right)); }
  std::strong_ordering operator()(double left) const {
    return TotalOrder(left) <=> TotalOrder(std::get<double>(right));
  }
  std::strong_ordering operator()(const std::string& left) const {
    return CompareBytes(left, std::get<std::string>(right));
  }
  std::strong_ordering operator()(const Bytes& left) const {
    return CompareBytes(AsText(left), AsText(std::get<Bytes>(right)));
  }
  std::strong_ordering operator()(const Decimal& left) const {
    const Int128 other = std::get<Decimal>(right).unscaled;
    if (left.unscaled < other) return std::strong_ordering::less;
    return left.unscaled == other ? std::strong_ordering::equal : std::strong_ordering::greater;
  }
  template <typename T>
  std::strong_ordering operator()(const T& left) const {
    return left <=> std::get<T>(right);
  }
};

struct Hash {
  static size_t Integer(uint64_t value) {  // splitmix64: std::hash of integers is the identity
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }
  size_t operator()(std::monostate) const { return 0x5bd1e995; }
  size_t operator()(float value) const { return Integer(BitsOf(value)); }
  size_t operator()(double value) const { return Integer(BitsOf(value)); }
  size_t operator()(const std::string& value) const { return std::hash<std::string_view>{}(value); }
  size_t operator()(const Bytes& value) const { return std::hash<std::string_view>{}(AsText(value)); }
  size_t operator()(const Decimal& value) const {
    return Integer(static_cast<uint64_t>(value.unscaled) ^ Integer(static_cast<uint64_t>(value.unscaled >> 64)));
  }
  size_t operator()(const Uuid& value) const { return std::hash<std::string_view>{}(AsText(value.bytes())); }
  template <typename T>
  size_t operator()(T value) const {
    return Integer(static_cast<uint64_t>(value));
  }
};

}  // namespace

std::strong_ordering CompareValues(const Value& left, const Value& right) {
  if (left.index() != right.index()) return left.index() <=> right.index();
  return std::visit(Compare{right}, left);
}

bool SameValue(const Value& left, const Value& right) {
  return CompareValues(left, right) == std::strong_ordering::equal;
}

size_t HashValue(const Value& value) { return std::visit(Hash{}, value) * 31 + value.index(); }

}  // namespace frazil::spec
