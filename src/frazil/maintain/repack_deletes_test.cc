#include "frazil/maintain/repack_deletes.h"

#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/puffin_use.h"

namespace frazil::maintain {
namespace {

using table::TestTable;

std::vector<PuffinUse> Puffins(TestTable& test) {
  const auto puffins = FindPuffins(test.table, test.Live());
  EXPECT_THAT(puffins, IsOk());
  return puffins ? *puffins : std::vector<PuffinUse>();
}

table::ProcedureRow Rewrite(TestTable& test, bool all = false) {
  const auto rows =
      Call("rewrite_deletion_vectors", ContextOf(test), {{"table", std::string("t")}, {"rewrite_all", all}});
  EXPECT_THAT(rows, IsOk());
  EXPECT_THAT(test.table.Refresh(), IsOk());
  return rows ? rows->at(0) : table::ProcedureRow();
}

TEST(RewriteDeletionVectors, PacksSmallPuffinsAndKeepsEveryPosition) {
  TestTable test;
  std::vector<std::string> paths;
  for (int i = 0; i < 4; ++i) {
    const spec::DataFile file = WrittenFile(test, "f" + std::to_string(i), 10);
    ASSERT_THAT(table::Append(test, {file}), IsOk());
    ASSERT_THAT(table::Delete(test, {{file.file_path, {i, i + 1}}}), IsOk());
    paths.push_back(file.file_path);
  }
  ASSERT_EQ(Puffins(test).size(), 4U);
  const table::ProcedureRow row = Rewrite(test);
  EXPECT_EQ(row.at(0), table::ProcedureValue(int64_t{4}));
  EXPECT_EQ(row.at(1), table::ProcedureValue(int64_t{1}));
  ASSERT_EQ(Puffins(test).size(), 1U);
  EXPECT_EQ(Puffins(test)[0].num_live, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(table::DeletedIn(test, paths[static_cast<size_t>(i)]), testing::ElementsAre(i, i + 1));
  }
  EXPECT_EQ(test.head().operation, spec::Operation::kReplace);
  EXPECT_EQ(Rewrite(test).at(0), table::ProcedureValue(int64_t{0})) << "a fixed point";
}

// A Puffin that a foreign commit split loses its live vectors when Java expires the replaced one.
TEST(RewriteDeletionVectors, APuffinWithAReplacedVectorBecomesWhole) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 10);
  const spec::DataFile b = WrittenFile(test, "b", 10);
  ASSERT_THAT(table::Append(test, {a, b}), IsOk());
  ASSERT_THAT(table::Delete(test, {{a.file_path, {1}}, {b.file_path, {2}}}), IsOk());
  ASSERT_EQ(Puffins(test).size(), 1U);
  // As a foreign engine compacts a: its data file and vector go, the other vector stays where it is.
  table::FileChanges foreign = table::Adding({WrittenFile(test, "c", 9)});
  foreign.removed_data_files = {a.file_path};
  foreign.operation = spec::Operation::kReplace;
  ASSERT_THAT(table::Commit(test, foreign), IsOk());
  ASSERT_TRUE(Puffins(test).at(0).has_dead_blobs);
  EXPECT_EQ(Rewrite(test).at(0), table::ProcedureValue(int64_t{1}));
  ASSERT_EQ(Puffins(test).size(), 1U);
  EXPECT_FALSE(Puffins(test)[0].has_dead_blobs);
  EXPECT_THAT(table::DeletedIn(test, b.file_path), testing::ElementsAre(2));
}

// The vectors of a whole table may be gigabytes.
TEST(RewriteDeletionVectors, APuffinIsWrittenBeforeTheVectorsOfTheNextAreRead) {
  TestTable test({{"frazil.write.dv.max-blobs-per-puffin", "2"}});
  for (int i = 0; i < 6; ++i) {
    const spec::DataFile file = WrittenFile(test, "f" + std::to_string(i), 10);
    ASSERT_THAT(table::Append(test, {file}), IsOk());
    ASSERT_THAT(table::Delete(test, {{file.file_path, {i, i + 1}}}), IsOk());
  }
  ASSERT_EQ(Puffins(test).size(), 6U);
  std::string operations;
  const auto watched = std::make_shared<io::FaultInjectingFileIO>(
      test.io, [&](std::string_view operation, const std::string& path) -> Status {
        if (path.ends_with(".puffin") && operation == "open") operations += 'r';
        if (path.ends_with(".puffin") && operation == "create") operations += 'w';
        return {};
      });
  const auto catalog = catalog::MakeMemoryCatalog("watched", "memory:/warehouse", watched, test.clock);
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->RegisterTable(test.name, test.table.metadata_location()), IsOk());
  table::ProcedureContext context = ContextOf(test);
  context.catalogs["test"] = catalog;
  ASSERT_THAT(Call("rewrite_deletion_vectors", context, {{"table", std::string("t")}}), IsOk());
  EXPECT_THAT(operations, testing::HasSubstr("rrwrrwrrw"));
}

