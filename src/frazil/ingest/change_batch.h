#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/hash.h"
#include "frazil/base/result.h"
#include "frazil/index/canonical_key.h"
#include "frazil/ingest/record_proof.h"

namespace frazil::ingest {

enum class ChangeKind : uint8_t {
  kUpsert,
  kTombstone,
  kPoison,  ///< a record that could not be taken; its row means nothing
};

/// What a batch covers of one partition of its source, records that are no rows (blank, skipped, control) included.
struct OffsetRange {
  int64_t start = 0;  ///< where the table must stand for the batch to be committed: the marker's number
  int64_t end = 0;    ///< first record not covered
  std::optional<int32_t> leader_epoch;
  bool operator==(const OffsetRange&) const = default;
};

/// By partition. A source without partitions (a file) has partition 0 alone.
using OffsetRanges = std::map<int32_t, OffsetRange>;

/// Where the rows of a batch come from, by row. Empty: all from one partition.
struct RowOrigins {
  std::vector<int32_t> partitions;
  std::vector<int64_t> timestamps_ms;  ///< kNoTimestamp: the record has none

  static constexpr int64_t kNoTimestamp = INT64_MIN;
  void Add(int32_t partition, std::optional<int64_t> timestamp_ms) {
    partitions.push_back(partition);
    timestamps_ms.push_back(timestamp_ms.value_or(kNoTimestamp));
  }
  bool empty() const { return partitions.empty(); }
  size_t size() const { return partitions.size(); }
};

/// A partition's last record of a key. Where a key lies in several partitions (the topic got more of them), offsets say
/// nothing and the newest of these counts.
struct LastOfPartition {
  int32_t partition = 0;
  int64_t timestamp_ms = RowOrigins::kNoTimestamp;
  int64_t row = 0;
  /// Of equal times the higher partition counts: it is the one that came later.
  bool operator<(const LastOfPartition& other) const {
    return timestamp_ms != other.timestamp_ms ? timestamp_ms < other.timestamp_ms : partition < other.partition;
  }
};

/// Some records of a source in their order, as columns: the frozen change buffer.
///
/// `rows` has the table's columns; of a tombstone only the identifier fields mean something. What stands below `kinds`
/// is for whoever cuts batches to fill, not for decoders.
struct ChangeBatch {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::vector<ChangeKind> kinds;  ///< by row
  RowOrigins origins;
  OffsetRanges ranges;
  std::optional<int64_t> valid_through_ms;  ///< every record up to this time is in the table or in the batch
  std::vector<int32_t> key_schema_ids;      ///< of the registry, for the marker
  std::vector<int32_t> value_schema_ids;
  RecordProofs last_records;  ///< empty where the source is known by an id
  /// Nothing was read up to `ranges`: the table stands there for as long as before (CheckTombstones asks how long).
  bool keeps_age = false;
};

/// What all changes of one key in one batch come to (ingest.md rule 1).
struct KeyChange {
  Hash96 hash;
  /// Row of the last change when that is an upsert, else -1.
  int64_t last_row = -1;
  /// A tombstone came before the last change: the row that follows is a new one.
  bool cleared = false;
  bool operator==(const KeyChange&) const = default;
};

/// A batch by its keys.
struct CollapsedBatch {
  std::vector<KeyChange> changes;   ///< one a key, ascending by hash
  std::vector<Hash96> hash_of_row;  ///< by row of the batch
  int64_t num_moved = 0;            ///< keys with records of several partitions
};

/// Where batches are cut changes nothing.
Result<CollapsedBatch> Collapse(const ChangeBatch& batch, const spec::Schema& schema, const index::CanonicalKey& key);

/// The rule itself: `hashes` and `kinds` by row. A key's last change is the one with the highest offset; where its records
/// come from several partitions, the newest of the partitions' last ones (LastOfPartition). `num_moved`: such keys; may be
/// null.
std::vector<KeyChange> CollapseRows(const std::vector<Hash96>& hashes, const std::vector<ChangeKind>& kinds,
                                    const RowOrigins& origins = {}, int64_t* num_moved = nullptr);

}  // namespace frazil::ingest
