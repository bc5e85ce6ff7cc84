#include "frazil/index/canonical_key.h"

#include <arrow/api.h>
#include <arrow/extension/uuid.h>
#include <arrow/extension_type.h>
#include <arrow/json/from_string.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_schema.h"

namespace frazil::index {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;

spec::SchemaPtr SchemaOf(std::vector<Type> types, std::vector<int> identifiers) {
  std::vector<Field> fields;
  for (size_t i = 0; i < types.size(); ++i) {
    const int id = static_cast<int>(i) + 1;
    fields.push_back({.id = FieldId{id}, .name = "c" + std::to_string(id), .required = true, .type = types[i]});
  }
  std::vector<FieldId> ids;
  for (const int id : identifiers) ids.push_back(FieldId{id});
  auto schema = spec::Schema::Make(spec::SchemaId{0}, fields, ids);
  EXPECT_THAT(schema, IsOk());
  return *schema;
}

std::shared_ptr<arrow::Array> ArrayOf(const Type& type, const std::string& json) {
  auto arrow_type = format::ArrowTypeOf(type);
  EXPECT_THAT(arrow_type, IsOk());
  const bool is_extension = (*arrow_type)->id() == arrow::Type::EXTENSION;
  auto array = arrow::json::ArrayFromJSONString(is_extension ? arrow::fixed_size_binary(16) : *arrow_type, json);
  EXPECT_TRUE(array.ok()) << array.status().ToString();
  return is_extension ? arrow::ExtensionType::WrapArray(*arrow_type, *array) : *array;
}

std::string HexOfFirst(const Type& type, const std::string& json) {
  auto key = CanonicalKey::Make(*SchemaOf({type}, {1}), 0);
  EXPECT_THAT(key, IsOk());
  auto bytes = key->BytesOfRow({ArrayOf(type, json)}, 0);
  EXPECT_THAT(bytes, IsOk());
  return ToHex(*bytes);
}

std::string HashOf(const Type& type, const std::string& json, uint64_t seed) {
  auto key = CanonicalKey::Make(*SchemaOf({type}, {1}), seed);
  EXPECT_THAT(key, IsOk());
  auto hashes = key->HashRows({ArrayOf(type, json)});
  EXPECT_THAT(hashes, IsOk());
  return fmt::format("{:016x}{:08x}", hashes->front().high, hashes->front().low);
}

// The bytes are part of a persisted version: a change of any line below orphans every index.
TEST(CanonicalKey, HasTheWrittenDownBytesForEveryType) {
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kBoolean), "[true]"), "01");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kBoolean), "[false]"), "00");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kInt), "[1]"), "0000000000000001");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kInt), "[-2147483648]"), "ffffffff80000000");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kLong), "[-1]"), "ffffffffffffffff");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kLong), "[9223372036854775807]"), "7fffffffffffffff");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kDate), "[18628]"), "00000000000048c4");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kTime), "[86399999999]"), "000000141dd75fff");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kTimestamp), R"(["1970-01-01 00:00:01"])"), "00000000000f4240");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kTimestampTz), R"(["1970-01-01 00:00:01Z"])"), "00000000000f4240");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kTimestampNs), R"(["1970-01-01 00:00:01"])"), "000000003b9aca00");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kTimestampTzNs), R"(["1970-01-01 00:00:01Z"])"), "000000003b9aca00");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kString), R"(["abc"])"), "00000003616263");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kString), R"([""])"), "00000000");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kBinary), R"(["abc"])"), "00000003616263");
  EXPECT_EQ(HexOfFirst(Type::FixedOf(3), R"(["abc"])"), "616263");
  EXPECT_EQ(HexOfFirst(Type::Primitive(TypeId::kUuid), R"(["0123456789abcdef"])"), "30313233343536373839616263646566");
}

