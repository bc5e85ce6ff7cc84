#include "frazil/spec/partition_spec.h"

#include <limits>

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

Field Column(int id, std::string name, const char* type) {
  return {.id = FieldId{id}, .name = std::move(name), .type = Type::ParsePrimitive(type).value()};
}

SchemaPtr Flights() {
  std::vector<Field> fields = {Column(1, "carrier", "string"), Column(2, "time_hour", "timestamptz"),
                               Column(3, "payload", "variant")};
  fields.push_back({.id = FieldId{4}, .name = "stops", .type = Type::ListOf(Column(5, "", "int"))});
  fields.push_back({.id = FieldId{6}, .name = "plane", .type = Type::StructOf({Column(7, "tail", "string")})});
  return Schema::Make(SchemaId{0}, std::move(fields)).value();
}

PartitionField On(int source, int id, std::string name, const char* transform) {
  return {.source_id = FieldId{source},
          .field_id = FieldId{id},
          .name = std::move(name),
          .transform = Transform::Parse(transform)};
}

Status Validate(std::vector<PartitionField> fields) {
  return PartitionSpec(SpecId{0}, std::move(fields)).Validate(*Flights());
}

TEST(PartitionSpec, AcceptsWhatTheSpecAllows) {
  EXPECT_THAT(Validate({}), IsOk());
  EXPECT_THAT(Validate({On(2, 1000, "time_hour_month", "month"), On(1, 1001, "carrier_bucket", "bucket[4]")}), IsOk());
  EXPECT_THAT(Validate({On(1, 1000, "b8", "bucket[8]"), On(1, 1001, "b16", "bucket[16]")}), IsOk());
  EXPECT_THAT(Validate({On(1, 1000, "carrier", "identity")}), IsOk());
  EXPECT_THAT(Validate({On(1, 1000, "carrier", "void")}), IsOk());
  EXPECT_THAT(Validate({On(7, 1000, "plane.tail", "identity")}), IsOk());
}

TEST(PartitionSpec, DroppedAndUnknownFieldsStillLoad) {
  EXPECT_THAT(Validate({On(99, 1000, "gone", "void")}), IsOk());
  EXPECT_THAT(Validate({On(1, 1000, "curve", "hilbert[8]")}), IsOk());
}

TEST(PartitionSpec, RefusesWhatTheSpecForbids) {
  constexpr auto kCode = ErrorCode::kInvalidArgument;
  EXPECT_THAT(Validate({On(99, 1000, "x", "identity")}), IsError(kCode, "'x' does not exist"));
  EXPECT_THAT(Validate({On(1, 1000, "x", "month")}), IsError(kCode, "'x': transform month does not apply"));
  EXPECT_THAT(Validate({On(3, 1000, "x", "identity")}), IsError(kCode, "does not apply to type variant"));
  EXPECT_THAT(Validate({On(5, 1000, "x", "identity")}), IsError(kCode, "list or map"));
  EXPECT_THAT(Validate({On(4, 1000, "x", "identity")}), IsError(kCode, "does not apply"));
  EXPECT_THAT(Validate({On(1, 1000, "", "identity")}), IsError(kCode, "no name"));
  EXPECT_THAT(Validate({On(1, 1000, "x", "identity"), On(1, 1001, "x", "bucket[4]")}), IsError(kCode, "one name"));
  EXPECT_THAT(Validate({On(1, 1000, "x", "identity"), On(1, 1000, "y", "bucket[4]")}), IsError(kCode, "one id"));
  EXPECT_THAT(Validate({On(2, 1000, "x", "month"), On(2, 1001, "y", "day")}), IsError(kCode, "'y' is redundant"));
  EXPECT_THAT(Validate({On(1, 1000, "x", "bucket[4]"), On(1, 1001, "y", "bucket[4]")}), IsError(kCode, "redundant"));
  EXPECT_THAT(Validate({On(2, 1000, "carrier", "identity")}), IsError(kCode, "name of a column"));
  EXPECT_THAT(Validate({On(1, 1000, "carrier", "bucket[4]")}), IsError(kCode, "name of a column"));
}

