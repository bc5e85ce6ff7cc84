#include "frazil/spec/schema.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

const Type kInt = Type::Primitive(TypeId::kInt);
const Type kString = Type::Primitive(TypeId::kString);

Field Required(int id, std::string name, Type type) {
  return {.id = FieldId{id}, .name = std::move(name), .required = true, .type = std::move(type)};
}
Field Optional(int id, std::string name, Type type) {
  return {.id = FieldId{id}, .name = std::move(name), .required = false, .type = std::move(type)};
}

// id, address{street, tags[element{x}]}, Prices{key: value}
SchemaPtr Nested() {
  const Type point = Type::StructOf({Required(40, "x", kInt)});
  return Schema::Make(SchemaId{7},
                      {Required(10, "id", kInt),
                       Required(20, "address",
                                Type::StructOf({Required(21, "street", kString),
                                                Optional(22, "tags", Type::ListOf(Required(23, "", point)))})),
                       Optional(30, "Prices", Type::MapOf(Required(31, "", kString), Optional(32, "", kInt)))},
                      {FieldId{21}, FieldId{10}})
      .value();
}

TEST(Schema, FieldsAreFoundByIdAndFullName) {
  const SchemaPtr schema = Nested();
  EXPECT_EQ(schema->FullName(FieldId{40}), "address.tags.element.x");
  EXPECT_EQ(schema->FindField("address.tags.element.x")->id, FieldId{40});
  EXPECT_EQ(schema->FindField("Prices.key")->id, FieldId{31});
  EXPECT_EQ(schema->FindField(FieldId{32})->name, "value");
  EXPECT_EQ(schema->FindField("street"), nullptr);
  EXPECT_EQ(schema->FindField(FieldId{99}), nullptr);
  EXPECT_EQ(schema->FullName(FieldId{99}), "");
  EXPECT_EQ(schema->highest_field_id(), FieldId{40});
  EXPECT_EQ(schema->AllFields().size(), 9U);
  EXPECT_EQ(schema->AllFields()[1].second, "address");
  EXPECT_THAT(schema->identifier_field_ids(), testing::ElementsAre(FieldId{10}, FieldId{21}));
}

TEST(Schema, PathLeadsFromTheRootToTheField) {
  const SchemaPtr schema = Nested();
  std::vector<std::string> names;
  for (const Field* field : schema->PathTo(FieldId{40})) names.push_back(field->name);
  EXPECT_THAT(names, testing::ElementsAre("address", "tags", "element", "x"));
  EXPECT_TRUE(schema->PathTo(FieldId{99}).empty());
}

TEST(Schema, AnyCaseFindsOnlyUnambiguousNames) {
  const SchemaPtr schema =
      Schema::Make(SchemaId{0}, {Optional(1, "a", kInt), Optional(2, "A", kInt), Optional(3, "Bcd", kInt)}).value();
  EXPECT_EQ(schema->FindFieldAnyCase("A")->id, FieldId{2});
  EXPECT_EQ(schema->FindFieldAnyCase("bCD")->id, FieldId{3});
  EXPECT_EQ(schema->FindField("bCD"), nullptr);
  const SchemaPtr ambiguous = Schema::Make(SchemaId{0}, {Optional(1, "ab", kInt), Optional(2, "AB", kInt)}).value();
  EXPECT_EQ(ambiguous->FindFieldAnyCase("Ab"), nullptr);
}

TEST(Schema, RefusesIdsAndNamesThatAreUsedTwice) {
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Optional(1, "a", kInt), Optional(1, "b", kInt)}),
              IsError(ErrorCode::kInvalidTable, "field id 1 is used twice: by 'a' and 'b'"));
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Optional(1, "a", kInt), Optional(2, "a", kInt)}),
              IsError(ErrorCode::kInvalidTable, "two columns have one name: 'a'"));
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Optional(1, "a", Type::ListOf(Optional(1, "", kInt)))}),
              IsError(ErrorCode::kInvalidTable, "used twice"));
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Optional(1, "", kInt)}), IsError(ErrorCode::kInvalidTable, "no name"));
}

