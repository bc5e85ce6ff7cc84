#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/ingest/batch_commit.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// A batch that is decoded no further, with all that its commit needs.
struct FrozenBatch {
  ChangeBatch batch;
  spec::SchemaPtr schema;  ///< of the rows
  std::optional<SchemaChange> schema_change;
  MemoryBudget::Reservation memory;
  int64_t num_records = 0;
  std::optional<int64_t> oldest_timestamp_ms;  ///< of its records
};

/// The batch that is being filled: the decoder's rows and what they cover of each partition. One thread.
class OpenBatch {
 public:
  /// `budget` may be null: no limit.
  OpenBatch(RecordDecoder& decoder, MemoryBudget* budget) : decoder_(decoder), budget_(budget) {}

  /// Begins anew where the table stands; buffered rows are dropped. `schema`: of the rows to come. `keeps_proofs`: the
  /// source is not known by an id, so the newest record of each partition is.
  Status Begin(const SourcePositions& positions, spec::SchemaPtr schema, bool keeps_proofs = false);
  /// Partitions that appeared meanwhile.
  void AddPartitions(const SourcePositions& positions);

  /// The record was passed over as poison.
  void Passed(const SourceRecord& record);
  /// It was decoded into a row.
  void PassedRow(const SourceRecord& record) {
    origins_.Add(record.partition, record.timestamp_ms);
    Passed(record);
  }
  /// Everything polled was passed: gaps behind the last records are covered too.
  void PassedAll(const SourcePositions& positions);

  /// The rows to come have this schema. `change`: the table gets it with them. Only while there are no rows.
  void UseSchema(spec::SchemaPtr schema, std::optional<SchemaChange> change);

  /// Reserves memory for the rows so far and what their commit takes. kResourceExhausted when that does not fit.
  Status Reserve();

  int64_t num_records() const { return num_records_; }
  bool has_records() const { return num_records_ > 0; }
  /// It covers something, if only gaps.
  bool has_progress() const;
  int64_t buffered_bytes() const { return decoder_.buffered_bytes(); }
  /// Next offset of every partition.
  SourcePositions next() const;
  std::optional<int64_t> oldest_timestamp_ms() const;  ///< of its records; none: they have none, or there are none
  /// Everything up to this time was read, as far as timestamps tell. A partition that is read to its end lacks nothing;
  /// one that lags has everything up to its newest record. None while a lagging partition has shown no time yet.
  std::optional<int64_t> ReadThrough(const std::map<int32_t, PartitionBounds>& ends) const;
  const spec::SchemaPtr& schema() const { return schema_; }

  /// The newest of each partition's records since Begin(); without those that have shown none.
  std::map<int32_t, int64_t> newest_timestamps() const;

  /// Freezes it; the next one begins where it ends. `ends`: how far the source goes, to tell which partitions lag; empty:
  /// not known.
  Result<FrozenBatch> Freeze(const std::map<int32_t, PartitionBounds>& ends);

 private:
  RecordDecoder& decoder_;
  MemoryBudget* const budget_;
  spec::SchemaPtr schema_;
  std::optional<SchemaChange> schema_change_;
  struct Partition {
    OffsetRange range;
    std::optional<int64_t> newest_timestamp_ms;  ///< of all batches
    std::optional<RecordProof> last_record;
  };
  std::map<int32_t, Partition> partitions_;
  RowOrigins origins_;
  bool keeps_proofs_ = false;
  int32_t last_partition_ = -1;  ///< records come in runs of one partition
  Partition* last_ = nullptr;
  MemoryBudget::Reservation memory_;
  int64_t num_records_ = 0;
  int64_t oldest_timestamp_ms_ = INT64_MAX;  ///< none yet
};

}  // namespace frazil::ingest
