#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/io/file_io.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/spec/ids.h"
#include "frazil/table/delete_index.h"

namespace frazil::maintain {

/// Keys of equality deletes for several looks at a table: a delete file is read once, also where another head follows, as with
/// the attempts of a commit. A quarter of `budget` (null: of the process's share) at most, less where that is taken; what does
/// not fit goes to `temp_directory`. One thread.
class SharedEqualityDeletes {
 public:
  SharedEqualityDeletes(MemoryBudget* budget, std::string temp_directory)
      : budget_(budget), temp_directory_(std::move(temp_directory)) {}

  /// Those of a head. What was read of another one is kept unless a delete file went away since. kResourceExhausted.
  Result<std::shared_ptr<scan::EqualityDeletes>> Of(const std::shared_ptr<io::FileIO>& io,
                                                    const table::DeleteIndex& head);

 private:
  MemoryBudget* const budget_;
  const std::string temp_directory_;
  MemoryBudget::Reservation room_;
  std::shared_ptr<scan::EqualityDeletes> keys_;
  std::set<std::pair<std::string, spec::SequenceNumber>> live_;  ///< delete files where keys_ was last used
};

}  // namespace frazil::maintain