TEST(CanonicalKey, WritesDecimalsInTheFewestBytes) {
  const Type money = Type::DecimalOf(38, 2);
  EXPECT_EQ(HexOfFirst(money, R"(["0.00"])"), "0100");
  EXPECT_EQ(HexOfFirst(money, R"(["1.27"])"), "017f");
  EXPECT_EQ(HexOfFirst(money, R"(["1.28"])"), "020080");
  EXPECT_EQ(HexOfFirst(money, R"(["-1.28"])"), "0180");
  EXPECT_EQ(HexOfFirst(money, R"(["-1.29"])"), "02ff7f");
  EXPECT_EQ(HexOfFirst(money, R"(["999999999999999999999999999999999999.99"])"), "104b3b4ca85a86c47a098a223fffffffff");
}

TEST(CanonicalKey, IsTheSameForDecimalsOfOneScale) {
  EXPECT_EQ(HexOfFirst(Type::DecimalOf(9, 2), R"(["12.34"])"), HexOfFirst(Type::DecimalOf(30, 2), R"(["12.34"])"));
}

TEST(CanonicalKey, IsTheSameForIntAndLong) {
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kInt), "[-5]", 7), HashOf(Type::Primitive(TypeId::kLong), "[-5]", 7));
}

// Fixed: computed once with the reference XXH3-128 (seeded), top 96 bits.
TEST(CanonicalKey, StaysTheSameWhenAnIntColumnBecomesLongAfterItWasMade) {
  const Type before = Type::Primitive(TypeId::kInt);
  const Type after = Type::Primitive(TypeId::kLong);
  auto key = CanonicalKey::Make(*SchemaOf({before}, {1}), 7);
  ASSERT_THAT(key, IsOk());
  const auto as_int = key->HashRows({ArrayOf(before, "[1, 2, -3, 4]")});
  const auto as_long = key->HashRows({ArrayOf(after, "[1, 2, -3, 4]")});
  ASSERT_THAT(as_int, IsOk());
  ASSERT_THAT(as_long, IsOk());
  EXPECT_EQ(*as_int, *as_long);
  EXPECT_EQ(ToHex(*key->BytesOfRow({ArrayOf(after, "[1, -3]")}, 1)), "fffffffffffffffd");
}

TEST(CanonicalKey, HasGoldenHashes) {
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kLong), "[1]", 0), "5e79ae406e85355c521c1711");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kLong), "[1]", 42), "220679a8076f4be7131fb766");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kString), R"(["customer-1"])", 0), "30857a07a5b0e41996306fa5");
}

// Computed by the reference implementation over the written-down bytes: persisted indexes hold these.
TEST(CanonicalKey, HasGoldenHashesForEveryType) {
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kBoolean), "[true]", 7), "d5b78bdea9181961cd212f8d");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kInt), "[-2147483648]", 7), "f8bc1f62c30106294564b3bf");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kLong), "[1]", 7), "5becd571564fe45b46fa4b3d");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kDate), "[18628]", 7), "d8f123ccebb57b6a3bfebd9e");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kTime), "[86399999999]", 7), "f83d7c27d0a8bcb780c93e37");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kTimestamp), R"(["1970-01-01 00:00:01"])", 7), "54d6526856b76a70b656383a");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kTimestampTz), R"(["1970-01-01 00:00:01Z"])", 7),
            "54d6526856b76a70b656383a");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kTimestampNs), R"(["1970-01-01 00:00:01"])", 7), "34752bdeca0c5c829fe6fe1a");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kTimestampTzNs), R"(["1970-01-01 00:00:01Z"])", 7),
            "34752bdeca0c5c829fe6fe1a");
  EXPECT_EQ(HashOf(Type::DecimalOf(38, 2), R"(["-1.29"])", 7), "bb2004f619eade32ba563217");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kString), R"(["abc"])", 7), "11290588a84d8da88d076ea5");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kString), R"([""])", 7), "b7b93d939cda15bea0197ff1");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kBinary), R"(["abc"])", 7), "11290588a84d8da88d076ea5");
  EXPECT_EQ(HashOf(Type::FixedOf(3), R"(["abc"])", 7), "8a3c1b87ceb230ee48ff56f5");
  EXPECT_EQ(HashOf(Type::Primitive(TypeId::kUuid), R"(["0123456789abcdef"])", 7), "cb6c232b1ac88085e17a5daa");
}

