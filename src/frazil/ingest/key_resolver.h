#pragma once

#include <optional>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/index/key_index.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// What a batch means on one snapshot: rows to write and positions to delete (ingest.md rule 1).
struct Resolution {
  /// Rows of the batch that get written, ascending, and their `_row_id`: that of the row they replace, else none.
  std::vector<int64_t> rows;
  std::vector<std::optional<spec::RowId>> row_ids;
  table::OwnDeletes deletes;
  int64_t num_updates = 0;  ///< rows that replace one
  int64_t num_inserts = 0;
  int64_t num_deletes = 0;  ///< keys that go without a new row

  bool SameRows(const Resolution& other) const { return rows == other.rows && row_ids == other.row_ids; }
};

/// Looks all keys of a batch up and decides. `changes` as Collapse() gives them. Rows at positions in `gone` are deleted
/// too, but are not replaced: others have deleted them before.
Result<Resolution> ResolveKeys(const std::vector<KeyChange>& changes, index::KeyIndex& index,
                               const table::OwnDeletes& gone = {});

}  // namespace frazil::ingest
