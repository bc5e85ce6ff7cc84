#include "frazil/spec/name_mapping.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(NameMapping, FlattensNamesAliasesAndNestedFields) {
  EXPECT_THAT(ParseNameMapping(R"([{"field-id":1,"names":["id","record_id"]},
                                   {"field-id":2,"names":["tags"],"fields":[{"field-id":3,"names":["element"]}]},
                                   {"names":["ignored"]}, {"field-id":9,"names":[]}])"),
              IsOkAnd(UnorderedElementsAre(Pair("id", FieldId(1)), Pair("record_id", FieldId(1)),
                                           Pair("tags", FieldId(2)), Pair("tags.element", FieldId(3)))));
}

TEST(NameMapping, RefusesANameTwiceOnOneLevel) {
  EXPECT_THAT(ParseNameMapping(R"([{"field-id":1,"names":["a"]},{"field-id":2,"names":["a"]}])"),
              IsError(ErrorCode::kInvalidTable, "'a' is there twice"));
}

TEST(NameMapping, RefusesWhatIsNotAList) {
  EXPECT_THAT(ParseNameMapping(R"({"field-id":1})"), IsError(ErrorCode::kInvalidTable, "must be a list"));
  EXPECT_THAT(ParseNameMapping("nope"), IsError(ErrorCode::kCorruptData, "name mapping"));
}

TEST(NameMapping, OfATableThatHasNoneIsEmpty) {
  TableMetadata metadata;
  EXPECT_THAT(NameMappingOf(metadata), IsOkAnd(testing::IsEmpty()));
  metadata.properties[kNameMappingProperty] = R"([{"field-id":1,"names":["id"]}])";
  EXPECT_THAT(NameMappingOf(metadata), IsOkAnd(UnorderedElementsAre(Pair("id", FieldId(1)))));
  metadata.properties[kNameMappingProperty] = R"({"field-id":1})";
  EXPECT_THAT(NameMappingOf(metadata), IsError(ErrorCode::kInvalidTable, "must be a list"));
}

}  // namespace
}  // namespace frazil::spec
