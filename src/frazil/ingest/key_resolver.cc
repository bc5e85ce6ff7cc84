#include "frazil/ingest/key_resolver.h"

#include <algorithm>
#include <numeric>

namespace frazil::ingest {

Result<Resolution> ResolveKeys(const std::vector<KeyChange>& changes, index::KeyIndex& index) {
  std::vector<Hash96> hashes;
  hashes.reserve(changes.size());
  for (const KeyChange& change : changes) hashes.push_back(change.hash);
  FRAZIL_ASSIGN(const index::KeyHits found, index.LookUp(hashes));
  const std::vector<index::KeyHit>& hits = found.hits;

  Resolution resolution;
  std::vector<std::pair<int64_t, std::optional<spec::RowId>>> rows;
  size_t hit = 0;
  for (size_t key = 0; key < changes.size(); ++key) {
    const KeyChange& change = changes[key];
    const size_t first_hit = hit;
    while (hit < hits.size() && hits[hit].key == key) ++hit;
    const bool existed = hit > first_hit;
    if (change.last_row < 0) {
      resolution.num_deletes += existed;
    } else if (existed && !change.cleared) {
      ++resolution.num_updates;
      rows.emplace_back(change.last_row, hits[first_hit].row_id);  // the newest hit comes first
    } else {
      // Cleared: the old row is gone and this is a new one, although both fell into one batch.
      ++resolution.num_inserts;
      rows.emplace_back(change.last_row, std::nullopt);
    }
  }
  for (const index::RowsOfFile& deleted : index::GroupByFile(hits)) {
    FRAZIL_TRY(resolution.deletes[deleted.file->path].AddAll(deleted.positions));
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [row, row_id] : rows) {
    resolution.rows.push_back(row);
    resolution.row_ids.push_back(row_id);
  }
  return resolution;
}

}  // namespace frazil::ingest
