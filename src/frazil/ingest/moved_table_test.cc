#include "frazil/ingest/moved_table.h"

#include "frazil/base/test_support.h"
#include "frazil/index/row_table_test_support.h"

namespace frazil::ingest {
namespace {

Error Missing(const std::string& path) { return Error(ErrorCode::kNotFound, "file not found: " + path); }

class MovedTableTest : public ::testing::Test {
 protected:
  void MoveTable() {
    table::Table other = table_.Other();
    ASSERT_THAT(index::ForeignInsert(other, {{1, "a", "x"}}, table_.clock), IsOk());
  }
  index::MemoryTable table_;
  MovedTable moved_{table_.table};
};

TEST_F(MovedTableTest, AFileThatIsGoneFromATableThatStaysIsAnError) {
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kNotFound);
}

TEST_F(MovedTableTest, AFileThatWentWhileTheTableChangedIsTriedAgain) {
  MoveTable();
  const Error judged = moved_.Judge(Missing("a"));
  EXPECT_EQ(judged.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(judged.ToString(), ::testing::HasSubstr("a"));
  EXPECT_EQ(table_.table.metadata()->snapshots.size(), 1u);  // it was refreshed
}

TEST_F(MovedTableTest, AFileThatIsMissingTwiceIsMissing) {
  MoveTable();
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kUnavailable);
  MoveTable();
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kNotFound);
}

TEST_F(MovedTableTest, AnotherFileMayGoEachTimeTheTableChanges) {
  for (const char* path : {"a", "b", "c"}) {
    MoveTable();
    EXPECT_EQ(moved_.Judge(Missing(path)).code(), ErrorCode::kUnavailable) << path;
  }
}

TEST_F(MovedTableTest, AStoreWithoutTheTablesMetadataIsAway) {
  const std::string location = table_.table.metadata_location();
  ASSERT_OK_AND_ASSIGN(const Bytes metadata, table_.table.io()->ReadFile(location));
  ASSERT_THAT(table_.table.io()->Delete({location}), IsOk());
  for (int i = 0; i < 2; ++i) {
    const Error judged = moved_.Judge(Missing("a"));
    EXPECT_EQ(judged.code(), ErrorCode::kUnavailable);
    EXPECT_THAT(judged.ToString(), ::testing::HasSubstr(location));
  }
  ASSERT_THAT(table_.table.io()->WriteFile(location, metadata), IsOk());
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kNotFound);
}

TEST_F(MovedTableTest, AMetadataFileThatIsMissingBesideOthersIsLost) {
  MoveTable();
  ASSERT_THAT(table_.table.Refresh(), IsOk());
  ASSERT_THAT(table_.table.io()->Delete({table_.table.metadata_location()}), IsOk());
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kUnavailable);  // the catalog's answer may be a stale one
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kNotFound);
}

TEST_F(MovedTableTest, ATableThatWasDroppedIsNotWaitedFor) {
  ASSERT_THAT(table_.table.catalog()->DropTable(table_.table.name(), false), IsOk());
  ASSERT_THAT(table_.table.io()->Delete({table_.table.metadata_location()}), IsOk());
  EXPECT_EQ(moved_.Judge(Missing("a")).code(), ErrorCode::kNotFound);
}

TEST_F(MovedTableTest, OtherErrorsStayWhatTheyAre) {
  MoveTable();
  EXPECT_EQ(moved_.Judge(Error(ErrorCode::kCorruptData, "x")).code(), ErrorCode::kCorruptData);
  EXPECT_TRUE(table_.table.metadata()->snapshots.empty());
}

}  // namespace
}  // namespace frazil::ingest
