#pragma once

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

/// What the entries of a run take. Row ids are there where they cannot be derived; narrow runs hold file numbers of 3 bytes
/// and row ids of 5, which is enough for nearly every table.
struct RunLayout {
  bool has_row_ids = false;
  bool is_wide = false;
  constexpr bool operator==(const RunLayout&) const = default;

  static constexpr FileNumber kMaxNarrowFile = (1U << 24) - 1;
  static constexpr int64_t kMaxNarrowRowId = (int64_t{1} << 39) - 1;

  /// The least layout that holds `entries`.
  static RunLayout Of(std::span<const Entry> entries);
  constexpr bool Holds(const Entry& entry) const {
    return (has_row_ids || entry.row_id == kDerivedRowId) &&
           (is_wide || (entry.file <= kMaxNarrowFile && entry.row_id <= kMaxNarrowRowId));
  }

  constexpr size_t file_bytes() const { return is_wide ? 4 : 3; }
  constexpr size_t row_id_bytes() const { return !has_row_ids ? 0 : is_wide ? 8 : 5; }
  // Of a record, which is all of an entry but its digest: rest of the upper bits (6 bytes), low bits (4), file number,
  // position (4), row id.
  constexpr size_t position_offset() const { return 10 + file_bytes(); }
  constexpr size_t row_id_offset() const { return position_offset() + 4; }
  constexpr size_t record_bytes() const { return row_id_offset() + row_id_bytes(); }
  // Of a page:
  constexpr int64_t entries_per_page() const {
    return static_cast<int64_t>(RunPage::kChecksumOffset / (RunPage::kDigestBytes + record_bytes()));
  }
  constexpr size_t records_offset() const { return static_cast<size_t>(entries_per_page()) * RunPage::kDigestBytes; }
};

/// Calls `use.operator()<layout>()`, so that sizes and places in pages are constants there.
template <typename Use>
decltype(auto) WithLayout(RunLayout layout, Use&& use) {
  if (layout.is_wide) {
    return layout.has_row_ids ? use.template operator()<RunLayout{true, true}>()
                              : use.template operator()<RunLayout{false, true}>();
  }
  return layout.has_row_ids ? use.template operator()<RunLayout{true, false}>()
                            : use.template operator()<RunLayout{false, false}>();
}

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
template <RunLayout kLayout>
struct RunSlot {
  static uint16_t DigestAt(const std::byte* page, size_t slot) {
    return LoadLittle<uint16_t>(page + slot * RunPage::kDigestBytes);
  }
  static const std::byte* RecordAt(const std::byte* page, size_t slot) {
    return page + kLayout.records_offset() + slot * kLayout.record_bytes();
  }

  // Of a record:
  static uint64_t RestAt(const std::byte* record) { return LoadLittle<uint64_t>(record) & 0xffff'ffff'ffff; }
  static uint32_t LowAt(const std::byte* record) { return LoadLittle<uint32_t>(record + 6); }
  static FileNumber FileAt(const std::byte* record) {
    const auto file = LoadLittle<uint32_t>(record + 10);
    return kLayout.is_wide ? file : file & RunLayout::kMaxNarrowFile;
  }
  static uint32_t PositionAt(const std::byte* record) {
    return LoadLittle<uint32_t>(record + kLayout.position_offset());
  }
  static int64_t RowIdAt(const std::byte* record) {
    if constexpr (!kLayout.has_row_ids) return kDerivedRowId;
    // Of a narrow one more is loaded than there is, at most some of the page's checksum; its sign is bit 39.
    const auto row_id = LoadLittle<uint64_t>(record + kLayout.row_id_offset());
    return kLayout.is_wide ? static_cast<int64_t>(row_id) : static_cast<int64_t>(row_id << 24) >> 24;
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
    std::memcpy(record, &rest, 6);
    std::memcpy(record + 6, &entry.hash.low, 4);
    std::memcpy(record + 10, &entry.file, kLayout.file_bytes());
    std::memcpy(record + kLayout.position_offset(), &entry.position, 4);
    std::memcpy(record + kLayout.row_id_offset(), &entry.row_id, kLayout.row_id_bytes());
  }
};

static_assert(RunLayout{false, false}.entries_per_page() == 215 && RunLayout{true, false}.entries_per_page() == 170);
static_assert(RunLayout{false, true}.entries_per_page() == 204 && RunLayout{true, true}.entries_per_page() == 146);

/// XXH3 of a page without its last 8 bytes, seeded with its number: a page at another's place does not check.
uint64_t ChecksumOfPage(const std::byte* page, int64_t number);

}  // namespace frazil::index
