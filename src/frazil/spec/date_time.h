#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::spec {

// Internal: proleptic Gregorian calendar and ISO 8601 text. Everything floors, so times before 1970 come out right.

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerHour = 3'600 * kMicrosPerSecond;
inline constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;

constexpr int64_t FloorDiv(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}
constexpr int64_t FloorMod(int64_t value, int64_t divisor) {
  const int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

struct CivilDate {
  int64_t year = 1970;
  int month = 1;
  int day = 1;
};

CivilDate CivilFromDays(int64_t days_since_1970);
int64_t DaysFromCivil(const CivilDate& date);

enum class Precision { kMicros, kNanos };

/// "2017-11-16"; years beyond four digits carry a sign, as Java's.
std::string FormatDate(int64_t days);
/// "22:31:08.5" of a time of day in micro- or nanoseconds: as many digits of a fraction as needed.
std::string FormatTimeOfDay(int64_t ticks, Precision precision);
/// "2017-11-16T22:31:08.5" with the given separator; no offset.
std::string FormatTimestamp(int64_t ticks, Precision precision, char separator);

/// Offset behind a parsed timestamp.
enum class OffsetRule {
  kNone,      ///< must not be there
  kZeroOnly,  ///< must be "+00:00" (JSON values)
  kAny,       ///< "Z", "+01:00", "-0800", "+02", or none = UTC
};
/// Between date and time of a parsed timestamp.
enum class SeparatorRule {
  kT,    ///< a T, and the time must be there (JSON values)
  kAny,  ///< T, t or blank; a bare date is its midnight
};

// None when the text is not one, out of range, or finer than the precision.
std::optional<int32_t> ParseDate(std::string_view text);
std::optional<int64_t> ParseTimeOfDay(std::string_view text, Precision precision);
std::optional<int64_t> ParseTimestamp(std::string_view text, Precision precision, SeparatorRule separator,
                                      OffsetRule offset);

}  // namespace frazil::spec
