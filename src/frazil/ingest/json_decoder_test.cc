#include "frazil/ingest/json_decoder.h"

#include <arrow/api.h>

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr ChangeKind kU = ChangeKind::kUpsert;
constexpr ChangeKind kT = ChangeKind::kTombstone;
constexpr ChangeKind kP = ChangeKind::kPoison;

Field MakeField(int id, std::string name, Type type, bool required = false) {
  return {.id = FieldId{id}, .name = std::move(name), .required = required, .type = std::move(type)};
}

spec::SchemaPtr Columns() {
  Field with_default = MakeField(3, "n", Type::Primitive(TypeId::kInt));
  with_default.write_default = int32_t{7};
  auto schema = spec::Schema::Make(spec::SchemaId{0},
                                   {MakeField(1, "id", Type::Primitive(TypeId::kLong), true),
                                    MakeField(2, "name", Type::Primitive(TypeId::kString)), with_default},
                                   {FieldId{1}});
  EXPECT_THAT(schema, IsOk());
  return *schema;
}

JsonDecoder Decoder(JsonDecoderOptions options = {}, spec::SchemaPtr schema = Columns()) {
  auto decoder = JsonDecoder::Make(std::move(schema), std::move(options));
  EXPECT_THAT(decoder, IsOk());
  return *std::move(decoder);
}

/// The rows as JSON-like text, one line each.
std::vector<std::string> RowsOf(const ChangeBatch& batch) {
  const arrow::Status valid = batch.rows->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  EXPECT_EQ(batch.rows->num_rows(), static_cast<int64_t>(batch.kinds.size()));
  std::vector<std::string> rows;
  for (int64_t i = 0; i < batch.rows->num_rows(); ++i) {
    std::string text;
    for (const auto& column : batch.rows->columns()) {
      text += (text.empty() ? "" : "|") + column->GetScalar(i).ValueOrDie()->ToString();
    }
    rows.push_back(text);
  }
  return rows;
}

TEST(JsonDecoder, FillsColumnsByNameInAnyOrder) {
  JsonDecoder decoder = Decoder();
  ASSERT_THAT(decoder.Decode(R"({"id": 1, "name": "a", "n": 2})"), IsOk());
  ASSERT_THAT(decoder.Decode(R"({"n": 3, "id": 2, "name": null})"), IsOk());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  EXPECT_THAT(batch.kinds, ElementsAre(kU, kU));
  EXPECT_THAT(RowsOf(batch), ElementsAre("1|a|2", "2|null|3"));
}

TEST(JsonDecoder, GivesAbsentColumnsTheirWriteDefaultElseNull) {
  JsonDecoder decoder = Decoder();
  ASSERT_THAT(decoder.Decode(R"({"id": 1})"), IsOk());
  ASSERT_THAT(decoder.Decode(R"({"id": 1, "n": null})"), IsOk());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  EXPECT_THAT(RowsOf(batch), ElementsAre("1|null|7", "1|null|null"));
}

TEST(JsonDecoder, PassesBlankLinesOverAndTakesCarriageReturns) {
  JsonDecoder decoder = Decoder();
  for (const char* line : {"", " ", "\r", " \t\r", "{\"id\": 1}\r"}) ASSERT_THAT(decoder.Decode(line), IsOk());
  EXPECT_EQ(decoder.num_rows(), 1);
}

TEST(JsonDecoder, CountsMembersThatAreNoColumn) {
  JsonDecoder decoder = Decoder();
  ASSERT_THAT(decoder.Decode(R"({"id": 1, "x": {"deep": [1]}, "y": 2})"), IsOk());
  ASSERT_THAT(decoder.Decode(R"({"id": 1, "x": 1})"), IsOk());
  EXPECT_THAT(decoder.ignored_members(), ElementsAre(Pair("x", 2), Pair("y", 1)));
}

