#include "frazil/ingest/pipeline.h"

#include <algorithm>
#include <mutex>

#include "frazil/base/log.h"
#include "frazil/ingest/commit_lane.h"
#include "frazil/ingest/commit_schedule.h"
#include "frazil/ingest/open_batch.h"
#include "frazil/ingest/pipeline_control.h"
#include "frazil/ingest/pipeline_start.h"
#include "frazil/ingest/pipeline_status.h"
#include "frazil/ingest/poison_guard.h"
#include "frazil/ingest/start_commit.h"
#include "frazil/ingest/start_index.h"
#include "frazil/ingest/wait_loop.h"
#include "frazil/spec/table_metadata_builder.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

constexpr size_t kPollRecords = 4'096;
constexpr milliseconds kPollTimeout{50};
/// Limits are looked at after so many records.
constexpr size_t kCheckEvery = 256;
/// A batch coexists with the one being committed and with what is made of it: the part of the memory limit it may take.
constexpr int64_t kBatchShareOfLimit = 8;
/// How often the source is asked for new partitions and its ends when nothing else asks.
constexpr int64_t kBoundsEveryMs = 10'000;
/// Progress over records that are no rows (control records, aborted data) is committed at last after this.
constexpr int64_t kGapCommitMs = 3'600'000;
/// Foreign commits after which the marker property is written again.
constexpr int64_t kMaxForeignCommits = 20;
/// Starts without a commit in between, after which each one waits: two processes may be taking turns.
constexpr int64_t kStartsBeforeWaiting = 3;

}  // namespace

class Pipeline::Impl {
 public:
  Impl(table::Table table, std::unique_ptr<RecordSource> source, std::unique_ptr<RecordDecoder> decoder,
       std::unique_ptr<DeadLetters> dead_letters, PipelineOptions options)
      : options_(std::move(options)),
        clock_(options_.clock != nullptr ? *options_.clock : Clock::System()),
        table_(std::move(table)),
        source_(std::move(source)),
        decoder_(std::move(decoder)),
        dead_letters_(std::move(dead_letters)),
        pipeline_{.id = options_.id, .writer = options_.writer, .source = {}, .num_partitions = {}},
        control_(clock_),
        guard_(options_.poison, dead_letters_.get(), source_->description(), clock_),
        schedule_({.interval = options_.commit_interval,
                   .max_bytes = MaxBatchBytes(options_),
                   .max_records = options_.commit_max_records},
                  clock_, [this](const std::string& line) { Notice(line); }),
        batch_(*decoder_, options_.budget),
        index_options_{.directory = options_.index_directory,
                       .dedupe = options_.dedupe,
                       .executor = options_.executor,
                       .budget = options_.budget,
                       .on_notice = [this](const std::string& line) { Notice(line); },
                       .on_progress = {}},
        lane_(table_, started_, pipeline_,
              {.landing = options_.landing, .executor = options_.executor, .stages = nullptr},
              options_.executor != nullptr && options_.executor->num_threads() > 1, clock_, control_, board_) {}

  Status Run();
  PipelineControl& control() { return control_; }
  PipelineStatus status() const { return board_.Read(); }

 private:
  static int64_t MaxBatchBytes(const PipelineOptions& options) {
    if (options.budget == nullptr) return options.commit_max_bytes;
    return std::min(options.commit_max_bytes, options.budget->limit_bytes() / kBatchShareOfLimit);
  }

  // Life.
  Status RunFromStart();
  Status Start();
  Status StartOnce();
  Status WaitPaused();
  Status Finish();
  bool IsAtBoundedEnd() const;

  // Reading.
  Status PollOnce();
  Status TakeRecords(std::span<const SourceRecord> records);
  /// Decodes until a record is no row; returns how many were passed. `outcome`: of the record behind those, else kRow.
  size_t DecodeRows(std::span<const SourceRecord> records, Result<Decoded>& outcome, int64_t& bytes);
  /// Behind the end of a bounded run.
  bool IsBeyondEnd(const SourceRecord& record) const;
  /// A record that is no row, or whose decoder waits for the registry.
  Status TakeRecord(const SourceRecord& record, Result<Decoded> decoded);
  Status TakePoison(const SourceRecord& record, const std::string& why);
  /// False: the record is poison after all.
  Result<bool> Evolve(const SourceRecord& record);
  Status CheckLimits();
  SourcePositions PositionsToCover() const;
  Status KeepHouse();
  Status LookAtBounds();
  void ShowBuffer();

