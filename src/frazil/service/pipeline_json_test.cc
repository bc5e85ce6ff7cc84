#include "frazil/service/pipeline_json.h"

#include "frazil/base/test_support.h"

namespace frazil::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

PipelineReport Report() {
  PipelineReport report;
  report.id = "p";
  report.topic = "t";
  report.catalog = "c";
  report.namespace_text = "n";
  report.table = "x";
  report.commit_interval = std::chrono::milliseconds(10'000);
  report.status.state = ingest::PipelineState::kWaiting;
  report.status.reason = "bad byte: \xff";
  report.status.lag_records = 7;
  report.status.last_commit_ms = 1000;
  report.status.committed = {{0, {5, std::nullopt}}, {2, {9, std::nullopt}}};
  report.status.read = {{0, {5, std::nullopt}}, {2, {12, std::nullopt}}, {3, {1, std::nullopt}}};
  return report;
}

TEST(PipelineJson, WhatIsWrittenIsReadBack) {
  const std::string json = WritePipelinesJson({Report()}, 1000 + 120'001);
  EXPECT_THAT(json, Not(HasSubstr("\n")));
  ASSERT_OK_AND_ASSIGN(const std::vector<PipelineRow> rows, ParsePipelinesJson(json));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, "p");
  EXPECT_EQ(rows[0].table, "c.n.x");
  EXPECT_EQ(rows[0].state, "waiting");
  EXPECT_THAT(rows[0].reason, HasSubstr("bad byte: "));
  EXPECT_EQ(rows[0].lag_records, 7);
  EXPECT_EQ(rows[0].last_commit_ms, 1000);
  EXPECT_EQ(rows[0].valid_through_ms, std::nullopt);
  EXPECT_TRUE(rows[0].is_stale);
  EXPECT_THAT(rows[0].committed, ElementsAre(Pair(0, 5), Pair(2, 9)));
  ASSERT_OK_AND_ASSIGN(const std::vector<PipelineRow> again, ParsePipelinesJson(WritePipelineRowsJson(rows)));
  EXPECT_THAT(again[0].committed, ElementsAre(Pair(0, 5), Pair(2, 9)));
  EXPECT_EQ(again[0].commit_interval_ms, 10'000);
}

TEST(PipelineJson, SaysWhatWillBeReadAgain) {
  EXPECT_THAT(WritePipelineJson(Report(), 0), HasSubstr(R"("replay":{"2":{"from":9,"to":12},"3":{"from":0,"to":1}})"));
}

TEST(PipelineJson, RefusesForeignAnswers) {
  for (const char* text : {"", "<html>", "[]", "{\"pipelines\": 7}", "{\"pipelines\": [7]}"}) {
    EXPECT_THAT(ParsePipelinesJson(text), IsError(ErrorCode::kInvalidArgument, "of frazil")) << text;
  }
  EXPECT_EQ(ErrorOfJson(WriteErrorJson(Error(ErrorCode::kNotFound, "no \"x\""))), "no \"x\"");
  EXPECT_EQ(ErrorOfJson("plain"), "plain");
}

}  // namespace
}  // namespace frazil::service
