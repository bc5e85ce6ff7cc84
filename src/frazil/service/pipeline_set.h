#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/pipeline.h"

namespace frazil::service {

/// What a PipelineSet does with a pipeline: ingest::Pipeline's own members (see there).
class ServedPipeline {
 public:
  virtual ~ServedPipeline() = default;
  virtual Status Run() = 0;
  virtual void Stop(std::chrono::milliseconds deadline) = 0;
  virtual void Pause() = 0;
  virtual void Resume() = 0;
  virtual void Drain() = 0;
  virtual ingest::PipelineStatus status() const = 0;
};

/// One pipeline of a process: what it is called, and how it is connected.
struct PipelineMember {
  std::string id;
  std::string topic;
  std::string catalog;
  std::string namespace_text;
  std::string table;
  std::chrono::milliseconds commit_interval{300'000};
  /// On the pipeline's thread. What time or people may mend is tried again, everything else ends this pipeline.
  std::function<Result<std::unique_ptr<ServedPipeline>>()> open;
};

/// Everything that the source has is in the table; false while nobody knows.
bool IsUpToDate(const ingest::PipelineStatus& status);

/// A member and how it stands.
struct PipelineReport {
  std::string id;
  std::string topic;
  std::string catalog;
  std::string namespace_text;
  std::string table;
  std::chrono::milliseconds commit_interval{300'000};
  int64_t started_ms = 0;
  ingest::PipelineStatus status;
  std::optional<Error> error;  ///< why it ended; none: it runs, or ended as it should

  /// The newest commit is older than this many intervals although there is something to commit.
  static constexpr int kStaleIntervals = 12;
  bool IsStale(int64_t now_ms) const;
};

/// Several pipelines in one process, a thread each. One that fails leaves the others alone.
///
/// Run-time members may be called from any thread.
class PipelineSet {
 public:
  struct Options {
    Clock* clock = nullptr;  ///< null: the system's
    /// So long a pipeline waits at its start for what does not answer or cannot be written; then that ends it.
    std::chrono::milliseconds connection_patience = std::chrono::milliseconds::max();
    std::chrono::milliseconds first_retry{1'000};                                        ///< doubled up to 30 s
    std::function<void(const std::string& pipeline, const std::string& line)> on_event;  ///< any thread
  };

  PipelineSet(std::vector<PipelineMember> members, Options options);
  ~PipelineSet();  ///< stops them without waiting for more than the running step

  void Start();
  /// Waits until all have ended, at most so long. Whether they have.
  bool WaitFor(std::chrono::milliseconds time);
  /// Tells all to commit what they have and to end; see ingest::Pipeline::Stop. Does not wait.
  void Stop(std::chrono::milliseconds deadline);

  enum class Command { kPause, kResume, kDrain };
  /// kNotFound naming the pipelines that there are; kUnavailable when it is not connected yet; kInvalidArgument when it has
  /// ended.
  Status Tell(const std::string& id, Command command);

  std::vector<PipelineReport> Reports() const;
  int64_t NowMs() const { return clock_.NowMs(); }

 private:
  struct Member;
  void Work(Member& member);
  Result<std::shared_ptr<ServedPipeline>> Connect(Member& member);
  void Say(const Member& member, const std::string& line) const;

  const Options options_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::vector<std::unique_ptr<Member>> members_;
};

/// Whether everything that was read is in the tables; else the next start reads some of it again.
bool HaveCommittedAll(const std::vector<PipelineReport>& reports);

/// "running", "failed", ...: for people, JSON and metrics.
const char* PipelineStateName(ingest::PipelineState state);

}  // namespace frazil::service
