#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/index/indexed_file.h"
#include "frazil/io/file_io.h"
#include "frazil/table/scan_planner.h"

namespace frazil::index {

/// Decoded positions deleted in data files, by the identity of their deletes: a cache of bounded size that several
/// versions of an index share; what is not in it is read again. Thread-safe.
class LiveDeletes {
 public:
  using Positions = std::shared_ptr<const format::DeletionVector>;
  using Bits = std::shared_ptr<const std::vector<uint64_t>>;  ///< one a row, up to the last deleted one

  /// `budget` may be null. When it is used up less is kept, that is all.
  LiveDeletes(int64_t max_bytes, MemoryBudget* budget);

  /// Identity of the positions deleted in a file: its vector, or the paths of its v2 position delete files, a line each.
  /// An empty path: no deletes.
  static spec::DeleteFileId IdOf(const table::ApplicableDeletes& deletes);

  /// Positions deleted in a planned file; null when there are none. Errors of table::ReadPositions.
  Result<Positions> Get(const std::shared_ptr<io::FileIO>& io, const table::FileScanTask& task);
  /// The same for a state of which only the identity is left; kNotFound or another error when its files are gone.
  Result<Positions> GetByIdentity(const std::shared_ptr<io::FileIO>& io, const IndexedFile& file,
                                  const spec::DeleteFileId& id);
  /// What is at hand; null: not at hand.
  Positions FindCached(const std::string& path, const spec::DeleteFileId& id);

  /// The same as bits, for those who ask for many rows in no order; null: nobody has laid them out yet.
  Bits FindBits(const std::string& path, const spec::DeleteFileId& id);
  /// Lays `positions` of these deletes out, for others too as long as they are in the cache.
  Bits LayOut(const std::string& path, const spec::DeleteFileId& id, const format::DeletionVector& positions);

  int64_t memory_bytes() const;

 private:
  struct Slot {
    std::string key;
    Positions positions;
    Bits bits;  ///< once somebody wanted them
    int64_t bytes;
  };
  static std::string KeyOf(const std::string& path, const spec::DeleteFileId& id);
  Positions Insert(const std::string& path, const spec::DeleteFileId& id, format::DeletionVector positions);
  void DropOldest();
  bool MakeRoom(int64_t bytes);

  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Slot> slots_;  ///< used last comes first
  std::unordered_map<std::string, std::list<Slot>::iterator> by_key_;
  int64_t bytes_ = 0;
  std::optional<MemoryBudget::Reservation> reservation_;  ///< none: no limit
};

}  // namespace frazil::index
