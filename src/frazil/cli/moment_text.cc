#include "frazil/cli/moment_text.h"

#include "frazil/cli/units.h"
#include "frazil/spec/date_time.h"

namespace frazil::cli {

Result<int64_t> ParseMoment(const std::string& text, int64_t now_ms) {
  const auto micros =
      spec::ParseTimestamp(text, spec::Precision::kMicros, spec::SeparatorRule::kAny, spec::OffsetRule::kAny);
  if (micros) return spec::FloorDiv(*micros, 1000);
  if (const auto age = ParseDuration(text)) return now_ms - age->count();
  return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("neither a timestamp nor an age: '{}'", text))
                            .WithHint("such as '2026-11-29 10:00:00' or 3d"));
}

}  // namespace frazil::cli
