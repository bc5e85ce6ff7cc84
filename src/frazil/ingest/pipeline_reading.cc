#include "frazil/ingest/pipeline_impl.h"

#include <algorithm>

#include "frazil/base/log.h"
#include "frazil/ingest/pipeline_start.h"
#include "frazil/spec/table_metadata_builder.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

constexpr size_t kPollRecords = 4'096;
/// Limits are looked at after so many records.
constexpr size_t kCheckEvery = 256;
/// Foreign commits after which the marker property is written again.
constexpr int64_t kMaxForeignCommits = 20;
/// Partitions that had no record are looked at again no sooner.
constexpr int64_t kLookAtEmptyEveryMs = 5'000;

}  // namespace

Status Pipeline::Impl::PollOnce() {
  TellOfTombstones();
  FRAZIL_TRY(CheckTombstones());
  milliseconds timeout = kPollTimeout;
  if (batch_.has_records() && !lane_.is_busy()) timeout = std::min(timeout, milliseconds(schedule_.DueInMs()));
  auto records = source_->Poll(kPollRecords, timeout);
  if (!records) {
    if (IsMendedByWaiting(records.error())) {
      // What is buffered is committed in its time all the same: the caller's loop goes on.
      if (!poll_wait_) poll_wait_.emplace(WaitLoop::Until::kStop, clock_, control_, board_);
      (void)poll_wait_->Again(records.error());
      return {};
    }
    // What came before is good.
    FRAZIL_TRY(Cut());
    FRAZIL_TRY(AwaitLane(false));
    return tl::unexpected(records.error());
  }
  poll_wait_.reset();
  if (!records->empty() || IsReadToEnd(batch_.next(), bounds_)) read_ms_ = clock_.NowMs();
  return TakeRecords(*records);
}

/// Says it in time, once, that tombstones will be missed if nothing is read any longer.
void Pipeline::Impl::TellOfTombstones() {
  if (!tombstone_retention_) return;
  const int64_t age_ms = clock_.NowMs() - read_ms_;
  const bool is_old = age_ms > tombstone_retention_->count() / 2 && !IsReadToEnd(batch_.next(), bounds_);
  if (is_old && !told_of_tombstones_) {
    Notice(TombstonesText(options_.id, "last read", age_ms, *tombstone_retention_) +
           ": it has to read on before they are gone");
  }
  told_of_tombstones_ = is_old;
}

/// A pipeline that has read nothing for so long that tombstones went meanwhile (ingest.md rule 15): it was paused, or the
/// broker or the catalog was away. Whoever has read on all the time has seen them. What is buffered is not committed: the
/// age of the marker tells the next start.
Status Pipeline::Impl::CheckTombstones() {
  if (!tombstone_retention_ || clock_.NowMs() - read_ms_ <= OldestUsefulAge(*tombstone_retention_).count()) return {};
  bool is_at_end = false;
  FRAZIL_TRY(Patiently(WaitLoop::Until::kStop, [&]() -> Status {
    FRAZIL_ASSIGN(is_at_end, IsAtEnd());
    return {};
  }));
  if (is_at_end) return {};
  return TombstonesMissed(options_.id, "last read", clock_.NowMs() - read_ms_, *tombstone_retention_);
}

Result<bool> Pipeline::Impl::IsAtEnd() {
  FRAZIL_ASSIGN(bounds_, source_->Bounds());
  return IsReadToEnd(batch_.next(), bounds_);
}

/// As far as a bounded run reads: not at all where the topic had no such partition when it began. What has stopped stands
/// where its last record was passed.
SourcePositions Pipeline::Impl::PositionsToCover() const {
  SourcePositions positions = source_->Positions();
  if (options_.is_bounded) {
    std::erase_if(positions, [&](const auto& position) { return !bounded_ends_.contains(position.first); });
  }
  std::erase_if(positions, [&](const auto& position) { return late_.has_stopped(position.first); });
  for (auto& [partition, offset] : positions) {
    const auto end = bounded_ends_.find(partition);
    if (end != bounded_ends_.end()) offset.next = std::min(offset.next, end->second);
  }
  return positions;
}

