#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/ingest/duplicate_keys.h"
#include "frazil/ingest/file_source.h"
#include "frazil/ingest/json_decoder.h"
#include "frazil/ingest/start_position.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// What happens to a record that cannot be taken.
enum class PoisonPolicy {
  kFail,  ///< stop at it; everything before it is committed
  kSkip,  ///< count it and go on
};

struct IngestProgress {
  int64_t records = 0;  ///< read in this run, poison included
  int64_t bytes = 0;
  int64_t committed_records = 0;  ///< in the table, earlier runs included
  int64_t commits = 0;            ///< of this run
  int64_t inserts = 0;
  int64_t updates = 0;
  int64_t deletes = 0;
  int64_t poison = 0;
  std::string first_poison;  ///< reason and record of the first one
  std::map<std::string, int64_t, std::less<>> ignored_members;
};

struct FileIngestOptions {
  JsonDecoderOptions decoder;
  /// What becomes the table's identifier fields when it has none (EnsureIdentifierFields); empty: it has them.
  std::vector<std::string> identifier_fields;
  int64_t commit_every = 100'000;  ///< records a commit; memory may cut earlier
  PoisonPolicy on_poison = PoisonPolicy::kFail;
  ResetOffsets reset_offsets = ResetOffsets::kRefuse;
  /// Folder of the key index, kept from run to run. Empty: the index is built in memory at the start of each run.
  std::string index_directory;
  Dedupe dedupe = Dedupe::kRefuse;
  Executor* executor = nullptr;    ///< null or one thread: everything on the calling thread
  MemoryBudget* budget = nullptr;  ///< null: no limit
  Clock* clock = nullptr;          ///< null: the system's
  /// Set by another thread (a signal): stop after the running commit; kShuttingDown.
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const IngestProgress&)> on_progress;                   ///< now and then, on the calling thread
  std::function<void(const std::string&)> on_notice;                        ///< one line for people
  std::function<void(int64_t rows, int64_t total_rows)> on_index_progress;  ///< of building the key index; any thread
};

/// Upserts the records of a file into a table, exactly once: progress lies in the table, so the same call after a stop,
/// kill or lost reply goes on behind the last committed record (ingest.md).
///
/// The table must be of format version 3 and have identifier fields. While one batch is resolved, written and committed
/// the next one is decoded. Returns what was done; on error everything committed stays.
///
/// kFenced naming the holder when another process has the key index open. An index folder that cannot be used is said, and
/// the index is built in memory. Where the index is built from nothing, or nobody has ingested into the table yet, and keys
/// turn out to have several live rows: `dedupe`, kInvalidTable when that is to refuse.
Result<IngestProgress> IngestFile(table::Table& table, FileSource& source, const FileIngestOptions& options);

}  // namespace frazil::ingest
