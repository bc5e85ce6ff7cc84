#include "frazil/ingest/pipeline.h"

#include <algorithm>
#include <utility>

#include "frazil/base/log.h"
#include "frazil/ingest/identifier_fields.h"
#include "frazil/ingest/moved_table.h"
#include "frazil/ingest/pipeline_impl.h"
#include "frazil/ingest/pipeline_start.h"
#include "frazil/ingest/replaced_partitions.h"
#include "frazil/ingest/start_commit.h"
#include "frazil/table/file_names.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

/// Starts without a commit in between, after which each one waits: two processes may be taking turns.
constexpr int64_t kStartsBeforeWaiting = 3;
/// A batch coexists with the one being committed and with what is made of it: the part of the memory limit it may take.
constexpr int64_t kBatchShareOfLimit = 8;

int64_t MaxBatchBytes(const PipelineOptions& options) {
  if (options.budget == nullptr) return options.commit_max_bytes;
  return std::min(options.commit_max_bytes, options.budget->limit_bytes() / kBatchShareOfLimit);
}

}  // namespace

Pipeline::Impl::Impl(table::Table table, std::unique_ptr<RecordSource> source, std::unique_ptr<RecordDecoder> decoder,
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
      late_([this] { return control_.is_stopping(); }),
      drain_(options_.drain_landing, clock_),
      lane_(table_, started_, pipeline_,
            {.landing = options_.landing, .executor = options_.executor, .stages = nullptr},
            options_.executor != nullptr && options_.executor->num_threads() > 1, clock_, control_, board_) {}

void Pipeline::Impl::Notice(const std::string& line) {
  const std::lock_guard lock(notice_mutex_);
  if (options_.on_notice) options_.on_notice(line);
}

Status Pipeline::Impl::Patiently(WaitLoop::Until until, const std::function<Status()>& attempt) {
  return Patiently(until, attempt, IsMendedByWaiting);
}

Status Pipeline::Impl::PatientlyOnTable(const std::function<Status()>& attempt) {
  MovedTable moved(table_);
  const auto judged = [&]() -> Status {
    Status done = attempt();
    return done ? std::move(done) : tl::unexpected(moved.Judge(std::move(done).error()));
  };
  return Patiently(WaitLoop::Until::kStop, judged, IsMendedInStore);
}

Status Pipeline::Impl::Patiently(WaitLoop::Until until, const std::function<Status()>& attempt,
                                 const std::function<bool(const Error&)>& is_mended) {
  WaitLoop wait(until, clock_, control_, board_);
  for (;;) {
    Status done = attempt();
    if (done || !is_mended(done.error())) return done;
    if (!wait.Again(done.error()))
      return Fail(ErrorCode::kShuttingDown, "stopped while waiting: {}", done.error().ToString());
  }
}

Status Pipeline::Impl::Run() {
  Status status = guard_.CheckPolicy();
  while (status) {
    must_start_again_ = false;
    status = RunFromStart();
    if (lane_.is_busy()) (void)lane_.Take();  // its own error, if any, came second
    if (status || !must_start_again_ || control_.is_stopping()) break;
    Notice("starting again from where the table stands: " + status.error().ToString());
    status = {};
  }
  poll_wait_.reset();
  bounds_wait_.reset();
  // At the end of a bounded source there is time for it, else the next start goes on.
  drain_.AwaitEnd([&] { return !status || control_.is_stopping(); });
  TellOfDrain();
  lease_.reset();
  KeepIndex(started_, index_options_);
  const bool was_told_to =
      !status && (status.error().code() == ErrorCode::kShuttingDown || (control_.is_stopping() && must_start_again_));
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
    TellOfDrain();
  }
}

Status Pipeline::Impl::Start() {
  is_finishing_ = false;
  board_.SetState(PipelineState::kStarting);
  board_.Change([](PipelineStatus& status) { ++status.starts; });
  if (++starts_without_commit_ > kStartsBeforeWaiting) {
    WaitLoop wait(WaitLoop::Until::kStop, clock_, control_, board_);
    for (int64_t i = kStartsBeforeWaiting; i < std::min<int64_t>(starts_without_commit_, 10); ++i) {
      const Error why(ErrorCode::kUnavailable, "another writer keeps moving this pipeline's marker");
      if (!wait.Again(why)) return Fail(ErrorCode::kShuttingDown, "stopped while another writer moved the marker");
    }
  }
  return PatientlyOnTable([this] { return StartOnce(); });
}