  // Committing.
  bool IsDue() const;
  Status CutIfDue();
  Status Cut();
  Status FlushDeadLetters();
  Status AwaitLane(bool is_backpressure);
  Status Settle();

  /// Tries until it works, time does not mend it, or somebody says stop.
  Status Patiently(WaitLoop::Until until, const std::function<Status()>& attempt);
  void Notice(const std::string& line);

  const PipelineOptions options_;
  Clock& clock_;
  table::Table table_;
  const std::unique_ptr<RecordSource> source_;
  const std::unique_ptr<RecordDecoder> decoder_;
  const std::unique_ptr<DeadLetters> dead_letters_;
  PipelineIdentity pipeline_;
  PipelineControl control_;
  StatusBoard board_;
  PoisonGuard guard_;
  CommitSchedule schedule_;
  OpenBatch batch_;
  const StartIndexOptions index_options_;
  StartedIndex started_;
  std::mutex notice_mutex_;

  std::map<int32_t, PartitionBounds> bounds_;  ///< as last seen
  std::map<int32_t, int64_t> bounded_ends_;
  bool is_first_start_ = true;
  bool was_followed_ = false;
  int64_t starts_without_commit_ = 0;
  int64_t looked_at_bounds_ms_ = 0;
  int64_t looked_at_property_ms_ = 0;
  int64_t progress_since_ms_ = 0;
  std::optional<WaitLoop> poll_wait_;

  CommitLane lane_;  // last: it is waited for before what it uses goes
};

void Pipeline::Impl::Notice(const std::string& line) {
  const std::lock_guard lock(notice_mutex_);
  if (options_.on_notice) options_.on_notice(line);
}

Status Pipeline::Impl::Patiently(WaitLoop::Until until, const std::function<Status()>& attempt) {
  WaitLoop wait(until, clock_, control_, board_);
  for (;;) {
    Status done = attempt();
    if (done || !IsMendedByWaiting(done.error())) return done;
    if (!wait.Again(done.error()))
      return Fail(ErrorCode::kShuttingDown, "stopped while waiting: {}", done.error().ToString());
  }
}

// --- Life ------------------------------------------------------------------------------------------------------------

Status Pipeline::Impl::Run() {
  Status status = guard_.CheckPolicy();
  while (status) {
    lane_.BeginAnew();
    status = RunFromStart();
    if (status || !lane_.must_start_again() || control_.is_stopping()) break;
    Notice("starting again from where the table stands: " + status.error().ToString());
    status = {};
  }
  poll_wait_.reset();
  if (lane_.is_busy()) (void)lane_.Take();  // its own error, if any, came second
  KeepIndex(started_, index_options_);
  const bool was_told_to = !status && (status.error().code() == ErrorCode::kShuttingDown ||
                                       (control_.is_stopping() && lane_.must_start_again()));
  if (was_told_to) status = {};
  board_.SetState(status ? PipelineState::kStopped : PipelineState::kFailed,
                  status ? std::string() : status.error().ToString());
  return status;
}

Status Pipeline::Impl::RunFromStart() {
  FRAZIL_TRY(Start());
  board_.SetState(PipelineState::kRunning);
  for (;;) {
    if (control_.is_stopping() || IsAtBoundedEnd()) return Finish();
    if (lane_.is_busy() && lane_.IsDoneWithin(milliseconds(0))) FRAZIL_TRY(Settle());
    if (control_.is_paused()) FRAZIL_TRY(WaitPaused());
    if (control_.TakeDrain()) FRAZIL_TRY(Cut());
    FRAZIL_TRY(CutIfDue());
    FRAZIL_TRY(PollOnce());
    FRAZIL_TRY(KeepHouse());
  }
}