Status Pipeline::Impl::TakeRecords(std::span<const SourceRecord> records) {
  int64_t num_taken = 0;
  int64_t bytes = 0;
  const Status taken = TakeEach(records, num_taken, bytes);
  if (num_taken > 0) {
    board_.Change([&](PipelineStatus& status) {
      status.records += num_taken;
      status.bytes += bytes;
      status.poison = guard_.count();
      status.poison_reasons = guard_.reasons();
      status.first_poison = guard_.first();
      status.dead_letters = guard_.num_dead_letters();
    });
  }
  FRAZIL_TRY(taken);
  if (!batch_.has_progress()) progress_since_ms_ = clock_.NowMs();
  batch_.PassedAll(PositionsToCover());
  if (num_taken > 0) ShowBuffer();
  return ReleaseLatePartitions();
}

Status Pipeline::Impl::ReleaseLatePartitions() {
  if (late_.empty()) return {};
  FRAZIL_TRY(LookAtEmptyPartitions());
  const bool is_any_open = late_.Release(batch_.next(), batch_.newest_timestamps());
  if (!is_any_open && !late_.ShouldLeaveOutStopped()) return {};
  return Patiently(WaitLoop::Until::kStop, [this] { return source_->Assign(late_.Open(batch_.next())); });
}

/// Those that are held back because they had no record.
Status Pipeline::Impl::LookAtEmptyPartitions() {
  const int64_t now_ms = clock_.NowMs();
  if (now_ms - looked_at_empty_ms_ < kLookAtEmptyEveryMs || IsAtBoundedEnd()) return {};
  if (!late_.ShouldLookAgain(batch_.next(), BoundsToRead(batch_.next()))) return {};
  looked_at_empty_ms_ = now_ms;
  auto bounds = source_->Bounds();
  if (!bounds) return {};  // reading will notice, and say it
  bounds_ = *std::move(bounds);
  const std::map<int32_t, PartitionBounds> to_read = BoundsToRead(batch_.next());
  bool must_assign = false;
  const Status looked = Patiently(WaitLoop::Until::kStop, [&]() -> Status {
    FRAZIL_ASSIGN(const bool has_changed, late_.LookAgain(*source_, batch_.next(), to_read));
    must_assign = must_assign || has_changed;
    return must_assign ? source_->Assign(late_.Open(batch_.next())) : Status();
  });
  if (looked) return {};
  if (looked.error().code() == ErrorCode::kShuttingDown) return {};  // what was read is committed at the end
  // What came before is good.
  FRAZIL_TRY(Cut());
  FRAZIL_TRY(AwaitLane(false));
  return looked;
}

Status Pipeline::Impl::TakeEach(std::span<const SourceRecord> records, int64_t& num_taken, int64_t& bytes) {
  while (!records.empty()) {
    if (!batch_.has_records()) schedule_.Begin();
    Result<Decoded> outcome = Decoded::kRow;
    size_t num_rows = 0;
    {
      const StageTimer timer(&board_.stages(), "decode");
      num_rows = DecodeRows(records.first(std::min(records.size(), kCheckEvery)), outcome, num_taken, bytes);
    }
    records = records.subspan(num_rows);
    if (outcome && *outcome == Decoded::kRow) {
      FRAZIL_TRY(CheckLimits());
      continue;
    }
    FRAZIL_TRY(TakeRecord(records.front(), std::move(outcome)));
    records = records.subspan(1);
    ++num_taken;
  }
  return {};
}

size_t Pipeline::Impl::DecodeRows(std::span<const SourceRecord> records, Result<Decoded>& outcome, int64_t& num_taken,
                                  int64_t& bytes) {
  size_t num_passed = 0;
  for (const SourceRecord& record : records) {
    if (!IsBeyondEnd(record) && !late_.Stops(record)) {
      outcome = decoder_->Decode(record);
      if (!outcome || *outcome != Decoded::kRow) return num_passed;
      batch_.PassedRow(record);
      ++num_taken;
      bytes += static_cast<int64_t>((record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0));
    }
    ++num_passed;
  }
  return num_passed;
}

bool Pipeline::Impl::IsBeyondEnd(const SourceRecord& record) const {
  if (!options_.is_bounded) return false;
  const auto end = bounded_ends_.find(record.partition);
  return end == bounded_ends_.end() || record.offset >= end->second;
}

