#include "frazil/table/vector_store.h"

#include "frazil/format/puffin.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> NamesOfFiles(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(prefix + std::to_string(100 + i));
  return names;
}

std::map<std::string, int> BlobsByPuffin(TestTable& test) {
  std::map<std::string, int> blobs;
  for (const LiveDelete& file : test.Live().delete_files) ++blobs[file.file.file_path];
  return blobs;
}

TEST(MergeDeletes, RepeatedDeletesKeepOneLiveVectorPerFile) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 5)}), IsOk());
  std::vector<int64_t> expected;
  for (int64_t position = 1; position <= 3; ++position) {
    ASSERT_THAT(Delete(test, {{"a", {position}}}), IsOk());
    expected.push_back(position);
    const auto live = test.Live();
    ASSERT_THAT(live.delete_files, SizeIs(1));
    EXPECT_EQ(live.delete_files[0].file.record_count, position);
    EXPECT_EQ(live.delete_files[0].sequence_number, test.head().sequence_number);
    EXPECT_EQ(DeletedIn(test, "a"), expected);
    if (position > 1) {
      EXPECT_EQ(test.head().summary.at("removed-dvs"), "1");
    }
  }
}

TEST(MergeDeletes, TheEntryDescribesTheBlobAndCopiesTheDataFilesPartition) {
  TestTable test({}, true);
  ASSERT_THAT(Append(test, {DataFileOf("a", 5, {std::string("x")})}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {2, 4}}}), IsOk());
  const auto live = test.Live();
  ASSERT_THAT(live.delete_files, SizeIs(1));
  const spec::DataFile& entry = live.delete_files[0].file;
  EXPECT_EQ(entry.partition, spec::PartitionTuple{std::string("x")});
  EXPECT_EQ(entry.referenced_data_file, "a");
  EXPECT_FALSE(entry.sort_order_id.has_value());
  ASSERT_OK_AND_ASSIGN(const auto file, test.io->Open(entry.file_path));
  EXPECT_EQ(entry.file_size_in_bytes, file->size_bytes());
  ASSERT_OK_AND_ASSIGN(const auto footer, format::ReadPuffinFooter(*file));
  ASSERT_THAT(footer.blobs, SizeIs(1));
  EXPECT_EQ(footer.blobs[0].offset, entry.content_offset);
  EXPECT_EQ(footer.blobs[0].length, entry.content_size_in_bytes);
  EXPECT_THAT(footer.blobs[0].fields, ElementsAre(spec::kPosColumnId));
  EXPECT_EQ(footer.blobs[0].properties.at("cardinality"), "2");
  EXPECT_EQ(footer.blobs[0].properties.at("referenced-data-file"), "a");
}

TEST(MergeDeletes, DeletingTwiceChangesNothing) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 5)}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {1, 2}}}), IsOk());
  const auto head = test.head().id;
  ASSERT_OK_AND_ASSIGN(const auto outcome, Delete(test, {{"a", {2}}}));
  EXPECT_FALSE(outcome.snapshot_id.has_value());
  EXPECT_EQ(test.head().id, head);
}

TEST(MergeDeletes, AFileWithoutAnyRowLeftGoesWithItsVector) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 3), DataFileOf("b", 3)}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {0, 1}}}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {2}}}), IsOk());
  const auto live = test.Live();
  ASSERT_THAT(live.data_files, SizeIs(1));
  EXPECT_EQ(live.data_files[0].file.file_path, "b");
  EXPECT_THAT(live.delete_files, IsEmpty());
  EXPECT_EQ(test.head().operation, spec::Operation::kDelete);
}

TEST(MergeDeletes, RowsOfAFileThatIsGoneAreAConflict) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 3)}), IsOk());
  EXPECT_THAT(Delete(test, {{"gone", {0}}}), IsError(ErrorCode::kCommitConflict, "gone"));
  EXPECT_THAT(Delete(test, {{"a", {3}}}), IsError(ErrorCode::kInvalidArgument, "position 3"));
}

