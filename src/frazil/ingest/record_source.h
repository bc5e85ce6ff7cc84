#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/table/marker.h"

namespace frazil::ingest {

/// One record of a partitioned source (a Kafka topic). Views live until the source's next Poll().
struct SourceRecord {
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<int64_t> timestamp_ms;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;  ///< none: a tombstone
  std::optional<int32_t> leader_epoch;
  /// Header names and values, in order; a null value is an empty view with null data. Filled only when asked for.
  std::span<const std::pair<std::string_view, std::string_view>> headers;
};

/// Next offset to read, per partition.
using SourcePositions = std::map<int32_t, table::PartitionOffset>;

/// What the source holds of one partition now.
struct PartitionBounds {
  int64_t log_start = 0;
  int64_t end = 0;  ///< of what may be read: the last stable offset under read_committed
};

/// `scan.startup.mode`: where a NEW pipeline begins (decisions.md, Kafka).
struct StartupMode {
  enum class Kind { kEarliest, kLatest, kGroupOffsets, kTimestamp, kSpecificOffsets } kind = Kind::kGroupOffsets;
  int64_t timestamp_ms = 0;                     ///< kTimestamp
  std::map<int32_t, int64_t> specific_offsets;  ///< kSpecificOffsets; every partition
  /// kGroupOffsets: where a partition without one begins (Java's `auto.offset.reset`); none: an error. kEarliest, kLatest.
  std::optional<Kind> without_group_offset;
};

/// A partitioned, replayable source of records, read by offsets that the caller keeps (ingest.md rules 5, 6, 13).
///
/// It never decides where to read: Assign() says so, and a position outside the log is an error, never a jump.
/// One thread, except where said.
/// Errors: kUnavailable (broker away; try again), kFenced (topic recreated, truncated: evidence and hint), kInvalidArgument.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  /// For people: "topic user_kv at broker:9092".
  virtual std::string description() const = 0;

  /// What goes into the marker to recognise the source: "kind", "topic", "topic-id", "cluster-id" (those that it knows).
  virtual Result<std::map<std::string, std::string>> Identity() = 0;
  /// What was polled so far came from the source that Identity() described. To be called between the last Poll() of a batch
  /// and its commit: a topic that is deleted and made again under its name is not noticed by fetching, once it is long
  /// enough; but ids never come back, so one look afterwards proves all reads before it. kFenced, kUnavailable.
  virtual Status CheckSame() { return {}; }
  /// Everything that was polled had been found to come from that source before it was handed out, so that its commit
  /// needs no answer of CheckSame(). Asks nobody.
  virtual bool WasFoundSame() const { return false; }
  /// How long a tombstone stays at least where old records of a key are removed (`cleanup.policy=compact`); none: they are
  /// not (ingest.md rule 15).
  virtual Result<std::optional<std::chrono::milliseconds>> TombstoneRetention() { return std::nullopt; }
  /// Partitions and their bounds, fresh from the source.
  virtual Result<std::map<int32_t, PartitionBounds>> Bounds() = 0;
  /// A number inside the log for every partition. kInvalidArgument for group offsets that do not exist, naming the three
  /// choices, and for offsets outside the log.
  virtual Result<std::map<int32_t, int64_t>> Resolve(const StartupMode& mode) = 0;

  /// Reads from here on exactly these partitions. kFenced when a position is outside the log (naming partition, position
  /// and bounds) or its leader epoch says that the log was cut behind it.
  virtual Status Assign(const SourcePositions& positions) = 0;

  /// Up to `max_records` that are there, waiting at most `timeout` for the first; empty: none came. In offset order inside
  /// a partition.
  virtual Result<std::span<const SourceRecord>> Poll(size_t max_records, std::chrono::milliseconds timeout) = 0;
  /// Next offset of every assigned partition after the last Poll(), gaps (control records, aborted data, compaction)
  /// passed over included.
  virtual SourcePositions Positions() const = 0;

  /// Back-pressure: nothing more is fetched until Resume().
  virtual Status Pause() = 0;
  virtual Status Resume() = 0;

  /// Tells the source's own bookkeeping (consumer group) what is committed, for lag exporters and a return to Flink. Best
  /// effort: an error is for the log.
  virtual Status StoreCommitted(const SourcePositions& positions) = 0;
};

}  // namespace frazil::ingest
