#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "frazil/ingest/table_comparison.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

struct VerifyOptions {
  std::string pipeline_id;  ///< whose offsets in the table's marker say how far the table goes
  int64_t sample_keys = 0;  ///< so many keys, chosen by hash, in place of all; 0: all
  /// What may be held; more goes to files in `temp_directory`. One in 256 of everything is compared in memory at a time.
  int64_t memory_bytes = int64_t{256} << 20;
  std::string temp_directory;  ///< empty: the system's
  size_t max_listed = 1'000;   ///< differences that are described; all are counted
  Executor* executor = nullptr;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const ComparisonProgress&)> on_progress;  ///< may be empty
};

struct VerifyDifference {
  using Kind = KeyDifference::Kind;
  Kind kind = Kind::kMissing;
  std::string key;     ///< "app_id=7, user_id=8"
  std::string detail;  ///< "value: the table has 'x', the topic 'y'"
};

struct VerifyReport : ComparisonReport {
  std::vector<std::string> other_writers;  ///< whose rows the extra ones may be: see OtherWriters()
  spec::SnapshotId snapshot_id;
  SourcePositions positions;  ///< of the table: compared are the records before
  int64_t missing = 0;
  int64_t extra = 0;
  int64_t different = 0;
  std::vector<VerifyDifference> differences;
  bool is_equal() const { return missing + extra + different == 0; }
};

/// The other pipelines and runs of `frazil ingest` whose progress the table knows: they bring rows, too.
Result<std::vector<std::string>> OtherWriters(const table::Table& table, const std::string& pipeline_id);

/// Where the table's head stands with a pipeline. kInvalidArgument naming those that it knows.
Result<SourcePositions> PositionsInTable(const table::Table& table, const std::string& pipeline_id);

/// Replays a source up to where the head of main stands, and compares the last value of each key with the table's rows
/// (CompareTable). kInvalidArgument when the table has no progress of the pipeline; kFenced when the source is another one
/// than the table's, or lacks records behind its offsets; kInvalidTable when a record does not fit the table's schema.
Result<VerifyReport> VerifyTable(const table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                 const VerifyOptions& options);

}  // namespace frazil::ingest
