#include "frazil/maintain/run_history.h"

#include "frazil/base/test_support.h"

namespace frazil::maintain {
namespace {

RunRecord RunAt(int64_t time_ms, const std::string& id) {
  RunRecord run;
  run.id = id;
  run.operation = "expire_snapshots";
  run.started_at_ms = time_ms;
  run.duration_ms = 12;
  run.outcome = "ok";
  run.predicted = {{"files", 3}};
  run.measured = {{"files", 2}, {"bytes", 7}};
  run.deleted = {{"/a", FileKind::kManifest, "freed"}};
  return run;
}

TEST(RunHistory, KeepsRunsWithPredictionAndResultAndReasons) {
  TempDir folder;
  spec::TableMetadata metadata;
  metadata.table_uuid = Uuid::Random();
  {
    auto history = RunHistory::Open(folder.path().string(), metadata);
    ASSERT_THAT(history, IsOk());
    RunRecord begun = RunAt(1, "one");
    begun.outcome = "running in process 12";
    ASSERT_THAT(history->Begin(begun), IsOk());
    EXPECT_EQ(history->Latest(1)->at(0).outcome, "running in process 12") << "a run that is killed says no more";
    ASSERT_THAT(history->End(RunAt(1, "one")), IsOk());
    ASSERT_THAT(history->End(RunAt(2, "two")), IsOk());
    EXPECT_FALSE(history->Begin(RunAt(3, "two")).has_value()) << "the id is taken";
  }
  auto history = RunHistory::Open(folder.path().string(), metadata);
  ASSERT_THAT(history, IsOk());
  const auto runs = history->Latest(10);
  ASSERT_THAT(runs, IsOk());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->at(0).id, "two") << "newest first";
  EXPECT_EQ(runs->at(0).predicted, (std::map<std::string, int64_t>{{"files", 3}}));
  EXPECT_EQ(runs->at(0).measured, (std::map<std::string, int64_t>{{"files", 2}, {"bytes", 7}}));
  EXPECT_THAT(history->Latest(1), IsOkAnd(testing::SizeIs(1)));
  const auto deleted = history->DeletedBy("one");
  ASSERT_THAT(deleted, IsOk());
  ASSERT_EQ(deleted->size(), 1U);
  EXPECT_EQ(deleted->at(0).reason, "freed");
  EXPECT_EQ(runs->at(1).outcome, "ok");
  EXPECT_THAT(history->DeletedBy("nonsense"), IsError(ErrorCode::kNotFound, "no such run in the history: nonsense"));
}

}  // namespace
}  // namespace frazil::maintain
