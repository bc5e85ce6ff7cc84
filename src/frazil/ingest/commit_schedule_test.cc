#include "frazil/ingest/commit_schedule.h"

#include <vector>

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMiB = int64_t{1} << 20;

class CommitScheduleTest : public ::testing::Test {
 protected:
  ManualClock clock_{1'000};
  std::vector<std::string> notices_;
  CommitSchedule schedule_{{.interval = milliseconds(10'000), .max_bytes = 100, .max_records = 5},
                           clock_,
                           [this](const std::string& line) { notices_.push_back(line); }};
};

TEST_F(CommitScheduleTest, IsDueAnIntervalAfterTheFirstRecord) {
  clock_.Advance(50'000);
  schedule_.Begin();
  EXPECT_EQ(schedule_.DueInMs(), 10'000);
  clock_.Advance(9'999);
  EXPECT_EQ(schedule_.DueInMs(), 1);
  clock_.Advance(5'000);
  EXPECT_EQ(schedule_.DueInMs(), 0);
}

TEST_F(CommitScheduleTest, IsFullByBytesOrRecords) {
  EXPECT_FALSE(schedule_.IsFull(4, 99));
  EXPECT_TRUE(schedule_.IsFull(5, 0));
  EXPECT_TRUE(schedule_.IsFull(0, 100));
}

TEST_F(CommitScheduleTest, StretchesWhileVectorsOutweighRows) {
  schedule_.Committed(kMiB, 5 * kMiB);
  EXPECT_EQ(schedule_.interval(), milliseconds(10'000));
  schedule_.Committed(kMiB, 6 * kMiB);
  schedule_.Committed(kMiB, 60 * kMiB);
  EXPECT_EQ(schedule_.interval(), milliseconds(40'000));
  for (int i = 0; i < 20; ++i) schedule_.Committed(0, 100 * kMiB);
  EXPECT_EQ(schedule_.interval(), milliseconds(160'000));
  schedule_.Committed(100 * kMiB, kMiB);
  EXPECT_EQ(schedule_.interval(), milliseconds(80'000));
  for (int i = 0; i < 20; ++i) schedule_.Committed(100 * kMiB, kMiB);
  EXPECT_EQ(schedule_.interval(), milliseconds(10'000));
  EXPECT_THAT(notices_.front(), ::testing::HasSubstr("stretched to 20 s"));
  EXPECT_THAT(notices_.back(), ::testing::HasSubstr("shortened to 10 s"));
  EXPECT_EQ(notices_.size(), 8u);
}

TEST_F(CommitScheduleTest, DoesNotStretchForSmallVectors) {
  schedule_.Committed(10, kMiB);
  EXPECT_EQ(schedule_.interval(), milliseconds(10'000));
}

}  // namespace
}  // namespace frazil::ingest