TEST(CanonicalKey, NamesWhatHashesDependOnInItsVersion) {
  const auto version = [](std::vector<Type> types, std::vector<int> ids, uint64_t seed) {
    auto key = CanonicalKey::Make(*SchemaOf(std::move(types), std::move(ids)), seed);
    EXPECT_THAT(key, IsOk());
    return key->version();
  };
  const Type number = Type::Primitive(TypeId::kInt);
  const Type text = Type::Primitive(TypeId::kString);
  EXPECT_EQ(version({number, text}, {1, 2}, 255), "1 seed 00000000000000ff, 1 long, 2 string");
  // Promotions that keep the bytes keep the version.
  EXPECT_EQ(version({number}, {1}, 0), version({Type::Primitive(TypeId::kLong)}, {1}, 0));
  EXPECT_EQ(version({Type::DecimalOf(9, 2)}, {1}, 0), version({Type::DecimalOf(30, 2)}, {1}, 0));
  // Everything else is another one.
  EXPECT_NE(version({Type::DecimalOf(9, 2)}, {1}, 0), version({Type::DecimalOf(9, 3)}, {1}, 0));
  EXPECT_NE(version({Type::Primitive(TypeId::kDate)}, {1}, 0), version({Type::Primitive(TypeId::kTimestamp)}, {1}, 0));
  EXPECT_NE(version({text}, {1}, 0), version({Type::Primitive(TypeId::kBinary)}, {1}, 0));
  EXPECT_NE(version({Type::FixedOf(3)}, {1}, 0), version({Type::FixedOf(4)}, {1}, 0));
  EXPECT_NE(version({number, number}, {1}, 0), version({number, number}, {2}, 0));
  EXPECT_NE(version({number, number}, {1}, 0), version({number, number}, {1, 2}, 0));
  EXPECT_NE(version({number}, {1}, 0), version({number}, {1}, 1));
}

TEST(CanonicalKey, TellsRowsWithoutKeyFromOthers) {
  const Type number = Type::Primitive(TypeId::kLong);
  ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*SchemaOf({number, number}, {1, 2}), 0));
  ASSERT_OK_AND_ASSIGN(const auto some,
                       key.HashNullableRows({ArrayOf(number, "[1, null, 3]"), ArrayOf(number, "[1, 2, null]")}));
  EXPECT_THAT(some.has_no_key, ElementsAre(false, true, true));
  ASSERT_OK_AND_ASSIGN(const auto expected, key.HashRows({ArrayOf(number, "[1]"), ArrayOf(number, "[1]")}));
  EXPECT_EQ(some.hashes[0], expected[0]);
  ASSERT_OK_AND_ASSIGN(const auto none, key.HashNullableRows({ArrayOf(number, "[1]"), ArrayOf(number, "[1]")}));
  EXPECT_TRUE(none.has_no_key.empty());
  EXPECT_EQ(none.hashes, expected);
}

TEST(CanonicalKey, OrdersFieldsByIdWhateverTheirOrder) {
  const Type number = Type::Primitive(TypeId::kLong);
  const Type text = Type::Primitive(TypeId::kString);
  ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*SchemaOf({number, text, number}, {3, 2}), 0));
  EXPECT_THAT(key.field_ids(), ElementsAre(FieldId{2}, FieldId{3}));
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, key.BytesOfRow({ArrayOf(text, R"(["x"])"), ArrayOf(number, "[2]")}, 0));
  EXPECT_EQ(ToHex(bytes), "00000001780000000000000002");
}

