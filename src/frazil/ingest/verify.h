#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

struct VerifyProgress {
  int64_t records = 0;  ///< read from the source
  int64_t records_to_read = 0;
  int64_t rows = 0;  ///< read from the table
};

struct VerifyOptions {
  std::string pipeline_id;  ///< whose offsets in the table's marker say how far the table goes
  int64_t sample_keys = 0;  ///< so many keys, chosen by hash, in place of all; 0: all
  /// What may be held; more goes to files in `temp_directory`. One in 256 of everything is compared in memory at a time.
  int64_t memory_bytes = int64_t{256} << 20;
  std::string temp_directory;  ///< empty: the system's
  size_t max_listed = 1'000;   ///< differences that are described; all are counted
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const VerifyProgress&)> on_progress;  ///< may be empty
};

struct VerifyDifference {
  enum class Kind {
    kMissing,    ///< the source has a last value, the table no row
    kExtra,      ///< the table has a row that the source deleted, never had, or has more than one
    kDifferent,  ///< both have one, and they differ
  } kind = Kind::kMissing;
  std::string key;     ///< "app_id=7, user_id=8"
  std::string detail;  ///< "value: the table has 'x', the topic 'y'"
};

struct VerifyReport {
  spec::SnapshotId snapshot_id;
  SourcePositions positions;  ///< of the table: compared are the records before
  int64_t records = 0;
  int64_t poison = 0;  ///< records that cannot be taken; the table has nothing of them
  int64_t keys = 0;    ///< judged: those that the source still has records of
  int64_t rows = 0;    ///< of the table that belong to judged keys
  /// Rows whose key the source has no record of, while it does not begin at 0: retention may have taken them.
  int64_t rows_not_judged = 0;
  int64_t missing = 0;
  int64_t extra = 0;
  int64_t different = 0;
  std::vector<VerifyDifference> differences;
  bool is_equal() const { return missing + extra + different == 0; }
};

/// Replays a source up to where the head of main stands, and compares the last value of each key with the table's rows.
///
/// `decoder` must have the table's current schema. Memory is bounded: changes and rows are divided by key hash, into files
/// when they are many. A key is expected to stay in one partition.
/// kInvalidArgument when the table has no progress of the pipeline (it names those that it has); kFenced when the source
/// ends before the table's offsets; kShuttingDown when stopped; errors of source, decoder and table.
Result<VerifyReport> VerifyTable(const table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                 const VerifyOptions& options);

}  // namespace frazil::ingest
