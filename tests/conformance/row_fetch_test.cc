// Rows fetched by position from the tables that Spark and Iceberg's Java core wrote (tests/fixtures/spark-v3): every live
// row of every snapshot, as a scan of the same file gives it.

#include <numeric>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/scan/row_fetcher.h"
#include "frazil/table/scan_planner.h"
#include "tests/support/foreign_table.h"
#include "tests/support/spark_fixture.h"

namespace frazil {
namespace {

const arrow::EqualOptions kNansEqual = arrow::EqualOptions::Defaults().nans_equal(true);

/// Columns that can be read: variants cannot.
scan::ReadColumns ReadableColumns(const spec::Schema& schema) {
  scan::ReadColumns columns;
  columns.row_lineage = true;
  columns.position = true;
  for (const spec::Field& field : schema.fields()) {
    if (field.type.id() != spec::TypeId::kVariant) columns.fields.push_back(field.id);
  }
  return columns;
}

void ExpectFetchEqualsScan(scan::RowFetcher& fetcher, const table::Table& table, const spec::Snapshot& snapshot,
                           int64_t& num_rows) {
  ASSERT_OK_AND_ASSIGN(
      const table::ScanPlan plan,
      table::PlanScan(table, &snapshot, expr::Expression::True(),
                      table.metadata()->FindSchema(snapshot.schema_id.value_or(table.metadata()->schema()->id()))));
  const scan::ReadColumns columns = ReadableColumns(*plan.schema);
  for (const table::FileScanTask& task : plan.tasks) {
    SCOPED_TRACE(task.data_file.file.file_path);
    ASSERT_OK_AND_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, columns));
    for (;;) {
      ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
      if (batch == nullptr) break;
      const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(batch->num_columns() - 1));
      const std::vector<int64_t> positions(column.raw_values(), column.raw_values() + column.length());
      ASSERT_OK_AND_ASSIGN(const auto all, fetcher.Fetch(plan, task, positions, columns, nullptr));
      ASSERT_TRUE(all->Equals(*batch, false, kNansEqual)) << all->ToString() << batch->ToString();
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        ASSERT_OK_AND_ASSIGN(const auto one, fetcher.Fetch(plan, task, std::span(&positions[i], 1), columns, nullptr));
        ASSERT_TRUE(one->Equals(*batch->Slice(i, 1), false, kNansEqual))
            << one->ToString() << batch->Slice(i, 1)->ToString();
        ++num_rows;
      }
    }
  }
}

TEST(RowFetch, EveryRowOfSparksTablesComesAsAScanGivesIt) {
  for (const std::string& name : test::SparkFixture::TableNames()) {
    SCOPED_TRACE(name);
    const test::SparkFixture fixture(name);
    const auto catalog = catalog::MakeMemoryCatalog("lake", "memory://lake", fixture.file_io());
    ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_THAT(catalog->RegisterTable({{"db"}, name}, fixture.metadata_location()), IsOk());
    ASSERT_OK_AND_ASSIGN(const table::Table table, table::Table::Load(catalog, {{"db"}, name}));
    scan::RowFetcher fetcher(table.io(), int64_t{1} << 20);
    int64_t num_rows = 0;
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      SCOPED_TRACE(snapshot.id.value());
      ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, snapshot, num_rows));
    }
    EXPECT_GT(num_rows, 0);
  }
}

/// Rows of the table as it is now by a scan, and by a fetcher that has seen it before.
void ExpectFetchEqualsScan(scan::RowFetcher& fetcher, const test::ForeignTable& foreign, size_t num_rows) {
  ASSERT_OK_AND_ASSIGN(const table::Table table, table::Table::Load(foreign.MakeCatalog(), {{"db"}, "t"}));
  ASSERT_OK_AND_ASSIGN(const table::ScanPlan plan,
                       table::PlanScan(table, table.metadata()->current_snapshot(), nullptr));
  scan::ReadColumns columns = scan::ReadColumns::All(*plan.schema);
  columns.row_lineage = columns.position = true;
  size_t num_scanned = 0;
  for (const table::FileScanTask& task : plan.tasks) {
    SCOPED_TRACE(task.data_file.file.file_path);
    ASSERT_OK_AND_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, columns));
    arrow::RecordBatchVector scanned;
    for (;;) {
      ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
      if (batch == nullptr) break;
      scanned.push_back(batch);
    }
    std::vector<int64_t> positions(static_cast<size_t>(task.data_file.file.record_count));
    std::iota(positions.begin(), positions.end(), 0);
    ASSERT_OK_AND_ASSIGN(const auto fetched, fetcher.Fetch(plan, task, positions, columns, nullptr));
    const auto expected = arrow::Table::FromRecordBatches(reader->schema(), scanned).ValueOrDie();
    const auto found = arrow::Table::FromRecordBatches({fetched}).ValueOrDie();
    EXPECT_TRUE(found->Equals(*expected)) << found->ToString() << expected->ToString();
    num_scanned += static_cast<size_t>(expected->num_rows());
  }
  EXPECT_EQ(num_scanned, num_rows);
}

TEST(RowFetch, OfOneFetcherThroughChangesOfTheSchemaAtTheSameSnapshot) {
  using spec::TypeId;
  using test::Column;
  const std::vector<spec::Field> narrow = {Column(1, "id", TypeId::kInt), Column(2, "v", TypeId::kFloat),
                                           Column(3, "day", TypeId::kInt)};
  const std::vector<std::string> rows = {"[1, 2, 3, null]", "[0.5, 1.5, 2.5, null]", "[7, 8, 9, 10]"};
  test::ForeignTable table(3, narrow);
  table.Set("schema.name-mapping.default", R"([{"field-id": 1, "names": ["id"]}, {"field-id": 3, "names": ["day"]}])");
  table.Commit(
      {table.Parquet(narrow, rows), table.Avro(narrow, rows), table.Parquet(narrow, rows, test::FieldIds::kNone)});
  table.Commit({table.EqualityDeletes({narrow[0]}, {"[1, null]"}, {1}),
                table.EqualityDeletes({narrow[1]}, {"[1.5]"}, {2}),
                table.EqualityDeletes({narrow[2], narrow[0]}, {"[9]", "[3]"}, {3, 1})});
  scan::RowFetcher fetcher(table.file_io(), int64_t{1} << 20);
  // Of the file without ids `v` is null, so that nothing there is 1.5.
  ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, 1));
  const spec::Field id = Column(1, "id", TypeId::kLong);
  table.Evolve({id, narrow[1], narrow[2]});
  ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, 1));
  table.Evolve({id, Column(2, "v", TypeId::kDouble), Column(3, "day", TypeId::kLong)});
  ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, 1));
  table.Evolve({id, Column(2, "renamed", TypeId::kDouble), Column(3, "day", TypeId::kLong)});
  ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, 1));
  spec::Field added = Column(4, "added", TypeId::kInt);
  added.initial_default = spec::Value(int32_t{42});
  table.Evolve({id, Column(3, "day", TypeId::kLong), added});  // `v` is dropped, and still compared
  ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, 1));
  table.Set("schema.name-mapping.default", R"([{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["v"]}])");
  ASSERT_NO_FATAL_FAILURE(ExpectFetchEqualsScan(fetcher, table, 1));
}

}  // namespace
}  // namespace frazil