// Lengths come first, so no pair of texts can be read as another pair.
TEST(CanonicalKey, KeepsNeighbouringTextsApart) {
  const Type text = Type::Primitive(TypeId::kString);
  ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*SchemaOf({text, text}, {1, 2}), 0));
  ASSERT_OK_AND_ASSIGN(const auto hashes,
                       key.HashRows({ArrayOf(text, R"(["ab", "a"])"), ArrayOf(text, R"(["c", "bc"])")}));
  EXPECT_NE(hashes[0], hashes[1]);
}

TEST(CanonicalKey, ReadsSlicedArraysFromTheirOffset) {
  for (const auto& [type, json] : std::vector<std::pair<Type, std::string>>{
           {Type::Primitive(TypeId::kBoolean), "[true, false, true]"},
           {Type::Primitive(TypeId::kInt), "[1, 2, 3]"},
           {Type::Primitive(TypeId::kString), R"(["a", "bb", "ccc"])"},
           {Type::Primitive(TypeId::kUuid), R"(["0000000000000000", "1111111111111111", "2222222222222222"])"},
           {Type::DecimalOf(20, 0), R"(["1", "200", "70000"])"}}) {
    ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*SchemaOf({type}, {1}), 0));
    const auto array = ArrayOf(type, json);
    ASSERT_OK_AND_ASSIGN(const auto whole, key.HashRows({array}));
    ASSERT_OK_AND_ASSIGN(const auto sliced, key.HashRows({array->Slice(1, 2)}));
    EXPECT_THAT(sliced, ElementsAre(whole[1], whole[2])) << type.ToString();
  }
}

// Rows are hashed in blocks, column by column: the bytes are those of each row alone.
TEST(CanonicalKey, HashesManyRowsAsItHashesOne) {
  const Type text = Type::Primitive(TypeId::kString);
  const Type whole = Type::Primitive(TypeId::kInt);
  const Type number = Type::Primitive(TypeId::kLong);
  ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*SchemaOf({number, text, whole}, {1, 2, 3}), 5));
  std::string numbers, texts, wholes;
  constexpr int kRows = 1000;
  for (int i = 0; i < kRows; ++i) {
    numbers += fmt::format("{}{}", i == 0 ? "[" : ", ", i * 7919);
    texts += fmt::format(R"({}"{}")", i == 0 ? "[" : ", ", std::string(static_cast<size_t>(i % 41), 'x'));
    wholes += fmt::format("{}{}", i == 0 ? "[" : ", ", -i);
  }
  const std::vector<std::shared_ptr<arrow::Array>> columns = {ArrayOf(number, numbers + "]")->Slice(3),
                                                              ArrayOf(text, texts + "]")->Slice(3),
                                                              ArrayOf(whole, wholes + "]")->Slice(3)};
  ASSERT_OK_AND_ASSIGN(const auto hashes, key.HashRows(columns));
  ASSERT_EQ(hashes.size(), size_t{kRows - 3});
  for (size_t row = 0; row < hashes.size(); ++row) {
    ASSERT_OK_AND_ASSIGN(const Bytes bytes, key.BytesOfRow(columns, static_cast<int64_t>(row)));
    EXPECT_EQ(hashes[row], HashKey(bytes, 5));
  }
}

TEST(CanonicalKey, RefusesNullsNamingTheColumn) {
  const Type number = Type::Primitive(TypeId::kLong);
  ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*SchemaOf({number}, {1}), 0));
  EXPECT_THAT(key.HashRows({ArrayOf(number, "[1, null]")}), IsError(ErrorCode::kInvalidArgument, "c1"));
  EXPECT_THAT(key.BytesOfRow({ArrayOf(number, "[1, null]")}, 1), IsError(ErrorCode::kInvalidArgument, "c1"));
  EXPECT_THAT(key.BytesOfRow({ArrayOf(number, "[1, null]")}, 0), IsOk());
}

TEST(CanonicalKey, RefusesTablesWithoutIdentifierFields) {
  EXPECT_THAT(CanonicalKey::Make(*SchemaOf({Type::Primitive(TypeId::kLong)}, {}), 0),
              IsError(ErrorCode::kInvalidArgument, "--identifier-fields"));
}

}  // namespace
}  // namespace frazil::index
