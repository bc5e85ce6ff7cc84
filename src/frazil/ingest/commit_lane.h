#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/ingest/batch_commit.h"
#include "frazil/ingest/open_batch.h"
#include "frazil/ingest/pipeline_control.h"
#include "frazil/ingest/pipeline_status.h"
#include "frazil/ingest/start_index.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// Commits frozen batches, one at a time, beside the thread that reads: collapse, look-up, write, commit. A batch is never
/// sent while its predecessor's outcome is unknown; what does not answer is waited for (ingest.md rules 6 and 7).
///
/// Table, index and pipeline belong to the lane while it is busy, else to the thread that reads; only that one calls it.
class CommitLane {
 public:
  CommitLane(table::Table& table, StartedIndex& started, const PipelineIdentity& pipeline, BatchCommitOptions options,
             bool in_background, Clock& clock, const PipelineControl& control, StatusBoard& board)
      : table_(table),
        started_(started),
        pipeline_(pipeline),
        options_(options),
        in_background_(in_background),
        clock_(clock),
        control_(control),
        board_(board) {}
  ~CommitLane() {
    if (running_.valid()) running_.wait();
  }

  /// The table may have been rolled back: what earlier batches did to it need not be there. Not while busy.
  void Forget() { landed_ = {}; }
  bool is_busy() const { return running_.valid(); }
  /// Commits the batch, at once where there is no thread for it. Not while busy.
  void Submit(FrozenBatch batch);
  /// The batch is done: Take() does not wait. Waits for that at most so long.
  bool IsDoneWithin(std::chrono::milliseconds time) const;

  /// What became of the batch; busy no more. kShuttingDown: the deadline of Stop() came before. Where the error says that
  /// the batch is not what follows on the table, `must_start_again()` (until the next Submit()): everything read behind it is
  /// to be dropped, too.
  struct Done {
    SourcePositions committed;
    BatchCommit::Sizes sizes;
    int64_t num_moved_keys = 0;  ///< with records of several partitions
  };
  Result<Done> Take();
  bool must_start_again() const { return must_start_again_; }

 private:
  Result<Done> Commit(FrozenBatch& frozen);
  /// kAtStart: the batch is to be sent again. kAtEnd: it is in the table.
  Result<FenceState> AskTable(const FrozenBatch& frozen);
  Status FollowHead();
  bool MayWaitFor(const Error& error) const;
  void Count(const BatchCommit& commit, const table::CommitOutcome& outcome);

  table::Table& table_;
  StartedIndex& started_;
  const PipelineIdentity& pipeline_;
  const BatchCommitOptions options_;
  const bool in_background_;
  Clock& clock_;
  const PipelineControl& control_;
  StatusBoard& board_;
  FrozenBatch frozen_;
  LandedToStrikeOut landed_;  ///< see BatchCommitOptions; on the thread that commits
  std::future<Result<Done>> running_;
  int64_t begun_ms_ = 0;           ///< of the batch, on the thread that commits
  bool must_start_again_ = false;  ///< of the batch; read only when it was taken
};

}  // namespace frazil::ingest
