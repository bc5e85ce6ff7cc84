#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "frazil/base/bytes.h"
#include "frazil/index/entry.h"

namespace frazil::index {

/// The bytes of one page of a run (layout: run.h). No checks: callers know that the page holds what they ask for.
///
/// Hash and location of an entry lie together: a look-up that finds its hash has the location in the same cache line.
struct RunPage {
  static constexpr size_t kBytes = 4096;
  static constexpr size_t kChecksumOffset = kBytes - sizeof(uint64_t);
  static constexpr size_t kPlainEntryBytes = 20;
  static constexpr size_t kEntryWithRowIdBytes = 28;

  static constexpr size_t EntryBytes(bool has_row_ids) { return has_row_ids ? kEntryWithRowIdBytes : kPlainEntryBytes; }
  static constexpr int64_t EntriesPerPage(bool has_row_ids) {
    return static_cast<int64_t>(kChecksumOffset / EntryBytes(has_row_ids));
  }

  static Hash96 HashAt(const std::byte* entry) {
    return {.high = LoadLittle<uint64_t>(entry), .low = LoadLittle<uint32_t>(entry + 8)};
  }
  static FileNumber FileAt(const std::byte* entry) { return LoadLittle<uint32_t>(entry + 12); }
  static uint32_t PositionAt(const std::byte* entry) { return LoadLittle<uint32_t>(entry + 16); }
  template <bool kHasRowIds>
  static int64_t RowIdAt(const std::byte* entry) {
    if constexpr (kHasRowIds) return LoadLittle<int64_t>(entry + 20);
    return kDerivedRowId;
  }

  template <bool kHasRowIds>
  static void Read(const std::byte* from, Entry& entry) {
    entry.hash = HashAt(from);
    entry.file = FileAt(from);
    entry.position = PositionAt(from);
    entry.row_id = RowIdAt<kHasRowIds>(from);
  }
  template <bool kHasRowIds>
  static void Write(std::byte* to, const Entry& entry) {
    std::memcpy(to, &entry.hash.high, 8);
    std::memcpy(to + 8, &entry.hash.low, 4);
    std::memcpy(to + 12, &entry.file, 4);
    std::memcpy(to + 16, &entry.position, 4);
    if constexpr (kHasRowIds) std::memcpy(to + 20, &entry.row_id, 8);
  }
};

static_assert(RunPage::EntriesPerPage(false) == 204 && RunPage::EntriesPerPage(true) == 146);

/// XXH3 of a page without its last 8 bytes, seeded with its number: a page at another's place does not check.
uint64_t ChecksumOfPage(const std::byte* page, int64_t number);

}  // namespace frazil::index
