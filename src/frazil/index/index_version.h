#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frazil/base/executor.h"
#include "frazil/index/file_dictionary.h"
#include "frazil/index/key_index.h"
#include "frazil/index/live_deletes.h"
#include "frazil/index/run.h"
#include "frazil/index/run_probe.h"

namespace frazil::index {

using RunList = std::vector<std::shared_ptr<const Run>>;  ///< newest first

/// One state of the index, equal to one snapshot. Members are set by whoever makes it; then it is immutable and
/// thread-safe, and lives as long as anybody looks at it.
class IndexVersion : public KeyIndexView {
 public:
  std::optional<spec::SnapshotId> snapshot;
  std::string markers;        ///< IndexManifest::markers of the snapshot
  int64_t num_live_rows = 0;  ///< IndexManifest::num_live_rows
  std::string key_reading;    ///< KeyReading() with which files without own keys were read
  FileDictionary dictionary;
  std::vector<RunList> shards;
  /// Null in a version that a manifest gave: it has entries, but nobody has looked at the table yet.
  std::shared_ptr<const table::ScanPlan> files;
  std::shared_ptr<io::FileIO> io;
  std::vector<spec::FieldId> key_fields;
  std::shared_ptr<LiveDeletes> deletes;

  IndexVersion() = default;
  IndexVersion(const IndexVersion& other);
  IndexVersion& operator=(const IndexVersion&) = delete;

  std::optional<spec::SnapshotId> snapshot_id() const override { return snapshot; }
  Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted) const override;
  Status ForEachDuplicateKey(
      const std::function<Status(const Hash96&, const std::vector<KeyHit>&)>& visit) const override;
  const table::ScanPlan& plan() const override;
  const table::FileScanTask* FindTask(const std::string& file_path) const override;

  /// The same, large batches on the threads of `executor` (may be null) too; kCorruptData of a run sets `damaged_shard`.
  Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted, Executor* executor,
                                     std::optional<uint32_t>* damaged_shard) const;
  /// Positions deleted in a live file; null: none.
  Result<LiveDeletes::Positions> DeletedIn(const FileState& state) const;

 private:
  /// The hits of sorted[begin, end).
  Result<std::vector<KeyHit>> LookUpPart(std::span<const Hash96> sorted, size_t begin, size_t end,
                                         std::optional<uint32_t>& damaged_shard) const;

  mutable std::once_flag tasks_once_;
  mutable std::unordered_map<std::string_view, const table::FileScanTask*> tasks_;
};

}  // namespace frazil::index
