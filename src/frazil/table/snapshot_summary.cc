#include "frazil/table/snapshot_summary.h"

#include <fmt/format.h>

#include "frazil/base/number_text.h"

namespace frazil::table {
namespace {

/// A vector counts with its own bytes: its Puffin holds others as well.
int64_t SizeOf(const spec::DataFile& file) {
  return file.is_deletion_vector() ? file.content_size_in_bytes.value_or(0) : file.file_size_in_bytes;
}

}  // namespace

std::optional<int64_t> SummaryNumber(const std::map<std::string, std::string>& summary, const std::string& key) {
  const auto found = summary.find(key);
  if (found == summary.end()) return std::nullopt;
  const auto number = ReadNumber<int64_t>(found->second);
  return number && *number >= 0 ? number : std::nullopt;
}

void SnapshotSummary::Metrics::Add(const spec::DataFile& file) {
  added_size += SizeOf(file);
  if (file.content == spec::FileContent::kData) {
    ++added_data_files;
    added_records += file.record_count;
    return;
  }
  ++added_delete_files;
  if (file.content == spec::FileContent::kEqualityDeletes) {
    ++added_equality_files;
    added_equality_deletes += file.record_count;
    return;
  }
  ++(file.is_deletion_vector() ? added_vectors : added_position_files);
  added_position_deletes += file.record_count;
}

void SnapshotSummary::Metrics::Remove(const spec::DataFile& file) {
  removed_size += SizeOf(file);
  if (file.content == spec::FileContent::kData) {
    ++removed_data_files;
    removed_records += file.record_count;
    return;
  }
  ++removed_delete_files;
  if (file.content == spec::FileContent::kEqualityDeletes) {
    ++removed_equality_files;
    removed_equality_deletes += file.record_count;
    return;
  }
  ++(file.is_deletion_vector() ? removed_vectors : removed_position_files);
  removed_position_deletes += file.record_count;
}

std::map<std::string, std::string> SnapshotSummary::Metrics::NonZero() const {
  std::map<std::string, std::string> lines;
  const auto set = [&](const char* key, int64_t value) {
    if (value > 0) lines[key] = std::to_string(value);
  };
  set("added-files-size", added_size);
  set("removed-files-size", removed_size);
  set("added-data-files", added_data_files);
  set("deleted-data-files", removed_data_files);
  set("added-delete-files", added_delete_files);
  set("removed-delete-files", removed_delete_files);
  set("added-equality-delete-files", added_equality_files);
  set("removed-equality-delete-files", removed_equality_files);
  set("added-position-delete-files", added_position_files);
  set("removed-position-delete-files", removed_position_files);
  set("added-dvs", added_vectors);
  set("removed-dvs", removed_vectors);
  set("added-records", added_records);
  set("deleted-records", removed_records);
  set("added-position-deletes", added_position_deletes);
  set("removed-position-deletes", removed_position_deletes);
  set("added-equality-deletes", added_equality_deletes);
  set("removed-equality-deletes", removed_equality_deletes);
  return lines;
}

void SnapshotSummary::Added(const spec::DataFile& file, const std::string& partition_path) {
  total_.Add(file);
  partitions_[partition_path].Add(file);
}

void SnapshotSummary::Removed(const spec::DataFile& file, const std::string& partition_path) {
  total_.Remove(file);
  partitions_[partition_path].Remove(file);
}

std::map<std::string, std::string> SnapshotSummary::Build(const spec::Snapshot* previous,
                                                          int64_t partition_limit) const {
  std::map<std::string, std::string> summary = total_.NonZero();
  summary["changed-partition-count"] = std::to_string(partitions_.size());
  if (!partitions_.empty() && static_cast<int64_t>(partitions_.size()) <= partition_limit) {
    summary["partition-summaries-included"] = "true";
    for (const auto& [path, metrics] : partitions_) {
      std::string text;
      for (const auto& [key, value] : metrics.NonZero())
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
      summary["partitions." + path] = text;
    }
  }
  // A total that the head lacks is left out: a guess would be carried on for ever.
  const auto set_total = [&](const char* key, int64_t added, int64_t removed) {
    const std::optional<int64_t> before = previous == nullptr ? 0 : SummaryNumber(previous->summary, key);
    if (before && *before + added - removed >= 0) summary[key] = std::to_string(*before + added - removed);
  };
  set_total("total-records", total_.added_records, total_.removed_records);
  set_total("total-files-size", total_.added_size, total_.removed_size);
  set_total("total-data-files", total_.added_data_files, total_.removed_data_files);
  set_total("total-delete-files", total_.added_delete_files, total_.removed_delete_files);
  set_total("total-position-deletes", total_.added_position_deletes, total_.removed_position_deletes);
  set_total("total-equality-deletes", total_.added_equality_deletes, total_.removed_equality_deletes);
  return summary;
}

}  // namespace frazil::table
