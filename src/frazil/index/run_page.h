#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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
};

/// What the entries of a run take. Row ids are there where they cannot be derived; narrow runs hold file numbers and
/// positions of 3 bytes and row ids of 5, which is enough for nearly every table. The denser a run's hashes, the fewer bits
/// tell those of one page apart: millions of keys need 4 or 5 bytes of rest, a few thousand 6. A page reaches no farther
/// than that (max_distance), so it is not full where a gap follows.
struct RunLayout {
  bool has_row_ids = false;
  bool is_wide = false;
  int rest_bytes = 6;  ///< 4 to 6; RunWriter chooses, whatever it is given
  constexpr bool operator==(const RunLayout&) const = default;

  static constexpr FileNumber kMaxNarrowFile = (1U << 24) - 2;
  static constexpr uint32_t kMaxNarrowPosition = (1U << 24) - 1;
  static constexpr int64_t kMaxNarrowRowId = (int64_t{1} << 39) - 1;

  /// The least layout that holds `entries`.
  static RunLayout Of(std::span<const Entry> entries);
  /// This one with the rest that takes the fewest bytes for hashes as dense as those of `sorted`.
  RunLayout WithRestFor(std::span<const Entry> sorted) const;
  constexpr bool Holds(const Entry& entry) const {
    return (has_row_ids || entry.row_id == kDerivedRowId) &&
           (is_wide ? entry.file != no_file()
                    : entry.file <= kMaxNarrowFile && entry.position <= kMaxNarrowPosition &&
                          entry.row_id <= kMaxNarrowRowId);
  }

  constexpr size_t file_bytes() const { return is_wide ? 4 : 3; }
  constexpr size_t position_bytes() const { return is_wide ? 4 : 3; }
  constexpr size_t row_id_bytes() const { return !has_row_ids ? 0 : is_wide ? 8 : 5; }
  /// In slots that no entry has: no file gets this number.
  constexpr FileNumber no_file() const { return is_wide ? UINT32_MAX : kMaxNarrowFile + 1; }
  // Of a record, which is all of an entry but its digest: rest of the upper bits, low bits (4), file number, position, row
  // id.
  constexpr size_t low_offset() const { return static_cast<size_t>(rest_bytes); }
  constexpr size_t file_offset() const { return low_offset() + 4; }
  constexpr size_t position_offset() const { return file_offset() + file_bytes(); }
  constexpr size_t row_id_offset() const { return position_offset() + position_bytes(); }
  constexpr size_t record_bytes() const { return row_id_offset() + row_id_bytes(); }
  // Of a page:
  constexpr int64_t entries_per_page() const {
    return static_cast<int64_t>(RunPage::kChecksumOffset / (RunPage::kDigestBytes + record_bytes()));
  }
  constexpr size_t records_offset() const { return static_cast<size_t>(entries_per_page()) * RunPage::kDigestBytes; }
  /// Of the upper bits of a hash from its page's fence: what digest and rest hold.
  constexpr uint64_t max_distance() const { return UINT64_MAX >> (48 - 8 * rest_bytes); }
};

/// Calls `use.operator()<layout>()`, so that sizes and places in pages are constants there.
template <typename Use>
decltype(auto) WithLayout(RunLayout layout, Use&& use) {
  const auto with_rest = [&]<bool kHasRowIds, bool kIsWide>() -> decltype(auto) {
    switch (layout.rest_bytes) {
      case 4: return use.template operator()<RunLayout{kHasRowIds, kIsWide, 4}>();
      case 5: return use.template operator()<RunLayout{kHasRowIds, kIsWide, 5}>();
      default: return use.template operator()<RunLayout{kHasRowIds, kIsWide, 6}>();
    }
  };
  if (layout.is_wide) {
    return layout.has_row_ids ? with_rest.template operator()<true, true>()
                              : with_rest.template operator()<false, true>();
  }
  return layout.has_row_ids ? with_rest.template operator()<true, false>()
                            : with_rest.template operator()<false, false>();
}

/// How the upper bits of a page's hashes are cut: by its fence and by the next page's (the run's largest hash for the last
/// page), so that nobody has to touch the page to know. Where the next fence is too far away the page's range ends before
/// it, and no entry lies between.
struct RunPageRange {
  uint64_t fence = 0;
  uint64_t width = 0;  ///< to the next fence, or the layout's max_distance()
  int shift = 0;       ///< bits of the rest

