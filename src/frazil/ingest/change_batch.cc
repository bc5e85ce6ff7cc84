#include "frazil/ingest/change_batch.h"

#include <algorithm>
#include <numeric>

#include <arrow/api.h>

namespace frazil::ingest {

std::vector<KeyChange> CollapseRows(const std::vector<Hash96>& hashes, const std::vector<ChangeKind>& kinds) {
  std::vector<uint32_t> order(hashes.size());
  std::iota(order.begin(), order.end(), 0u);
  // By key, and inside a key by offset: row numbers are offsets.
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return hashes[a] != hashes[b] ? hashes[a] < hashes[b] : a < b; });
  std::vector<KeyChange> changes;
  for (const uint32_t row : order) {
    if (kinds[row] == ChangeKind::kPoison) continue;
    if (changes.empty() || changes.back().hash != hashes[row]) changes.push_back({.hash = hashes[row]});
    KeyChange& change = changes.back();
    if (kinds[row] == ChangeKind::kUpsert) {
      change.last_row = row;
    } else {
      change.last_row = -1;
      change.cleared = true;
    }
  }
  return changes;
}

Result<std::vector<KeyChange>> Collapse(const ChangeBatch& batch, const spec::Schema& schema,
                                        const index::CanonicalKey& key) {
  std::vector<std::shared_ptr<arrow::Array>> key_columns;
  for (const spec::FieldId id : key.field_ids()) {
    key_columns.push_back(batch.rows->GetColumnByName(schema.FullName(id)));
  }
  FRAZIL_ASSIGN(const std::vector<Hash96> hashes, key.HashRows(key_columns));
  return CollapseRows(hashes, batch.kinds);
}

}  // namespace frazil::ingest
