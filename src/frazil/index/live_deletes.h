#pragma once

#include <atomic>
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
/// versions of an index share; what is not in it is read again. What it gives is charged to the budget as long as somebody
/// has it. Thread-safe.
class LiveDeletes {
 public:
  using Positions = std::shared_ptr<const format::DeletionVector>;
  using Bits = std::shared_ptr<const std::vector<uint64_t>>;  ///< one a row, up to the last deleted one

  /// `budget` may be null. When it is used up the cache gives its room to what is read; num_refused() tells when that is
  /// not enough.
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
  /// Lays `positions` of these deletes out, for others too as long as they are in the cache. Null: no room.
  Bits LayOut(const std::string& path, const spec::DeleteFileId& id, const format::DeletionVector& positions);

  /// How often something was given although the budget had no room for it: whoever sees the number grow should let go of
  /// what it has.
  int64_t num_refused() const { return num_refused_.load(std::memory_order_relaxed); }
  /// About what positions take in memory.
  static int64_t BytesOf(const format::DeletionVector& positions);

  int64_t memory_bytes() const;

 private:
  /// A value and the room for it.
  template <typename T>
  struct Charged {
    MemoryBudget::Reservation room;
    T value;
  };

  struct Slot {
    std::string key;
    Positions positions;
    Bits bits;  ///< once somebody wanted them
    int64_t bytes;
  };
  static std::string KeyOf(const std::string& path, const spec::DeleteFileId& id);
  Positions Insert(const std::string& path, const spec::DeleteFileId& id, format::DeletionVector positions);
  void DropOldest();
  /// Room for something, for which the cache may have to let go of others; none: there is not enough.
  std::optional<MemoryBudget::Reservation> Reserve(int64_t bytes);

  const int64_t max_bytes_;
  MemoryBudget* const budget_;  ///< null: no limit
  std::atomic<int64_t> num_refused_ = 0;
  mutable std::mutex mutex_;
  std::list<Slot> slots_;  ///< used last comes first
  std::unordered_map<std::string, std::list<Slot>::iterator> by_key_;
  int64_t bytes_ = 0;
};

}  // namespace frazil::index