Status Pipeline::Impl::TakeRecord(const SourceRecord& record, Result<Decoded> decoded) {
  WaitLoop wait(WaitLoop::Until::kStop, clock_, control_, board_);
  bool was_evolved = false;
  for (;; decoded = decoder_->Decode(record)) {
    if (!decoded) {
      if (decoded.error().code() == ErrorCode::kResourceExhausted && decoder_->num_rows() > 0) {
        FRAZIL_TRY(Cut());  // the decoder's buffer is full
        continue;
      }
      if (!IsMendedByWaiting(decoded.error())) return tl::unexpected(decoded.error());
      if (!wait.Again(decoded.error())) return Fail(ErrorCode::kShuttingDown, "{}", decoded.error().ToString());
      FRAZIL_TRY(CutIfDue());  // what came before need not wait for the registry
      continue;
    }
    switch (*decoded) {
      case Decoded::kRow: batch_.PassedRow(record); return {};
      case Decoded::kPoison: return TakePoison(record, decoder_->why());
      case Decoded::kNeedsSchema: break;
    }
    if (was_evolved) {
      return Fail(ErrorCode::kInternal, "the table's schema still does not suit a record: partition {} offset {} of {}",
                  record.partition, record.offset, source_->description());
    }
    FRAZIL_ASSIGN(const bool suits, Evolve(record));
    if (!suits) return {};
    was_evolved = true;
  }
}

Status Pipeline::Impl::TakePoison(const SourceRecord& record, const std::string& why) {
  Status taken;
  const auto is_mended = [this](const Error& error) { return MayWaitForLetters(error); };
  const auto take = [&]() -> Status {
    taken = guard_.Take(record, why);
    return !taken && is_mended(taken.error()) ? taken : Status();
  };
  FRAZIL_TRY(Patiently(WaitLoop::Until::kStop, take, is_mended));
  if (taken) {
    batch_.Passed(record);
    return {};
  }
  // What came before the record is good: it is committed, so that the next start begins at the record.
  FRAZIL_TRY(Cut());
  FRAZIL_TRY(AwaitLane(false));
  return taken;
}

/// The record asks for another schema of the table. Everything before it is committed first; the change itself goes with
/// the first rows that use it.
Result<bool> Pipeline::Impl::Evolve(const SourceRecord& record) {
  FRAZIL_TRY(Cut());
  FRAZIL_TRY(AwaitLane(false));
  std::optional<std::vector<spec::TableUpdate>> updates;
  Status status = PatientlyOnTable([&]() -> Status {
    FRAZIL_TRY(table_.Refresh());
    FRAZIL_ASSIGN(updates, decoder_->WantedUpdates(*table_.metadata()));
    return {};
  });
  if (!status && status.error().code() == ErrorCode::kInvalidArgument) {
    FRAZIL_TRY(TakePoison(record, status.error().ToString()));
    return false;
  }
  FRAZIL_TRY(status);
  const spec::SchemaPtr from = table_.metadata()->schema();
  if (!HasSameKey(*from, *started_.key)) {
    must_start_again_ = true;  // with an index of the key that the table has now
    return Fail(ErrorCode::kFenced, "the identifier fields of {} changed", table_.name().ToString());
  }
  spec::SchemaPtr schema = from;
  if (!updates->empty()) {
    spec::TableMetadataBuilder builder(table_.metadata(), "");
    for (const spec::TableUpdate& update : *updates) FRAZIL_TRY(builder.Apply(update));
    FRAZIL_ASSIGN(const spec::TableMetadataPtr evolved, std::move(builder).Build(clock_.NowMs()));
    schema = evolved->schema();
  }
  FRAZIL_TRY(decoder_->UseSchema(schema));
  if (updates->empty()) {
    batch_.UseSchema(schema, std::nullopt);
  } else {
    batch_.UseSchema(
        schema, SchemaChange{
                    .from = from, .last_column_id = table_.metadata()->last_column_id, .updates = *std::move(updates)});
    Notice(fmt::format("the schema of {} changes with the records from partition {} offset {} on",
                       table_.name().ToString(), record.partition, record.offset));
  }
  return true;
}

Status Pipeline::Impl::CheckLimits() {
  if (schedule_.IsFull(batch_.num_records(), batch_.buffered_bytes())) return Cut();
  Status reserved = batch_.Reserve();
  if (reserved || reserved.error().code() != ErrorCode::kResourceExhausted) return reserved;
  if (lane_.is_busy()) {
    FRAZIL_TRY(AwaitLane(true));
    if (batch_.Reserve()) return {};
  }
  if (batch_.num_records() > static_cast<int64_t>(kCheckEvery)) return Cut();
  // Next to nothing is buffered, nothing is being committed, and still there is no room: others hold it.
  return Patiently(WaitLoop::Until::kStop, [this]() -> Status {
    Status again = batch_.Reserve();
    if (again || again.error().code() != ErrorCode::kResourceExhausted) return again;
    return Fail(ErrorCode::kUnavailable, "{}", again.error().ToString());
  });
}