Status Pipeline::Impl::StartOnce() {
  FRAZIL_TRY(table_.Refresh());
  if (!options_.upgrade_table) FRAZIL_TRY(CheckFormat(table_, kUpgradeTableHint));
  FRAZIL_ASSIGN(const PipelineStart start, StartPipeline(table_, *source_, pipeline_,
                                                         {.startup = options_.startup,
                                                          .reset_offsets = options_.reset_offsets,
                                                          .on_notice = index_options_.on_notice,
                                                          .prepare_table = [this]() -> Status {
                                                            FRAZIL_TRY(CheckBound());
                                                            return PrepareTable();
                                                          }},
                                                         clock_));
  const spec::SchemaPtr schema = table_.metadata()->schema();
  if (!HasSameKey(*schema, *started_.key)) {
    return Fail(ErrorCode::kCommitConflict, "the identifier fields of {} changed meanwhile", table_.name().ToString());
  }
  if (was_followed_) {
    FRAZIL_TRY(started_.index->FollowTo(table_, table_.metadata()->current_snapshot(), {}));
  } else {
    FRAZIL_TRY(FollowFromStart(table_, started_, start.is_first_ingest, index_options_, clock_));
    was_followed_ = true;
  }
  FRAZIL_TRY(LookAfterLanding());
  FRAZIL_ASSIGN(bounds_, source_->Bounds());
  if (options_.is_bounded && is_first_start_) FRAZIL_TRY(FindBoundedEnds(start.positions));
  lane_.Forget();
  FRAZIL_TRY(batch_.Begin(start.positions, schema, !pipeline_.source.contains("topic-id")));
  FRAZIL_TRY(late_.Begin(*source_, start.positions, BoundsToRead(start.positions)));
  FRAZIL_TRY(source_->Assign(late_.Open(start.positions)));
  is_first_start_ = false;
  FRAZIL_ASSIGN(tombstone_retention_, source_->TombstoneRetention());
  told_of_tombstones_ = true;  // the start has said it
  looked_at_bounds_ms_ = looked_at_property_ms_ = looked_for_partitions_ms_ = clock_.NowMs();
  committed_ms_ = read_ms_ = start.committed_at_ms;
  board_.Change([&](PipelineStatus& status) {
    status.committed = start.positions;
    // What an earlier process committed counts until there is something newer.
    if (!status.last_commit_ms) status.last_commit_ms = start.committed_at_ms;
    // A rollback takes this back.
    status.valid_through_ms = start.valid_through_ms;
    status.commit_interval_ms = schedule_.interval().count();
  });
  ShowBuffer();
  return {};
}

Status Pipeline::Impl::CheckBound() {
  if (!options_.is_bounded || !is_first_start_ || options_.bound.kind != StartupMode::Kind::kSpecificOffsets) return {};
  const std::map<int32_t, int64_t>& offsets = options_.bound.specific_offsets;
  FRAZIL_ASSIGN(const auto bounds, source_->Bounds());
  for (const auto& [partition, log] : bounds) {
    if (offsets.contains(partition)) continue;
    return Fail(ErrorCode::kInvalidArgument, "scan.bounded.specific-offsets says nothing of partition {} of {}",
                partition, source_->description());
  }
  for (const auto& [partition, offset] : offsets) {
    if (bounds.contains(partition)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                "scan.bounded.specific-offsets names a partition that {} does not have: {}", source_->description(),
                partition);
  }
  return {};
}

Status Pipeline::Impl::FindBoundedEnds(const SourcePositions& positions) {
  using Kind = StartupMode::Kind;
  const StartupMode& bound = options_.bound;
  std::map<int32_t, int64_t> wanted;
  if (bound.kind == Kind::kSpecificOffsets) {
    wanted = bound.specific_offsets;
  } else if (bound.kind != Kind::kLatest) {
    FRAZIL_ASSIGN(wanted, source_->Resolve(bound));
  }
  bounded_ends_.clear();
  // A partition that appeared since the positions were taken is the next run's.
  for (const auto& [partition, bounds] : bounds_) {
    if (!positions.contains(partition)) continue;
    const auto end = wanted.find(partition);
    bounded_ends_[partition] = end == wanted.end() ? bounds.end : end->second;
  }
  return {};
}

/// What a bounded run leaves to the next one is not waited for.
std::map<int32_t, PartitionBounds> Pipeline::Impl::BoundsToRead(const SourcePositions& next) const {
  std::map<int32_t, PartitionBounds> bounds = bounds_;
  if (!options_.is_bounded) return bounds;
  for (const auto& [partition, position] : next) {
    const auto log = bounds.find(partition);
    if (log == bounds.end()) continue;
    const auto end = bounded_ends_.find(partition);
    log->second.end = end == bounded_ends_.end() ? position.next : std::min(log->second.end, end->second);
  }
  return bounds;
}

Status Pipeline::Impl::PrepareTable() {
  if (!options_.identifier_fields.empty()) {
    FRAZIL_TRY(EnsureIdentifierFields(table_, options_.identifier_fields, clock_));
  }
  FRAZIL_TRY(PrepareFormat(table_, clock_, index_options_.on_notice));
  FRAZIL_TRY(TakeLease());
  if (started_.index != nullptr && HasSameKey(*table_.metadata()->schema(), *started_.key)) return {};
  started_ = {};
  was_followed_ = false;
  FRAZIL_ASSIGN(started_, OpenStartIndex(table_, index_options_, clock_));
  return {};
}

Result<std::unique_ptr<table::WriterLease>> Pipeline::Impl::NewLease() const {
  return table::WriterLease::Take(table_.io(), table_.metadata()->location,
                                  fmt::format("pipeline {} ({})", options_.id, options_.writer),
                                  options_.lease_renew_every);
}

