#pragma once

#include <cstdint>

#include "frazil/base/clock.h"
#include "frazil/base/error.h"
#include "frazil/ingest/pipeline_control.h"
#include "frazil/ingest/pipeline_status.h"

namespace frazil::ingest {

/// Whether time may mend it: the thing that does not answer comes back, the others let us commit. A lost reply counts: then
/// the table is asked.
bool IsMendedByWaiting(const Error& error);
/// The same of what asks nobody but table and store: people may mend one that is full, read-only or not mounted.
bool IsMendedInStore(const Error& error);

/// Waits longer and longer between attempts at something that does not answer, with the reason in the status. One thread.
class WaitLoop {
 public:
  /// What ends the wait besides success.
  enum class Until {
    kStop,      ///< Stop()
    kDeadline,  ///< the deadline of Stop(): for what is worth being finished
  };
  WaitLoop(Until until, Clock& clock, const PipelineControl& control, StatusBoard& board)
      : until_(until), clock_(clock), control_(control), board_(board) {}
  ~WaitLoop() { Done(); }
  WaitLoop(const WaitLoop&) = delete;
  WaitLoop& operator=(const WaitLoop&) = delete;

  /// Waits before the next attempt; false: do not try again.
  bool Again(const Error& why);
  /// The same without the wait: what is shown stays until Done().
  void Show(const Error& why);
  /// It answers again.
  void Done();

 private:
  bool MustEnd() const { return until_ == Until::kStop ? control_.is_stopping() : control_.is_out_of_time(); }

  const Until until_;
  Clock& clock_;
  const PipelineControl& control_;
  StatusBoard& board_;
  int64_t next_wait_ms_ = 0;
  bool is_waiting_ = false;
};

}  // namespace frazil::ingest