TEST(MergeDeletes, VectorsShareAPuffinPerPartitionUpToTheLimit) {
  TestTable test({{"frazil.write.dv.max-blobs-per-puffin", "3"}}, true);
  std::vector<spec::DataFile> files;
  std::map<std::string, std::vector<int64_t>> deletes;
  for (const std::string& path : NamesOfFiles("x", 4)) files.push_back(DataFileOf(path, 5, {std::string("x")}));
  for (const std::string& path : NamesOfFiles("y", 2)) files.push_back(DataFileOf(path, 5, {std::string("y")}));
  for (const auto& file : files) deletes[file.file_path] = {1};
  ASSERT_THAT(Append(test, files), IsOk());
  ASSERT_THAT(Delete(test, deletes), IsOk());
  std::vector<int> sizes;
  for (const auto& [path, count] : BlobsByPuffin(test)) sizes.push_back(count);
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(3, 1, 2));
}

TEST(MergeDeletes, SmallVectorsLieBeforeLargeOnesAndAreListedInThatOrder) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 500), DataFileOf("b", 5), DataFileOf("c", 50)}), IsOk());
  std::map<std::string, std::vector<int64_t>> deletes = {{"b", {1}}};
  for (int64_t i = 0; i < 400; ++i) deletes["a"].push_back(i * 5 / 4);
  for (int64_t i = 0; i < 20; ++i) deletes["c"].push_back(i * 2);
  ASSERT_THAT(Delete(test, deletes), IsOk());
  std::vector<std::string> order;
  int64_t end = 4;
  for (const LiveDelete& vector : test.Live().delete_files) {
    order.push_back(*vector.file.referenced_data_file);
    EXPECT_EQ(*vector.file.content_offset, end);
    end += *vector.file.content_size_in_bytes;
  }
  EXPECT_THAT(order, ElementsAre("b", "c", "a"));
}

TEST(MergeDeletes, SiblingsMoveAlongSoThatAPuffinIsWhollyLiveOrWhollyDead) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 5), DataFileOf("b", 5), DataFileOf("c", 5)}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {1}}, {"b", {2}}, {"c", {3}}}), IsOk());
  const auto before = BlobsByPuffin(test);
  ASSERT_THAT(before, SizeIs(1));
  ASSERT_THAT(Delete(test, {{"b", {4}}}), IsOk());
  const auto after = BlobsByPuffin(test);
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_NE(after.begin()->first, before.begin()->first);
  EXPECT_EQ(after.begin()->second, 3);
  EXPECT_THAT(DeletedIn(test, "a"), ElementsAre(1));
  EXPECT_THAT(DeletedIn(test, "b"), ElementsAre(2, 4));
  EXPECT_THAT(DeletedIn(test, "c"), ElementsAre(3));

  // A file that goes altogether takes its vector out of the Puffin, too.
  ASSERT_THAT(Delete(test, {{"a", {0, 2, 3, 4}}}), IsOk());
  const auto last = BlobsByPuffin(test);
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_NE(last.begin()->first, after.begin()->first);
  EXPECT_EQ(last.begin()->second, 2);
  EXPECT_THAT(DeletedIn(test, "c"), ElementsAre(3));
}

TEST(MergeDeletes, ALostRaceMergesAgainWithTheWinnersVector) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 5)}), IsOk());
  bool raced = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || std::exchange(raced, true)) return {};
    Table other = test.Other();
    DeleteChange change(std::map<std::string, std::vector<int64_t>>{{"a", {0}}});
    EXPECT_THAT(CommitSnapshot(other, change, {}, test.clock), IsOk());
    return {};
  };
  ASSERT_THAT(Delete(test, {{"a", {3}}}), IsOk());
  EXPECT_THAT(DeletedIn(test, "a"), ElementsAre(0, 3));
  EXPECT_THAT(test.Live().delete_files, SizeIs(1));
}

class ReadVectorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(Append(test_, {DataFileOf("a", 5), DataFileOf("b", 5)}), IsOk());
    ASSERT_THAT(Delete(test_, {{"a", {1, 2}}, {"b", {3, 4}}}), IsOk());
    for (const LiveDelete& file : test_.Live().delete_files) {
      (file.file.referenced_data_file == "a" ? a_ : b_) = file.file;
    }
  }
  TestTable test_;
  spec::DataFile a_;
  spec::DataFile b_;
};

TEST_F(ReadVectorTest, ReadsWhatWasWritten) {
  ASSERT_OK_AND_ASSIGN(const auto vector, ReadVector(*test_.io, a_, 5));
  EXPECT_THAT(vector.ToPositions(), ElementsAre(1, 2));
}

TEST_F(ReadVectorTest, ARangeThatIsNoBlobOfTheFooterIsRefused) {
  *a_.content_size_in_bytes += 1;
  EXPECT_THAT(ReadVector(*test_.io, a_, 5), IsError(ErrorCode::kInvalidTable, "content_offset"));
  *a_.content_size_in_bytes = int64_t{1} << 60;
  EXPECT_THAT(ReadVector(*test_.io, a_, 5), IsError(ErrorCode::kInvalidTable, a_.file_path));
}

// Both vectors have two positions: nothing but the footer tells them apart.
TEST_F(ReadVectorTest, TheRangeOfASiblingIsRefused) {
  a_.content_offset = b_.content_offset;
  a_.content_size_in_bytes = b_.content_size_in_bytes;
  EXPECT_THAT(ReadVector(*test_.io, a_, 5), IsError(ErrorCode::kInvalidTable, "belongs to another file, b"));
}

TEST_F(ReadVectorTest, CardinalityMustAgreeWithEntryAndDataFile) {
  EXPECT_THAT(ReadVector(*test_.io, a_, 2),
              IsError(ErrorCode::kInvalidTable, "position 2, but the data file has 2 rows"));
  EXPECT_THAT(ReadVector(*test_.io, a_, 1),
              IsError(ErrorCode::kInvalidTable, "record_count 2 is above the data file's 1"));
  a_.record_count = 3;
  EXPECT_THAT(ReadVector(*test_.io, a_, 5),
              IsError(ErrorCode::kInvalidTable, "has 2 positions, but its record_count is 3"));
}

TEST_F(ReadVectorTest, MissingMembersAreRefused) {
  a_.referenced_data_file.reset();
  EXPECT_THAT(ReadVector(*test_.io, a_, 5), IsError(ErrorCode::kInvalidTable, "referenced_data_file"));
}

TEST_F(ReadVectorTest, EveryFlippedByteOfTheBlobIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Bytes good, test_.io->ReadFile(a_.file_path));
  for (int64_t i = 0; i < *a_.content_size_in_bytes; ++i) {
    Bytes bad = good;
    bad[static_cast<size_t>(*a_.content_offset + i)] ^= std::byte{0x10};
    test_.io->Overwrite(a_.file_path, std::move(bad));
    EXPECT_THAT(ReadVector(*test_.io, a_, 5), IsError(ErrorCode::kCorruptData, a_.file_path)) << i;
  }
}

TEST(ReadPositions, PositionDeleteFilesNeedAReader) {
  LiveDelete file;
  file.file.file_path = "d.parquet";
  ApplicableDeletes deletes;
  deletes.position_deletes = {&file};
  const LiveDataFile data_file{DataFileOf("a", 5), {}, {}};
  const io::MemoryFileIO io;
  EXPECT_THAT(ReadPositions(io, data_file, deletes, nullptr), IsError(ErrorCode::kNotSupported, "d.parquet"));
  const auto read = [](const LiveDelete&, const std::string&) -> Result<std::vector<int64_t>> {
    return std::vector<int64_t>{4, 1, 4, 99};
  };
  ASSERT_OK_AND_ASSIGN(const auto positions, ReadPositions(io, data_file, deletes, read));
  EXPECT_THAT(positions.ToPositions(), ElementsAre(1, 4));
}

}  // namespace
}  // namespace frazil::table
