#include "frazil/ingest/commit_lane.h"

#include "frazil/base/log.h"
#include "frazil/ingest/moved_table.h"
#include "frazil/ingest/wait_loop.h"

namespace frazil::ingest {
namespace {

/// Memory that others hold is free again when their commits are done. After this long it is the limit that is too small.
constexpr int64_t kMemoryPatienceMs = 600'000;

}  // namespace

void CommitLane::Submit(FrozenBatch batch) {
  frozen_ = std::move(batch);
  must_start_again_ = false;
  board_.Change([&](PipelineStatus& status) { status.oldest_committing_ms = frozen_.oldest_timestamp_ms; });
  if (in_background_) {
    running_ = std::async(std::launch::async, [this] {
      const LogScope scope("pipeline", pipeline_.id);
      return Commit(frozen_);
    });
    return;
  }
  std::promise<Result<Done>> done;
  running_ = done.get_future();
  done.set_value(Commit(frozen_));
}

bool CommitLane::IsDoneWithin(std::chrono::milliseconds time) const {
  return running_.wait_for(time) == std::future_status::ready;
}

Result<CommitLane::Done> CommitLane::Take() {
  Result<Done> done = running_.get();
  frozen_ = FrozenBatch();
  board_.Change([](PipelineStatus& status) { status.oldest_committing_ms.reset(); });
  return done;
}

void CommitLane::Count(const BatchCommit& commit, const table::CommitOutcome& outcome) {
  board_.Change([&](PipelineStatus& status) {
    ++status.commits;
    status.commit_retries += outcome.attempts - 1;
    status.inserts += commit.resolution().num_inserts;
    status.updates += commit.resolution().num_updates;
    status.deletes += commit.resolution().num_deletes;
    status.data_files += commit.sizes().data_files;
    status.vectors += commit.sizes().vectors;
    status.row_bytes += commit.sizes().row_bytes;
    status.vector_bytes += commit.sizes().vector_bytes;
  });
}

Status CommitLane::FollowHead() {
  const StageTimer timer(&board_.stages(), "look-up");
  return started_.index->FollowTo(table_, table_.metadata()->current_snapshot(), {});
}

bool CommitLane::MayWaitFor(const Error& error) const {
  if (error.code() == ErrorCode::kResourceExhausted) return clock_.NowMs() - begun_ms_ < kMemoryPatienceMs;
  return IsMendedInStore(error);
}

Result<FenceState> CommitLane::AskTable(const FrozenBatch& frozen) {
  WaitLoop wait(WaitLoop::Until::kDeadline, clock_, control_, board_);
  MovedTable moved(table_);
  for (;;) {
    const auto ask = [&]() -> Result<FenceState> {
      FRAZIL_TRY(table_.Refresh());
      FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table_, spec::kMainBranch));
      const FenceState state = CompareToFence(effective, pipeline_, frozen.batch.ranges);
      if (state == FenceState::kAtEnd) FRAZIL_TRY(FollowHead());
      return state;
    };
    auto state = ask();
    if (state) return state;
    const Error error = moved.Judge(state.error());
    if (!MayWaitFor(error)) return tl::unexpected(error);
    if (!wait.Again(error)) return Fail(ErrorCode::kShuttingDown, "stopped before the commit's outcome was known");
  }
}

Result<CommitLane::Done> CommitLane::Commit(FrozenBatch& frozen) {
  CollapsedBatch collapsed;
  {
    const StageTimer timer(&board_.stages(), "collapse");
    FRAZIL_ASSIGN(collapsed, Collapse(frozen.batch, *frozen.schema, *started_.key));
  }
  Done done;
  done.num_moved_keys = collapsed.num_moved;
  for (const auto& [partition, range] : frozen.batch.ranges) {
    done.committed[partition] = {.next = range.end, .leader_epoch = range.leader_epoch};
  }
  BatchCommitOptions options = options_;
  options.stages = &board_.stages();
  options.key = started_.key.get();
  options.landed = &landed_;
  WaitLoop wait(WaitLoop::Until::kDeadline, clock_, control_, board_);
  begun_ms_ = clock_.NowMs();
  MovedTable moved(table_);
  for (;;) {
    BatchCommit commit(frozen.batch, collapsed, pipeline_, *started_.index, frozen.schema, clock_, options,
                       frozen.schema_change);
    const auto outcome = commit.Run(table_);
    if (outcome) {
      Count(commit, *outcome);
      done.sizes = commit.sizes();
      break;
    }
    const Error error = moved.Judge(outcome.error());
    board_.Change([&](PipelineStatus& status) {
      ++(error.code() == ErrorCode::kCommitConflict ? status.commit_conflicts : status.commit_failures);
    });
    const bool is_fenced = error.code() == ErrorCode::kFenced;
    if (!is_fenced && !MayWaitFor(error)) return tl::unexpected(error);
    if (!is_fenced && !wait.Again(error)) {
      return Fail(ErrorCode::kShuttingDown, "stopped before a batch could be committed: {}", error.ToString());
    }
    // The request may have arrived after all, by itself or by a proxy that sent it twice: the table knows.
    FRAZIL_ASSIGN(const FenceState state, AskTable(frozen));
    if (state == FenceState::kAtEnd) {
      if (!is_fenced) Count(commit, {.attempts = 1});  // else another copy of this pipeline committed it
      done.sizes = commit.sizes();
      break;
    }
    if (state == FenceState::kAtStart && !is_fenced) continue;
    must_start_again_ = true;
    return tl::unexpected(error);
  }
  const int64_t now_ms = clock_.NowMs();
  board_.AddCommitSeconds(static_cast<double>(now_ms - begun_ms_) / 1'000);
  board_.Change([&](PipelineStatus& status) {
    status.last_commit_ms = now_ms;
    status.committed = done.committed;
    if (frozen.batch.valid_through_ms) {
      status.valid_through_ms = std::max(status.valid_through_ms.value_or(INT64_MIN), *frozen.batch.valid_through_ms);
    }
  });
  return done;
}

}  // namespace frazil::ingest