/// Without one it goes on: files younger than a day are spared anyhow.
Status Pipeline::Impl::TakeLease() {
  if (lease_ != nullptr) return {};
  auto lease = NewLease();
  if (lease) {
    lease_ = *std::move(lease);
    return {};
  }
  if (IsMendedByWaiting(lease.error())) return tl::unexpected(std::move(lease).error());
  Notice("orphan removal is not told of this pipeline, a lease cannot be written: " + lease.error().ToString());
  return {};
}

void Pipeline::Impl::AdvanceLease() {
  if (lease_ == nullptr || lane_.is_busy()) return;
  if (lease_->table_location() != table_.metadata()->location) {
    // All that was written into the old place is committed. Where none can be had in the new one, the old one still counts.
    if (auto moved = NewLease()) lease_ = *std::move(moved);
  }
  lease_->Advance();
}

Status Pipeline::Impl::LookAfterLanding() {
  TellOfDrain();
  const spec::TableMetadata& metadata = *table_.metadata();
  FRAZIL_ASSIGN(const LandingMode mode, FindLandingMode(metadata, options_.landing));
  FRAZIL_ASSIGN(const OnReplacePartitions on_replace, FindOnReplacePartitions(metadata));
  std::vector<spec::SequenceNumber> landed;
  for (const table::LiveDataFile& file : started_.index->live_files().data_files) {
    if (table::IsLandingFile(metadata, file.file)) landed.push_back(file.sequence_number);
  }
  if (on_replace != OnReplacePartitions::kApply && !landed.empty()) TellOfReplacedPartitions(landed);
  const std::string reason = ReasonLandingIsOff(mode, metadata);
  const bool was_off = std::exchange(is_landing_off_, !reason.empty());
  if (reason.empty()) return {};
  if (!was_off) Notice("no landing files are written any more: " + reason);
  if (landed.empty()) return {};
  const std::string left =
      fmt::format("{} landing files are left, which others do not reach by partition", landed.size());
  if (!drain_.is_possible()) {
    if (!was_off) Notice(left + ": CALL system.drain_landing moves their rows into the partitions");
    return {};
  }
  if (!is_finishing_ && !control_.is_stopping() && drain_.Start()) {
    Notice(left + ": their rows are being moved into the partitions");
  }
  return {};
}

void Pipeline::Impl::TellOfReplacedPartitions(const std::vector<spec::SequenceNumber>& landed) {
  const auto overwrites = OverwritesOfPartitions(table_, told_up_to_, *std::min_element(landed.begin(), landed.end()));
  if (!overwrites) {
    Log::Warn("whether others replaced partitions is not known: {}", overwrites.error().ToString());
    return;
  }
  told_up_to_ = table_.metadata()->current_snapshot_id;
  for (const spec::Snapshot& overwrite : *overwrites) {
    if (!told_overwrites_.insert(overwrite.id).second) continue;
    const auto num_older = std::count_if(
        landed.begin(), landed.end(), [&](spec::SequenceNumber number) { return number < overwrite.sequence_number; });
    if (num_older == 0) continue;
    Notice(
        fmt::format("snapshot {} replaced whole partitions, but rows of them may be left in {} older landing files: "
                    "table property {} = apply deletes such rows",
                    overwrite.id, num_older, kOnReplacePartitionsProperty));
  }
}

void Pipeline::Impl::TellOfDrain() {
  const std::optional<Result<int64_t>> ended = drain_.Take();
  if (!ended) return;
  const Result<int64_t>& moved = *ended;
  if (moved && *moved > 0) {
    Notice(fmt::format("the rows of {} landing files were moved into the partitions", *moved));
  } else if (moved) {
    Notice("no rows of landing files were moved into the partitions");
  } else if (moved.error().code() == ErrorCode::kShuttingDown) {
    Notice("moving the rows of landing files into the partitions was stopped: the next start goes on with it");
  } else {
    Notice("moving the rows of landing files into the partitions did not work, a later commit tries again: " +
           moved.error().ToString());
  }
}

Status Pipeline::Impl::WaitPaused() {
  FRAZIL_TRY(Cut());
  FRAZIL_TRY(AwaitLane(false));
  poll_wait_.reset();
  bounds_wait_.reset();
  FRAZIL_TRY(source_->Pause());
  board_.SetState(PipelineState::kPaused);
  while (control_.is_paused() && !control_.is_stopping()) {
    AdvanceLease();
    LookAtLag();
    TellOfTombstones();
    clock_.SleepMs(kPollTimeout.count());
  }
  board_.SetState(PipelineState::kRunning);
  return source_->Resume();
}

void Pipeline::Impl::LookAtLag() {
  if (clock_.NowMs() - looked_at_bounds_ms_ < kBoundsEveryMs) return;
  looked_at_bounds_ms_ = clock_.NowMs();
  auto bounds = source_->Bounds();
  if (bounds) {
    bounds_ = *std::move(bounds);
    ShowBuffer();
  } else {
    board_.Change([](PipelineStatus& status) { status.lag_records.reset(); });
  }
}

Status Pipeline::Impl::Finish() {
  is_finishing_ = true;
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
