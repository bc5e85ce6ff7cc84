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

TEST(RunHistory, TheNewestOfOneOperationAreFoundBehindManyOthers) {
  TempDir folder;
  spec::TableMetadata metadata;
  metadata.table_uuid = Uuid::Random();
  auto history = RunHistory::Open(folder.path().string(), metadata);
  ASSERT_THAT(history, IsOk());
  for (const char* id : {"old", "new"}) {
    RunRecord run = RunAt(*id == 'o' ? 1 : 2, id);
    run.operation = "remove_orphan_files";
    ASSERT_THAT(history->End(run), IsOk());
  }
  for (int i = 0; i < 5; ++i) ASSERT_THAT(history->End(RunAt(10 + i, std::to_string(i))), IsOk());
  const auto runs = history->Latest(2, "remove_orphan_files");
  ASSERT_THAT(runs, IsOkAnd(testing::SizeIs(2)));
  EXPECT_EQ(runs->at(0).id, "new");
  EXPECT_EQ(runs->at(1).id, "old");
  EXPECT_EQ(runs->at(1).measured, (std::map<std::string, int64_t>{{"files", 2}, {"bytes", 7}}));
  EXPECT_THAT(history->Latest(2, "rewrite_manifests"), IsOkAnd(testing::IsEmpty()));
  EXPECT_THAT(history->Latest(10), IsOkAnd(testing::SizeIs(7)));
}

}  // namespace
}  // namespace frazil::maintain
