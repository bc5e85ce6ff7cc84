#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "frazil/base/executor.h"
#include "frazil/base/result.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "frazil/spec/schema.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

struct ComparisonProgress {
  int64_t records = 0;  ///< read from the source
  int64_t records_to_read = 0;
  int64_t rows = 0;  ///< read from the table
};

/// A key whose rows in the table are not what the source says of it.
struct KeyDifference {
  enum class Kind {
    kMissing,    ///< the source has a last value, the table no row
    kExtra,      ///< the table has a row that the source deleted or never had, or more than one of the key
    kDifferent,  ///< both have one, and they differ
  } kind = Kind::kMissing;
  enum class Wanted {
    kValue,     ///< the change: the key's last one
    kDeleted,   ///< the change is a tombstone
    kNever,     ///< the source has no record of the key: `change` is -1
    kHasNoKey,  ///< a row of which a key column is null; `change` is -1
  } wanted = Wanted::kValue;
  std::shared_ptr<arrow::RecordBatch> changes = nullptr;  ///< the table's columns; null without a change
  int64_t change = -1;
  std::shared_ptr<arrow::RecordBatch> rows = nullptr;  ///< the table's columns; null without a row
  int64_t row = -1;                                    ///< one of the key's
  size_t num_rows = 0;                                 ///< of the key
  /// The key has records in several partitions whose timestamps do not tell which is the last.
  bool is_order_unproven = false;
};

struct ComparisonOptions {
  /// Compared are the source's records before these; partitions that are not named are left out.
  SourcePositions end;
  int64_t sample_keys = 0;  ///< so many keys, chosen by hash, in place of all; 0: all
  /// What may be held; more goes to files in `temp_directory`. One in 256 of everything is compared in memory at a time.
  int64_t memory_bytes = int64_t{256} << 20;
  std::string temp_directory;    ///< empty: the system's
  Executor* executor = nullptr;  ///< keys are compared on its threads; null: on this one
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const ComparisonProgress&)> on_progress;  ///< may be empty
  /// A record that cannot be taken; an error ends the comparison. May be empty.
  std::function<Status(const SourceRecord& record, const std::string& why)> on_poison;
  /// Must be there.
  std::function<Status(const KeyDifference& difference)> on_difference;
};

struct ComparisonReport {
  int64_t records = 0;
  int64_t poison = 0;      ///< records that cannot be taken; the table has nothing of them
  int64_t keys = 0;        ///< judged: those that the source still has records of
  int64_t moved_keys = 0;  ///< of those: with records in several partitions
  int64_t rows = 0;        ///< of the table that belong to judged keys
  /// Rows whose key the source has no record of, while it does not begin at 0: retention may have taken them.
  int64_t rows_not_judged = 0;
  std::optional<int64_t> newest_timestamp_ms;  ///< of the records
  /// "partition 0, offset 7": the record there wants another schema of the table (the decoder's WantedUpdates() has it), and
  /// nothing was compared.
  std::optional<std::string> needs_schema;
};

/// Replays a source up to some offsets and compares the last value of each key with the live rows of the table's head.
///
/// `decoder` must have the table's current schema. Memory is bounded: changes and rows are divided by key hash, into files
/// when they are many. Of a key with records in several partitions the newest counts (LastOfPartition). Differences come
/// in an order that depends on source and table alone.
/// kFenced when the source ends before `end`; kShuttingDown when stopped; errors of source, decoder, table and callbacks.
Result<ComparisonReport> CompareTable(const table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                      const ComparisonOptions& options);

/// Whether a column of a row has the value that the column of the same name has in a change.
bool HasSameValue(const arrow::RecordBatch& rows, int column, int64_t row, const arrow::RecordBatch& changes,
                  int64_t change);

}  // namespace frazil::ingest
