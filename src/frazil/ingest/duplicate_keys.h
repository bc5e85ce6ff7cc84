#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/index/key_index.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// What to do with a table in which a key has several live rows, as a writer without a primary key leaves it.
enum class Dedupe {
  kRefuse,
  kNewest,  ///< keep the newest row of each key, delete the others
};

/// Keys with more than one live row (ingest.md, "Multimap").
struct DuplicateKeys {
  int64_t num_keys = 0;
  int64_t num_older_rows = 0;         ///< rows besides the newest of each key
  std::vector<std::string> examples;  ///< "id=7 has 3 rows", at most 20
};

/// Counts them over the whole index, in bounded memory, and reads the values of the first ones. `index` stands at the
/// table's head.
Result<DuplicateKeys> FindDuplicateKeys(const table::Table& table, const index::KeyIndex& index);

/// Deletes, in one commit of vectors, every row of every key but the newest: by data sequence number, then last-updated
/// sequence number, then position. Progress markers are carried on. The index follows. Returns how many rows went; 0: no
/// commit. Another writer's commit in between is no problem: the rows are found again on the new base.
Result<int64_t> DeleteOlderDuplicates(table::Table& table, index::KeyIndex& index, Clock& clock);

}  // namespace frazil::ingest
