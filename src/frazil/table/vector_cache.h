#pragma once

#include <compare>
#include <memory>
#include <string>

#include "frazil/format/deletion_vector.h"
#include "frazil/format/shared_lru_cache.h"
#include "frazil/spec/manifest.h"

namespace frazil::table {

/// Decoded deletion vectors that the scans of one store share: what lies at an offset of a Puffin never changes, so a
/// vector is decoded once while it stays here (least recently used go first). Thread-safe.
///
/// A vector is found by everything it was checked against: its place, its data file and how many rows that has.
class VectorCache {
 public:
  using Pointer = std::shared_ptr<const format::DeletionVector>;

  /// `max_bytes` come out of `budget`, which may be null.
  explicit VectorCache(int64_t max_bytes, MemoryBudget* budget = nullptr) : vectors_(max_bytes, budget) {}

  /// Null when it is not there. `entry` is that of a vector.
  Pointer Find(const spec::DataFile& entry, int64_t data_file_record_count) {
    return vectors_.Find(KeyOf(entry, data_file_record_count));
  }
  /// Whether it was kept.
  bool Keep(const spec::DataFile& entry, int64_t data_file_record_count, const Pointer& vector);

 private:
  struct Key {
    std::string puffin;
    int64_t offset;
    int64_t size;
    std::string data_file;
    int64_t cardinality;
    int64_t data_file_record_count;
    auto operator<=>(const Key&) const = default;
  };
  static Key KeyOf(const spec::DataFile& entry, int64_t data_file_record_count);

  format::SharedLruCache<Key, format::DeletionVector> vectors_;
};

}  // namespace frazil::table
