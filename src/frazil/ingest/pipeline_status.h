#pragma once

#include <mutex>
#include <utility>

#include "frazil/ingest/pipeline.h"
#include "frazil/ingest/stage_cpu.h"

namespace frazil::ingest {

/// The status of a running pipeline, as its threads change it and others read it. Thread-safe.
class StatusBoard {
 public:
  StatusBoard();

  /// A copy, stage times included.
  PipelineStatus Read() const;

  /// Changes it under the lock: `board.Change([&](PipelineStatus& status) { ++status.commits; });`
  template <typename Apply>
  void Change(Apply change) {
    const std::lock_guard lock(mutex_);
    change(status_);
  }
  /// A state, and why (one line; empty for states that need no reason).
  void SetState(PipelineState state, std::string reason = "");
  /// kWaiting with the reason until as many Waited() bring back the state before: both threads may wait. `begins`: else
  /// only the reason of a wait that was begun is another one.
  void Wait(const std::string& reason, bool begins = true);
  void Waited();

  void AddCommitSeconds(double seconds);

  StageCpu& stages() { return stages_; }

 private:
  mutable std::mutex mutex_;
  PipelineStatus status_;
  PipelineState state_after_wait_ = PipelineState::kStarting;
  int num_waits_ = 0;
  StageCpu stages_;
};

}  // namespace frazil::ingest
