#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/ingest/kafka_client.h"
#include "frazil/ingest/kafka_positions.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

// Internal: what MakeKafkaSource() makes. The topic, its bounds and assignments are in kafka_source.cc, where to begin in
// kafka_source_start.cc, reading in kafka_source_reading.cc.
class KafkaSource final : public RecordSource {
 public:
  static constexpr size_t kMaxBatch = 10'000;

  KafkaSource(std::string topic, std::unique_ptr<KafkaClient> client, std::unique_ptr<KafkaClient> asker,
              std::string group, bool with_headers, MemoryBudget::Reservation reservation);
  ~KafkaSource() override;

  std::string description() const override;
  Result<std::map<std::string, std::string>> Identity() override;
  Status CheckSame() override;
  bool WasFoundSame() const override { return true; }  // see held_
  Result<std::optional<std::chrono::milliseconds>> TombstoneRetention() override;
  Result<std::map<int32_t, PartitionBounds>> Bounds() override;
  Result<std::map<int32_t, int64_t>> Resolve(const StartupMode& mode) override;
  Status Assign(const SourcePositions& positions) override;
  Result<std::span<const SourceRecord>> Poll(size_t max_records, std::chrono::milliseconds timeout) override;
  SourcePositions Positions() const override { return positions_.positions(); }
  Status Pause() override { return SetPaused(true); }
  Status Resume() override { return SetPaused(false); }
  Status StoreCommitted(const SourcePositions& positions) override;

 private:
  using KindOfStart = StartupMode::Kind;

  /// The topic as it is now; kFenced when it is another one than at the first look.
  Result<KafkaTopic> SameTopic();
  Result<KafkaTopic> Known(Result<KafkaTopic> found);
  Result<std::map<int32_t, PartitionBounds>> BoundsOf(const KafkaTopic& topic, rd_kafka_IsolationLevel_t isolation);

  // Where to begin.
  Result<std::map<int32_t, int64_t>> ResolveGroupOffsets(const StartupMode& mode, const KafkaTopic& topic,
                                                         const std::map<int32_t, PartitionBounds>& bounds);
  Status CheckInside(const std::string& option, const std::map<int32_t, int64_t>& offsets,
                     const std::map<int32_t, PartitionBounds>& bounds) const;

  KafkaPartitionList ListOf(const SourcePositions& positions) const;
  Status CheckLeaderEpochs(const SourcePositions& positions) const;
  Status Outside(const std::string& text) const;
  Status SetPaused(bool is_paused);

  // Reading.
  void Release();
  void DropHeld();
  /// Its callbacks, a new token among them.
  void ServeAsker() { rd_kafka_poll(asker_->handle(), 0); }
  void BeginLook();
  Status TakeAnswer(std::chrono::milliseconds timeout);
  Status Watch();
  void Hold(size_t max_records, std::chrono::milliseconds timeout);
  Status ProveHeld(std::chrono::steady_clock::time_point deadline);
  bool IsHeldProven() const { return same_for_ >= num_held_; }
  void HandOut();
  void TakeMessages(size_t first);
  void TakeHeaders();
  void TakePartitionError(const rd_kafka_message_t& message);
  Status PartitionError(const rd_kafka_message_t& message);

  const std::string topic_;
  const std::string group_;  // empty: none is told anything
  const bool with_headers_;
  const MemoryBudget::Reservation reservation_;
  std::unique_ptr<KafkaClient> client_;
  /// Questions go another way than records: a broker answers those of one connection in turn, and a fetch that finds
  /// nothing takes half a second.
  std::unique_ptr<KafkaClient> asker_;
  KafkaQueue records_queue_;
  KafkaQueue answers_;  // to the look at the topic in the background

  std::optional<std::string> topic_id_;  // of the first look
  KafkaPositions positions_;
  /// Fetched, and not handed out before a look that began afterwards has found the topic to be the same: what was
  /// polled may be committed though no broker answers by then.
  std::vector<rd_kafka_message_t*> held_;
  uint64_t num_held_ = 0;   // of all times
  uint64_t asked_for_ = 0;  // of those, what the look under way will prove
  uint64_t same_for_ = 0;   // what is proven
  std::vector<rd_kafka_message_t*> messages_;
  std::vector<SourceRecord> records_;
  std::vector<std::pair<std::string_view, std::string_view>> headers_;
  Status pending_;    // found behind records that had to be handed out first
  std::string away_;  // why nothing comes; empty: as far as known all is well
  bool is_asking_ = false;
  std::chrono::steady_clock::time_point asked_at_;
};

}  // namespace frazil::ingest
