#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/ingest/duplicate_keys.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// How an ingest opens the key index of its table. Pointers may be null, functions empty.
struct StartIndexOptions {
  std::string directory;  ///< kept from run to run; empty: built in memory
  Dedupe dedupe = Dedupe::kRefuse;
  Executor* executor = nullptr;
  MemoryBudget* budget = nullptr;
  std::function<void(const std::string&)> on_notice;  ///< one line for people
  std::function<void(int64_t rows, int64_t total_rows)> on_progress;
};

/// The key index of an ingest, and the key that it is of.
struct StartedIndex {
  std::unique_ptr<index::CanonicalKey> key;
  std::unique_ptr<index::KeyIndex> index;
  bool asks_for_duplicates = false;  ///< the question was not answered yet: a start that failed must not pass it over
};

/// Opens the index with the table's seed. A folder that cannot be used is said, and the index is built in memory;
/// kFenced naming the holder when another process has it. `clock` must outlive the index.
Result<StartedIndex> OpenStartIndex(table::Table& table, const StartIndexOptions& options, Clock& clock);

/// Brings the index to the head. Where it begins from nothing, or nobody has ingested into the table yet
/// (`is_first_ingest`), and keys turn out to have several live rows: `options.dedupe`, kInvalidTable when that is to
/// refuse (then the index is closed and forgotten, so that the next start asks again).
Status FollowFromStart(table::Table& table, StartedIndex& started, bool is_first_ingest,
                       const StartIndexOptions& options, Clock& clock);

/// Whether rows of this schema have the key that the index is of.
bool HasSameKey(const spec::Schema& schema, const index::CanonicalKey& key);

/// Makes what the run has learnt durable. What is not kept is read from the table at the next start, so failing is only
/// said.
void KeepIndex(StartedIndex& started, const StartIndexOptions& options);

}  // namespace frazil::ingest
