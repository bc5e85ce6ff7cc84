#include "frazil/table/delete_index.h"

#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class DeleteIndexTest : public testing::Test {
 protected:
  static LiveDataFile Data(const std::string& path, int64_t sequence, const std::string& partition = "x") {
    return {DataFileOf(path, 10, {partition}), spec::SequenceNumber{sequence}, spec::SequenceNumber{sequence}};
  }
  static LiveDelete Vector(const std::string& path, int64_t sequence, const std::string& partition = "x",
                           int64_t offset = 4) {
    return {VectorEntry("p.puffin", offset, DataFileOf(path, 10, {partition}), 1), spec::SequenceNumber{sequence}};
  }
  static LiveDelete PositionFile(const std::string& path, int64_t sequence, const std::string& partition = "x") {
    auto file = DataFileOf(path, 1, {partition});
    file.content = spec::FileContent::kPositionDeletes;
    return {file, spec::SequenceNumber{sequence}};
  }
  static LiveDelete EqualityFile(const std::string& path, int64_t sequence, spec::SpecId spec_id,
                                 spec::PartitionTuple partition) {
    auto file = DataFileOf(path, 1, std::move(partition));
    file.content = spec::FileContent::kEqualityDeletes;
    file.spec_id = spec_id;
    return {file, spec::SequenceNumber{sequence}};
  }
  static void SetPathBounds(LiveDelete& file, std::string_view lower, std::string_view upper) {
    file.file.lower_bounds[spec::kDeleteFilePathColumnId] = CopyBytes(AsBytes(lower));
    file.file.upper_bounds[spec::kDeleteFilePathColumnId] = CopyBytes(AsBytes(upper));
  }
  DeleteIndex Index(std::vector<LiveDelete> deletes) {
    return *DeleteIndex::Make(std::move(deletes), test_.metadata());
  }
  static std::vector<std::string> PathsOf(const std::vector<const LiveDelete*>& files) {
    std::vector<std::string> paths;
    for (const LiveDelete* file : files) paths.push_back(file->file.file_path);
    return paths;
  }

  TestTable test_{{}, true};
};

TEST_F(DeleteIndexTest, TwoLiveVectorsForOneFileAreAnErrorThatNamesAllThree) {
  auto second = Vector("a", 3, "x", 44);
  EXPECT_THAT(DeleteIndex::Make({Vector("a", 2), second}, test_.metadata()),
              IsError(ErrorCode::kInvalidTable, "a has p.puffin at 4 and p.puffin at 44"));
}

TEST_F(DeleteIndexTest, VectorsThatShareAPuffinAreDifferentVectors) {
  const auto index = Index({Vector("a", 2), Vector("b", 2, "x", 44)});
  ASSERT_OK_AND_ASSIGN(const auto deletes, index.For(Data("b", 1)));
  ASSERT_NE(deletes.vector, nullptr);
  EXPECT_EQ(deletes.vector->file.content_offset, 44);
}

TEST_F(DeleteIndexTest, AVectorEntryThatLacksAMemberIsAnError) {
  auto broken = Vector("a", 2);
  broken.file.referenced_data_file.reset();
  EXPECT_THAT(DeleteIndex::Make({broken}, test_.metadata()),
              IsError(ErrorCode::kInvalidTable, "referenced_data_file: p.puffin"));
  broken = Vector("a", 2);
  broken.file.content_offset.reset();
  EXPECT_THAT(DeleteIndex::Make({broken}, test_.metadata()), IsError(ErrorCode::kInvalidTable, "content_offset"));
  broken = Vector("a", 2);
  broken.file.content_size_in_bytes = -1;
  EXPECT_THAT(DeleteIndex::Make({broken}, test_.metadata()),
              IsError(ErrorCode::kInvalidTable, "content_size_in_bytes"));
}

TEST_F(DeleteIndexTest, AVectorOlderThanItsDataFileDoesNotApplyAndPositionDeletesAreUsed) {
  const auto index = Index({Vector("a", 2), PositionFile("d", 5)});
  ASSERT_OK_AND_ASSIGN(const auto deletes, index.For(Data("a", 3)));
  EXPECT_EQ(deletes.vector, nullptr);
  EXPECT_THAT(PathsOf(deletes.position_deletes), ElementsAre("d"));
  EXPECT_NE(index.VectorNaming("a"), nullptr);
}

