#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/ingest/landing.h"
#include "frazil/ingest/pipeline.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "frazil/ingest/start_index.h"
#include "frazil/ingest/table_comparison.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

struct ResyncOptions {
  std::string pipeline_id;
  std::string writer;
  PoisonRule poison;                    ///< for records that the table has not passed yet; others were decided about
  DeadLetters* dead_letters = nullptr;  ///< null where the rule needs none
  LandingMode landing = LandingMode::kAuto;
  StartIndexOptions index;                       ///< with executor, budget and notices
  int64_t memory_bytes = int64_t{256} << 20;     ///< for the comparison
  int64_t commit_max_bytes = int64_t{64} << 20;  ///< of repaired rows
  std::string temp_directory;                    ///< empty: the system's
  /// Rows whose key the source has no record of go even where others write to the table, too (OtherWriters()).
  bool delete_extra = false;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const ComparisonProgress&)> on_progress;  ///< may be empty
};

struct ResyncReport {
  int64_t records = 0;
  int64_t poison = 0;
  int64_t keys = 0;
  int64_t upserts = 0;           ///< rows that were missing or different
  int64_t deletes = 0;           ///< keys that the source deleted or does not have
  int64_t rows_without_key = 0;  ///< cannot be addressed; they stay
  int64_t rows_left = 0;         ///< the source has no record of their keys; they stay, since they may be of others
  std::vector<std::string> other_writers;
  SourcePositions before;
  SourcePositions after;
};

/// Makes a table equal to its source as that is now (ingest.md rule 15): the last value of every key that the source has, and
/// no other key, unless others write to the table. For compacted topics whose tombstones were missed. Rows are written only where they differ, so readers
/// never see older values, and row ids stay.
///
/// The whole source is read, in bounded memory. Repairs go in commits that are allowed only where the table still stands
/// at the pipeline's old offsets; the last one brings it to the source's end. Killed at any moment, the pipeline goes on from
/// the old offsets, or the same call begins anew. The pipeline must not run meanwhile: it would be fenced, or this.
///
/// kFenced: the source lacks records before its beginning, so that keys without a record may be rows whose records retention
/// took; it is another source than the table's; the table moved; a key that needs repair has records in several partitions
/// whose timestamps do not tell which is the last. kInvalidArgument: the table has no progress of the pipeline.
/// Errors of source, decoder and commits besides.
Result<ResyncReport> ResyncTable(table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                 const ResyncOptions& options, Clock& clock);

}  // namespace frazil::ingest
