#include "frazil/table/partition_update.h"

#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using spec::FieldId;
using spec::Transform;

/// id long, part string; spec 0: part, bucket[4](id); current spec 1: part.
spec::TableMetadata Base(int format_version = 3) {
  spec::TableMetadata metadata;
  metadata.format_version = format_version;
  metadata.schemas = {*spec::Schema::Make(
      spec::SchemaId(0), {{FieldId(1), "id", true, spec::Type::Primitive(spec::TypeId::kLong)},
                          {FieldId(2), "part", false, spec::Type::Primitive(spec::TypeId::kString)},
                          {FieldId(3), "at", false, spec::Type::Primitive(spec::TypeId::kTimestamp)}})};
  metadata.partition_specs = {
      spec::PartitionSpec(spec::SpecId(0), {{FieldId(2), FieldId(1000), "part", Transform::Identity()},
                                            {FieldId(1), FieldId(1001), "shard", Transform::Bucket(4)}}),
      spec::PartitionSpec(spec::SpecId(1), {{FieldId(2), FieldId(1000), "part", Transform::Identity()}})};
  metadata.default_spec_id = spec::SpecId(1);
  metadata.last_partition_id = FieldId(1001);
  return metadata;
}

std::string Fields(const PartitionUpdate& update) {
  auto updates = update.Updates();
  if (!updates) return updates.error().ToString();
  if (updates->empty()) return "unchanged";
  std::string text;
  for (const spec::PartitionField& field : std::get<spec::update::AddPartitionSpec>((*updates)[0]).spec.fields()) {
    text += fmt::format("{}{}:{}={}({})", text.empty() ? "" : " ", field.field_id, field.name,
                        field.transform.ToString(), field.source_id);
  }
  return text.empty() ? "none" : text;
}

std::string ErrorOf(const Status& status) { return status ? "no error" : status.error().ToString(); }

TEST(PartitionUpdate, NamesAddedFieldsByTheirParameter) {
  const spec::TableMetadata base = Base();
  PartitionUpdate update(base, "db.t");
  ASSERT_THAT(update.Add({"id", Transform::Bucket(8)}, std::nullopt), IsOk());
  ASSERT_THAT(update.Add({"PART", Transform::Truncate(2)}, std::nullopt), IsOk());
  ASSERT_THAT(update.Add({"at", Transform::Of(Transform::Kind::kDay)}, "on_day"), IsOk());
  EXPECT_EQ(Fields(update),
            "1000:part=identity(2) 1002:id_bucket_8=bucket[8](1) 1003:part_trunc_2=truncate[2](2) 1004:on_day=day(3)");
}

TEST(PartitionUpdate, AFieldThatComesBackKeepsIdAndName) {
  const spec::TableMetadata base = Base();
  PartitionUpdate again(base, "db.t");
  ASSERT_THAT(again.Add({"id", Transform::Bucket(4)}, std::nullopt), IsOk());
  EXPECT_EQ(Fields(again), "1000:part=identity(2) 1001:shard=bucket[4](1)");
  PartitionUpdate renamed(base, "db.t");
  ASSERT_THAT(renamed.Add({"id", Transform::Bucket(4)}, "bucket"), IsOk());
  EXPECT_EQ(Fields(renamed), "1000:part=identity(2) 1002:bucket=bucket[4](1)");
}

TEST(PartitionUpdate, DropsByNameAndByTerm) {
  const spec::TableMetadata base = Base();
  PartitionUpdate by_name(base, "db.t");
  ASSERT_THAT(by_name.Drop("part"), IsOk());
  EXPECT_EQ(Fields(by_name), "none");
  PartitionUpdate by_term(base, "db.t");
  ASSERT_THAT(by_term.Drop(PartitionTerm{"part", Transform::Identity()}), IsOk());
  ASSERT_THAT(by_term.Add({"part", Transform::Identity()}, std::nullopt), IsOk());
  EXPECT_EQ(Fields(by_term), "unchanged");
}

TEST(PartitionUpdate, VersionOneTablesKeepDroppedFieldsAsVoid) {
  const spec::TableMetadata base = Base(1);
  PartitionUpdate update(base, "db.t");
  ASSERT_THAT(update.Drop("part"), IsOk());
  ASSERT_THAT(update.Add({"part", Transform::Truncate(1)}, "part_1"), IsOk());
  EXPECT_EQ(Fields(update), "1000:part=void(2) 1002:part_1=truncate[1](2)");
}

TEST(PartitionUpdate, RefusesDoublesAndUnknownNames) {
  const spec::TableMetadata base = Base();
  PartitionUpdate update(base, "db.t");
  EXPECT_EQ(ErrorOf(update.Add({"part", Transform::Identity()}, "p2")), "db.t is partitioned so already: part");
  EXPECT_EQ(ErrorOf(update.Add({"id", Transform::Bucket(2)}, "PART")),
            "db.t has a partition field of that name already: PART");
  EXPECT_EQ(ErrorOf(update.Add({"pat", Transform::Bucket(2)}, std::nullopt)),
            "column 'pat' not found in db.t (did you mean part?)");
  EXPECT_EQ(ErrorOf(update.Drop("shard")), "db.t has no partition field shard (it has part)");
  EXPECT_EQ(ErrorOf(update.Drop(PartitionTerm{"id", Transform::Bucket(4)})),
            "db.t has no partition field bucket[4] of id (it has part)");
  ASSERT_THAT(update.Add({"at", Transform::Of(Transform::Kind::kDay)}, std::nullopt), IsOk());
  EXPECT_EQ(ErrorOf(update.Add({"at", Transform::Of(Transform::Kind::kHour)}, std::nullopt)),
            "column at has a time partition already: at_day (ALTER TABLE ... REPLACE PARTITION FIELD at_day WITH ...)");
  PartitionUpdate unfit(base, "db.t");
  ASSERT_THAT(unfit.Add({"part", Transform::Of(Transform::Kind::kDay)}, std::nullopt), IsOk());
  EXPECT_EQ(Fields(unfit), "partition field 'part_day': transform day does not apply to type string");
}

}  // namespace
}  // namespace frazil::table