TEST(Schema, RefusesUnfitIdentifierFields) {
  auto make = [](Field field, int id) { return Schema::Make(SchemaId{0}, {std::move(field)}, {FieldId{id}}); };
  EXPECT_THAT(make(Required(1, "a", kInt), 2), IsError(ErrorCode::kInvalidTable, "does not exist"));
  EXPECT_THAT(make(Optional(1, "a", kInt), 1), IsError(ErrorCode::kInvalidTable, "optional"));
  EXPECT_THAT(make(Required(1, "a", Type::Primitive(TypeId::kDouble)), 1),
              IsError(ErrorCode::kInvalidTable, "floating"));
  EXPECT_THAT(make(Required(1, "a", Type::Primitive(TypeId::kVariant)), 1),
              IsError(ErrorCode::kInvalidTable, "not primitive"));
  EXPECT_THAT(make(Required(1, "a", Type::ListOf(Required(2, "", kInt))), 2),
              IsError(ErrorCode::kInvalidTable, "lies in a list or map: 'a.element'"));
  EXPECT_THAT(make(Optional(1, "a", Type::StructOf({Required(2, "b", kInt)})), 2),
              IsError(ErrorCode::kInvalidTable, "optional struct: 'a.b'"));
  EXPECT_THAT(make(Required(1, "a", Type::StructOf({Required(2, "b", kInt)})), 2), IsOk());
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Required(1, "a", kInt)}, {FieldId{1}, FieldId{1}}),
              IsError(ErrorCode::kInvalidTable, "twice"));
}

TEST(Schema, RefusesUnfitDefaultsAndRequiredUnknowns) {
  Field field = Optional(1, "a", kInt);
  field.write_default = std::string("x");
  EXPECT_THAT(Schema::Make(SchemaId{0}, {field}), IsError(ErrorCode::kInvalidTable, "write-default"));
  field = Optional(1, "a", Type::Geometry(""));
  field.initial_default = Bytes{};
  EXPECT_THAT(Schema::Make(SchemaId{0}, {field}), IsError(ErrorCode::kInvalidTable, "must be null"));
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Required(1, "a", Type())}), IsError(ErrorCode::kInvalidTable, "optional"));
}

TEST(Schema, RefusesBottomlessNesting) {
  Type type = kInt;
  for (int i = 0; i < 1000; ++i) type = Type::ListOf(Optional(i + 2, "", type));
  EXPECT_THAT(Schema::Make(SchemaId{0}, {Optional(1, "a", type)}), IsError(ErrorCode::kInvalidTable, "levels deep"));
}

TEST(Schema, FreshIdsNumberALevelBeforeWhatLiesInside) {
  ASSERT_OK_AND_ASSIGN(const SchemaPtr fresh, AssignFreshIds(*Nested()));
  std::vector<std::pair<int, std::string>> ids;
  for (const auto& [field, name] : fresh->AllFields()) ids.emplace_back(field->id.value(), name);
  EXPECT_THAT(ids, testing::UnorderedElementsAre(
                       testing::Pair(1, "id"), testing::Pair(2, "address"), testing::Pair(3, "Prices"),
                       testing::Pair(4, "address.street"), testing::Pair(5, "address.tags"),
                       testing::Pair(6, "address.tags.element"), testing::Pair(7, "address.tags.element.x"),
                       testing::Pair(8, "Prices.key"), testing::Pair(9, "Prices.value")));
  EXPECT_THAT(fresh->identifier_field_ids(), testing::ElementsAre(FieldId{1}, FieldId{4}));
  EXPECT_THAT(AssignFreshIds(*Nested(), FieldId{kMaxUserFieldId.value() - 3}),
              IsError(ErrorCode::kInvalidArgument, "too many columns"));
}

TEST(Schema, SameAsLooksAtEverythingButTheSchemaId) {
  const SchemaPtr schema = Nested();
  EXPECT_TRUE(schema->SameAs(*schema->WithId(SchemaId{8})));
  EXPECT_EQ(schema->WithId(SchemaId{8})->id(), SchemaId{8});
  EXPECT_FALSE(schema->SameAs(*Schema::Make(SchemaId{7}, schema->fields()).value()));
  EXPECT_FALSE(schema->SameAs(*AssignFreshIds(*schema).value()));
}

TEST(NearestName, FindsSlipsAndNothingElse) {
  const std::vector<std::string> names = {"carrier", "flight", "dep_time", "origin"};
  EXPECT_EQ(NearestName("carier", names), "carrier");
  EXPECT_EQ(NearestName("DEPTIME", names), "dep_time");
  EXPECT_EQ(NearestName("fligth", names), "flight");
  EXPECT_EQ(NearestName("altitude", names), "");
  EXPECT_EQ(NearestName("x", {"y"}), "");
  EXPECT_EQ(NearestName(std::string(100'000, 'x'), names), "");
}

}  // namespace
}  // namespace frazil::spec