  RunPageRange(uint64_t fence_of_page, uint64_t next_fence, uint64_t max_distance)
      : fence(fence_of_page), width(std::min(next_fence - fence_of_page, max_distance)) {
    const int bits = 64 - std::countl_zero(width | 1);
    shift = bits > 16 ? bits - 16 : 0;
  }

  /// Of a hash not below the fence. Others have a digest and a rest of a hash in the range.
  bool Holds(uint64_t high) const { return high - fence <= width; }
  uint64_t RestOf(uint64_t high) const { return (high - fence) & ((uint64_t{1} << shift) - 1); }
  /// Fits 16 bits; beyond the range that of its end.
  uint64_t DigestOf(uint64_t high) const { return std::min(high - fence, width) >> shift; }
  uint64_t HighOf(uint16_t digest, uint64_t rest) const { return fence + ((uint64_t{digest} << shift) | rest); }
};

/// A slot of a page.
template <RunLayout kLayout>
struct RunSlot {
  static uint16_t DigestAt(const std::byte* page, size_t slot) {
    return LoadLittle<uint16_t>(page + slot * RunPage::kDigestBytes);
  }
  static const std::byte* RecordAt(const std::byte* page, size_t slot) {
    return page + kLayout.records_offset() + slot * kLayout.record_bytes();
  }
  /// Slots without an entry are the last ones; all their bits are set, so that the digests are in order.
  static bool IsUnused(const std::byte* page, size_t slot) {
    return DigestAt(page, slot) == UINT16_MAX && FileAt(RecordAt(page, slot)) == kLayout.no_file();
  }
  static size_t CountEntries(const std::byte* page) {
    auto count = static_cast<size_t>(kLayout.entries_per_page());
    while (count > 0 && IsUnused(page, count - 1)) --count;
    return count;
  }

  // Of a record. Some load more than there is, of the last one at most some of the page's checksum.
  static uint64_t RestAt(const std::byte* record) {
    if constexpr (kLayout.rest_bytes == 4) return LoadLittle<uint32_t>(record);
    return LoadLittle<uint64_t>(record) & (UINT64_MAX >> (64 - 8 * kLayout.rest_bytes));
  }
  static uint32_t LowAt(const std::byte* record) { return LoadLittle<uint32_t>(record + kLayout.low_offset()); }
  static FileNumber FileAt(const std::byte* record) {
    const auto file = LoadLittle<uint32_t>(record + kLayout.file_offset());
    return kLayout.is_wide ? file : file & 0xff'ffff;
  }
  static uint32_t PositionAt(const std::byte* record) {
    const auto position = LoadLittle<uint32_t>(record + kLayout.position_offset());
    return kLayout.is_wide ? position : position & RunLayout::kMaxNarrowPosition;
  }
  static int64_t RowIdAt(const std::byte* record) {
    if constexpr (!kLayout.has_row_ids) return kDerivedRowId;
    const auto row_id = LoadLittle<uint64_t>(record + kLayout.row_id_offset());
    return kLayout.is_wide ? static_cast<int64_t>(row_id) : static_cast<int64_t>(row_id << 24) >> 24;  // bit 39: sign
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
    std::byte* record = page + kLayout.records_offset() + slot * kLayout.record_bytes();
    std::memcpy(page + slot * RunPage::kDigestBytes, &digest, 2);
    std::memcpy(record, &rest, static_cast<size_t>(kLayout.rest_bytes));
    std::memcpy(record + kLayout.low_offset(), &entry.hash.low, 4);
    std::memcpy(record + kLayout.file_offset(), &entry.file, kLayout.file_bytes());
    std::memcpy(record + kLayout.position_offset(), &entry.position, kLayout.position_bytes());
    std::memcpy(record + kLayout.row_id_offset(), &entry.row_id, kLayout.row_id_bytes());
  }
};

static_assert(RunLayout{false, false, 4}.entries_per_page() == 255 &&
              RunLayout{true, false, 4}.entries_per_page() == 194);
static_assert(RunLayout{false, false, 5}.entries_per_page() == 240 &&
              RunLayout{true, false, 5}.entries_per_page() == 185);
static_assert(RunLayout{false, false, 6}.entries_per_page() == 227 &&
              RunLayout{true, false, 6}.entries_per_page() == 177);
static_assert(RunLayout{false, true, 4}.entries_per_page() == 227 &&
              RunLayout{true, true, 6}.entries_per_page() == 146);
static_assert(RunLayout{false, true, 6}.max_distance() == UINT64_MAX);

/// XXH3 of a page without its last 8 bytes, seeded with its number: a page at another's place does not check.
uint64_t ChecksumOfPage(const std::byte* page, int64_t number);

}  // namespace frazil::index
