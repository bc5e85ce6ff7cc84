// Keys of equality deletes that do not fit into memory: the answer is the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/scan/deleted_rows.h"
#include "frazil/table/scan_planner.h"
#include "tests/support/foreign_table.h"

namespace frazil::test {
namespace {

const spec::Field kId = Column(1, "id", spec::TypeId::kLong);
const spec::Field kName = Column(2, "name", spec::TypeId::kString);

/// "[first, first + step, ...]", `count` of them.
std::string Numbers(int64_t first, int64_t step, int count) {
  std::string list = "[";
  for (int i = 0; i < count; ++i) list += (i > 0 ? "," : "") + std::to_string(first + i * step);
  return list + "]";
}

std::string Names(const std::string& start, int count) {
  std::string list = "[";
  for (int i = 0; i < count; ++i) list += (i > 0 ? ",\"" : "\"") + start + std::to_string(i) + "\"";
  return list + "]";
}

TEST(EqualityDeletesOnDisk, HideTheSameRowsAsInMemory) {
  constexpr int kRows = 3000;
  ForeignTable table(3, {kId, kName});
  table.Commit({table.Parquet({kId, kName}, {Numbers(0, 1, kRows), Names("n", kRows)}),
                table.Parquet({kId, kName}, {"[null, 7, null]", R"(["x", null, null])"})});
  // Two column sets, nulls, keys of several files and a key that is deleted again later.
  table.Commit({table.EqualityDeletes({kId}, {Numbers(0, 2, kRows / 2)}, {1}),
                table.EqualityDeletes({kId, kName}, {"[null, 7, 1]", R"(["x", null, "n1"])"}, {1, 2})});
  table.Commit({table.Parquet({kId, kName}, {"[4, 5]", R"(["again", "again"])"})});
  table.Commit({table.EqualityDeletes({kId}, {"[4]"}, {1}), table.EqualityDeletes({kName}, {R"(["n9"])"}, {2})});
  const auto loaded = table::Table::Load(table.MakeCatalog(), {{"db"}, "t"});
  ASSERT_THAT(loaded, IsOk());
  const auto plan = table::PlanScan(*loaded, loaded->metadata()->current_snapshot(), nullptr);
  ASSERT_THAT(plan, IsOk());
  scan::EqualityDeletes in_memory(table.file_io(), int64_t{1} << 30);
  scan::EqualityDeletes on_disk(table.file_io(), 1, ::testing::TempDir());
  int64_t num_deleted = 0;
  for (const table::FileScanTask& task : plan->tasks) {
    const auto expected = scan::DeletedRows(table.file_io(), *plan, task, in_memory);
    ASSERT_THAT(expected, IsOk());
    const auto found = scan::DeletedRows(table.file_io(), *plan, task, on_disk);
    ASSERT_THAT(found, IsOk());
    EXPECT_EQ(found->ToPositions(), expected->ToPositions()) << task.data_file.file.file_path;
    num_deleted += found->cardinality();
  }
  // Even numbers, 1 and 9 of the first file; (null, x) and (7, null) of the second; 4 of the third.
  EXPECT_EQ(num_deleted, kRows / 2 + 2 + 2 + 1);
}

}  // namespace
}  // namespace frazil::test
