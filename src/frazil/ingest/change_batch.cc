#include "frazil/ingest/change_batch.h"

#include <algorithm>
#include <array>
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

}  // namespace

std::vector<KeyChange> CollapseRows(const std::vector<Hash96>& hashes, const std::vector<ChangeKind>& kinds) {
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
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || !is_same_key(rows[i - 1], rows[i])) changes.push_back({.hash = {rows[i].high, rows[i].low}});
    KeyChange& change = changes.back();
    if (kinds[rows[i].row] == ChangeKind::kUpsert) {
      change.last_row = rows[i].row;
    } else {
      change.last_row = -1;
      change.cleared = true;
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
  collapsed.changes = CollapseRows(collapsed.hash_of_row, batch.kinds);
  return collapsed;
}

}  // namespace frazil::ingest
