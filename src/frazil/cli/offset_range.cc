#include "frazil/cli/offset_range.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "frazil/spec/date_time.h"

namespace frazil::cli {
namespace {

using Kind = OffsetPoint::Kind;

constexpr size_t kDigitsOfSeconds = 10;

std::optional<int64_t> Number(std::string_view digits) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || digits.front() == '-' || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

std::optional<OffsetPoint> Moment(std::string_view text) {
  if (const auto number = Number(text)) {
    return OffsetPoint{Kind::kTimestamp, text.size() <= kDigitsOfSeconds ? *number * 1000 : *number};
  }
  const auto micros =
      spec::ParseTimestamp(text, spec::Precision::kMicros, spec::SeparatorRule::kAny, spec::OffsetRule::kAny);
  if (!micros) return std::nullopt;
  return OffsetPoint{Kind::kTimestamp, *micros / 1000};
}

std::optional<OffsetPoint> Point(std::string_view text, const OffsetPoint& when_empty) {
  if (text.empty()) return when_empty;
  if (text == "start" || text == "oldest") return OffsetPoint{Kind::kStart, 0};
  if (text == "end" || text == "newest") return OffsetPoint{Kind::kEnd, 0};
  if (text.front() == '@') return Moment(text.substr(1));
  const Kind kind = text.front() == '+' ? Kind::kAfterStart : text.front() == '-' ? Kind::kBeforeEnd : Kind::kOffset;
  const auto number = Number(kind == Kind::kOffset ? text : text.substr(1));
  if (!number) return std::nullopt;
  return OffsetPoint{kind, *number};
}

/// Where the second point begins; a time of day has colons of its own.
size_t SplitAt(std::string_view text) {
  if (!text.starts_with('@')) return text.find(':');
  for (const std::string_view mark : {":@", ":end", ":+", ":-"}) {
    if (const size_t at = text.find(mark); at != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

}  // namespace

Result<OffsetRange> ParseOffsetRange(const std::string& text) {
  const size_t split = SplitAt(text);
  const std::string_view first = std::string_view(text).substr(0, split);
  const std::string_view second = split == std::string::npos ? "" : std::string_view(text).substr(split + 1);
  const auto begin = Point(first, {Kind::kStart, 0});
  const auto end = Point(second, {Kind::kEnd, 0});
  if (text.empty() || !begin || !end) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("not a range of offsets: '{}'", text))
                              .WithHint("start, end, 42, 42:50, :50, +10, -10, @1700000000000, @2026-11-30, @t1:@t2"));
  }
  return OffsetRange{*begin, *end};
}

int64_t OffsetOf(const OffsetPoint& point, const ingest::PartitionBounds& bounds, int64_t by_time) {
  const int64_t end = std::max(bounds.log_start, bounds.end);
  switch (point.kind) {
    case Kind::kStart: return bounds.log_start;
    case Kind::kEnd: return end;
    case Kind::kOffset: return std::clamp(point.value, bounds.log_start, end);
    case Kind::kAfterStart: return bounds.log_start + std::min(point.value, end - bounds.log_start);
    case Kind::kBeforeEnd: return end - std::min(point.value, end - bounds.log_start);
    case Kind::kTimestamp: return std::clamp(by_time, bounds.log_start, end);
  }
  return end;
}

}  // namespace frazil::cli
