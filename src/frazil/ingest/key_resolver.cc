#include "frazil/ingest/key_resolver.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace frazil::ingest {
namespace {

/// What becomes of the batch's rows, which come in the order of their keys' hashes: a place a row puts them in their own
/// order without comparing.
class RowIdsByRow {
 public:
  explicit RowIdsByRow(const std::vector<KeyChange>& changes) {
    int64_t last_row = -1;
    for (const KeyChange& change : changes) {
      last_row = std::max(last_row, change.last_row);
      num_rows_ += change.last_row >= 0;
    }
    places_.resize(static_cast<size_t>(last_row + 1), kNotWritten);
  }

  void Set(int64_t row, std::optional<spec::RowId> row_id) {
    places_[static_cast<size_t>(row)] = row_id ? row_id->value() : kNew;
  }

  void MoveTo(Resolution& resolution) const {
    resolution.rows.reserve(num_rows_);
    resolution.row_ids.reserve(num_rows_);
    for (size_t row = 0; row < places_.size(); ++row) {
      if (places_[row] == kNotWritten) continue;
      resolution.rows.push_back(static_cast<int64_t>(row));
      resolution.row_ids.push_back(places_[row] == kNew ? std::nullopt : std::optional(spec::RowId(places_[row])));
    }
  }

 private:
  // No row id of a table, not even of a broken one.
  static constexpr int64_t kNotWritten = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kNew = kNotWritten + 1;

  size_t num_rows_ = 0;
  std::vector<int64_t> places_;  ///< by row
};

}  // namespace

Result<Resolution> ResolveKeys(const std::vector<KeyChange>& changes, index::KeyIndex& index,
                               const table::OwnDeletes& gone) {
  std::vector<Hash96> hashes;
  hashes.reserve(changes.size());
  for (const KeyChange& change : changes) hashes.push_back(change.hash);
  FRAZIL_ASSIGN(const index::KeyHits found, index.LookUp(hashes));
  const std::vector<index::KeyHit>& hits = found.hits;

  const auto is_gone = [&](const index::KeyHit& hit) {
    const auto file = gone.find(hit.file_path());
    return file != gone.end() && file->second.Contains(hit.position);
  };

  Resolution resolution;
  RowIdsByRow row_ids(changes);
  size_t hit = 0;
  for (size_t key = 0; key < changes.size(); ++key) {
    const KeyChange& change = changes[key];
    const index::KeyHit* newest = nullptr;  // the newest hit comes first
    for (; hit < hits.size() && hits[hit].key == key; ++hit) {
      if (newest == nullptr && !is_gone(hits[hit])) newest = &hits[hit];
    }
    const bool existed = newest != nullptr;
    if (change.last_row < 0) {
      resolution.num_deletes += existed;
    } else if (existed && !change.cleared) {
      ++resolution.num_updates;
      row_ids.Set(change.last_row, newest->row_id);
    } else {
      // Cleared: the old row is gone and this is a new one, although both fell into one batch.
      ++resolution.num_inserts;
      row_ids.Set(change.last_row, std::nullopt);
    }
  }
  for (const index::RowsOfFile& deleted : index::GroupByFile(hits)) {
    FRAZIL_TRY(resolution.deletes[deleted.file->path].AddAll(deleted.positions));
  }
  row_ids.MoveTo(resolution);
  return resolution;
}

}  // namespace frazil::ingest