Status Pipeline::Impl::Start() {
  board_.SetState(PipelineState::kStarting);
  board_.Change([](PipelineStatus& status) { ++status.starts; });
  if (++starts_without_commit_ > kStartsBeforeWaiting) {
    WaitLoop wait(WaitLoop::Until::kStop, clock_, control_, board_);
    for (int64_t i = kStartsBeforeWaiting; i < std::min<int64_t>(starts_without_commit_, 10); ++i) {
      const Error why(ErrorCode::kUnavailable, "another writer keeps moving this pipeline's marker");
      if (!wait.Again(why)) return Fail(ErrorCode::kShuttingDown, "stopped while another writer moved the marker");
    }
  }
  return Patiently(WaitLoop::Until::kStop, [this] { return StartOnce(); });
}

Status Pipeline::Impl::StartOnce() {
  FRAZIL_TRY(table_.Refresh());
  FRAZIL_TRY(PrepareFormat(table_, options_.upgrade_table,
                           "with --upgrade-table it becomes version 3, which older engines cannot read", clock_,
                           [this](const std::string& line) { Notice(line); }));
  const spec::SchemaPtr schema = table_.metadata()->schema();
  if (started_.index == nullptr || !HasSameKey(*schema, *started_.key)) {
    started_ = {};
    was_followed_ = false;
    FRAZIL_ASSIGN(started_, OpenStartIndex(table_, index_options_, clock_));
  }
  FRAZIL_ASSIGN(const PipelineStart start, StartPipeline(table_, *source_, pipeline_,
                                                         {.startup = options_.startup,
                                                          .reset_offsets = options_.reset_offsets,
                                                          .on_notice = index_options_.on_notice},
                                                         clock_));
  if (was_followed_) {
    FRAZIL_TRY(started_.index->FollowTo(table_, table_.metadata()->current_snapshot(), {}));
  } else {
    FRAZIL_TRY(FollowFromStart(table_, started_, start.is_first_ingest, index_options_, clock_));
    was_followed_ = true;
  }
  FRAZIL_ASSIGN(bounds_, source_->Bounds());
  if (options_.is_bounded && is_first_start_) {
    for (const auto& [partition, bounds] : bounds_) bounded_ends_[partition] = bounds.end;
  }
  FRAZIL_TRY(batch_.Begin(start.positions, schema));
  FRAZIL_TRY(source_->Assign(start.positions));
  is_first_start_ = false;
  looked_at_bounds_ms_ = clock_.NowMs();
  board_.Change([&](PipelineStatus& status) {
    status.committed = start.positions;
    status.commit_interval_ms = schedule_.interval().count();
  });
  ShowBuffer();
  return {};
}

Status Pipeline::Impl::WaitPaused() {
  FRAZIL_TRY(Cut());
  FRAZIL_TRY(AwaitLane(false));
  FRAZIL_TRY(source_->Pause());
  board_.SetState(PipelineState::kPaused);
  while (control_.is_paused() && !control_.is_stopping()) clock_.SleepMs(kPollTimeout.count());
  board_.SetState(PipelineState::kRunning);
  return source_->Resume();
}

Status Pipeline::Impl::Finish() {
  board_.SetState(PipelineState::kDraining);
  FRAZIL_TRY(Cut());
  return AwaitLane(false);
}

bool Pipeline::Impl::IsAtBoundedEnd() const {
  if (!options_.is_bounded) return false;
  const SourcePositions next = batch_.next();
  return std::all_of(bounded_ends_.begin(), bounded_ends_.end(), [&](const auto& end) {
    const auto at = next.find(end.first);
    return at != next.end() && at->second.next >= end.second;
  });
}

// --- Reading ---------------------------------------------------------------------------------------------------------

Status Pipeline::Impl::PollOnce() {
  milliseconds timeout = kPollTimeout;
  if (batch_.has_records()) timeout = std::min(timeout, milliseconds(schedule_.DueInMs()));
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
  return TakeRecords(*records);
}

/// As far as a bounded run reads.
SourcePositions Pipeline::Impl::PositionsToCover() const {
  SourcePositions positions = source_->Positions();
  for (auto& [partition, offset] : positions) {
    const auto end = bounded_ends_.find(partition);
    if (end != bounded_ends_.end()) offset.next = std::min(offset.next, end->second);
  }
  return positions;
}

