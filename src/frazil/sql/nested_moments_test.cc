#include "frazil/sql/nested_moments.h"

#include "frazil/base/test_support.h"

namespace frazil::sql {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;

const Type kMicros = Type::Primitive(TypeId::kTimestampTz);
const Type kNanos = Type::Primitive(TypeId::kTimestampTzNs);

Field Part(std::string name, Type type) { return {.id = FieldId{1}, .name = std::move(name), .type = std::move(type)}; }

TEST(NestedMoments, LeaveOtherValuesAsTheyAre) {
  const Type moment = Type::StructOf({Part("m", kMicros)});
  for (const char* type : {"struct(m timestamp with time zone)", "struct(m timestamp)", "struct(other integer)",
                           "timestamp with time zone[]", "varchar"}) {
    EXPECT_EQ(KeepingNestedMoments("v", type, moment), "v") << type;
  }
  EXPECT_EQ(KeepingNestedMoments("v", "struct(m timestamp_ns with time zone)", Type::StructOf({Part("m", kNanos)})),
            "v");
  EXPECT_EQ(KeepingNestedMoments("v", "struct(m timestamp_ns)", moment), "v");    // has no zone
  EXPECT_EQ(KeepingNestedMoments("v", "timestamp with time zone", kNanos), "v");  // not nested
}

TEST(NestedMoments, GoThroughUtcInStructs) {
  const Type to = Type::StructOf({Part("n", Type::Primitive(TypeId::kInt)), Part("M", kMicros)});
  EXPECT_EQ(KeepingNestedMoments("v", "struct(m timestamp_ns with time zone, \"n\" integer)", to),
            "CASE WHEN (v) IS NOT NULL THEN struct_pack(\"m\" := (CAST((v).\"m\" AS TIMESTAMP) AT TIME ZONE 'UTC'), "
            "\"n\" := (v).\"n\") END");
  EXPECT_EQ(
      KeepingNestedMoments("v", "struct(\"a b\" timestamp with time zone)", Type::StructOf({Part("a b", kNanos)})),
      "CASE WHEN (v) IS NOT NULL THEN struct_pack(\"a b\" := (((v).\"a b\") AT TIME ZONE 'UTC')) END");
}

TEST(NestedMoments, AreOfTheSessionsZoneWhereTheyHaveNone) {
  const Type list = Type::ListOf(Part("element", kNanos));
  for (const char* type : {"timestamp[]", "date[]", "timestamp_s[]"}) {
    EXPECT_EQ(KeepingNestedMoments("v", type, list),
              "list_transform(v, lambda frazil_e0: (CAST(frazil_e0 AS TIMESTAMPTZ) AT TIME ZONE 'UTC'))")
        << type;
  }
  EXPECT_EQ(KeepingNestedMoments("v", "varchar[]", list),
            "list_transform(v, lambda frazil_e0: make_timestamp_ns(epoch_us(CAST(frazil_e0 AS TIMESTAMPTZ)) * 1000 + "
            "(epoch_ns(CAST(frazil_e0 AS TIMESTAMP_NS)) % 1000 + 1000) % 1000))");
  EXPECT_EQ(KeepingNestedMoments("v", "timestamp_ns[]", list), "v");  // is in UTC
}

TEST(NestedMoments, GoThroughUtcInListsAndMapsAtAnyDepth) {
  const Type lists = Type::ListOf(Part("element", Type::ListOf(Part("element", kNanos))));
  EXPECT_EQ(KeepingNestedMoments("v", "timestamp with time zone[][]", lists),
            "list_transform(v, lambda frazil_e0: list_transform(frazil_e0, lambda frazil_e1: ((frazil_e1) AT TIME ZONE "
            "'UTC')))");
  const Type map = Type::MapOf(Part("key", kMicros), Part("value", Type::ListOf(Part("element", kMicros))));
  EXPECT_EQ(
      KeepingNestedMoments("v", "map(timestamp with time zone, timestamp_ns with time zone[])", map),
      "map_from_entries(list_transform(map_entries(v), lambda frazil_e0: struct_pack(\"key\" := frazil_e0.\"key\", "
      "\"value\" := list_transform(frazil_e0.\"value\", lambda frazil_e1: (CAST(frazil_e1 AS TIMESTAMP) AT TIME ZONE "
      "'UTC')))))");
}

}  // namespace
}  // namespace frazil::sql