TEST(PartitionSpec, PathIsUrlEncodedAsJavaDoes) {
  const PartitionSpec spec(SpecId{1},
                           {On(1, 1000, "carrier code", "identity"), On(2, 1001, "time_hour_month", "month")});
  EXPECT_EQ(spec.Path({std::string("a/b c=\xc3\xa4*"), int32_t{516}}, *Flights()),
            "carrier+code=a%2Fb+c%3D%C3%A4*/time_hour_month=2013-01");
  EXPECT_EQ(spec.Path({Value(), Value()}, *Flights()), "carrier+code=null/time_hour_month=null");
  EXPECT_EQ(PartitionSpec().Path({}, *Flights()), "");
  EXPECT_EQ(PartitionSpec(SpecId{1}, {On(1, 1000, "x", "void")}).Path({Value()}, *Flights()), "");
}

TEST(PartitionSpec, ResultTypeOfADroppedSourceIsStringWhereItMatters) {
  const PartitionSpec spec(SpecId{0},
                           {On(99, 1000, "a", "identity"), On(99, 1001, "b", "day"), On(2, 1002, "c", "identity")});
  EXPECT_EQ(spec.ResultType(0, *Flights()), Type::Primitive(TypeId::kString));
  EXPECT_EQ(spec.ResultType(1, *Flights()), Type::Primitive(TypeId::kDate));
  EXPECT_EQ(spec.ResultType(2, *Flights()), Type::Primitive(TypeId::kTimestampTz));
}

TEST(PartitionSpec, CompatibilityIgnoresIds) {
  const PartitionSpec spec(SpecId{0}, {On(1, 1000, "x", "bucket[4]")});
  EXPECT_TRUE(spec.CompatibleWith(PartitionSpec(SpecId{5}, {On(1, 1007, "x", "bucket[4]")})));
  EXPECT_FALSE(spec.CompatibleWith(PartitionSpec(SpecId{0}, {On(1, 1000, "x", "bucket[5]")})));
  EXPECT_FALSE(spec.CompatibleWith(PartitionSpec(SpecId{0}, {On(1, 1000, "y", "bucket[4]")})));
  EXPECT_FALSE(spec.CompatibleWith(PartitionSpec()));
}

TEST(PartitionSpec, OnlyVoidFieldsMeanUnpartitioned) {
  EXPECT_TRUE(PartitionSpec().is_unpartitioned());
  EXPECT_TRUE(PartitionSpec(SpecId{0}, {On(1, 1000, "x", "void")}).is_unpartitioned());
  EXPECT_FALSE(PartitionSpec(SpecId{0}, {On(1, 1000, "x", "void"), On(1, 1001, "y", "identity")}).is_unpartitioned());
  EXPECT_EQ(PartitionSpec().last_assigned_field_id(), FieldId{999});
  EXPECT_EQ(PartitionSpec(SpecId{0}, {On(1, 1004, "x", "void"), On(1, 1001, "y", "identity")}).last_assigned_field_id(),
            FieldId{1004});
}

TEST(PartitionTuple, EqualTuplesHashAlike) {
  const PartitionTuple one = {Value(), std::numeric_limits<double>::quiet_NaN(), std::string("a")};
  const PartitionTuple two = {Value(), -std::numeric_limits<double>::quiet_NaN(), std::string("a")};
  EXPECT_TRUE(PartitionTupleEqual()(one, two));
  EXPECT_EQ(PartitionTupleHash()(one), PartitionTupleHash()(two));
  EXPECT_FALSE(PartitionTupleEqual()(one, {Value(), 0.0, std::string("a")}));
  EXPECT_FALSE(PartitionTupleEqual()(one, {Value()}));
}

TEST(DefaultPartitionName, FollowsJava) {
  auto name = [](const char* transform) { return DefaultPartitionName("a.b", Transform::Parse(transform)); };
  EXPECT_EQ(name("identity"), "a.b");
  EXPECT_EQ(name("bucket[4]"), "a.b_bucket");
  EXPECT_EQ(name("truncate[4]"), "a.b_trunc");
  EXPECT_EQ(name("year"), "a.b_year");
  EXPECT_EQ(name("month"), "a.b_month");
  EXPECT_EQ(name("day"), "a.b_day");
  EXPECT_EQ(name("hour"), "a.b_hour");
  EXPECT_EQ(name("void"), "a.b_null");
}

}  // namespace
}  // namespace frazil::spec
