#include "frazil/ingest/landing.h"

#include <algorithm>

namespace frazil::ingest {
namespace {

/// A partition that gets less than this from one commit is not worth a file of its own.
constexpr int64_t kSmallPartitionBytes = int64_t{8} << 20;

bool IsPositive(const std::map<std::string, std::string>& summary, const std::string& key) {
  const auto found = summary.find(key);
  return found != summary.end() && !found->second.empty() && found->second != "0";
}

}  // namespace

Result<LandingMode> FindLandingMode(const spec::TableMetadata& metadata, LandingMode fallback) {
  const std::string text = metadata.Property(kLandingProperty, "");
  if (text.empty()) return fallback;
  if (text == "auto") return LandingMode::kAuto;
  if (text == "never") return LandingMode::kNever;
  if (text == "always") return LandingMode::kAlways;
  return Fail(ErrorCode::kInvalidTable, "table property {} must be auto, never or always, but is {}", kLandingProperty,
              text);
}

std::string ReasonAgainstLanding(const spec::TableMetadata& metadata) {
  for (const spec::Snapshot& snapshot : metadata.snapshots) {
    const std::map<std::string, std::string>& summary = snapshot.summary;
    if (IsPositive(summary, "added-equality-deletes") || IsPositive(summary, "total-equality-deletes")) {
      return fmt::format("snapshot {} has equality deletes", snapshot.id);
    }
    if (const auto found = summary.find("replace-partitions"); found != summary.end() && found->second == "true") {
      return fmt::format("snapshot {} replaced whole partitions", snapshot.id);
    }
    if (summary.contains("flink.job-id") || summary.contains("flink.max-committed-checkpoint-id")) {
      return fmt::format("snapshot {} was written by Flink", snapshot.id);
    }
  }
  return "";
}

Result<OnReplacePartitions> FindOnReplacePartitions(const spec::TableMetadata& metadata) {
  const std::string text = metadata.Property(kOnReplacePartitionsProperty, "warn");
  if (text == "warn") return OnReplacePartitions::kWarn;
  if (text == "apply") return OnReplacePartitions::kApply;
  return Fail(ErrorCode::kInvalidTable, "table property {} must be warn or apply, but is {}",
              kOnReplacePartitionsProperty, text);
}

std::string ReasonLandingIsOff(LandingMode mode, const spec::TableMetadata& metadata) {
  if (mode != LandingMode::kAuto || metadata.default_spec().is_unpartitioned()) return "";
  return ReasonAgainstLanding(metadata);
}

bool ShouldLand(LandingMode mode, const spec::TableMetadata& metadata, int64_t row_bytes, size_t num_partitions) {
  if (metadata.default_spec().is_unpartitioned() || num_partitions == 0) return false;
  switch (mode) {
    case LandingMode::kNever: return false;
    case LandingMode::kAlways: return true;
    case LandingMode::kAuto: break;
  }
  return num_partitions > 1 && row_bytes / static_cast<int64_t>(num_partitions) < kSmallPartitionBytes &&
         ReasonAgainstLanding(metadata).empty();
}

const spec::PartitionSpec* FindSpecByContent(const spec::TableMetadata& metadata, const spec::PartitionSpec& spec) {
  const auto found = std::find_if(metadata.partition_specs.begin(), metadata.partition_specs.end(),
                                  [&](const spec::PartitionSpec& known) { return known.CompatibleWith(spec); });
  return found == metadata.partition_specs.end() ? nullptr : &*found;
}

spec::SpecId NextSpecId(const spec::TableMetadata& metadata) {
  int32_t highest = -1;
  for (const spec::PartitionSpec& spec : metadata.partition_specs) highest = std::max(highest, spec.id().value());
  return spec::SpecId(highest + 1);
}

}  // namespace frazil::ingest
