#include "frazil/service/pipeline_set.h"

#include <algorithm>
#include <atomic>

#include "frazil/base/test_support.h"
#include "frazil/service/pipeline_set_test_support.h"

namespace frazil::service {
namespace {

using ingest::PipelineState;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(PipelineSet, OneThatFailsLeavesTheOthersAlone) {
  std::vector<PipelineMember> members;
  members.push_back(Fails("bad"));
  members.push_back(Runs("good"));
  PipelineSet set(std::move(members), {});
  set.Start();
  ASSERT_TRUE(Until([&] { return set.Reports()[0].status.state == PipelineState::kFailed; }));
  ASSERT_TRUE(Until([&] { return set.Reports()[1].status.state == PipelineState::kRunning; }));
  EXPECT_THAT(set.Reports()[0].status.reason, HasSubstr("recreated"));
  ASSERT_TRUE(set.Reports()[0].error.has_value());
  EXPECT_EQ(set.Reports()[0].error->code(), ErrorCode::kFenced);
  EXPECT_FALSE(set.WaitFor(milliseconds(0)));
  set.Stop(kLong);
  EXPECT_TRUE(set.WaitFor(kLong));
  EXPECT_EQ(set.Reports()[1].status.state, PipelineState::kStopped);
  EXPECT_FALSE(set.Reports()[1].error.has_value());
}

TEST(PipelineSet, WaitsForConnections) {
  std::atomic<int> attempts{0};
  std::mutex mutex;
  std::vector<std::string> events;
  std::vector<PipelineMember> members;
  members.push_back(Member("p", [&attempts]() -> Result<std::unique_ptr<ServedPipeline>> {
    if (++attempts < 4) return Fail(ErrorCode::kUnavailable, "broker does not answer");
    return std::make_unique<FakePipeline>(Status{});
  }));
  PipelineSet set(std::move(members), {.clock = nullptr,
                                       .connection_patience = kLong,
                                       .first_retry = milliseconds(1),
                                       .on_event = [&](const std::string&, const std::string& line) {
                                         const std::lock_guard lock(mutex);
                                         events.push_back(line);
                                       }});
  set.Start();
  ASSERT_TRUE(Until([&] { return set.Reports()[0].status.state == PipelineState::kRunning; }));
  EXPECT_EQ(attempts, 4);
  set.Stop(kLong);
  ASSERT_TRUE(set.WaitFor(kLong));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(std::count(events.begin(), events.end(), "waits: broker does not answer"), 1);  // not at each attempt
}

TEST(PipelineSet, StopsWhileItWaits) {
  std::vector<PipelineMember> members;
  members.push_back(Member("p", []() -> Result<std::unique_ptr<ServedPipeline>> {
    return Fail(ErrorCode::kUnavailable, "broker does not answer");
  }));
  PipelineSet set(std::move(members),
                  {.clock = nullptr, .connection_patience = kLong, .first_retry = kLong, .on_event = {}});
  set.Start();
  ASSERT_TRUE(Until([&] { return set.Reports()[0].status.state == PipelineState::kWaiting; }));
  set.Stop(kLong);
  EXPECT_TRUE(set.WaitFor(kLong));
}

/// Brokers and stores alike; what does not go away by itself ends it at once.
TEST(PipelineSet, FailsWhenItsPatienceIsOver) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kIo, ErrorCode::kFenced}) {
    std::atomic<int> attempts{0};
    std::vector<PipelineMember> members;
    members.push_back(Member("p", [&attempts, code]() -> Result<std::unique_ptr<ServedPipeline>> {
      ++attempts;
      return Fail(code, "it does not work");
    }));
    // The last attempt comes when the time is over, however long the next pause would be.
    PipelineSet set(
        std::move(members),
        {.clock = nullptr, .connection_patience = milliseconds(1'000), .first_retry = kLong, .on_event = {}});
    set.Start();
    ASSERT_TRUE(set.WaitFor(kLong / 2));
    EXPECT_EQ(set.Reports()[0].error->code(), code);
    EXPECT_EQ(attempts, code == ErrorCode::kFenced ? 1 : 2);
  }
}

TEST(PipelineSet, TellsPipelinesWhatToDo) {
  std::vector<PipelineMember> members;
  members.push_back(Runs("p"));
  members.push_back(Fails("bad"));
  PipelineSet set(std::move(members), {});
  set.Start();
  ASSERT_TRUE(Until([&] { return set.Reports()[0].status.state == PipelineState::kRunning; }));
  ASSERT_THAT(set.Tell("p", PipelineSet::Command::kPause), IsOk());
  EXPECT_EQ(set.Reports()[0].status.state, PipelineState::kPaused);
  ASSERT_THAT(set.Tell("p", PipelineSet::Command::kResume), IsOk());
  EXPECT_EQ(set.Reports()[0].status.state, PipelineState::kRunning);
  EXPECT_THAT(set.Tell("q", PipelineSet::Command::kDrain), IsError(ErrorCode::kNotFound, "there are: p, bad"));
  ASSERT_TRUE(Until([&] { return set.Reports()[1].status.state == PipelineState::kFailed; }));
  EXPECT_THAT(set.Tell("bad", PipelineSet::Command::kDrain), IsError(ErrorCode::kInvalidArgument, "ended"));
}

TEST(PipelineReport, IsStaleWhenCommitsAreLateAndThereIsSomethingToCommit) {
  PipelineReport report;
  report.commit_interval = milliseconds(10'000);
  report.started_ms = 1'000'000;
  report.status.state = PipelineState::kRunning;
  report.status.lag_records = 5;
  EXPECT_FALSE(report.IsStale(1'000'000 + 120'000));
  EXPECT_TRUE(report.IsStale(1'000'000 + 120'001));  // never committed since it started
  report.status.last_commit_ms = 1'100'000;
  EXPECT_FALSE(report.IsStale(1'100'000 + 120'000));
  EXPECT_TRUE(report.IsStale(1'100'000 + 120'001));
  report.status.lag_records = 0;
  EXPECT_FALSE(report.IsStale(9'000'000));  // a quiet topic
  report.status.buffered_records = 1;
  EXPECT_TRUE(report.IsStale(9'000'000));
  report.status.buffered_records = 0;
  report.status.read[0].next = 8;
  report.status.committed[0].next = 7;
  EXPECT_TRUE(report.IsStale(9'000'000));  // a batch that does not come through
  report.status.committed[0].next = 8;
  EXPECT_FALSE(report.IsStale(9'000'000));
  report.status.lag_records.reset();
  EXPECT_TRUE(report.IsStale(9'000'000));        // nobody knows: better once too often
  report.status.commit_interval_ms = 1'000'000;  // stretched
  EXPECT_FALSE(report.IsStale(9'000'000));
  EXPECT_TRUE(report.IsStale(19'000'000));
  report.status.state = PipelineState::kPaused;
  EXPECT_FALSE(report.IsStale(9'000'000));
}

TEST(PipelineReport, TellsWhetherTheNextStartReadsSomethingAgain) {
  PipelineReport done;
  done.status.read[0].next = 8;
  done.status.read[1].next = 0;  // a partition without records, which no commit has named yet
  done.status.committed[0].next = 8;
  EXPECT_TRUE(HaveCommittedAll({done}));
  PipelineReport behind = done;
  behind.status.read[1].next = 1;
  EXPECT_FALSE(HaveCommittedAll({done, behind}));
  EXPECT_TRUE(HaveCommittedAll({}));
}

}  // namespace
}  // namespace frazil::service