TEST(JsonDecoder, RefusesWhatIsNoGoodRecordAndGoesOn) {
  for (const std::string& line : std::vector<std::string>{
           "1",
           "[]",
           "null",
           "\"x\"",
           "{",
           "{}",
           R"({"id": 1} {"id": 2})",
           R"({"id": 1,})",
           R"({'id': 1})",
           R"({"id": null})",
           R"({"id": "1"})",
           R"({"name": "a"})",
           R"({"id": 1, "name": 5})",
           R"({"id": 1, "id": 1})",
           R"({"id": 1, "name": "a", "name": "b"})",
           R"({"id": 18446744073709551616})",  // more than 64 bits
           R"({"id": 1, "x": 1e999})",         // no double
           R"({"id": 1, "name": "\ud800"})",   // half a surrogate pair
           R"({"id": 1, "name": "\udc00\ud800"})",
           R"({"id": 1, "name": "\uZZZZ"})",
           "{\"id\": 1, \"name\": \"\xff\"}",          // no UTF-8
           "{\"id\": 1, \"name\": \"\xc0\x80\"}",      // overlong
           "{\"id\": 1, \"name\": \"\xed\xa0\x80\"}",  // a surrogate in UTF-8
           "{\"id\": 1, \"name\": \"a\nb\"}",          // a control character
           std::string("{\"id\": 1}\0{\"id\": 2}", 19),
           "{\"id\": 1, \"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}",
           "{\"id\": 1, \"x\": " + std::string(100'000, '['),
       }) {
    JsonDecoder decoder = Decoder();
    ASSERT_THAT(decoder.Decode(R"({"id": 8, "name": "before"})"), IsOk());
    const Status refused = decoder.Decode(line);
    ASSERT_FALSE(refused) << line.substr(0, 80);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << line.substr(0, 80);
    ASSERT_THAT(decoder.Decode(R"({"id": 9, "name": "after", "n": 1})"), IsOk());
    ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
    const std::vector<std::string> rows = RowsOf(batch);
    EXPECT_EQ(rows.front(), "8|before|7");
    EXPECT_EQ(rows.back(), "9|after|1");
    for (size_t i = 1; i + 1 < rows.size(); ++i) EXPECT_EQ(batch.kinds[i], kP);
  }
}

TEST(JsonDecoder, TakesHalfARecordBackWhenALaterColumnIsBad) {
  JsonDecoder decoder = Decoder();
  ASSERT_FALSE(decoder.Decode(R"({"name": "x", "id": 1, "n": "bad"})"));
  ASSERT_THAT(decoder.Decode(R"({"id": 2})"), IsOk());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  EXPECT_THAT(batch.kinds, ElementsAre(kP, kU));
  EXPECT_EQ(RowsOf(batch)[1], "2|null|7");
}

TEST(JsonDecoder, StartsAnewAfterFinish) {
  JsonDecoder decoder = Decoder();
  ASSERT_THAT(decoder.Decode(R"({"id": 1})"), IsOk());
  ASSERT_THAT(decoder.Finish(), IsOk());
  EXPECT_EQ(decoder.num_rows(), 0);
  EXPECT_EQ(decoder.buffered_bytes(), 0);
  ASSERT_THAT(decoder.Decode(R"({"id": 2})"), IsOk());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  EXPECT_THAT(RowsOf(batch), ElementsAre("2|null|7"));
}

TEST(JsonDecoder, DoesWhatTheOperationMemberSays) {
  JsonDecoder decoder = Decoder({.form = JsonForm::kFlat, .op_column = "op"});
  for (const char* word : {"i", "c", "r", "u", "upsert", "insert", "update"}) {
    ASSERT_THAT(decoder.Decode(fmt::format(R"({{"op": "{}", "id": 1}})", word)), IsOk()) << word;
  }
  for (const char* word : {"d", "delete"}) {
    ASSERT_THAT(decoder.Decode(fmt::format(R"({{"op": "{}", "id": 1, "name": 17}})", word)), IsOk()) << word;
  }
  for (const char* bad : {R"({"op": "x", "id": 1})", R"({"op": "D", "id": 1})", R"({"op": null, "id": 1})",
                          R"({"id": 1})", R"({"op": "d"})", R"({"op": "d", "id": null})",
                          R"({"op": "d", "id": 1, "id": 2})", R"({"op": "i", "op": "d", "id": 1})"}) {
    EXPECT_THAT(decoder.Decode(bad), IsError(ErrorCode::kInvalidArgument, "")) << bad;
  }
  EXPECT_TRUE(decoder.ignored_members().empty());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  RowsOf(batch);
  EXPECT_EQ(std::count(batch.kinds.begin(), batch.kinds.end(), kU), 7);
  EXPECT_EQ(std::count(batch.kinds.begin(), batch.kinds.end(), kT), 2);
}

TEST(JsonDecoder, ReadsKeyAndValue) {
  JsonDecoder decoder = Decoder({.form = JsonForm::kKeyValue, .op_column = ""});
  ASSERT_THAT(decoder.Decode(R"({"key": {"id": 1}, "value": {"name": "a"}})"), IsOk());
  ASSERT_THAT(decoder.Decode(R"({"value": {"id": 2, "name": "b"}, "key": {"id": 2}})"), IsOk());
  ASSERT_THAT(decoder.Decode(R"({"key": {"id": 3, "more": 1}, "value": null})"), IsOk());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  EXPECT_THAT(batch.kinds, ElementsAre(kU, kU, kT));
  EXPECT_THAT(RowsOf(batch), ElementsAre("1|a|7", "2|b|7", "3|null|null"));
}

TEST(JsonDecoder, RefusesBadPairsOfKeyAndValue) {
  for (const char* line :
       {R"({"key": {"id": 1}})", R"({"value": {"id": 1}})", R"({"key": null, "value": {"id": 1}})",
        R"({"key": 1, "value": null})", R"({"key": {"id": 1}, "value": 1})", R"({"key": {}, "value": null})",
        R"({"key": {"id": 1}, "value": {"id": 2}})", R"({"key": {"id": 1, "id": 2}, "value": null})",
        R"({"key": {"id": 1}, "value": null, "value": {"name": "x"}})",
        R"({"key": {"id": 1}, "key": {"id": 2}, "value": null})", R"({"key": {"id": null}, "value": {"name": "x"}})"}) {
    JsonDecoder decoder = Decoder({.form = JsonForm::kKeyValue, .op_column = ""});
    EXPECT_THAT(decoder.Decode(line), IsError(ErrorCode::kInvalidArgument, "")) << line;
  }
}

TEST(JsonDecoder, BuildsNestedAndUuidColumns) {
  const Type address = Type::StructOf({MakeField(11, "city", Type::Primitive(TypeId::kString), true),
                                       MakeField(12, "zip", Type::Primitive(TypeId::kInt))});
  auto schema = spec::Schema::Make(
      spec::SchemaId{0},
      {MakeField(1, "id", Type::Primitive(TypeId::kUuid), true), MakeField(2, "address", address),
       MakeField(3, "tags", Type::ListOf(MakeField(13, "element", Type::Primitive(TypeId::kString)))),
       MakeField(4, "marks",
                 Type::MapOf(MakeField(14, "key", Type::Primitive(TypeId::kString), true),
                             MakeField(15, "value", Type::Primitive(TypeId::kLong))))},
      {FieldId{1}});
  ASSERT_THAT(schema, IsOk());
  JsonDecoder decoder = Decoder({}, *schema);
  const std::string id = R"("id": "f79c3e09-677c-4bbd-a479-3f349cb785e7")";
  ASSERT_THAT(
      decoder.Decode("{" + id + R"(, "address": {"zip": 1, "city": "x"}, "tags": ["a", null], "marks": {"k": 2}})"),
      IsOk());
  ASSERT_THAT(decoder.Decode("{" + id + R"(, "address": null, "tags": [], "marks": {}})"), IsOk());
  for (const char* bad :
       {R"("address": {"zip": 1})", R"("address": {"city": null})", R"("address": {"city": "x", "zip": "y"})",
        R"("address": {"city": "x", "city": "y"})", R"("tags": ["a", 1])", R"("tags": "a")", R"("marks": {"k": "x"})",
        R"("marks": {"k": 1, "k": 2})", R"("marks": [])"}) {
    EXPECT_THAT(decoder.Decode("{" + id + ", " + bad + "}"), IsError(ErrorCode::kInvalidArgument, "")) << bad;
  }
  ASSERT_THAT(decoder.Decode("{" + id + R"(, "tags": ["last"]})"), IsOk());
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder.Finish());
  RowsOf(batch);
  EXPECT_EQ(batch.rows->num_rows(), 12);
  const auto& tags = static_cast<const arrow::ListArray&>(*batch.rows->column(2));
  EXPECT_EQ(tags.value_length(0), 2);
  EXPECT_EQ(tags.value_length(11), 1);
}

TEST(JsonDecoder, RefusesColumnsThatJsonCannotBring) {
  auto schema = spec::Schema::Make(spec::SchemaId{0}, {MakeField(1, "nothing", Type())});
  ASSERT_THAT(schema, IsOk());
  EXPECT_THAT(JsonDecoder::Make(*schema, {}), IsError(ErrorCode::kNotSupported, "nothing"));
}

}  // namespace
}  // namespace frazil::ingest