Status Pipeline::Impl::TakeRecords(std::span<const SourceRecord> records) {
  int64_t num_taken = 0;
  int64_t bytes = 0;
  while (!records.empty()) {
    if (!batch_.has_records()) schedule_.Begin();
    Result<Decoded> outcome = Decoded::kRow;
    size_t num_rows = 0;
    {
      const StageTimer timer(&board_.stages(), "decode");
      num_rows = DecodeRows(records.first(std::min(records.size(), kCheckEvery)), outcome, bytes);
    }
    records = records.subspan(num_rows);
    num_taken += static_cast<int64_t>(num_rows);
    if (outcome && *outcome == Decoded::kRow) {
      FRAZIL_TRY(CheckLimits());
      continue;
    }
    FRAZIL_TRY(TakeRecord(records.front(), std::move(outcome)));
    records = records.subspan(1);
    ++num_taken;
  }
  if (!batch_.has_progress()) progress_since_ms_ = clock_.NowMs();
  batch_.PassedAll(PositionsToCover());
  if (num_taken == 0) return {};
  board_.Change([&](PipelineStatus& status) {
    status.records += num_taken;
    status.bytes += bytes;
    status.poison = guard_.count();
    status.poison_reasons = guard_.reasons();
    status.first_poison = guard_.first();
    status.dead_letters = guard_.num_dead_letters();
  });
  ShowBuffer();
  return {};
}