Status Pipeline::Impl::KeepHouse() {
  const int64_t now_ms = clock_.NowMs();
  // One that does not answer says so when it is polled.
  const int64_t discovery_ms = options_.discovery_interval.count();
  const int64_t every_ms = discovery_ms > 0 ? std::min(discovery_ms, kBoundsEveryMs) : kBoundsEveryMs;
  const bool looks = now_ms - looked_at_bounds_ms_ >= every_ms && !poll_wait_;
  if (looks) FRAZIL_TRY(LookAtBounds());
  AdvanceLease();
  if (lane_.is_busy() || batch_.has_records()) return {};
  // An idle pipeline on a compacted topic says that it is alive: the age of its marker tells whether tombstones were missed.
  if (looks && tombstone_retention_ && now_ms - committed_ms_ > tombstone_retention_->count() / 4) {
    const auto is_at_end = IsAtEnd();
    if (is_at_end && *is_at_end)
      return Cut(CutMode::kEvenIfEmpty);  // else there are records to come, or none to say so
  }
  if (now_ms - looked_at_property_ms_ < schedule_.interval().count()) return {};
  looked_at_property_ms_ = now_ms;
  const auto renewed = table::RenewMarkerProperty(table_, spec::kMainBranch, kMaxForeignCommits, clock_);
  if (!renewed) Log::Warn("the marker property is not up to date: {}", renewed.error().ToString());
  return {};
}

Status Pipeline::Impl::LookAtBounds() {
  looked_at_bounds_ms_ = clock_.NowMs();
  auto bounds = source_->Bounds();
  if (!bounds) {
    if (!IsMendedByWaiting(bounds.error())) return {};  // reading will notice, and say it
    if (!bounds_wait_) bounds_wait_.emplace(WaitLoop::Until::kStop, clock_, control_, board_);
    bounds_wait_->Show(bounds.error());
    return {};
  }
  bounds_wait_.reset();
  bounds_ = *std::move(bounds);
  ShowBuffer();
  if (options_.is_bounded) return {};
  const int64_t discovery_ms = options_.discovery_interval.count();
  const int64_t now_ms = clock_.NowMs();
  if (discovery_ms <= 0 || now_ms - looked_for_partitions_ms_ < discovery_ms) return {};
  looked_for_partitions_ms_ = now_ms;
  FRAZIL_ASSIGN(const SourcePositions added, NewPartitions(batch_.next(), bounds_, source_->description()));
  if (added.empty()) return {};
  Notice(fmt::format("{} new partitions of {} are read from their beginning", added.size(), source_->description()));
  if (const std::string text = UnorderedKeysText(batch_.next(), bounds_); !text.empty()) Notice(text);
  batch_.AddPartitions(added);
  if (lane_.is_busy()) FRAZIL_TRY(AwaitLane(false));  // the marker's number of partitions belongs to it
  pipeline_.num_partitions = static_cast<int32_t>(bounds_.size());
  Status assigned = Patiently(WaitLoop::Until::kStop, [&]() -> Status {
    FRAZIL_TRY(late_.Add(*source_, added, batch_.next(), bounds_));
    return source_->Assign(late_.Open(batch_.next()));
  });
  const bool was_stopped = !assigned && assigned.error().code() == ErrorCode::kShuttingDown;
  return was_stopped ? Status() : assigned;  // what was read is committed at the end
}

void Pipeline::Impl::ShowBuffer() {
  const SourcePositions next = batch_.next();
  int64_t lag = 0;
  for (const auto& [partition, bounds] : bounds_) {
    const auto at = next.find(partition);
    lag += std::max<int64_t>(0, bounds.end - (at == next.end() ? 0 : at->second.next));
  }
  const std::optional<int64_t> read_through = batch_.ReadThrough(bounds_);
  board_.Change([&](PipelineStatus& status) {
    status.read = next;
    status.lag_records = lag;
    status.read_through_ms = read_through;
    status.oldest_buffered_ms = batch_.oldest_timestamp_ms();
    status.buffered_records = batch_.num_records();
    status.buffered_bytes = batch_.buffered_bytes();
  });
}

}  // namespace frazil::ingest
