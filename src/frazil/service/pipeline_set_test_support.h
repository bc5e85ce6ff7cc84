#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "frazil/service/pipeline_set.h"

namespace frazil::service {

inline constexpr std::chrono::milliseconds kLong{60'000};

/// Runs until stopped, or fails at once.
class FakePipeline : public ServedPipeline {
 public:
  explicit FakePipeline(Status end) : end_(std::move(end)) {}
  Status Run() override {
    if (!end_) return end_;
    std::unique_lock lock(mutex_);
    status_.state = ingest::PipelineState::kRunning;
    changed_.wait(lock, [this] { return is_stopped_; });
    return {};
  }
  void Stop(std::chrono::milliseconds) override {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }
  void Pause() override { Set(ingest::PipelineState::kPaused); }
  void Resume() override { Set(ingest::PipelineState::kRunning); }
  void Drain() override { Set(ingest::PipelineState::kDraining); }
  ingest::PipelineStatus status() const override {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  void Set(ingest::PipelineState state) {
    const std::lock_guard lock(mutex_);
    status_.state = state;
  }
  const Status end_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  ingest::PipelineStatus status_;
};

inline PipelineMember Member(const std::string& id, std::function<Result<std::unique_ptr<ServedPipeline>>()> open) {
  return {.id = id,
          .topic = "t-" + id,
          .catalog = "local",
          .namespace_text = "db",
          .table = id,
          .commit_interval = std::chrono::milliseconds(10'000),
          .open = std::move(open)};
}

inline PipelineMember Runs(const std::string& id) {
  return Member(id, [] { return std::make_unique<FakePipeline>(Status{}); });
}

inline PipelineMember Fails(const std::string& id) {
  return Member(id, [] { return std::make_unique<FakePipeline>(Fail(ErrorCode::kFenced, "topic was recreated")); });
}

/// Waits until `holds`, which other threads bring about.
template <typename Condition>
bool Until(const Condition& holds) {
  for (int i = 0; i < 60'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace frazil::service
