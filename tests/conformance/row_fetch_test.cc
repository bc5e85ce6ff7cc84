// Rows fetched by position from the tables that Spark and Iceberg's Java core wrote (tests/fixtures/spark-v3): every live
// row of every snapshot, as a scan of the same file gives it.

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/scan/row_fetcher.h"
#include "frazil/table/scan_planner.h"
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

}  // namespace
}  // namespace frazil
