#include "frazil/maintain/rewrite_worth.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil::maintain {
namespace {

constexpr double kHorizonSeconds = 7 * 24 * 3600;
constexpr double kSecondsPerRequest = 0.01;  ///< opening a file or a delete file: footer or blob of an object store
constexpr double kScannedBytesPerSecond = 200e6;
constexpr double kRewrittenBytesPerSecond = 140e6;  ///< read and written ones, see bench rewrite
constexpr double kSecondsPerMerge = 0.001;
/// A GB for a month costs as much as half an hour of a core.
constexpr double kStorageSecondsPerByteSecond = 1800.0 / 1e9 / (30.0 * 24 * 3600);

}  // namespace

TableUse UseOf(const spec::TableMetadata& metadata, int64_t now_ms, double scans_per_hour) {
  const int64_t since_ms = now_ms - static_cast<int64_t>(kHorizonSeconds * 1000);
  int64_t num_commits = 0;
  int64_t oldest_ms = now_ms;
  for (const spec::Snapshot& snapshot : metadata.snapshots) {
    if (snapshot.timestamp_ms < since_ms || snapshot.operation == spec::Operation::kReplace) continue;
    ++num_commits;
    oldest_ms = std::min(oldest_ms, snapshot.timestamp_ms);
  }
  // A table that began just now tells of no rate: an hour at least.
  const double known_seconds = std::max(3600.0, static_cast<double>(now_ms - oldest_ms) / 1000);
  return {.horizon_seconds = kHorizonSeconds,
          .scans = kHorizonSeconds / 3600 * scans_per_hour,
          .commits = static_cast<double>(num_commits) / known_seconds * kHorizonSeconds};
}

RewriteWorth WorthOf(const GroupSize& size, const TableUse& use) {
  const auto seconds = [](int64_t count, double each) { return static_cast<double>(count) * each; };
  const int64_t files_removed = std::max<int64_t>(0, size.input_files - size.output_files);
  const int64_t dead_bytes = std::max<int64_t>(0, size.input_bytes - size.output_bytes);
  RewriteWorth worth;
  worth.open_seconds = use.scans * seconds(files_removed, kSecondsPerRequest);
  worth.dead_seconds = use.scans * seconds(dead_bytes, 1 / kScannedBytesPerSecond);
  worth.deletes_seconds = use.scans * seconds(size.vectors + size.delete_files, kSecondsPerRequest);
  worth.merge_seconds = use.commits * seconds(size.vectors, kSecondsPerMerge);
  worth.storage_seconds = use.horizon_seconds * seconds(dead_bytes, kStorageSecondsPerByteSecond);
  worth.cost_seconds =
      seconds(size.input_bytes + size.output_bytes, 1 / kRewrittenBytesPerSecond) +
      seconds(size.input_files + size.vectors + size.delete_files + size.output_files, kSecondsPerRequest);
  return worth;
}

RewriteWorth& RewriteWorth::operator+=(const RewriteWorth& other) {
  open_seconds += other.open_seconds;
  dead_seconds += other.dead_seconds;
  deletes_seconds += other.deletes_seconds;
  merge_seconds += other.merge_seconds;
  storage_seconds += other.storage_seconds;
  cost_seconds += other.cost_seconds;
  return *this;
}

std::string RewriteWorth::ToString() const {
  return fmt::format(
      "saves {:.1f} s a week (files {:.1f}, deleted rows {:.1f}, delete files {:.1f}, writers {:.1f}, storage {:.1f}) "
      "for "
      "{:.1f} s",
      benefit_seconds(), open_seconds, dead_seconds, deletes_seconds, merge_seconds, storage_seconds, cost_seconds);
}

}  // namespace frazil::maintain
