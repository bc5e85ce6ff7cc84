#pragma once

#include <memory>
#include <vector>

#include "frazil/index/run.h"

namespace frazil::index {

/// All entries of a shard key by key, in order of the hash, streamed over its runs. One thread.
class ShardCursor {
 public:
  explicit ShardCursor(std::vector<std::shared_ptr<const Run>> runs);

  /// The entries of the next key in `entries`, in the order of the runs; false at the end. kCorruptData.
  Result<bool> NextKey(std::vector<Entry>& entries);

 private:
  struct Head {
    std::unique_ptr<Run::Cursor> cursor;
    Entry entry;
    bool at_end = false;
  };
  Status Start();

  const std::vector<std::shared_ptr<const Run>> runs_;
  std::vector<Head> heads_;  ///< of runs that are not at their end, in the order of the runs
  bool has_started_ = false;
};

}  // namespace frazil::index
