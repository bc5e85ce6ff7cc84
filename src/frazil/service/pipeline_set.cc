#include "frazil/service/pipeline_set.h"

#include <algorithm>

#include "frazil/base/log.h"
#include "frazil/ingest/wait_loop.h"

namespace frazil::service {

using ingest::PipelineState;
using ingest::PipelineStatus;

struct PipelineSet::Member {
  PipelineMember config;
  int64_t started_ms = 0;
  std::thread thread;
  // Guarded by mutex_:
  std::shared_ptr<ServedPipeline> pipeline;  ///< none before it is connected
  std::string waits_for;                     ///< before that
  bool has_ended = false;
  std::optional<Error> error;
};

const char* PipelineStateName(PipelineState state) {
  switch (state) {
    case PipelineState::kStarting: return "starting";
    case PipelineState::kRunning: return "running";
    case PipelineState::kPaused: return "paused";
    case PipelineState::kWaiting: return "waiting";
    case PipelineState::kDraining: return "draining";
    case PipelineState::kStopped: return "stopped";
    case PipelineState::kFailed: return "failed";
  }
  return "";
}

namespace {

bool HasCommittedAll(const PipelineStatus& status) {
  return std::all_of(status.read.begin(), status.read.end(), [&](const auto& read) {
    const auto committed = status.committed.find(read.first);
    return read.second.next <= (committed == status.committed.end() ? 0 : committed->second.next);
  });
}

}  // namespace

bool IsUpToDate(const PipelineStatus& status) {
  return status.lag_records == 0 && status.buffered_records == 0 && HasCommittedAll(status);
}

bool HaveCommittedAll(const std::vector<PipelineReport>& reports) {
  return std::all_of(reports.begin(), reports.end(),
                     [](const PipelineReport& report) { return HasCommittedAll(report.status); });
}

bool PipelineReport::IsStale(int64_t now_ms) const {
  const bool has_ended = status.state == PipelineState::kStopped;
  if (IsUpToDate(status) || has_ended || status.state == PipelineState::kPaused) return false;
  const int64_t interval_ms = std::max<int64_t>(commit_interval.count(), status.commit_interval_ms);
  return now_ms - std::max(status.last_commit_ms.value_or(0), started_ms) > kStaleIntervals * interval_ms;
}

PipelineSet::PipelineSet(std::vector<PipelineMember> members, Options options)
    : options_(std::move(options)), clock_(options_.clock != nullptr ? *options_.clock : Clock::System()) {
  for (PipelineMember& member : members) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->config = std::move(member);
  }
}

PipelineSet::~PipelineSet() {
  Stop(std::chrono::milliseconds(0));
  for (const auto& member : members_) {
    if (member->thread.joinable()) member->thread.join();
  }
}

void PipelineSet::Start() {
  for (const auto& member : members_) {
    member->started_ms = clock_.NowMs();
    member->thread = std::thread([this, &member = *member] { Work(member); });
  }
}

void PipelineSet::Say(const Member& member, const std::string& line) const {
  if (options_.on_event) options_.on_event(member.config.id, line);
}

Result<std::shared_ptr<ServedPipeline>> PipelineSet::Connect(Member& member) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongestRetry{30'000};
  const auto begun = std::chrono::steady_clock::now();
  for (milliseconds pause = options_.first_retry;; pause = std::min(2 * pause, kLongestRetry)) {
    auto opened = member.config.open();
    if (opened) return std::shared_ptr<ServedPipeline>(*std::move(opened));
    const auto waited = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
    const bool can_wait = ingest::IsMendedInStore(opened.error()) && waited < options_.connection_patience;
    std::unique_lock lock(mutex_);
    if (!can_wait || is_stopping_) return tl::unexpected(std::move(opened).error());
    std::string reason = opened.error().ToString();
    const bool is_new = reason != member.waits_for;
    member.waits_for = std::move(reason);
    if (is_new) {
      lock.unlock();
      Say(member, "waits: " + member.waits_for);  // written by this thread alone
      lock.lock();
    }
    const milliseconds left = options_.connection_patience - waited;
    if (changed_.wait_for(lock, std::min(pause, left), [this] { return is_stopping_; })) {
      return Fail(ErrorCode::kShuttingDown, "stopped before it was connected");
    }
  }
}

