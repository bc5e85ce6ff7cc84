#include "frazil/maintain/expire_test_support.h"

namespace frazil::maintain {
namespace {

ExpireOptions CleanMetadata() {
  ExpireOptions options;
  options.clean_expired_metadata = true;
  return options;
}

TEST(ExpireSnapshots, ASpecWithoutFieldsIsNeverRemoved) {
  TestTable test({}, true);
  ASSERT_THAT(
      Update(test.table, {spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})}}, test.clock),
      IsOk());
  ASSERT_EQ(test.metadata().partition_specs.size(), 2U);
  ASSERT_THAT(ExpireSnapshots(test.table, CleanMetadata(), ContextOf(test)), IsOk());
  EXPECT_EQ(test.metadata().partition_specs.size(), 2U);
}

/// A second schema without the field `part`, which becomes the current one.
std::vector<spec::TableUpdate> DropPart(const spec::TableMetadata& metadata) {
  std::vector<spec::Field> fields = metadata.schema()->fields();
  fields.pop_back();
  return {spec::update::AddSchema{*spec::Schema::Make(spec::SchemaId{1}, std::move(fields))},
          spec::update::SetCurrentSchema{spec::SchemaId{-1}}};
}

TEST(ExpireSnapshots, ASchemaThatOnlyAKeptSpecNeedsStays) {
  TestTable test({}, true);
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1, {spec::Value(std::string("x"))})}), IsOk());
  ASSERT_THAT(Update(test.table,
                     {spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})},
                      spec::update::SetDefaultSpec{spec::SpecId{-1}}},
                     test.clock),
              IsOk());
  ASSERT_THAT(Update(test.table, DropPart(test.metadata()), test.clock), IsOk());
  spec::DataFile landing = WrittenFile(test, "b", 1);
  landing.spec_id = test.metadata().default_spec_id;
  ASSERT_THAT(table::Append(test, {landing}), IsOk());
  ExpireOptions options = KeepOnlyHeads(test);
  options.clean_expired_metadata = true;
  ASSERT_THAT(ExpireSnapshots(test.table, options, ContextOf(test)), IsOk());
  ASSERT_EQ(test.metadata().snapshots.size(), 1U);
  EXPECT_EQ(test.metadata().partition_specs.size(), 2U) << "a file has it";
  EXPECT_EQ(test.metadata().schemas.size(), 2U) << "the type of its partition value";
}

TEST(ExpireSnapshots, DefinitionsStayWhenMainMovedMeanwhile) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const spec::PartitionSpec unused(spec::SpecId{1},
                                   {{spec::FieldId{1}, spec::FieldId{1000}, "b", spec::Transform::Bucket(4)}});
  ASSERT_THAT(Update(test.table, {spec::update::AddPartitionSpec{unused}}, test.clock), IsOk());
  int num_commits = 0;
  const auto append = [&](table::Table& other) -> Status {
    FRAZIL_TRY(table::Commit(other, table::Adding({WrittenFile(test, "b", 1)}), test.clock));
    return {};
  };
  Meanwhile(test, append);
  test.decide = [&, raced = std::move(test.decide)](std::string_view operation) -> Status {
    if (operation == "commit.before") ++num_commits;
    return raced(operation);
  };
  ASSERT_THAT(ExpireSnapshots(test.table, CleanMetadata(), ContextOf(test)), IsOk());
  EXPECT_EQ(num_commits, 2) << "decided again on what main needs now";
  EXPECT_EQ(test.metadata().partition_specs.size(), 1U);
}

TEST(ExpireSnapshots, UnusedSpecsAndSchemasGoWhenAsked) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const auto add = [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    std::vector<spec::TableUpdate> updates;
    updates.emplace_back(spec::update::AddPartitionSpec{spec::PartitionSpec(
        spec::SpecId{1}, {{spec::FieldId{1}, spec::FieldId{1000}, "b", spec::Transform::Bucket(4)}})});
    std::vector<spec::Field> fields = metadata.schema()->fields();
    fields.push_back({spec::FieldId{3}, "extra", false, spec::Type::Primitive(spec::TypeId::kLong)});
    FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, std::move(fields)));
    updates.emplace_back(spec::update::AddSchema{std::move(schema)});
    return updates;
  };
  ASSERT_THAT(table::CommitUpdates(test.table, add, test.clock), IsOk());
  ASSERT_EQ(test.metadata().partition_specs.size(), 2U);
  ASSERT_EQ(test.metadata().schemas.size(), 2U);
  ExpireOptions options;
  options.clean_expired_metadata = true;
  ASSERT_THAT(ExpireSnapshots(test.table, options, ContextOf(test)), IsOk());
  EXPECT_EQ(test.metadata().partition_specs.size(), 1U);
  EXPECT_EQ(test.metadata().schemas.size(), 1U);
}

}  // namespace
}  // namespace frazil::maintain
