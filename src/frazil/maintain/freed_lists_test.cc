#include "frazil/maintain/freed_lists.h"

#include "frazil/maintain/maintain_test_support.h"

namespace frazil::maintain {
namespace {

using table::TestTable;
using testing::IsEmpty;
using testing::SizeIs;

RemovalCandidate Freed(int number, const std::string& reason = "r") {
  return {"memory:/t/" + std::to_string(number), FileKind::kDataFile, reason};
}

/// What lists name, in their order.
std::vector<RemovalCandidate> ReadAll(TestTable& test, const FreedLists& lists) {
  std::vector<RemovalCandidate> all;
  for (const std::string& path : lists.paths()) {
    const auto files = RemovalList::Read(*test.io, test.metadata(), path);
    EXPECT_THAT(files, IsOk());
    if (files) all.insert(all.end(), files->begin(), files->end());
  }
  return all;
}

// Snapshots share files, and what is found again may be in an earlier list or in the one that is full just now.
TEST(FreedLists, NameEachFileOnceInAsManyListsAsItTakes) {
  constexpr int kFiles = 5000;
  TestTable test;
  MemoryBudget budget(int64_t{1} << 20);  // room for some 800
  {
    const std::optional<std::set<std::string>> all_of_them;
    FreedLists lists(test.table, {.budget = &budget, .temp_directory = ::testing::TempDir()}, all_of_them);
    for (int i = 0; i < kFiles; ++i) {
      for (const int number : {i, i, i / 2, std::max(0, i - 1)}) {
        ASSERT_THAT(lists.Add(Freed(number, number % 2 == 0 ? "even" : "odd")), IsOk());
      }
    }
    ASSERT_THAT(lists.Finish(), IsOk());
    EXPECT_GT(lists.paths().size(), 3U);
    std::set<std::string> paths;
    const std::vector<RemovalCandidate> all = ReadAll(test, lists);
    for (const RemovalCandidate& file : all) paths.insert(file.path);
    EXPECT_THAT(all, SizeIs(kFiles));
    EXPECT_THAT(paths, SizeIs(kFiles));
    EXPECT_EQ(lists.num_by_reason(), (std::map<std::string, int64_t>{{"even", kFiles / 2}, {"odd", kFiles / 2}}));
    EXPECT_EQ(lists.num_taken_out(), 0);
    EXPECT_LE(budget.peak_bytes(), budget.limit_bytes());
    EXPECT_GT(budget.peak_bytes(), budget.limit_bytes() / 8);
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(FreedLists, NameNothingButWhatIsAskedForAndCountTheRestOnce) {
  TestTable test;
  const std::optional<std::set<std::string>> only = std::set<std::string>{Freed(1).path, Freed(7).path};
  FreedLists lists(test.table, {}, only);
  for (int i = 0; i < 10; ++i) {
    for (int again = 0; again < 2; ++again) ASSERT_THAT(lists.Add(Freed(i)), IsOk());
  }
  ASSERT_THAT(lists.Finish(), IsOk());
  EXPECT_THAT(ReadAll(test, lists), testing::ElementsAre(Freed(1), Freed(7)));
  EXPECT_EQ(lists.num_taken_out(), 8);
}

TEST(FreedLists, NoFileTakesNoListAndDroppedListsAreGone) {
  TestTable test;
  const std::optional<std::set<std::string>> all;
  FreedLists none(test.table, {}, all);
  ASSERT_THAT(none.Finish(), IsOk());
  EXPECT_THAT(none.paths(), IsEmpty());
  FreedLists lists(test.table, {}, all);
  ASSERT_THAT(lists.Add(Freed(1)), IsOk());
  ASSERT_THAT(lists.Finish(), IsOk());
  EXPECT_THAT(RemovalList::Find(*test.io, test.metadata().location, "expire"), IsOkAnd(SizeIs(1)));
  lists.Drop();
  EXPECT_THAT(RemovalList::Find(*test.io, test.metadata().location, "expire"), IsOkAnd(IsEmpty()));
}

// One file at least: or nothing would ever be freed.
TEST(FreedLists, WithoutRoomForASingleFileItIsAnError) {
  TestTable test;
  MemoryBudget budget(100);
  const std::optional<std::set<std::string>> all;
  FreedLists lists(test.table, {.budget = &budget, .temp_directory = ::testing::TempDir()}, all);
  EXPECT_THAT(lists.Add(Freed(1)), IsError(ErrorCode::kResourceExhausted, "no memory is left to list the files"));
}

}  // namespace
}  // namespace frazil::maintain
