#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/schema.h"

namespace frazil::maintain {
namespace {

template <typename Number>
Result<Number> ParseNumber(const std::string& key, const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Fail(ErrorCode::kInvalidArgument, "option {} must be a number: {}", key, text);
  }
  return number;
}

/// Above zero.
template <typename Number>
Result<Number> ParsePositive(const std::string& key, const std::string& text) {
  FRAZIL_ASSIGN(const Number number, ParseNumber<Number>(key, text));
  if (!(number > 0) || (std::is_floating_point_v<Number> && std::isinf(number))) {
    return Fail(ErrorCode::kInvalidArgument, "option {} must be above 0: {}", key, text);
  }
  return number;
}

/// Zero or above.
template <typename Number>
Result<Number> ParseNotNegative(const std::string& key, const std::string& text) {
  FRAZIL_ASSIGN(const Number number, ParseNumber<Number>(key, text));
  if (!(number >= 0)) return Fail(ErrorCode::kInvalidArgument, "option {} must not be below 0: {}", key, text);
  return number;
}

Result<bool> ParseBool(const std::string& key, const std::string& text) {
  if (spec::EqualsAnyCase(text, "true")) return true;
  if (spec::EqualsAnyCase(text, "false")) return false;
  return Fail(ErrorCode::kInvalidArgument, "option {} must be true or false: {}", key, text);
}

Result<RewriteJobOrder> ParseJobOrder(const std::string& key, const std::string& text) {
  if (text == "none") return RewriteJobOrder::kNone;
  if (text == "bytes-asc") return RewriteJobOrder::kBytesAscending;
  if (text == "bytes-desc") return RewriteJobOrder::kBytesDescending;
  if (text == "files-asc") return RewriteJobOrder::kFilesAscending;
  if (text == "files-desc") return RewriteJobOrder::kFilesDescending;
  return Fail(ErrorCode::kInvalidArgument, "option {} must be none, bytes-asc, bytes-desc, files-asc or files-desc: {}",
              key, text);
}

using Reader = std::function<Status(RewriteOptions&, const std::string& key, const std::string& text)>;

/// Reads the text with `parse` into a member.
template <typename Member, typename Parse>
Reader Into(Member RewriteOptions::*member, Parse parse) {
  return [member, parse](RewriteOptions& options, const std::string& key, const std::string& text) -> Status {
    FRAZIL_ASSIGN(options.*member, parse(key, text));
    return {};
  };
}

const std::map<std::string, Reader>& Readers() {
  using O = RewriteOptions;
  static const std::map<std::string, Reader> readers = {
      {"target-file-size-bytes", Into(&O::target_file_size_bytes, ParsePositive<int64_t>)},
      {"min-file-size-bytes", Into(&O::min_file_size_bytes, ParseNotNegative<int64_t>)},
      {"small-file-threshold-bytes", Into(&O::small_file_threshold_bytes, ParsePositive<int64_t>)},
      {"max-file-size-bytes", Into(&O::max_file_size_bytes, ParsePositive<int64_t>)},
      {"min-input-files", Into(&O::min_input_files, ParsePositive<int64_t>)},
      {"rewrite-all", Into(&O::rewrite_all, ParseBool)},
      {"max-file-group-size-bytes", Into(&O::max_file_group_size_bytes, ParsePositive<int64_t>)},
      {"max-file-group-input-files", Into(&O::max_file_group_input_files, ParsePositive<int64_t>)},
      {"delete-file-threshold", Into(&O::delete_file_threshold, ParsePositive<int64_t>)},
      {"delete-ratio-threshold", Into(&O::delete_ratio_threshold, ParsePositive<double>)},
      {"max-files-to-rewrite", Into(&O::max_files_to_rewrite, ParsePositive<int64_t>)},
      {"output-spec-id", Into(&O::output_spec_id, ParseNumber<int32_t>)},
      {"max-concurrent-file-group-rewrites", Into(&O::max_concurrent_file_group_rewrites, ParsePositive<int>)},
      {"partial-progress.enabled", Into(&O::partial_progress, ParseBool)},
      {"partial-progress.max-commits", Into(&O::partial_progress_max_commits, ParsePositive<int>)},
      {"partial-progress.max-failed-commits", Into(&O::partial_progress_max_failed_commits, ParseNotNegative<int>)},
      {"use-starting-sequence-number", Into(&O::use_starting_sequence_number, ParseBool)},
      {"rewrite-job-order", Into(&O::job_order, ParseJobOrder)},
      {"remove-dangling-deletes", Into(&O::remove_dangling_deletes, ParseBool)},
      {"compression-factor", Into(&O::compression_factor, ParsePositive<double>)},
      {"shuffle-partitions-per-file", Into(&O::shuffle_partitions_per_file, ParsePositive<int>)},
      {"leveled", Into(&O::leveled, ParseBool)},
      {"scans-per-hour", Into(&O::scans_per_hour, ParsePositive<double>)},
      {"landing-fill-bytes", Into(&O::landing_fill_bytes, ParsePositive<int64_t>)},
      {"landing-max-age-ms", Into(&O::landing_max_age_ms, ParseNotNegative<int64_t>)},
  };
  return readers;
}

}  // namespace

Result<RewriteOptions> RewriteOptions::Parse(const std::map<std::string, std::string>& options) {
  RewriteOptions parsed;
  for (const auto& [key, text] : options) {
    const auto reader = Readers().find(key);
    if (reader == Readers().end()) {
      std::vector<std::string> known;
      for (const auto& [name, ignored] : Readers()) known.push_back(name);
      const std::string nearest = spec::NearestName(key, known);
      Error error(ErrorCode::kInvalidArgument, "rewrite_data_files has no option " + key);
      return tl::unexpected(nearest.empty() ? std::move(error)
                                            : std::move(error).WithHint("did you mean " + nearest + "?"));
    }
    FRAZIL_TRY(reader->second(parsed, key, text));
  }
  return parsed;
}

}  // namespace frazil::maintain
