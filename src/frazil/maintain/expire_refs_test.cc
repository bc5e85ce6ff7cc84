#include "frazil/maintain/expire_test_support.h"

namespace frazil::maintain {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::Not;

/// A tag "release" of the first of two snapshots, past its one day.
spec::SnapshotRef TagFirstAndAge(TestTable& test) {
  AppendEach(test, {"a"});
  const spec::SnapshotRef tag = TagOfHead(test, 1);
  EXPECT_THAT(SetRef(test, "release", tag), IsOk());
  AppendEach(test, {"b"});
  test.clock.Advance(2 * kDayMs);
  return tag;
}

TEST(ExpireSnapshots, OldBranchesAndTagsGoAndMainNever) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const spec::SnapshotId first = test.head().id;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
  ASSERT_THAT(SetRef(test, "old", {.snapshot_id = first, .type = spec::RefType::kTag, .max_ref_age_ms = kDayMs}),
              IsOk());
  ASSERT_THAT(SetRef(test, "kept", {.snapshot_id = first, .type = spec::RefType::kTag}), IsOk());
  test.clock.Advance(2 * kDayMs);
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->removed_refs, ElementsAre("old"));
  EXPECT_NE(test.metadata().FindSnapshot(first), nullptr) << "the other tag needs it";
}

/// The tag `release` and its snapshot stay, although it had aged when the expiry began.
void ExpectExpiryKeeps(TestTable& test, const spec::SnapshotRef& tag) {
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->removed_refs, testing::IsEmpty());
  ASSERT_TRUE(test.metadata().refs.contains("release"));
  EXPECT_EQ(test.metadata().refs.at("release"), tag);
  EXPECT_NE(test.metadata().FindSnapshot(tag.snapshot_id), nullptr);
}

TEST(ExpireSnapshots, AnAgedRefThatMovedMeanwhileStays) {
  for (const bool expires : {true, false}) {
    TestTable test;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
    spec::SnapshotRef tag = TagOfHead(test, 1);
    ASSERT_THAT(SetRef(test, "old", tag), IsOk());
    test.clock.Advance(2 * kDayMs);
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
    tag.snapshot_id = test.head().id;
    Meanwhile(test, [&](table::Table& other) {
      return Update(other, {spec::update::SetSnapshotRef{"old", tag}}, test.clock);
    });
    const auto result = ExpireSnapshots(test.table, expires ? KeepOnlyHeads(test) : ExpireOptions(), ContextOf(test));
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->removed_refs, testing::IsEmpty());
    EXPECT_EQ(test.metadata().refs.at("old").snapshot_id, tag.snapshot_id);
  }
}

TEST(ExpireSnapshots, ARefThatIsMadeMeanwhileKeepsItsSnapshot) {
  for (const spec::RefType type : {spec::RefType::kTag, spec::RefType::kBranch}) {
    TestTable test;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
    const spec::SnapshotId first = test.head().id;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
    Meanwhile(test, [&](table::Table& other) {
      return Update(other, {spec::update::SetSnapshotRef{"new", {.snapshot_id = first, .type = type}}}, test.clock);
    });
    const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->expired, testing::IsEmpty());
    ASSERT_TRUE(test.metadata().refs.contains("new"));
    EXPECT_NE(test.metadata().FindSnapshot(first), nullptr);
    EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
  }
}

TEST(ExpireSnapshots, ARetentionThatARefGetsMeanwhileStays) {
  TestTable test;
  AppendEach(test, {"a", "b"});
  spec::SnapshotRef tag = TagOfHead(test, 9);
  ASSERT_THAT(SetRef(test, "release", tag), IsOk());
  tag.max_ref_age_ms = 99 * kDayMs;
  Meanwhile(test, [&](table::Table& other) {
    return Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
  });
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->expired.size(), 1U);
  EXPECT_EQ(test.metadata().refs.at("release"), tag);
}

