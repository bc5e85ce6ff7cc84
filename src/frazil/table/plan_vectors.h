#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "frazil/io/file_io.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/vector_cache.h"

namespace frazil::table {

/// The vectors of a plan's files, for those who read the files in any order. Vectors lie many in one Puffin: with the first
/// of them that is wanted those of the plan's other files come along, so a small Puffin is opened once. Thread-safe.
class PlanVectors {
 public:
  /// `plan` outlives this. `cache` null: every vector is read when it is asked for.
  PlanVectors(std::shared_ptr<io::FileIO> io, const ScanPlan& plan, std::shared_ptr<VectorCache> cache);

  /// The vector of a task of the plan that has one. ReadVector's errors.
  Result<VectorCache::Pointer> For(const FileScanTask& task);

 private:
  /// The files whose vectors lie in one Puffin.
  struct Puffin {
    std::mutex mutex;  ///< held while it is read: whoever waits finds the vector in the cache
    std::vector<const FileScanTask*> tasks;
    bool is_read = false;  ///< as a whole
  };

  const std::shared_ptr<io::FileIO> io_;
  const std::shared_ptr<VectorCache> cache_;
  std::map<std::string_view, Puffin> puffins_;
};

}  // namespace frazil::table
