#include "frazil/spec/table_update.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

TableMetadata Base() {
  TableMetadata metadata;
  metadata.table_uuid = *Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1");
  metadata.last_column_id = FieldId{5};
  metadata.refs["main"].snapshot_id = SnapshotId{10};
  metadata.refs["audit"].snapshot_id = SnapshotId{11};
  metadata.refs["v1"].snapshot_id = SnapshotId{9};
  metadata.refs["v1"].type = RefType::kTag;
  return metadata;
}

TEST(TableRequirement, HoldsOnTheMetadataItWasTakenFrom) {
  TableMetadata base = Base();
  const std::vector<TableRequirement> requirements = {
      requirement::AssertTableUuid{base.table_uuid},
      requirement::AssertRefSnapshotId{"main", SnapshotId{10}},
      requirement::AssertRefSnapshotId{"main", SnapshotId{10}, base.refs.at("main")},
      requirement::AssertRefSnapshotId{"new", std::nullopt},
      requirement::AssertLastAssignedFieldId{FieldId{5}},
      requirement::AssertCurrentSchemaId{SchemaId{0}},
      requirement::AssertLastAssignedPartitionId{FieldId{999}},
      requirement::AssertDefaultSpecId{SpecId{0}},
      requirement::AssertDefaultSortOrderId{SortOrderId{0}},
  };
  for (const TableRequirement& requirement : requirements) EXPECT_THAT(CheckRequirement(requirement, &base), IsOk());
}

TEST(TableRequirement, SaysWhatSomebodyElseChanged) {
  TableMetadata base = Base();
  auto check = [&](TableRequirement requirement) { return CheckRequirement(requirement, &base); };
  const ErrorCode code = ErrorCode::kCommitConflict;
  EXPECT_THAT(check(requirement::AssertCreate{}), IsError(code, "table already exists"));
  EXPECT_THAT(check(requirement::AssertTableUuid{Uuid()}), IsError(code, "UUID does not match"));
  EXPECT_THAT(check(requirement::AssertRefSnapshotId{"main", SnapshotId{8}}),
              IsError(code, "branch main has changed: expected id 8 != 10"));
  SnapshotRef other_retention = base.refs.at("main");
  other_retention.max_ref_age_ms = 1;
  EXPECT_THAT(check(requirement::AssertRefSnapshotId{"main", SnapshotId{10}, other_retention}),
              IsError(code, "the retention of branch main has changed"));
  EXPECT_THAT(check(requirement::AssertRefSnapshotId{"gone", SnapshotId{8}}),
              IsError(code, "branch or tag gone is missing, expected 8"));
  EXPECT_THAT(check(requirement::AssertLastAssignedFieldId{FieldId{4}}), IsError(code, "expected id 4 != 5"));
  EXPECT_THAT(check(requirement::AssertCurrentSchemaId{SchemaId{3}}), IsError(code, "current schema changed"));
  EXPECT_THAT(check(requirement::AssertLastAssignedPartitionId{FieldId{1000}}), IsError(code, "partition id changed"));
  EXPECT_THAT(check(requirement::AssertDefaultSpecId{SpecId{3}}), IsError(code, "default partition spec changed"));
  EXPECT_THAT(check(requirement::AssertDefaultSortOrderId{SortOrderId{3}}),
              IsError(code, "default sort order changed"));
}

TEST(TableRequirement, RefAssertNullMeansAbsent) {
  TableMetadata base = Base();
  EXPECT_THAT(CheckRequirement(requirement::AssertRefSnapshotId{"v1", std::nullopt}, &base),
              IsError(ErrorCode::kCommitConflict, "tag v1 was created concurrently"));
  EXPECT_THAT(CheckRequirement(requirement::AssertRefSnapshotId{"v2", std::nullopt}, &base), IsOk());
}

TEST(TableRequirement, OnlyACreateHoldsWithoutATable) {
  EXPECT_THAT(CheckRequirement(requirement::AssertCreate{}, nullptr), IsOk());
  EXPECT_THAT(CheckRequirement(requirement::AssertTableUuid{Uuid()}, nullptr),
              IsError(ErrorCode::kCommitConflict, "table does not exist"));
}

