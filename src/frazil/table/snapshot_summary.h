#pragma once

#include <map>
#include <optional>
#include <string>

#include "frazil/spec/manifest.h"
#include "frazil/spec/snapshot.h"

namespace frazil::table {

/// A number of a summary, such as "total-records"; none where it is not there, no number, or below zero: anybody writes it.
std::optional<int64_t> SummaryNumber(const std::map<std::string, std::string>& summary, const std::string& key);

/// Counts the files that a commit adds and removes and writes the metrics of its summary (spec section 2.3).
class SnapshotSummary {
 public:
  /// `partition_path`: PartitionSpec::Path of the file; changed partitions are counted by it, as Java does.
  void Added(const spec::DataFile& file, const std::string& partition_path);
  void Removed(const spec::DataFile& file, const std::string& partition_path);

  int64_t added_records() const { return total_.added_records; }
  int64_t removed_records() const { return total_.removed_records; }

  /// `previous`: the branch's head, null when it has none. Partitions get a line each only when there are at most
  /// `partition_limit` of them.
  std::map<std::string, std::string> Build(const spec::Snapshot* previous, int64_t partition_limit) const;

 private:
  struct Metrics {
    int64_t added_size = 0, removed_size = 0;
    int64_t added_data_files = 0, removed_data_files = 0;
    int64_t added_equality_files = 0, removed_equality_files = 0;
    int64_t added_position_files = 0, removed_position_files = 0;
    int64_t added_vectors = 0, removed_vectors = 0;
    int64_t added_delete_files = 0, removed_delete_files = 0;
    int64_t added_records = 0, removed_records = 0;
    int64_t added_position_deletes = 0, removed_position_deletes = 0;
    int64_t added_equality_deletes = 0, removed_equality_deletes = 0;

    void Add(const spec::DataFile& file);
    void Remove(const spec::DataFile& file);
    std::map<std::string, std::string> NonZero() const;
  };

  Metrics total_;
  std::map<std::string, Metrics> partitions_;
};

}  // namespace frazil::table