TEST_F(DeleteIndexTest, AVectorOfAnotherPartitionOrSpecDoesNotApply) {
  const auto index = Index({Vector("a", 2, "y")});
  ASSERT_OK_AND_ASSIGN(const auto deletes, index.For(Data("a", 1)));
  EXPECT_TRUE(deletes.empty());
  auto other_spec = Vector("a", 2);
  other_spec.file.spec_id = spec::SpecId{1};
  ASSERT_OK_AND_ASSIGN(const auto none, Index({other_spec}).For(Data("a", 1)));
  EXPECT_TRUE(none.empty());
}

TEST_F(DeleteIndexTest, AVectorHidesPositionDeletesOfItsFileOnly) {
  const auto index = Index({PositionFile("d1", 2), PositionFile("d2", 3), Vector("a", 4)});
  ASSERT_OK_AND_ASSIGN(const auto a, index.For(Data("a", 1)));
  EXPECT_NE(a.vector, nullptr);
  EXPECT_THAT(a.position_deletes, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto b, index.For(Data("b", 1)));
  EXPECT_EQ(b.vector, nullptr);
  EXPECT_THAT(PathsOf(b.position_deletes), ElementsAre("d1", "d2")) << "several delete files may cover one data file";
}

TEST_F(DeleteIndexTest, PositionDeletesOfTheSameCommitApplyAndOlderOnesDoNot) {
  const auto index = Index({PositionFile("d1", 2), PositionFile("d2", 3), PositionFile("d3", 3, "y")});
  ASSERT_OK_AND_ASSIGN(const auto deletes, index.For(Data("a", 3)));
  EXPECT_THAT(PathsOf(deletes.position_deletes), ElementsAre("d2"));
}

TEST_F(DeleteIndexTest, BoundsOfFilePathPruneUnlessTheyCannotBeTrusted) {
  auto other = PositionFile("d1", 2);
  SetPathBounds(other, "b", "c");
  auto inverted = PositionFile("d2", 2);
  SetPathBounds(inverted, "z", "a");
  auto cut = PositionFile("d3", 2);
  SetPathBounds(cut, "data/", "data/");
  auto scoped = PositionFile("d4", 2);
  scoped.file.referenced_data_file = "other";
  const auto index = Index({other, inverted, cut, scoped});
  ASSERT_OK_AND_ASSIGN(const auto a, index.For(Data("a", 1)));
  EXPECT_THAT(PathsOf(a.position_deletes), ElementsAre("d2"));
  ASSERT_OK_AND_ASSIGN(const auto long_path, index.For(Data("data/file", 1)));
  EXPECT_THAT(PathsOf(long_path.position_deletes), ElementsAre("d2", "d3"));
  EXPECT_FALSE(IsScopedTo(cut.file, "data/file"));
  EXPECT_TRUE(IsScopedTo(scoped.file, "other"));
}

TEST_F(DeleteIndexTest, EqualityDeletesApplyToOlderFilesAndUnpartitionedOnesToAllPartitions) {
  ASSERT_THAT(CommitUpdates(
                  test_.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{
                        spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})}};
                  },
                  test_.clock),
              IsOk());
  const auto index = Index({EqualityFile("e1", 2, spec::SpecId{0}, {std::string("x")}),
                            EqualityFile("e2", 2, spec::SpecId{0}, {std::string("y")}),
                            EqualityFile("global", 2, spec::SpecId{1}, {})});
  ASSERT_OK_AND_ASSIGN(const auto older, index.For(Data("a", 1)));
  EXPECT_THAT(PathsOf(older.equality_deletes), testing::UnorderedElementsAre("e1", "global"));
  ASSERT_OK_AND_ASSIGN(const auto same_commit, index.For(Data("a", 2)));
  EXPECT_TRUE(same_commit.empty());
}

}  // namespace
}  // namespace frazil::table
