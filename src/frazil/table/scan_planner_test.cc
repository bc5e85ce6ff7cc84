#include "frazil/table/scan_planner.h"

#include "frazil/spec/single_value.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const spec::Type kLong = spec::Type::Primitive(spec::TypeId::kLong);
const spec::Type kText = spec::Type::Primitive(spec::TypeId::kString);

expr::ExpressionPtr IdAbove(int64_t value) {
  return expr::Expression::Compare(expr::Op::kGt, spec::FieldId{1}, kLong, value);
}
expr::ExpressionPtr PartIs(const std::string& value) {
  return expr::Expression::Compare(expr::Op::kEq, spec::FieldId{2}, kText, value);
}

spec::DataFile WithIds(spec::DataFile file, int64_t lower, int64_t upper) {
  const spec::FieldId id{1};
  file.value_counts[id] = file.record_count;
  file.null_value_counts[id] = 0;
  file.lower_bounds[id] = spec::EncodeSingleValue(kLong, lower);
  file.upper_bounds[id] = spec::EncodeSingleValue(kLong, upper);
  return file;
}

std::map<std::string, int64_t> RowIdsOf(const ScanPlan& plan) {
  std::map<std::string, int64_t> ids;
  for (const FileScanTask& task : plan.tasks)
    ids[task.data_file.file.file_path] = task.data_file.file.first_row_id->value();
  return ids;
}

TEST(PlanScan, ATableWithoutSnapshotHasNothingToRead) {
  TestTable test;
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, nullptr, nullptr));
  EXPECT_THAT(plan.tasks, IsEmpty());
  EXPECT_FALSE(plan.snapshot_id.has_value());
  EXPECT_EQ(plan.schema, test.metadata().schema());
}

TEST(PlanScan, RowIdsDoNotDependOnTheFilter) {
  TestTable test;
  std::vector<spec::DataFile> files;
  for (int64_t i = 0; i < 5; ++i) {
    files.push_back(WithIds(DataFileOf("f" + std::to_string(i), 10), i * 10, i * 10 + 9));
  }
  ASSERT_THAT(Append(test, files), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto all, PlanScan(test.table, &test.head(), nullptr));
  ASSERT_OK_AND_ASSIGN(const auto some, PlanScan(test.table, &test.head(), IdAbove(29)));
  EXPECT_THAT(RowIdsOf(all),
              ElementsAre(Pair("f0", 0), Pair("f1", 10), Pair("f2", 20), Pair("f3", 30), Pair("f4", 40)));
  EXPECT_THAT(RowIdsOf(some), ElementsAre(Pair("f3", 30), Pair("f4", 40)));
  EXPECT_EQ(some.counts.skipped_files, 3);
  EXPECT_EQ(some.counts.result_files, 2);
}

TEST(PlanScan, PrunesManifestsAndFilesByPartition) {
  TestTable test({}, true);
  ASSERT_THAT(Append(test, {DataFileOf("a", 1, {std::string("x")}), DataFileOf("b", 1, {std::string("y")})}), IsOk());
  ASSERT_THAT(Append(test, {DataFileOf("c", 1, {std::string("z")})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, &test.head(), PartIs("y")));
  EXPECT_THAT(RowIdsOf(plan), ElementsAre(Pair("b", 1)));
  EXPECT_EQ(plan.counts.total_manifests, 2);
  EXPECT_EQ(plan.counts.skipped_manifests, 1);
}

TEST(PlanScan, LongPartitionValuesAreFoundDespiteTruncatedSummaries) {
  TestTable test({}, true);
  const std::string value = "a partition value that is much longer than sixteen letters \xF0\x9F\xA4\xAF";
  ASSERT_THAT(Append(test, {DataFileOf("a", 1, {value})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, &test.head(), PartIs(value)));
  EXPECT_THAT(RowIdsOf(plan), ElementsAre(Pair("a", 0)));
}

TEST(PlanScan, VectorsComeWithTheirFiles) {
  TestTable test({}, true);
  ASSERT_THAT(Append(test, {DataFileOf("a", 5, {std::string("x")}), DataFileOf("b", 5, {std::string("y")})}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {1}}, {"b", {2}}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, &test.head(), PartIs("y")));
  ASSERT_EQ(plan.tasks.size(), 1U);
  ASSERT_NE(plan.tasks[0].deletes.vector, nullptr);
  EXPECT_EQ(plan.tasks[0].deletes.vector->file.referenced_data_file, "b");
}

TEST(PlanScan, OldSnapshotsAreReadAsTheyWere) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 5)}), IsOk());
  const spec::SnapshotId first = test.head().id;
  ASSERT_THAT(Delete(test, {{"a", {0}}}), IsOk());
  ASSERT_THAT(Append(test, {DataFileOf("b", 5)}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, test.metadata().FindSnapshot(first), nullptr));
  EXPECT_THAT(RowIdsOf(plan), ElementsAre(Pair("a", 0)));
  EXPECT_TRUE(plan.tasks[0].deletes.empty());
}

class SelectSnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(Append(test_, {DataFileOf("a", 5)}), IsOk());
    first_ = test_.head().id;
    first_ms_ = test_.head().timestamp_ms;
    test_.clock.Advance(1000);
    ASSERT_THAT(CommitUpdates(
                    test_.table,
                    [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
                      auto fields = base.schema()->fields();
                      fields.push_back({spec::FieldId{3}, "extra", false, kLong});
                      FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, fields));
                      return std::vector<spec::TableUpdate>{
                          spec::update::AddSchema{schema}, spec::update::SetCurrentSchema{spec::SchemaId{-1}},
                          spec::update::SetSnapshotRef{"v1", {.snapshot_id = first_, .type = spec::RefType::kTag}}};
                    },
                    test_.clock),
                IsOk());
    test_.clock.Advance(1000);
    ASSERT_THAT(Append(test_, {DataFileOf("b", 5)}), IsOk());
  }
  TestTable test_;
  spec::SnapshotId first_;
  int64_t first_ms_ = 0;
};

TEST_F(SelectSnapshotTest, ByIdTagTimeAndHead) {
  const auto& metadata = test_.metadata();
  EXPECT_EQ((*SelectSnapshot(metadata, {}))->id, test_.head().id);
  EXPECT_EQ((*SelectSnapshot(metadata, {.snapshot_id = first_}))->id, first_);
  EXPECT_EQ((*SelectSnapshot(metadata, {.ref = "v1"}))->id, first_);
  EXPECT_EQ((*SelectSnapshot(metadata, {.ref = "main"}))->id, test_.head().id);
  EXPECT_EQ((*SelectSnapshot(metadata, {.timestamp_ms = first_ms_}))->id, first_);
  EXPECT_EQ((*SelectSnapshot(metadata, {.timestamp_ms = first_ms_ + 1}))->id, first_);
  EXPECT_THAT(SelectSnapshot(metadata, {.snapshot_id = spec::SnapshotId{1}}), IsError(ErrorCode::kNotFound, "1"));
  EXPECT_THAT(SelectSnapshot(metadata, {.ref = "nope"}), IsError(ErrorCode::kNotFound, "nope"));
  EXPECT_THAT(SelectSnapshot(metadata, {.timestamp_ms = first_ms_ - 1}), IsError(ErrorCode::kNotFound, ""));
  EXPECT_THAT(SelectSnapshot(metadata, {.snapshot_id = first_, .ref = "v1"}),
              IsError(ErrorCode::kInvalidArgument, "one of"));
}

TEST_F(SelectSnapshotTest, BranchesAreReadWithTheCurrentSchemaAndTheRestWithItsOwn) {
  const auto& metadata = test_.metadata();
  const auto schema_of = [&](const SnapshotSelector& selector) {
    return SchemaToRead(metadata, selector, *SelectSnapshot(metadata, selector))->id();
  };
  EXPECT_EQ(schema_of({}), metadata.current_schema_id);
  EXPECT_EQ(schema_of({.ref = "main"}), metadata.current_schema_id);
  EXPECT_NE(schema_of({.ref = "v1"}), metadata.current_schema_id);
  EXPECT_NE(schema_of({.snapshot_id = first_}), metadata.current_schema_id);
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test_.table, metadata.FindSnapshot(first_), nullptr));
  EXPECT_EQ(plan.schema->FindField("extra"), nullptr);
}

}  // namespace
}  // namespace frazil::table
