#include "frazil/table/manifest_sort.h"

#include <algorithm>
#include <limits>

#include "frazil/table/manifest_filter.h"

namespace frazil::table {
namespace {

constexpr char kWhat[] = "sorting manifests";
constexpr int64_t kShareOfLimit = 4;
constexpr int64_t kLeastBytes = int64_t{64} << 10;
constexpr size_t kSizesPerReservation = 64;

/// The list of entries doubles as it grows.
int64_t BytesOf(const spec::ManifestEntry& entry) {
  return EstimateBytes(std::span(&entry, 1)) + static_cast<int64_t>(sizeof(entry));
}

/// As a key of the sizes.
int64_t BytesOf(const spec::PartitionTuple& partition) {
  constexpr int64_t kPerNode = 128;
  constexpr int64_t kPerText = 32;
  return kPerNode + static_cast<int64_t>(partition.size()) * (static_cast<int64_t>(sizeof(spec::Value)) + kPerText);
}

}  // namespace

bool PartitionOrder::operator()(const spec::PartitionTuple& left, const spec::PartitionTuple& right) const {
  for (const size_t field : fields_) {
    const bool left_null = spec::IsNull(left.at(field));
    const bool right_null = spec::IsNull(right.at(field));
    if (left_null || right_null) {
      if (left_null != right_null) return left_null;
      continue;
    }
    if (const auto order = spec::CompareValues(left[field], right[field]); order != 0) return order < 0;
  }
  return false;
}

/// Takes what there is, a quarter of the limit at most.
Status ManifestSort::TakeRoom() {
  room_bytes_ = std::numeric_limits<int64_t>::max();
  if (budget_ == nullptr) return {};
  for (int64_t bytes = std::max(kLeastBytes, budget_->limit_bytes() / kShareOfLimit);; bytes /= 2) {
    auto room = budget_->Reserve(std::max(bytes, kLeastBytes), kWhat);
    if (!room && bytes > kLeastBytes) continue;
    FRAZIL_ASSIGN(room_, std::move(room));
    room_bytes_ = room_.bytes();
    return {};
  }
}

Status ManifestSort::ForEachLive(const spec::ManifestFile& manifest, const Take& take) {
  int64_t num_live = 0;
  FRAZIL_TRY(cache_.ForEachEntry(manifest, metadata_, [&](const spec::ManifestEntry& entry) -> Status {
    if (!entry.is_live()) return {};
    ++num_live;
    return take(entry);
  }));
  if (manifest.added_files_count && manifest.existing_files_count &&
      num_live != int64_t{*manifest.added_files_count} + *manifest.existing_files_count) {
    return Fail(ErrorCode::kInvalidTable, "a manifest holds {} live files, its list says {}: {}", num_live,
                int64_t{*manifest.added_files_count} + *manifest.existing_files_count, manifest.manifest_path);
  }
  return {};
}

Status ManifestSort::Measure(const spec::ManifestEntry& entry, Range& range) {
  const auto [size, is_new] = sizes_.try_emplace(entry.data_file.partition);
  if (is_new && budget_ != nullptr && sizes_.size() % kSizesPerReservation == 1) {
    const int64_t bytes = BytesOf(size->first) * static_cast<int64_t>(sizes_.size() + kSizesPerReservation);
    if (sizes_room_.bytes() == 0) {
      FRAZIL_ASSIGN(sizes_room_, budget_->Reserve(bytes, kWhat));
    } else {
      FRAZIL_TRY(sizes_room_.Resize(bytes));
    }
  }
  ++size->second.entries;
  size->second.bytes += BytesOf(entry);
  const spec::PartitionTuple* partition = &size->first;
  if (range.first == nullptr || order_(*partition, *range.first)) range.first = partition;
  if (range.last == nullptr || order_(*range.last, *partition)) range.last = partition;
  return {};
}

/// Measures them, and keeps them as long as they have room; false: they have none.
Result<bool> ManifestSort::ReadAll(std::vector<spec::ManifestEntry>& entries) {
  ++num_passes_;
  bool has_room = true;
  int64_t bytes = 0;
  for (const spec::ManifestFile& manifest : manifests_) {
    Range& range = ranges_.emplace_back();
    FRAZIL_TRY(ForEachLive(manifest, [&](const spec::ManifestEntry& entry) -> Status {
      FRAZIL_TRY(Measure(entry, range));
      ++num_entries_;
      bytes += BytesOf(entry);
      if (has_room && bytes > room_bytes_) {
        has_room = false;
        entries = {};
      }
      if (has_room) entries.push_back(AsExisting(entry));
      return {};
    }));
  }
  return has_room;
}

/// Those of some partitions, in the order of the manifests.
Status ManifestSort::ForEachIn(const Range& wanted, const Take& take) {
  ++num_passes_;
  for (size_t i = 0; i < manifests_.size(); ++i) {
    const Range& has = ranges_[i];
    const bool has_any = has.first != nullptr && !order_(*has.last, *wanted.first) && !order_(*wanted.last, *has.first);
    if (!has_any) continue;
    FRAZIL_TRY(ForEachLive(manifests_[i], [&](const spec::ManifestEntry& entry) -> Status {
      const spec::PartitionTuple& partition = entry.data_file.partition;
      if (order_(partition, *wanted.first) || order_(*wanted.last, partition)) return {};
      return take(AsExisting(entry));
    }));
  }
  return {};
}

Status ManifestSort::Give(std::vector<spec::ManifestEntry>& entries, const Take& take) const {
  std::stable_sort(entries.begin(), entries.end(),
                   [this](const spec::ManifestEntry& left, const spec::ManifestEntry& right) {
                     return order_(left.data_file.partition, right.data_file.partition);
                   });
  for (const spec::ManifestEntry& entry : entries) FRAZIL_TRY(take(entry));
  return {};
}

Status ManifestSort::ForEach(const Take& take) {
  FRAZIL_TRY(TakeRoom());
  std::vector<spec::ManifestEntry> entries;
  FRAZIL_ASSIGN(const bool has_room, ReadAll(entries));
  if (has_room) return Give(entries, take);
  for (auto next = sizes_.begin(); next != sizes_.end();) {
    Range wanted{.first = &next->first, .last = &next->first};
    Size size = next->second;
    ++next;
    if (size.bytes > room_bytes_) {
      FRAZIL_TRY(ForEachIn(wanted, take));
      continue;
    }
    for (; next != sizes_.end() && size.bytes + next->second.bytes <= room_bytes_; ++next) {
      size.entries += next->second.entries;
      size.bytes += next->second.bytes;
      wanted.last = &next->first;
    }
    entries.clear();
    entries.reserve(static_cast<size_t>(size.entries));
    FRAZIL_TRY(ForEachIn(wanted, [&](const spec::ManifestEntry& entry) -> Status {
      entries.push_back(entry);
      return {};
    }));
    FRAZIL_TRY(Give(entries, take));
  }
  return {};
}

}  // namespace frazil::table
