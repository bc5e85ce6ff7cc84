#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/ingest/json_decoder.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "tests/support/scenario.h"

namespace frazil::test {

/// A topic in memory: partitions of records that outlive pipelines, and what can go wrong with them. A fake, so that tests
/// decide what is polled when; the real broker has tests of its own. Thread-safe.
class FakeTopic {
 public:
  explicit FakeTopic(int32_t num_partitions = 2) { partitions_.resize(static_cast<size_t>(num_partitions)); }

  /// To the partition of its key. Returns the offset.
  int64_t Append(const Change& change);
  /// A value that is taken as it is: poison, or what a decoder understands.
  int64_t AppendText(int32_t partition, const std::string& value);
  /// A value of key `id`, in any partition; without `timestamp_ms` a moment after the last one.
  int64_t AppendTo(int32_t partition, int64_t id, const std::optional<std::string>& value,
                   std::optional<int64_t> timestamp_ms = {});
  /// Offsets that hold no record: control records, aborted data.
  void AppendGap(int32_t partition, int64_t count);
  void AddPartition();
  /// Retention: everything below is gone.
  void Truncate(int32_t partition, int64_t log_start);
  /// The topic of this name is another one from now on.
  void Recreate();
  /// A topic whose brokers know no ids.
  void ForgetIds();
  void CommitGroupOffsets(std::map<int32_t, int64_t> offsets);

  int32_t PartitionOf(int64_t id) const;
  int32_t num_partitions() const;
  int64_t end(int32_t partition) const;
  std::map<int32_t, int64_t> stored() const;  ///< by StoreCommitted()
  int num_pauses() const;
  /// Asked before each operation ("identity", "bounds", "resolve", "assign", "poll", "same"): an error is what the caller
  /// sees.
  void set_fault(std::function<Status(std::string_view operation)> fault);
  /// At most so many records a poll.
  void set_max_poll(size_t records);

  /// What a table must hold that has all records below `next`: id -> last value.
  std::map<int64_t, Change> Expected(const std::map<int32_t, table::PartitionOffset>& next) const;

 private:
  friend class FakeRecordSource;
  struct Record {
    int64_t offset;
    int64_t timestamp_ms;
    std::string key;
    std::optional<std::string> value;
    std::optional<Change> change;
  };
  struct Partition {
    std::vector<std::shared_ptr<const Record>> records;
    int64_t log_start = 0;
    int64_t end = 0;
  };
  int64_t AppendRecord(int32_t partition, Record record, std::optional<int64_t> timestamp_ms = {});

  mutable std::mutex mutex_;
  std::vector<Partition> partitions_;
  std::string topic_id_ = "topic-1";
  std::map<int32_t, int64_t> group_offsets_;
  std::map<int32_t, int64_t> stored_;
  int num_pauses_ = 0;
  size_t max_poll_ = SIZE_MAX;
  int64_t now_ms_ = 1'700'000'000'000;
  std::function<Status(std::string_view)> fault_;
};

/// Reads a FakeTopic. When nothing is there to poll it sleeps for the timeout by `clock`.
class FakeRecordSource : public ingest::RecordSource {
 public:
  FakeRecordSource(std::shared_ptr<FakeTopic> topic, Clock& clock) : topic_(std::move(topic)), clock_(clock) {}

  std::string description() const override { return "topic fake"; }
  Result<std::map<std::string, std::string>> Identity() override;
  Status CheckSame() override;
  bool WasFoundSame() const override { return was_found_same_; }
  Result<std::map<int32_t, ingest::PartitionBounds>> Bounds() override;
  Result<std::map<int32_t, int64_t>> Resolve(const ingest::StartupMode& mode) override;
  Status Assign(const ingest::SourcePositions& positions) override;
  Result<std::span<const ingest::SourceRecord>> Poll(size_t max_records, std::chrono::milliseconds timeout) override;
  ingest::SourcePositions Positions() const override { return positions_; }
  Status Pause() override;
  Status Resume() override { return {}; }
  Status StoreCommitted(const ingest::SourcePositions& positions) override;

 private:
  Status Ask(std::string_view operation) const;
  const std::shared_ptr<FakeTopic> topic_;
  Clock& clock_;
  std::string topic_id_;
  bool was_found_same_ = true;
  ingest::SourcePositions positions_;
  std::vector<std::shared_ptr<const FakeTopic::Record>> polled_;
  std::vector<ingest::SourceRecord> records_;
};

/// Decodes what FakeTopic::Append() wrote into the test table's columns. A value with a member "more" asks for a column of
/// that name; "bad" values are poison; while `is_away` is set the registry does not answer.
class FakeRecordDecoder : public ingest::RecordDecoder {
 public:
  explicit FakeRecordDecoder(spec::SchemaPtr schema) { EXPECT_THAT(UseSchema(std::move(schema)), IsOk()); }

  Result<ingest::Decoded> Decode(const ingest::SourceRecord& record) override;
  const std::string& why() const override { return why_; }
  Result<std::vector<spec::TableUpdate>> WantedUpdates(const spec::TableMetadata& metadata) override;
  Status UseSchema(spec::SchemaPtr schema) override;
  int64_t num_rows() const override { return decoder_->num_rows(); }
  int64_t buffered_bytes() const override { return decoder_->buffered_bytes(); }
  Result<ingest::ChangeBatch> Finish() override;
  std::vector<int32_t> key_schema_ids() const override { return {1}; }
  std::vector<int32_t> value_schema_ids() const override { return {7, 8}; }

  std::shared_ptr<std::atomic<bool>> is_away = std::make_shared<std::atomic<bool>>(false);

 private:
  spec::SchemaPtr schema_;
  std::optional<ingest::JsonDecoder> decoder_;
  std::string why_;
};

}  // namespace frazil::test
