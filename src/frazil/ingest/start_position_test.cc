#include "frazil/ingest/start_position.h"

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

using table::EffectiveMarker;
using Proof = EffectiveMarker::Proof;

constexpr char kUs[] = "file:/us";
constexpr char kHint[] = "decide with --reset-offsets";

table::Marker MarkerOf(const std::string& pipeline, int64_t next) {
  table::Marker marker;
  marker.pipelines[pipeline].partitions[0].next = next;
  marker.pipelines[pipeline].source = {{"kind", "file"}};
  return marker;
}

struct Case {
  const char* name;
  Proof proof;
  std::optional<table::Marker> proven;
  std::optional<table::Marker> claimed;  ///< by the property
  ResetOffsets reset;
  std::optional<int64_t> next;  ///< none: refused
  bool is_new = false;
  bool is_reset = false;
};

TEST(StartPosition, FollowsTheTableOfTheRules) {
  const table::Marker us = MarkerOf(kUs, 10);
  const table::Marker others = MarkerOf("file:/others", 99);
  const std::vector<Case> cases = {
      {"never seen", Proof::kComplete, {}, {}, ResetOffsets::kRefuse, 0, true},
      {"others write here", Proof::kFound, others, others, ResetOffsets::kRefuse, 0, true},
      {"found", Proof::kFound, us, us, ResetOffsets::kRefuse, 10},
      {"found without property", Proof::kFound, us, {}, ResetOffsets::kRefuse, 10},
      {"rolled back", Proof::kFound, us, MarkerOf(kUs, 25), ResetOffsets::kRefuse, 10},
      {"trusted", Proof::kTrusted, us, us, ResetOffsets::kRefuse, 10},
      {"a marker wins over a reset", Proof::kFound, us, us, ResetOffsets::kEarliest, 10},
      {"rolled back below our first commit", Proof::kComplete, {}, us, ResetOffsets::kRefuse, {}},
      {"the same among others", Proof::kFound, others, us, ResetOffsets::kRefuse, {}},
      {"unproven", Proof::kUnproven, {}, us, ResetOffsets::kRefuse, {}},
      {"unproven, nobody claims", Proof::kUnproven, {}, {}, ResetOffsets::kRefuse, {}},
      {"unproven, others claim", Proof::kUnproven, {}, others, ResetOffsets::kRefuse, {}},
      {"unproven, from the start", Proof::kUnproven, {}, us, ResetOffsets::kEarliest, 0, false, true},
      {"unproven, believe the property", Proof::kUnproven, {}, us, ResetOffsets::kProperty, 10, false, true},
      {"no property to believe", Proof::kUnproven, {}, {}, ResetOffsets::kProperty, {}},
      {"rolled back, believe the property", Proof::kComplete, {}, us, ResetOffsets::kProperty, 10, false, true},
  };
  for (const Case& c : cases) {
    EffectiveMarker effective;
    effective.proof = c.proof;
    effective.marker = c.proven.value_or(table::Marker{});
    if (c.claimed) effective.property = table::MarkerProperty{.marker = *c.claimed, .table_uuid = {}, .head = {}};
    const auto start = FindStartPosition(effective, kUs, c.reset, kHint);
    if (!c.next) {
      EXPECT_THAT(start, IsError(ErrorCode::kFenced, "--reset-offsets")) << c.name;
      continue;
    }
    ASSERT_THAT(start, IsOk()) << c.name;
    EXPECT_EQ(start->next(), *c.next) << c.name;
    EXPECT_EQ(start->is_new, c.is_new) << c.name;
    EXPECT_EQ(start->is_reset, c.is_reset) << c.name;
  }
}

TEST(StartPosition, SaysThatTheTableWasRolledBack) {
  EffectiveMarker effective{.proof = Proof::kFound, .marker = MarkerOf(kUs, 10), .carrier = {}, .property = {}};
  effective.property = table::MarkerProperty{.marker = MarkerOf(kUs, 25), .table_uuid = {}, .head = {}};
  ASSERT_OK_AND_ASSIGN(const StartPosition start, FindStartPosition(effective, kUs, ResetOffsets::kRefuse, kHint));
  EXPECT_EQ(start.notice, "the table was rolled back: records 10 to 24 are ingested again");
  EXPECT_EQ(start.recorded_source, (std::map<std::string, std::string>{{"kind", "file"}}));
}

TEST(StartPosition, PrintsItsEvidenceWhenItRefuses) {
  EffectiveMarker effective{.proof = Proof::kUnproven, .marker = {}, .carrier = {}, .property = {}};
  effective.property = table::MarkerProperty{.marker = MarkerOf(kUs, 25), .table_uuid = {}, .head = {}};
  EXPECT_THAT(FindStartPosition(effective, kUs, ResetOffsets::kRefuse, kHint),
              IsError(ErrorCode::kFenced, "history was expired, a table property says 25 records"));
}

TEST(StartPosition, NamesThePartitionsOfATopic) {
  table::Marker proven;
  table::Marker claimed;
  proven.pipelines[kUs].partitions = {{0, {.next = 10, .leader_epoch = 3}}, {2, {.next = 7, .leader_epoch = {}}}};
  claimed.pipelines[kUs].partitions = {
      {0, {.next = 12, .leader_epoch = 3}}, {1, {.next = 5, .leader_epoch = {}}}, {2, {.next = 7, .leader_epoch = {}}}};
  EffectiveMarker effective{.proof = Proof::kFound, .marker = proven, .carrier = {}, .property = {}};
  effective.property = table::MarkerProperty{.marker = claimed, .table_uuid = {}, .head = {}};
  ASSERT_OK_AND_ASSIGN(const StartPosition start, FindStartPosition(effective, kUs, ResetOffsets::kRefuse, kHint));
  EXPECT_EQ(start.partitions, proven.pipelines[kUs].partitions);
  EXPECT_EQ(start.notice,
            "the table was rolled back: records 10 to 11 of partition 0, 0 to 4 of partition 1 are ingested again");
  effective.proof = Proof::kUnproven;
  effective.marker = {};
  EXPECT_THAT(FindStartPosition(effective, kUs, ResetOffsets::kRefuse, kHint),
              IsError(ErrorCode::kFenced, "a table property says partition 0 at 12, 1 at 5, 2 at 7"));
}

}  // namespace
}  // namespace frazil::ingest
