#include "frazil/ingest/change_batch.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <arrow/api.h>

namespace frazil::ingest {

namespace {

/// A row with its key's hash beside it, so that sorting touches nothing else.
struct HashedRow {
  uint64_t high = 0;
  uint32_t low = 0;
  uint32_t row = 0;
  bool operator<(const HashedRow& other) const {
    if (high != other.high) return high < other.high;
    return low != other.low ? low < other.low : row < other.row;
  }
};

// Three passes over the leading 33 bits leave few neighbours to put in order: hashes are evenly spread.
constexpr int kDigitBits = 11;
constexpr int kNumPasses = 3;
constexpr int kPrefixShift = 64 - kNumPasses * kDigitBits;
constexpr size_t kFewRows = 1024;  // below, counting digits costs more than comparing

void SortByDigit(const std::vector<HashedRow>& from, std::vector<HashedRow>& to, int shift) {
  constexpr uint64_t kMask = (1U << kDigitBits) - 1;
  std::array<uint32_t, kMask + 1> places{};
  for (const HashedRow& one : from) ++places[one.high >> shift & kMask];
  uint32_t next = 0;
  for (uint32_t& place : places) next += std::exchange(place, next);
  for (const HashedRow& one : from) to[places[one.high >> shift & kMask]++] = one;
}

/// By key, and inside a key by offset: row numbers are offsets. `rows` come in ascending order of rows.
void SortByKey(std::vector<HashedRow>& rows) {
  if (rows.size() < kFewRows) return std::sort(rows.begin(), rows.end());
  std::vector<HashedRow> other(rows.size());
  for (int pass = 0; pass < kNumPasses; ++pass) {
    SortByDigit(rows, other, kPrefixShift + pass * kDigitBits);
    rows.swap(other);
  }
  // Rows of one prefix: mostly of one key, and then in order already, since each pass keeps the order of equals.
  for (auto begin = rows.begin(); begin != rows.end();) {
    auto end = begin + 1;
    while (end != rows.end() && end->high >> kPrefixShift == begin->high >> kPrefixShift) ++end;
    if (end - begin > 1 && !std::is_sorted(begin, end)) std::sort(begin, end);
    begin = end;
  }
}

/// The last row of a key whose rows, in ascending order, come from several partitions.
uint32_t NewestRow(std::span<const HashedRow> rows, const RowOrigins& origins) {
  std::vector<LastOfPartition> lasts;
  for (const HashedRow& one : rows) {
    const LastOfPartition last{
        .partition = origins.partitions[one.row], .timestamp_ms = origins.timestamps_ms[one.row], .row = one.row};
    const auto known = std::find_if(lasts.begin(), lasts.end(),
                                    [&](const LastOfPartition& other) { return other.partition == last.partition; });
    if (known == lasts.end()) {
      lasts.push_back(last);
    } else {
      *known = last;
    }
  }
  return static_cast<uint32_t>(std::max_element(lasts.begin(), lasts.end())->row);
}

}  // namespace

std::vector<KeyChange> CollapseRows(const std::vector<Hash96>& hashes, const std::vector<ChangeKind>& kinds,
                                    const RowOrigins& origins, int64_t* num_moved) {
  std::vector<HashedRow> rows;
  rows.reserve(hashes.size());
  for (size_t row = 0; row < hashes.size(); ++row) {
    if (kinds[row] == ChangeKind::kPoison) continue;
    rows.push_back({hashes[row].high, hashes[row].low, static_cast<uint32_t>(row)});
  }
  SortByKey(rows);
  const auto is_same_key = [](const HashedRow& a, const HashedRow& b) { return a.high == b.high && a.low == b.low; };
  std::vector<KeyChange> changes;
  changes.reserve(rows.size());
  size_t first = 0;  // of the key
  bool is_moved = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || !is_same_key(rows[i - 1], rows[i])) {
      changes.push_back({.hash = {rows[i].high, rows[i].low}});
      first = i;
      is_moved = false;
    } else if (!origins.empty()) {
      is_moved = is_moved || origins.partitions[rows[i - 1].row] != origins.partitions[rows[i].row];
    }
    KeyChange& change = changes.back();
    if (kinds[rows[i].row] == ChangeKind::kUpsert) {
      change.last_row = rows[i].row;
    } else {
      change.last_row = -1;
      change.cleared = true;
    }
    if (is_moved && (i + 1 == rows.size() || !is_same_key(rows[i], rows[i + 1]))) {
      const uint32_t newest = NewestRow({rows.data() + first, i + 1 - first}, origins);
      change.last_row = kinds[newest] == ChangeKind::kUpsert ? static_cast<int64_t>(newest) : -1;
      if (num_moved != nullptr) ++*num_moved;
    }
  }
  return changes;
}

Result<CollapsedBatch> Collapse(const ChangeBatch& batch, const spec::Schema& schema, const index::CanonicalKey& key) {
  std::vector<std::shared_ptr<arrow::Array>> key_columns;
  for (const spec::FieldId id : key.field_ids()) {
    key_columns.push_back(batch.rows->GetColumnByName(schema.FullName(id)));
    if (key_columns.back() == nullptr) {
      return Fail(ErrorCode::kInternal, "a batch without the key column of field id {}", id);
    }
  }
  CollapsedBatch collapsed;
  FRAZIL_ASSIGN(collapsed.hash_of_row, key.HashRows(key_columns));
  collapsed.changes = CollapseRows(collapsed.hash_of_row, batch.kinds, batch.origins, &collapsed.num_moved);
  return collapsed;
}

}  // namespace frazil::ingest
