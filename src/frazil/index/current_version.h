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
/// checkpoints. Thread-safe, but Advance(), FlushMemoryRuns() and WriteManifest() are for one thread.
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

  /// Makes the runs in memory one file a shard. After an error everything is as it was. `executor` may be null.
  Status FlushMemoryRuns(Executor* executor);
  /// Writes the manifest of the version, which must have no runs in memory, and returns it. `also_kept`: paths of files
  /// that no version has yet.
  Result<std::shared_ptr<const IndexVersion>> WriteManifest(const std::string& table_uuid,
                                                            const std::string& key_version,
                                                            std::set<std::string> also_kept);

 private:
  struct MergeJob {
    std::shared_ptr<const IndexVersion> version;
    uint32_t shard = 0;
    RunList inputs;
    std::string path;  ///< empty: in memory
  };
  std::optional<MergeJob> ChooseJob();
  void InstallMerged(const MergeJob& job, std::shared_ptr<const Run> merged);
  std::shared_ptr<io::FileIO> local_files() const;

  IndexDirectory* const directory_;
  std::atomic<int64_t> num_forwarded_ = 0;

  /// Taken before mutex_, and for as long as files may not appear or go.
  std::mutex install_mutex_;
  std::set<std::string> being_merged_;  ///< paths; guarded by install_mutex_

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const IndexVersion> version_;
  std::map<uint32_t, std::string> damage_;
  bool has_merged_ = false;  ///< so that row maps may have become needless
};

}  // namespace frazil::index
