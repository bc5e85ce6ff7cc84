#pragma once

#include <compare>
#include <cstddef>
#include <functional>

#include <fmt/format.h>

namespace frazil {

/// A number that cannot be mixed up with another kind of number: a swapped int64 argument is this field's classic bug.
template <typename Tag, typename Rep>
class StrongId {
 public:
  using rep = Rep;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_{};
};

}  // namespace frazil

template <typename Tag, typename Rep>
struct std::hash<frazil::StrongId<Tag, Rep>> {
  size_t operator()(const frazil::StrongId<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value()); }
};

template <typename Tag, typename Rep>
struct fmt::formatter<frazil::StrongId<Tag, Rep>> : fmt::formatter<Rep> {
  template <typename Context>
  auto format(const frazil::StrongId<Tag, Rep>& id, Context& context) const {
    return fmt::formatter<Rep>::format(id.value(), context);
  }
};