TEST(ExpireSnapshots, AnAgedRefThatGetsALongerLifeMeanwhileStays) {
  TestTable test;
  spec::SnapshotRef tag = TagFirstAndAge(test);
  tag.max_ref_age_ms = 99 * kDayMs;
  // Right before the last look at the table that precedes the commit.
  test.decide = [&, loads = 0](std::string_view operation) mutable -> Status {
    if (operation != "load" || ++loads != 3) return {};
    table::Table other = test.Other();
    return Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
  };
  ExpectExpiryKeeps(test, tag);
}

// Right before the commit itself, and nobody has moved the ref.
TEST(ExpireSnapshots, AnAgedRefThatGetsALongerLifeAsTheExpiryIsCommittedStays) {
  TestTable test;
  spec::SnapshotRef tag = TagFirstAndAge(test);
  tag.max_ref_age_ms = 99 * kDayMs;
  Meanwhile(test, [&](table::Table& other) {
    return Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
  });
  ExpectExpiryKeeps(test, tag);
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
}

// What was planned on an old retention is never sent: not every catalog can be required to look at it.
TEST(ExpireSnapshots, ARetentionThatChangesAgainAndAgainEndsTheExpiryAndStays) {
  TestTable test;
  spec::SnapshotRef tag = TagFirstAndAge(test);
  const std::set<std::string> files = FilesOfSnapshots(test);
  bool is_changing = false;  // its own look at the table is none of the expiry's
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "load" || std::exchange(is_changing, true)) return {};
    tag.max_ref_age_ms = *tag.max_ref_age_ms + 1;
    table::Table other = test.Other();
    const Status changed = Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
    is_changing = false;
    return changed;
  };
  EXPECT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test)),
              IsError(ErrorCode::kCommitConflict, "branches or tags changed"));
  test.decide = nullptr;
  ASSERT_THAT(test.table.Refresh(), IsOk());
  EXPECT_EQ(test.metadata().refs.at("release"), tag);
  EXPECT_NE(test.metadata().FindSnapshot(tag.snapshot_id), nullptr);
  EXPECT_THAT(files, IsSubsetOf(AllFiles(test)));
}

// A branch that nobody writes to any more lost its head where no snapshot had to be kept (iceberg#10982).
TEST(ExpireSnapshots, TheHeadOfAnOldBranchStaysWithNothingToKeep) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 1);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  const spec::SnapshotId first = test.head().id;
  spec::SnapshotRef audit = {
      .snapshot_id = first, .type = spec::RefType::kBranch, .min_snapshots_to_keep = 0, .max_snapshot_age_ms = 1};
  EXPECT_FALSE(SetRef(test, "audit", audit)) << "at least one is kept";
  audit.min_snapshots_to_keep = 1;
  ASSERT_THAT(SetRef(test, "audit", audit), IsOk());
  table::FileChanges swap = table::Adding({WrittenFile(test, "b", 1)});
  swap.removed_data_files = {a.file_path};
  ASSERT_THAT(table::Commit(test, swap), IsOk());
  test.clock.Advance(100 * kDayMs);
  ASSERT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test)), IsOk());
  ASSERT_TRUE(test.metadata().refs.contains("audit"));
  EXPECT_NE(test.metadata().FindSnapshot(first), nullptr);
  EXPECT_THAT(AllFiles(test), Contains(a.file_path));
}

// Files that the last retained refs share were deleted when an aged tag went and one ref was left (iceberg#13568).
TEST(ExpireSnapshots, FilesOfTheLastRefStayWhenATagGoesByAge) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 1);
  const spec::DataFile b = WrittenFile(test, "b", 1);
  const spec::DataFile c = WrittenFile(test, "c", 1);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  ASSERT_THAT(SetRef(test, "old", {.snapshot_id = test.head().id, .type = spec::RefType::kTag, .max_ref_age_ms = 1}),
              IsOk());
  ASSERT_THAT(table::Append(test, {b, c}), IsOk());
  table::FileChanges remove;
  remove.removed_data_files = {b.file_path};
  ASSERT_THAT(table::Commit(test, remove), IsOk());
  test.clock.Advance(kDayMs);
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->removed_refs, ElementsAre("old"));
  EXPECT_THAT(AllFiles(test), testing::AllOf(Contains(a.file_path), Contains(c.file_path), Not(Contains(b.file_path))));
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
}

}  // namespace
}  // namespace frazil::maintain
