#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/table/manifest_cache.h"

namespace frazil::table {

/// Order of partition tuples of one spec by some of their fields, nulls first.
class PartitionOrder {
 public:
  /// `fields`: positions in the tuple.
  explicit PartitionOrder(std::vector<size_t> fields) : fields_(std::move(fields)) {}
  bool operator()(const spec::PartitionTuple& left, const spec::PartitionTuple& right) const;

 private:
  std::vector<size_t> fields_;
};

/// The live entries of manifests of one spec by partition, those of one partition in the order of the manifests. A quarter of
/// the memory limit holds as many partitions at a time as it has room for; for the next ones the manifests that have any are
/// read again. A partition that has no room passes as it is read. One thread.
class ManifestSort {
 public:
  using Take = std::function<Status(const spec::ManifestEntry& entry)>;

  /// All of them outlive it. `budget` null: no limit.
  ManifestSort(ManifestCache& cache, const spec::TableMetadata& metadata, std::span<const spec::ManifestFile> manifests,
               PartitionOrder order, MemoryBudget* budget)
      : cache_(cache),
        metadata_(metadata),
        manifests_(manifests),
        order_(order),
        budget_(budget),
        sizes_(std::move(order)) {}

  /// Tells them as EXISTING, each with its numbers (spec section 3.10). kInvalidTable when a manifest does not hold as many as
  /// its list says.
  Status ForEach(const Take& take);
  int64_t num_entries() const { return num_entries_; }
  /// How often manifests were gone through: once when everything had room.
  int64_t num_passes() const { return num_passes_; }

 private:
  struct Size {
    int64_t entries = 0;
    int64_t bytes = 0;
  };
  using Sizes = std::map<spec::PartitionTuple, Size, PartitionOrder>;
  /// Partitions that one manifest has files of: from and to, in sizes_; null: none.
  struct Range {
    const spec::PartitionTuple* first = nullptr;
    const spec::PartitionTuple* last = nullptr;
  };

  Status TakeRoom();
  Result<bool> ReadAll(std::vector<spec::ManifestEntry>& entries);
  Status Measure(const spec::ManifestEntry& entry, Range& range);
  Status ForEachLive(const spec::ManifestFile& manifest, const Take& take);
  Status ForEachIn(const Range& wanted, const Take& take);
  Status Give(std::vector<spec::ManifestEntry>& entries, const Take& take) const;

  ManifestCache& cache_;
  const spec::TableMetadata& metadata_;
  const std::span<const spec::ManifestFile> manifests_;
  const PartitionOrder order_;
  MemoryBudget* const budget_;
  MemoryBudget::Reservation room_;
  int64_t room_bytes_ = 0;
  Sizes sizes_;
  MemoryBudget::Reservation sizes_room_;
  std::vector<Range> ranges_;  ///< of manifests_
  int64_t num_entries_ = 0;
  int64_t num_passes_ = 0;
};

}  // namespace frazil::table
