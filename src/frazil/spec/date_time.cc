#include "frazil/spec/date_time.h"

#include <fmt/format.h>

namespace frazil::spec {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

constexpr int64_t TicksPerSecond(Precision precision) {
  return precision == Precision::kMicros ? kMicrosPerSecond : 1'000 * kMicrosPerSecond;
}
constexpr int FractionDigits(Precision precision) { return precision == Precision::kMicros ? 6 : 9; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Eats a text from the left; a failed Take leaves it as it was.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool Take(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Exactly `width` digits.
  std::optional<int> TakeDigits(size_t width) {
    if (rest_.size() < width) return std::nullopt;
    int value = 0;
    for (size_t i = 0; i < width; ++i) {
      if (!IsDigit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(width);
    return value;
  }
  size_t CountDigits() const {
    size_t count = 0;
    while (count < rest_.size() && IsDigit(rest_[count])) ++count;
    return count;
  }

 private:
  std::string_view rest_;
};

bool IsLeap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysInMonth(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeap(year) ? 29 : kDays[month - 1];
}

std::optional<int64_t> TakeDate(Cursor& cursor) {
  const bool negative = cursor.Take('-');
  if (!negative) cursor.Take('+');
  const size_t num_digits = cursor.CountDigits();
  if (num_digits < 4 || num_digits > 7) return std::nullopt;  // dates reach to the year 5,881,580
  CivilDate date;
  date.year = *cursor.TakeDigits(num_digits);
  if (negative) date.year = -date.year;
  if (!cursor.Take('-')) return std::nullopt;
  const auto month = cursor.TakeDigits(2);
  if (!month || *month < 1 || *month > 12 || !cursor.Take('-')) return std::nullopt;
  const auto day = cursor.TakeDigits(2);
  if (!day || *day < 1 || *day > DaysInMonth(date.year, *month)) return std::nullopt;
  date.month = *month;
  date.day = *day;
  return DaysFromCivil(date);
}

std::optional<int64_t> TakeTime(Cursor& cursor, Precision precision) {
  const auto hour = cursor.TakeDigits(2);
  if (!hour || *hour > 23 || !cursor.Take(':')) return std::nullopt;
  const auto minute = cursor.TakeDigits(2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t seconds = *hour * 3600 + *minute * 60;
  int64_t fraction = 0;
  if (cursor.Take(':')) {
    const auto second = cursor.TakeDigits(2);
    if (!second || *second > 59) return std::nullopt;
    seconds += *second;
    if (cursor.Take('.')) {
      const size_t num_digits = cursor.CountDigits();
      if (num_digits < 1 || num_digits > 9) return std::nullopt;
      fraction = *cursor.TakeDigits(num_digits);
      const int width = FractionDigits(precision);
      for (auto i = static_cast<int>(num_digits); i < width; ++i) fraction *= 10;
      for (auto i = static_cast<int>(num_digits); i > width; --i) {
        if (fraction % 10 != 0) return std::nullopt;  // would be lost
        fraction /= 10;
      }
    }
  }
  return seconds * TicksPerSecond(precision) + fraction;
}

/// Seconds east of Greenwich.
std::optional<int64_t> TakeOffset(Cursor& cursor, OffsetRule rule) {
  if (rule == OffsetRule::kNone) return 0;
  if (rule == OffsetRule::kAny) {
    if (cursor.at_end() || cursor.Take('Z') || cursor.Take('z')) return 0;
  }
  const bool west = rule == OffsetRule::kAny && cursor.Take('-');
  if (!west && !cursor.Take('+')) return std::nullopt;
  const auto hours = cursor.TakeDigits(2);
  if (!hours || *hours > 18) return std::nullopt;
  int64_t seconds = *hours * 3600;
  const bool colon = cursor.Take(':');
  if (colon || !cursor.at_end()) {
    const auto minutes = cursor.TakeDigits(2);
    if (!minutes || *minutes > 59) return std::nullopt;
    seconds += *minutes * 60;
  } else if (rule == OffsetRule::kZeroOnly) {
    return std::nullopt;
  }
  if (rule == OffsetRule::kZeroOnly && (!colon || seconds != 0)) return std::nullopt;
  return west ? -seconds : seconds;
}

}  // namespace

// Both conversions count years from March, so that the leap day comes last (Hinnant, "chrono-compatible low-level date
// algorithms").
CivilDate CivilFromDays(int64_t days_since_1970) {
  const int64_t days = days_since_1970 + 719'468;
  const int64_t era = FloorDiv(days, 146'097);
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  date.month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

int64_t DaysFromCivil(const CivilDate& date) {
  const int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const int64_t era = FloorDiv(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (date.month > 2 ? date.month - 3 : date.month + 9) + 2) / 5 + date.day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

std::string FormatDate(int64_t days) {
  const CivilDate date = CivilFromDays(days);
  const std::string_view sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : "";
  return fmt::format("{}{:04}-{:02}-{:02}", sign, date.year < 0 ? -date.year : date.year, date.month, date.day);
}

std::string FormatTimeOfDay(int64_t ticks, Precision precision) {
  const int64_t seconds = FloorDiv(ticks, TicksPerSecond(precision));
  const int64_t fraction = FloorMod(ticks, TicksPerSecond(precision));
  std::string text = fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction != 0) {
    text += fmt::format(".{:0{}}", fraction, FractionDigits(precision));
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string FormatTimestamp(int64_t ticks, Precision precision, char separator) {
  const int64_t ticks_per_day = kSecondsPerDay * TicksPerSecond(precision);
  return FormatDate(FloorDiv(ticks, ticks_per_day)) + separator +
         FormatTimeOfDay(FloorMod(ticks, ticks_per_day), precision);
}

std::optional<int32_t> ParseDate(std::string_view text) {
  Cursor cursor(text);
  const auto days = TakeDate(cursor);
  if (!days || !cursor.at_end() || static_cast<int32_t>(*days) != *days) return std::nullopt;
  return static_cast<int32_t>(*days);
}

std::optional<int64_t> ParseTimeOfDay(std::string_view text, Precision precision) {
  Cursor cursor(text);
  const auto ticks = TakeTime(cursor, precision);
  if (!cursor.at_end()) return std::nullopt;
  return ticks;
}

std::optional<int64_t> ParseTimestamp(std::string_view text, Precision precision, SeparatorRule separator,
                                      OffsetRule offset) {
  Cursor cursor(text);
  const auto days = TakeDate(cursor);
  if (!days) return std::nullopt;
  int64_t time = 0;
  int64_t offset_seconds = 0;
  const bool bare_date = separator == SeparatorRule::kAny && cursor.at_end();
  if (!bare_date) {
    const bool separated =
        cursor.Take('T') || (separator == SeparatorRule::kAny && (cursor.Take('t') || cursor.Take(' ')));
    if (!separated) return std::nullopt;
    const auto parsed_time = TakeTime(cursor, precision);
    if (!parsed_time) return std::nullopt;
    time = *parsed_time;
    const auto parsed_offset = TakeOffset(cursor, offset);
    if (!parsed_offset || !cursor.at_end()) return std::nullopt;
    offset_seconds = *parsed_offset;
  }
  // In 128 bits: the last days of the range overflow on the way and come back.
  __extension__ using Wide = __int128;
  const Wide ticks = (static_cast<Wide>(*days) * kSecondsPerDay - offset_seconds) * TicksPerSecond(precision) + time;
  if (static_cast<Wide>(static_cast<int64_t>(ticks)) != ticks) return std::nullopt;
  return static_cast<int64_t>(ticks);
}

}  // namespace frazil::spec
