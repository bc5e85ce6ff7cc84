#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/executor.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/index_version.h"
#include "frazil/index/run_merge.h"

namespace frazil::index {

/// The version of the index that counts, and the ways in which it is replaced: by following, by merges of runs and by
/// checkpoints. Thread-safe, but Advance() is for one thread.
class CurrentVersion {
 public:
  /// `directory`: where runs may be written; null: nowhere, so that only runs in memory are merged. Outlives this.
  CurrentVersion(std::shared_ptr<const IndexVersion> first, std::map<uint32_t, std::string> damage,
                 IndexDirectory* directory);

  std::shared_ptr<const IndexVersion> Get() const;

  /// Shards whose entries cannot be believed any more, and why; Advance() takes them out.
  std::map<uint32_t, std::string> damage() const;
  void SetDamage(uint32_t shard, std::string why);

  /// `next`, made of the current version, takes its place with the runs that are there now and `added` in front of them;
  /// of shards that are `refilled` with `added` alone.
  void Advance(std::shared_ptr<IndexVersion> next, std::vector<RunList> added, const std::vector<bool>& refilled);

  /// Does the merge that is due next; false: none is. An unreadable run counts as damage of its shard. kUnavailable,
  /// kShuttingDown (by `pace`, which may be null), kIo.
  Result<bool> MergeOne(MergePace* pace);
  /// Runs of the shard that has most.
  size_t MostRuns() const;
  int64_t entries_forwarded() const { return num_forwarded_; }

  /// Makes the current version durable, whatever replaces it meanwhile: its runs in memory become one file a shard, then its
  /// manifest is written. Returns the version that the manifest describes. After an error everything is as it was, and
  /// nothing that was written for it stays. `executor` may be null.
  Result<std::shared_ptr<const IndexVersion>> Checkpoint(const std::string& table_uuid, const std::string& key_version,
                                                         Executor* executor);

 private:
  struct MergeJob {
    std::shared_ptr<const IndexVersion> version;
    uint32_t shard = 0;
    RunList inputs;
    std::string path;                 ///< empty: in memory
    std::unique_ptr<NewFiles> files;  ///< null: in memory
  };
  std::optional<MergeJob> ChooseJob();
  void InstallMerged(MergeJob& job, std::shared_ptr<const Run> merged);
  Result<std::shared_ptr<const IndexVersion>> FlushMemoryRuns(Executor* executor);
  std::shared_ptr<const IndexVersion> InstallFlushed(const std::shared_ptr<const IndexVersion>& version,
                                                     const std::vector<RunList>& memory_runs, const RunList& flushed);
  std::set<std::string> FilesInUse() const;
  std::shared_ptr<io::FileIO> local_files() const;

  IndexDirectory* const directory_;
  std::atomic<int64_t> num_forwarded_ = 0;

  std::mutex checkpoint_mutex_;  ///< one checkpoint at a time; taken before mutex_

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const IndexVersion> version_;
  std::map<uint32_t, std::string> damage_;
  bool has_merged_ = false;   ///< so that row maps may have become needless
  bool is_flushing_ = false;  ///< runs in memory are being written, so that merges leave them alone
};

}  // namespace frazil::index