void PipelineSet::Work(Member& member) {
  const LogScope scope("pipeline", member.config.id);
  Status status;
  if (auto pipeline = Connect(member)) {
    bool is_stopping = false;
    {
      const std::lock_guard lock(mutex_);
      member.pipeline = *pipeline;
      is_stopping = is_stopping_;
    }
    if (is_stopping) (*pipeline)->Stop(std::chrono::milliseconds(0));
    Say(member, fmt::format("starts: topic {} into {}.{}.{}", member.config.topic, member.config.catalog,
                            member.config.namespace_text, member.config.table));
    status = (*pipeline)->Run();
  } else {
    status = tl::unexpected(std::move(pipeline).error());
  }
  const bool has_failed = !status && status.error().code() != ErrorCode::kShuttingDown;
  Say(member, has_failed ? "failed: " + status.error().ToString() : "ended");
  const std::lock_guard lock(mutex_);
  if (has_failed) member.error = std::move(status).error();
  member.has_ended = true;
  changed_.notify_all();
}

bool PipelineSet::WaitFor(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] {
    return std::all_of(members_.begin(), members_.end(), [](const auto& member) { return member->has_ended; });
  });
}

void PipelineSet::Stop(std::chrono::milliseconds deadline) {
  std::vector<std::shared_ptr<ServedPipeline>> running;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const auto& member : members_) {
      if (member->pipeline && !member->has_ended) running.push_back(member->pipeline);
    }
    changed_.notify_all();
  }
  for (const auto& pipeline : running) pipeline->Stop(deadline);
}

Status PipelineSet::Tell(const std::string& id, Command command) {
  std::shared_ptr<ServedPipeline> pipeline;
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(members_.begin(), members_.end(), [&](const auto& member) { return member->config.id == id; });
    if (found == members_.end()) {
      std::vector<std::string> ids;
      for (const auto& member : members_) ids.push_back(member->config.id);
      return Fail(ErrorCode::kNotFound, "pipeline not found: '{}' (there are: {})", id, fmt::join(ids, ", "));
    }
    if ((*found)->has_ended) return Fail(ErrorCode::kInvalidArgument, "pipeline has ended: '{}'", id);
    pipeline = (*found)->pipeline;
  }
  if (!pipeline) return Fail(ErrorCode::kUnavailable, "pipeline is not connected yet: '{}'", id);
  switch (command) {
    case Command::kPause: pipeline->Pause(); break;
    case Command::kResume: pipeline->Resume(); break;
    case Command::kDrain: pipeline->Drain(); break;
  }
  return {};
}

std::vector<PipelineReport> PipelineSet::Reports() const {
  std::vector<PipelineReport> reports;
  for (const auto& member : members_) {
    PipelineReport report{.id = member->config.id,
                          .topic = member->config.topic,
                          .catalog = member->config.catalog,
                          .namespace_text = member->config.namespace_text,
                          .table = member->config.table,
                          .commit_interval = member->config.commit_interval,
                          .started_ms = member->started_ms,
                          .status = {},
                          .error = std::nullopt};
    std::shared_ptr<ServedPipeline> pipeline;
    std::string waits_for;
    bool has_ended = false;
    {
      const std::lock_guard lock(mutex_);
      pipeline = member->pipeline;
      waits_for = member->waits_for;
      has_ended = member->has_ended;
      report.error = member->error;
    }
    if (pipeline) {
      report.status = pipeline->status();
    } else if (!waits_for.empty()) {
      report.status.state = PipelineState::kWaiting;
      report.status.reason = waits_for;
    }
    if (has_ended) report.status.state = report.error ? PipelineState::kFailed : PipelineState::kStopped;
    if (report.error) report.status.reason = report.error->ToString();
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace frazil::service
