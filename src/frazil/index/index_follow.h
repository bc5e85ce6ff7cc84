#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/base/executor.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/follow_cost.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/index_version.h"
#include "frazil/index/key_scan.h"
#include "frazil/index/row_forwarding.h"

namespace frazil::index {

/// Numbers of the live files by path.
using LiveNumbers = std::unordered_map<std::string, FileNumber>;

/// One step of the index from the state it has to another (ingest.md, "Follow = state difference"): what is new, what
/// changed, what is gone, which rows no entry can lead to. Changes nothing but its own copies, so it can fail at any time.
/// Used once, in the order of its functions. One thread.
class IndexFollow {
 public:
  struct Options {
    std::shared_ptr<const CanonicalKey> key;  ///< of the table's current schema
    Executor* executor = nullptr;             ///< may be null
    NewFiles* new_files = nullptr;            ///< where row maps are copied to; null: they are read where they are
    MemoryBudget* budget = nullptr;           ///< of row maps; may be null
    std::function<void(const std::string&)> on_notice;
    std::function<void(int64_t, int64_t)> on_progress;
  };
  /// `incomplete`: live files of which entries may be missing; `damaged_shards`: shards that have none. Both are filled.
  IndexFollow(const IndexVersion& from, const LiveNumbers& live, const std::set<FileNumber>& incomplete,
              const std::vector<bool>& damaged_shards, Options options);

  /// Loads the files of the snapshot and compares. `known` must outlive this.
  Status Compare(const table::Table& table, const spec::Snapshot* snapshot,
                 const std::map<std::string, KnownKeys>& known);
  /// Finds out which rows have to be read: looks at row maps and at the vectors that changed.
  Status Plan(const table::Table& table);
  /// Of somebody who knows no keys. After Compare() the vectors, after Plan() everything; `damage` is the caller's.
  FollowCost cost() const;
  /// At most so many entries come out of Scan().
  int64_t max_entries() const;
  Status Scan(EntrySorter& sorter);

  /// The next version with these runs in front of those of `from`, whose runs of damaged shards are left out.
  std::shared_ptr<IndexVersion> MakeVersion();
  void UpdateNumbers(LiveNumbers& live) const;

 private:
  struct AddedFile {
    const table::FileScanTask* task;
    FileNumber number;
    const KnownKeys* known;
  };
  struct ChangedFile {
    const table::FileScanTask* task;
    FileNumber number;
    spec::DeleteFileId deletes_id;
  };

  Status CompareDataFiles(const std::map<std::string, KnownKeys>& known);
  Status CompareEqualityDeletes();
  void FindGone();
  Status PlanAdded(const table::Table& table);
  Status PlanChanged();
  Status AddKnown(const AddedFile& file, EntrySorter& sorter) const;

  const IndexVersion& from_;
  const LiveNumbers& live_;
  const std::set<FileNumber>& incomplete_;
  const std::vector<bool>& damaged_shards_;
  const bool any_shard_is_damaged_;
  const Options options_;

  std::shared_ptr<io::FileIO> io_;
  std::shared_ptr<const table::ScanPlan> plan_;
  std::string key_reading_;
  std::string markers_;
  int64_t num_live_rows_ = 0;
  FileDictionary dictionary_;
  std::vector<bool> still_live_;  ///< by number
  size_t num_still_live_ = 0;
  std::set<FileNumber> gone_;
  std::vector<AddedFile> added_;
  std::vector<std::pair<std::string, FileNumber>> added_paths_;  ///< equality delete files too
  std::vector<ChangedFile> changed_;
  std::vector<KeyScanJob> jobs_;
  std::vector<const AddedFile*> from_known_;
};

}  // namespace frazil::index