TEST(TableRequirement, ACreateAsksOnlyThatThereIsNoTable) {
  auto requirements = RequirementsFor({update::AssignUuid{Uuid()}, update::AddPartitionSpec{}}, nullptr);
  ASSERT_EQ(requirements.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<requirement::AssertCreate>(requirements[0]));
}

TEST(TableRequirement, EachUpdateAsksOnceForWhatItReliesOn) {
  TableMetadata base = Base();
  SnapshotRef ref;
  const std::vector<TableUpdate> updates = {update::AddSchema{},
                                            update::AddSchema{},
                                            update::SetCurrentSchema{},
                                            update::AddPartitionSpec{},
                                            update::SetDefaultSpec{},
                                            update::SetDefaultSortOrder{},
                                            update::AddSnapshot{},
                                            update::SetSnapshotRef{"main", ref},
                                            update::SetSnapshotRef{"main", ref},
                                            update::SetSnapshotRef{"new", ref},
                                            update::RemoveSnapshots{},
                                            update::SetProperties{}};
  auto requirements = RequirementsFor(updates, &base);
  ASSERT_EQ(requirements.size(), 8u);
  EXPECT_EQ(std::get<requirement::AssertTableUuid>(requirements[0]).uuid, base.table_uuid);
  EXPECT_EQ(std::get<requirement::AssertLastAssignedFieldId>(requirements[1]).last_assigned_field_id, FieldId{5});
  EXPECT_TRUE(std::holds_alternative<requirement::AssertCurrentSchemaId>(requirements[2]));
  EXPECT_TRUE(std::holds_alternative<requirement::AssertLastAssignedPartitionId>(requirements[3]));
  EXPECT_TRUE(std::holds_alternative<requirement::AssertDefaultSpecId>(requirements[4]));
  EXPECT_TRUE(std::holds_alternative<requirement::AssertDefaultSortOrderId>(requirements[5]));
  EXPECT_EQ(std::get<requirement::AssertRefSnapshotId>(requirements[6]).snapshot_id, SnapshotId{10});
  EXPECT_EQ(std::get<requirement::AssertRefSnapshotId>(requirements[6]).known, base.refs.at("main"));
  EXPECT_EQ(std::get<requirement::AssertRefSnapshotId>(requirements[7]).snapshot_id, std::nullopt);
  for (const TableRequirement& requirement : requirements) EXPECT_THAT(CheckRequirement(requirement, &base), IsOk());
}

TEST(TableRequirement, RemovingSpecsOrSchemasAsksThatNoOtherBranchMoved) {
  TableMetadata base = Base();
  auto requirements = RequirementsFor({update::RemovePartitionSpecs{}, update::RemoveSchemas{}}, &base);
  ASSERT_EQ(requirements.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<requirement::AssertDefaultSpecId>(requirements[1]));
  EXPECT_EQ(std::get<requirement::AssertRefSnapshotId>(requirements[2]).ref, "audit");
  EXPECT_TRUE(std::holds_alternative<requirement::AssertCurrentSchemaId>(requirements[3]));
}

TEST(TableRequirement, AReplaceAsksForUuidAndAssignedIdsOnly) {
  TableMetadata base = Base();
  auto requirements = RequirementsForReplace(
      {update::AddSchema{}, update::SetCurrentSchema{}, update::AddPartitionSpec{}, update::SetDefaultSpec{},
       update::RemoveSnapshotRef{"main"}, update::SetSnapshotRef{"main", {}}},
      base);
  ASSERT_EQ(requirements.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<requirement::AssertTableUuid>(requirements[0]));
  EXPECT_TRUE(std::holds_alternative<requirement::AssertLastAssignedFieldId>(requirements[1]));
  EXPECT_TRUE(std::holds_alternative<requirement::AssertLastAssignedPartitionId>(requirements[2]));
}

}  // namespace
}  // namespace frazil::spec
