#include "frazil/ingest/pipeline_impl.h"

#include <utility>

#include "frazil/base/log.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

/// Progress over records that are no rows (control records, aborted data) is committed at last after this.
constexpr int64_t kGapCommitMs = 3'600'000;

}  // namespace

bool Pipeline::Impl::IsDue() const {
  if (batch_.has_records()) return schedule_.DueInMs() == 0;
  return batch_.has_progress() && clock_.NowMs() - progress_since_ms_ >= kGapCommitMs;
}

/// While a batch is being committed the next one may grow beyond its time: nothing is gained by waiting for it here.
Status Pipeline::Impl::CutIfDue() { return IsDue() && !lane_.is_busy() ? Cut() : Status(); }

Status Pipeline::Impl::Cut(CutMode mode) {
  if (!batch_.has_progress() && mode == CutMode::kIfProgress) return {};
  FRAZIL_TRY(AwaitLane(true));
  FRAZIL_TRY(FlushDeadLetters());
  FRAZIL_TRY(CheckSource());
  // Old ones would say that a partition lacks nothing whose newest records are not known.
  std::map<int32_t, PartitionBounds> ends;
  if (!poll_wait_) {
    if (auto bounds = source_->Bounds()) ends = bounds_ = *std::move(bounds);
  }
  // Rows that come now may as well have the schema that others gave the table meanwhile.
  const spec::SchemaPtr table_schema = table_.metadata()->schema();
  Result<FrozenBatch> frozen = FrozenBatch();
  {
    const StageTimer timer(&board_.stages(), "decode");
    frozen = batch_.Freeze(ends);
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

Status Pipeline::Impl::CheckSource() {
  const auto check = [this] { return source_->CheckSame(); };
  if (!source_->WasFoundSame()) return Patiently(WaitLoop::Until::kDeadline, check);
  // What was polled is proven; one look more notices a topic that was made anew the sooner. A broker that is away does
  // not hold up what it gave before.
  if (poll_wait_) return {};
  Status same = check();
  return !same && IsMendedByWaiting(same.error()) ? Status() : same;
}

Status Pipeline::Impl::FlushDeadLetters() {
  if (dead_letters_ == nullptr) return {};
  return Patiently(
      WaitLoop::Until::kDeadline, [this] { return dead_letters_->Flush(); },
      [this](const Error& error) { return MayWaitForLetters(error); });
}

/// Letters in a table wait for its store; a topic that refused one has lost it.
bool Pipeline::Impl::MayWaitForLetters(const Error& error) const {
  return options_.poison.policy == PoisonRule::Policy::kDeadLetterTable ? IsMendedInStore(error)
                                                                        : IsMendedByWaiting(error);
}

Status Pipeline::Impl::AwaitLane(bool is_backpressure) {
  if (!lane_.is_busy()) return {};
  if (!lane_.IsDoneWithin(milliseconds(0))) {
    const auto begun = std::chrono::steady_clock::now();
    while (!lane_.IsDoneWithin(kPollTimeout)) {
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
    if (is_backpressure) {
      board_.Change([&](PipelineStatus& status) { status.backpressure_seconds += waited.count(); });
    }
  }
  return Settle();
}

Status Pipeline::Impl::Settle() {
  const Result<CommitLane::Done> taken = lane_.Take();
  if (!taken) {
    must_start_again_ = lane_.must_start_again();
    return tl::unexpected(taken.error());
  }
  const CommitLane::Done& done = *taken;
  starts_without_commit_ = 0;
  AdvanceLease();
  committed_ms_ = clock_.NowMs();
  schedule_.Committed(done.sizes.row_bytes, done.sizes.vector_bytes);
  board_.Change([&](PipelineStatus& status) { status.commit_interval_ms = schedule_.interval().count(); });
  if (done.sizes.struck_out_landed > 0) Notice(StruckOutText(done.sizes.struck_out_landed));
  if (done.num_moved_keys > 0 && !std::exchange(told_of_moved_keys_, true)) {
    Notice(
        fmt::format("{} keys have records in several partitions of {}, where only timestamps order them: the newest "
                    "counts, and frazil verify tells whether the table has it",
                    done.num_moved_keys, source_->description()));
  }
  FRAZIL_TRY(LookAfterLanding());
  if (poll_wait_) return {};  // the next commit tells it
  if (const Status stored = source_->StoreCommitted(done.committed); !stored) {
    Log::Warn("the source was not told what is committed: {}", stored.error().ToString());
  }
  return {};
}

}  // namespace frazil::ingest