// Three vectors of more than half of a full Puffin each: two do not fit into one by bytes, though 32 do by number.
TEST(RewriteDeletionVectors, LargeVectorsAreAFixedPointToo) {
  TestTable test;
  constexpr int64_t kRows = int64_t{1152} << 16;
  std::vector<int64_t> positions;  // 4,096 in 65,536 rows take most: 2 bytes each
  for (int64_t row = 0; row < kRows; row += 16) positions.push_back(row);
  for (int i = 0; i < 3; ++i) {
    const spec::DataFile file = WrittenFile(test, "f" + std::to_string(i), kRows);
    ASSERT_THAT(table::Append(test, {file}), IsOk());
    ASSERT_THAT(table::Delete(test, {{file.file_path, positions}}), IsOk());
  }
  ASSERT_EQ(Puffins(test).size(), 3U);
  ASSERT_GT(2 * Puffins(test)[0].live_bytes, table::kFullPuffinBytes);
  EXPECT_EQ(Rewrite(test).at(0), table::ProcedureValue(int64_t{3}));
  EXPECT_EQ(Puffins(test).size(), 2U);
  EXPECT_EQ(Rewrite(test).at(0), table::ProcedureValue(int64_t{0}));
}

TEST(RewriteDeletionVectors, ALostRaceChoosesAnewAndLeavesNoFile) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 10);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  ASSERT_THAT(table::Delete(test, {{a.file_path, {1}}}), IsOk());
  table::Table other = test.Other();
  bool raced = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || std::exchange(raced, true)) return {};
    const std::map<std::string, std::vector<int64_t>> positions = {{a.file_path, {5}}};
    table::DeleteChange change(positions);
    EXPECT_THAT(table::CommitSnapshot(other, change, {}, test.clock), IsOk());
    return Fail(ErrorCode::kCommitConflict, "somebody was faster");
  };
  Rewrite(test, true);
  EXPECT_THAT(table::DeletedIn(test, a.file_path), testing::ElementsAre(1, 5));
  test.decide = nullptr;
  const std::set<std::string> needed = FilesOfSnapshots(test);
  for (const std::string& path : AllFiles(test)) {
    if (!path.ends_with(".puffin")) continue;
    EXPECT_THAT(needed, testing::Contains(path));
  }
}

TEST(RewritePositionDeleteFiles, OptionsAreReadAsThoseOfDataFiles) {
  using OptionMap = std::map<std::string, std::string>;
  TestTable test;
  const auto run = [&](const OptionMap& options) {
    return Call("rewrite_position_delete_files", ContextOf(test), {{"table", std::string("t")}, {"options", options}});
  };
  EXPECT_THAT(run({{"rewrite-all", "TRUE"}, {"min-input-files", "2"}, {"max-file-group-size-bytes", "100"}}), IsOk());
  EXPECT_THAT(run({{"rewrite-all", "yes"}}), IsError(ErrorCode::kInvalidArgument, "must be true or false"));
  EXPECT_THAT(run({{"min-input-files", "0"}}), IsError(ErrorCode::kInvalidArgument, "must be above 0"));
  EXPECT_THAT(run({{"target-file-size-bytes", "x"}}), IsError(ErrorCode::kInvalidArgument, "must be a number"));
  EXPECT_THAT(run({{"max-files-to-rewrite", "1"}}), IsError(ErrorCode::kNotSupported, "max-files-to-rewrite"));
  EXPECT_THAT(run({{"delete-ratio-threshold", "1"}}), IsError(ErrorCode::kInvalidArgument, "has no option"));
}

}  // namespace
}  // namespace frazil::maintain
