#include "frazil/maintain/rewrite_levels.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "frazil/spec/single_value.h"
#include "frazil/table/partition_key.h"

namespace frazil::maintain {
namespace {

/// What values of a partition field the rows of some files can have.
struct Range {
  spec::Value lower;
  spec::Value upper;

  bool Contains(const spec::Value& value) const {
    return !spec::IsNull(value) && spec::CompareValues(lower, value) <= 0 && spec::CompareValues(value, upper) <= 0;
  }
};

std::optional<spec::Value> Bound(const std::map<spec::FieldId, Bytes>& bounds, const spec::PartitionField& field,
                                 const spec::Type& type) {
  const auto found = bounds.find(field.source_id);
  if (found == bounds.end()) return std::nullopt;
  const auto value = spec::DecodeSingleValue(type, found->second);
  if (!value) return std::nullopt;
  const auto result = field.transform.Apply(type, *value);
  return result && !spec::IsNull(*result) ? std::optional(*result) : std::nullopt;
}

/// None: any value.
std::optional<Range> RangeOf(const table::ScanPlan& scan, std::span<const size_t> tasks,
                             const spec::PartitionField& field) {
  const spec::Field* source = scan.schema->FindField(field.source_id);
  if (source == nullptr || !field.transform.preserves_order()) return std::nullopt;
  std::optional<Range> range;
  for (const size_t task : tasks) {
    const spec::DataFile& file = scan.tasks[task].data_file.file;
    const auto nulls = file.null_value_counts.find(field.source_id);
    auto lower = Bound(file.lower_bounds, field, source->type);
    auto upper = Bound(file.upper_bounds, field, source->type);
    if (!lower || !upper || nulls == file.null_value_counts.end() || nulls->second != 0) return std::nullopt;
    if (!range) {
      range = Range{*std::move(lower), *std::move(upper)};
      continue;
    }
    if (spec::CompareValues(*lower, range->lower) < 0) range->lower = *std::move(lower);
    if (spec::CompareValues(*upper, range->upper) > 0) range->upper = *std::move(upper);
  }
  return range;
}

int64_t CountPartitions(const table::ScanPlan& scan, std::span<const size_t> tasks,
                        const spec::PartitionSpec& output_spec) {
  std::vector<std::optional<Range>> ranges;
  for (const spec::PartitionField& field : output_spec.fields()) ranges.push_back(RangeOf(scan, tasks, field));
  table::PartitionMap<bool> partitions;
  for (const table::FileScanTask& task : scan.tasks) {
    const spec::DataFile& file = task.data_file.file;
    if (file.spec_id != output_spec.id() || file.partition.size() != ranges.size()) continue;
    bool may_get_rows = true;
    for (size_t i = 0; i < ranges.size() && may_get_rows; ++i) {
      may_get_rows = !ranges[i] || ranges[i]->Contains(file.partition[i]);
    }
    if (may_get_rows) partitions.try_emplace({file.spec_id, file.partition}, true);
  }
  return std::max<int64_t>(1, static_cast<int64_t>(partitions.size()));
}

/// When the oldest of the files was written; none: before anything that the table still knows of.
std::optional<int64_t> OldestMs(const table::ScanPlan& scan, std::span<const size_t> tasks) {
  std::map<spec::SequenceNumber, int64_t> times;
  for (const spec::Snapshot& snapshot : scan.metadata->snapshots) {
    times[snapshot.sequence_number] = snapshot.timestamp_ms;
  }
  int64_t oldest = std::numeric_limits<int64_t>::max();
  for (const size_t task : tasks) {
    const auto time = times.find(scan.tasks[task].data_file.sequence_number);
    if (time == times.end()) return std::nullopt;
    oldest = std::min(oldest, time->second);
  }
  return oldest;
}

}  // namespace

size_t CountWorthMerging(std::span<const int64_t> bytes, int64_t min_input_files) {
  int64_t smaller = 0;
  size_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && bytes[i] <= smaller) count = i + 1;
    smaller += bytes[i];
  }
  return static_cast<int64_t>(count) >= min_input_files ? count : 0;
}

LandingVerdict JudgeLanding(const table::ScanPlan& scan, std::span<const size_t> tasks,
                            const spec::PartitionSpec& output_spec, const LandingRules& rules) {
  int64_t bytes = 0;
  for (const size_t task : tasks) bytes += scan.tasks[task].data_file.file.file_size_in_bytes;
  const int64_t num_partitions = CountPartitions(scan, tasks, output_spec);
  const int64_t share = bytes / num_partitions;
  if (share >= rules.fill_bytes) {
    return {true, fmt::format("{} landing files have {} bytes for each of {} partitions", tasks.size(), share,
                              num_partitions)};
  }
  const std::optional<int64_t> oldest_ms = OldestMs(scan, tasks);
  if (!oldest_ms || rules.now_ms - *oldest_ms >= rules.max_age_ms) {
    return {true, fmt::format("the oldest of {} landing files has waited for {} min", tasks.size(),
                              (oldest_ms ? rules.now_ms - *oldest_ms : rules.max_age_ms) / 60'000)};
  }
  return {false,
          fmt::format("{} landing files have {} bytes for each of {} partitions, less than landing-fill-bytes = {}, "
                      "and wait until the oldest is {} min old",
                      tasks.size(), share, num_partitions, rules.fill_bytes, rules.max_age_ms / 60'000)};
}

}  // namespace frazil::maintain
