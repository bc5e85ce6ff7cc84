#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "frazil/base/bytes.h"
#include "frazil/index/entry.h"

namespace frazil::index {

/// The bytes of one page of a run (layout: run.h). No checks: callers know that the page holds what they ask for.
///
/// The upper 64 bits of a hash, as distance from the page's fence, are cut in two: a 16-bit *digest* of the highest bits
/// that the page's range needs, and the rest. The digests lie together at the beginning: a look-up reads one or two cache
/// lines of them, which nearly always tell that a hash is not there, or else the slot where it is.
struct RunPage {
  static constexpr size_t kBytes = 4096;
  static constexpr size_t kChecksumOffset = kBytes - sizeof(uint64_t);
  static constexpr size_t kDigestBytes = 2;

  /// What an entry takes beside its digest: rest of the upper bits (6 bytes), low bits, file number, position (4 each),
  /// and the row id (8) in runs that have them.
  static constexpr size_t RecordBytes(bool has_row_ids) { return has_row_ids ? 26 : 18; }
  static constexpr int64_t EntriesPerPage(bool has_row_ids) {
    return static_cast<int64_t>(kChecksumOffset / (kDigestBytes + RecordBytes(has_row_ids)));
  }
  static constexpr size_t RecordsOffset(bool has_row_ids) {
    return static_cast<size_t>(EntriesPerPage(has_row_ids)) * kDigestBytes;
  }
};

/// How the upper bits of a page's hashes are cut: by its fence and by the next page's (the run's largest hash for the last
/// page), so that nobody has to touch the page to know.
struct RunPageRange {
  uint64_t fence = 0;
  uint64_t width = 0;  ///< to the next fence
  int shift = 0;       ///< bits of the rest

  RunPageRange(uint64_t fence_of_page, uint64_t next_fence) : fence(fence_of_page), width(next_fence - fence_of_page) {
    const int bits = 64 - std::countl_zero(width | 1);
    shift = bits > 16 ? bits - 16 : 0;
  }

  uint64_t RestOf(uint64_t high) const { return (high - fence) & ((uint64_t{1} << shift) - 1); }
  /// Of a hash in the page's range: fits 16 bits.
  uint64_t DigestOf(uint64_t high) const { return (high - fence) >> shift; }
  uint64_t HighOf(uint16_t digest, uint64_t rest) const { return fence + ((uint64_t{digest} << shift) | rest); }
};

/// A slot of a page.
template <bool kHasRowIds>
struct RunSlot {
  static constexpr size_t kRecordBytes = RunPage::RecordBytes(kHasRowIds);

  static uint16_t DigestAt(const std::byte* page, size_t slot) {
    return LoadLittle<uint16_t>(page + slot * RunPage::kDigestBytes);
  }
  static const std::byte* RecordAt(const std::byte* page, size_t slot) {
    return page + RunPage::RecordsOffset(kHasRowIds) + slot * kRecordBytes;
  }

  // Of a record:
  static uint64_t RestAt(const std::byte* record) { return LoadLittle<uint64_t>(record) & 0xffff'ffff'ffff; }
  static uint32_t LowAt(const std::byte* record) { return LoadLittle<uint32_t>(record + 6); }
  static FileNumber FileAt(const std::byte* record) { return LoadLittle<uint32_t>(record + 10); }
  static uint32_t PositionAt(const std::byte* record) { return LoadLittle<uint32_t>(record + 14); }
  static int64_t RowIdAt(const std::byte* record) {
    if constexpr (kHasRowIds) return LoadLittle<int64_t>(record + 18);
    return kDerivedRowId;
  }

  static Hash96 HashAt(const std::byte* page, size_t slot, const RunPageRange& range) {
    const std::byte* record = RecordAt(page, slot);
    return {.high = range.HighOf(DigestAt(page, slot), RestAt(record)), .low = LowAt(record)};
  }
  static void Read(const std::byte* page, size_t slot, const RunPageRange& range, Entry& entry) {
    const std::byte* record = RecordAt(page, slot);
    entry.hash = HashAt(page, slot, range);
    entry.file = FileAt(record);
    entry.position = PositionAt(record);
    entry.row_id = RowIdAt(record);
  }
  static void Write(std::byte* page, size_t slot, const RunPageRange& range, const Entry& entry) {
    const auto digest = static_cast<uint16_t>(range.DigestOf(entry.hash.high));
    const uint64_t rest = range.RestOf(entry.hash.high);
    std::byte* record = page + RunPage::RecordsOffset(kHasRowIds) + slot * kRecordBytes;
    std::memcpy(page + slot * RunPage::kDigestBytes, &digest, 2);
    std::memcpy(record, &rest, 6);
    std::memcpy(record + 6, &entry.hash.low, 4);
    std::memcpy(record + 10, &entry.file, 4);
    std::memcpy(record + 14, &entry.position, 4);
    if constexpr (kHasRowIds) std::memcpy(record + 18, &entry.row_id, 8);
  }
};

static_assert(RunPage::EntriesPerPage(false) == 204 && RunPage::EntriesPerPage(true) == 146);

/// XXH3 of a page without its last 8 bytes, seeded with its number: a page at another's place does not check.
uint64_t ChecksumOfPage(const std::byte* page, int64_t number);

}  // namespace frazil::index
