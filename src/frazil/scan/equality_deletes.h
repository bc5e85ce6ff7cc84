#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/scan/equality_key.h"
#include "frazil/scan/equality_key_table.h"
#include "frazil/table/partition_key.h"
#include "frazil/table/scan_planner.h"

namespace frazil::scan {

/// The keys that delete files with the same equality ids and the same scope (one partition, or everywhere) name.
struct EqualityDeleteGroup {
  std::vector<spec::FieldId> ids;
  mutable std::shared_mutex mutex;
  EqualityKeyTable keys;                         // guarded by mutex
  std::unordered_set<std::string> loaded_files;  // guarded by mutex
};

/// What the equality deletes of a snapshot hide in one data file. Immutable; thread-safe.
class EqualityFilter {
 public:
  /// Whether nothing is hidden.
  bool empty() const { return groups_.empty(); }

  /// Columns of the data file that the comparison needs, by field id; perhaps dropped from the table's schema, structs
  /// with the needed members only. Missing ones are completed as for any reader (section 6.12).
  const std::vector<spec::Field>& columns() const { return columns_; }

  /// Sets deleted[i] where row i is hidden, leaves the others alone. `rows` are equally long arrays of columns().
  void Mark(const arrow::ArrayVector& rows, std::vector<bool>& deleted) const;

 private:
  friend class EqualityDeletes;
  struct Part {
    std::shared_ptr<const EqualityDeleteGroup> group;
    EqualityKey key;
  };
  std::vector<spec::Field> columns_;
  std::vector<Part> groups_;
  spec::SequenceNumber written_at_;
};

/// The equality delete files of one snapshot (spec sections 4.5, 4.7): each is read once, when the first data file that
/// it applies to is asked for, and shared by all tasks and threads. Files with the same columns and scope are merged, so
/// that a row costs one look-up, however many they are. Thread-safe.
class EqualityDeletes {
 public:
  /// Keys take about `max_bytes` of memory; what does not fit goes to files in `temp_directory` (empty: the system's).
  EqualityDeletes(std::shared_ptr<io::FileIO> io, int64_t max_bytes, std::string temp_directory = "");
  /// With a quarter of the machine's memory share.
  explicit EqualityDeletes(std::shared_ptr<io::FileIO> io);

  /// What hides rows of the task's data file; loads what is needed for it. All plans must be of one snapshot.
  /// kInvalidTable or kCorruptData naming the delete file, kNotSupported for ORC; kIo, kResourceExhausted of the temporary
  /// files.
  Result<EqualityFilter> For(const table::ScanPlan& plan, const table::FileScanTask& task);

 private:
  using GroupPtr = std::shared_ptr<EqualityDeleteGroup>;
  struct Scopes {
    GroupPtr everywhere;
    table::PartitionMap<GroupPtr> partitions;
  };

  Result<GroupPtr> GroupOf(const table::ScanPlan& plan, const table::LiveDelete& file);
  Status Load(const table::ScanPlan& plan, const table::LiveDelete& file, EqualityDeleteGroup& group);

  const std::shared_ptr<io::FileIO> io_;
  const int64_t max_bytes_;
  const std::string temp_directory_;
  std::atomic<int64_t> used_bytes_ = 0;
  std::mutex mutex_;
  std::map<std::vector<spec::FieldId>, Scopes> groups_;  // guarded by mutex_
};

}  // namespace frazil::scan