size_t Pipeline::Impl::DecodeRows(std::span<const SourceRecord> records, Result<Decoded>& outcome, int64_t& bytes) {
  size_t num_passed = 0;
  for (const SourceRecord& record : records) {
    if (!IsBeyondEnd(record)) {
      outcome = decoder_->Decode(record);
      if (!outcome || *outcome != Decoded::kRow) return num_passed;
      batch_.Passed(record);
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
      if (!IsMendedByWaiting(decoded.error())) return tl::unexpected(decoded.error());
      if (!wait.Again(decoded.error())) return Fail(ErrorCode::kShuttingDown, "{}", decoded.error().ToString());
      FRAZIL_TRY(CutIfDue());  // what came before need not wait for the registry
      continue;
    }
    switch (*decoded) {
      case Decoded::kRow: batch_.Passed(record); return {};
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
  FRAZIL_TRY(Patiently(WaitLoop::Until::kStop, [&]() -> Status {
    taken = guard_.Take(record, why);
    return !taken && IsMendedByWaiting(taken.error()) ? taken : Status();
  }));
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
  Status status = Patiently(WaitLoop::Until::kStop, [&]() -> Status {
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
    batch_.UseSchema(schema, SchemaChange{.from = from, .updates = *std::move(updates)});
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
  if (now_ms - looked_at_bounds_ms_ >= kBoundsEveryMs) FRAZIL_TRY(LookAtBounds());
  if (lane_.is_busy() || batch_.has_records()) return {};
  if (now_ms - looked_at_property_ms_ < schedule_.interval().count()) return {};
  looked_at_property_ms_ = now_ms;
  const auto renewed = table::RenewMarkerProperty(table_, spec::kMainBranch, kMaxForeignCommits, clock_);
  if (!renewed) Log::Warn("the marker property is not up to date: {}", renewed.error().ToString());
  return {};
}

Status Pipeline::Impl::LookAtBounds() {
  looked_at_bounds_ms_ = clock_.NowMs();
  auto bounds = source_->Bounds();
  if (!bounds) return {};  // reading will notice, and say it
  bounds_ = *std::move(bounds);
  ShowBuffer();
  if (options_.is_bounded) return {};
  FRAZIL_ASSIGN(const SourcePositions added, NewPartitions(batch_.next(), bounds_, source_->description()));
  if (added.empty()) return {};
  Notice(fmt::format("{} new partitions of {} are read from their beginning", added.size(), source_->description()));
  batch_.AddPartitions(added);
  if (lane_.is_busy()) FRAZIL_TRY(AwaitLane(false));  // the marker's number of partitions belongs to it
  pipeline_.num_partitions = static_cast<int32_t>(bounds_.size());
  return Patiently(WaitLoop::Until::kStop, [this] { return source_->Assign(batch_.next()); });
}

void Pipeline::Impl::ShowBuffer() {
  const SourcePositions next = batch_.next();
  int64_t lag = 0;
  for (const auto& [partition, bounds] : bounds_) {
    const auto at = next.find(partition);
    lag += std::max<int64_t>(0, bounds.end - (at == next.end() ? 0 : at->second.next));
  }
  board_.Change([&](PipelineStatus& status) {
    status.read = next;
    status.lag_records = lag;
    status.buffered_records = batch_.num_records();
    status.buffered_bytes = batch_.buffered_bytes();
  });
}

// --- Committing ------------------------------------------------------------------------------------------------------

bool Pipeline::Impl::IsDue() const {
  if (batch_.has_records()) return schedule_.DueInMs() == 0;
  return batch_.has_progress() && clock_.NowMs() - progress_since_ms_ >= kGapCommitMs;
}

/// While a batch is being committed the next one may grow beyond its time: nothing is gained by waiting for it here.
Status Pipeline::Impl::CutIfDue() { return IsDue() && !lane_.is_busy() ? Cut() : Status(); }

Status Pipeline::Impl::Cut() {
  if (!batch_.has_progress()) return {};
  FRAZIL_TRY(AwaitLane(true));
  FRAZIL_TRY(FlushDeadLetters());
  FRAZIL_TRY(Patiently(WaitLoop::Until::kDeadline, [this] { return source_->CheckSame(); }));
  if (auto bounds = source_->Bounds()) bounds_ = *std::move(bounds);
  // Rows that come now may as well have the schema that others gave the table meanwhile.
  const spec::SchemaPtr table_schema = table_.metadata()->schema();
  Result<FrozenBatch> frozen = FrozenBatch();
  {
    const StageTimer timer(&board_.stages(), "decode");
    frozen = batch_.Freeze(bounds_);
  }
  if (!frozen) return tl::unexpected(std::move(frozen).error());
  if (!frozen->schema_change && !table_schema->SameAs(*batch_.schema()) && HasSameKey(*table_schema, *started_.key)) {
    FRAZIL_TRY(decoder_->UseSchema(table_schema));
    batch_.UseSchema(table_schema, std::nullopt);
  }
  lane_.Submit(*std::move(frozen));
  ShowBuffer();
  return lane_.IsDoneWithin(milliseconds(0)) ? Settle() : Status();
}

Status Pipeline::Impl::FlushDeadLetters() {
  if (dead_letters_ == nullptr) return {};
  return Patiently(WaitLoop::Until::kDeadline, [this] { return dead_letters_->Flush(); });
}

Status Pipeline::Impl::AwaitLane(bool is_backpressure) {
  if (!lane_.is_busy()) return {};
  if (!lane_.IsDoneWithin(milliseconds(0))) {
    const auto begun = std::chrono::steady_clock::now();
    (void)source_->Pause();  // it only keeps the source from fetching what would lie about
    while (!lane_.IsDoneWithin(kPollTimeout)) {
    }
    (void)source_->Resume();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
    if (is_backpressure) {
      board_.Change([&](PipelineStatus& status) { status.backpressure_seconds += waited.count(); });
    }
  }
  return Settle();
}

Status Pipeline::Impl::Settle() {
  FRAZIL_ASSIGN(const CommitLane::Done done, lane_.Take());
  starts_without_commit_ = 0;
  schedule_.Committed(done.sizes.row_bytes, done.sizes.vector_bytes);
  board_.Change([&](PipelineStatus& status) { status.commit_interval_ms = schedule_.interval().count(); });
  if (const Status stored = source_->StoreCommitted(done.committed); !stored) {
    Log::Warn("the source was not told what is committed: {}", stored.error().ToString());
  }
  return {};
}

// ---------------------------------------------------------------------------------------------------------------------

Pipeline::Pipeline(table::Table table, std::unique_ptr<RecordSource> source, std::unique_ptr<RecordDecoder> decoder,
                   std::unique_ptr<DeadLetters> dead_letters, PipelineOptions options)
    : impl_(std::make_unique<Impl>(std::move(table), std::move(source), std::move(decoder), std::move(dead_letters),
                                   std::move(options))) {}

Pipeline::~Pipeline() = default;

Status Pipeline::Run() { return impl_->Run(); }
void Pipeline::Stop(milliseconds deadline) { impl_->control().Stop(deadline); }
void Pipeline::Pause() { impl_->control().Pause(); }
void Pipeline::Resume() { impl_->control().Resume(); }
void Pipeline::Drain() { impl_->control().Drain(); }
PipelineStatus Pipeline::status() const { return impl_->status(); }

}  // namespace frazil::ingest
