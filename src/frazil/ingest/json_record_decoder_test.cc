#include "frazil/ingest/json_record_decoder.h"

#include "frazil/ingest/avro_test_support.h"

namespace frazil::ingest {
namespace {

using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

spec::SchemaPtr Table() {
  return SchemaOf({Column(1, "id", TypeId::kLong, true), Column(2, "name", TypeId::kString),
                   Column(3, "at", TypeId::kTimestampTz)});
}

class JsonRecordDecoderTest : public ::testing::Test {
 protected:
  JsonRecordDecoderTest() {
    columns_.value_format = RecordFormat::kJson;
    columns_.key_format = RecordFormat::kJson;
  }

  void Start(spec::SchemaPtr schema = Table(), std::shared_ptr<SchemaRegistry> registry = nullptr) {
    auto decoder = MakeJsonRecordDecoder(std::move(schema), columns_, std::move(registry));
    ASSERT_THAT(decoder, IsOk());
    decoder_ = *std::move(decoder);
  }

  Decoded Take(std::optional<std::string_view> key, std::optional<std::string_view> value) {
    if (decoder_ == nullptr) Start();
    SourceRecord record;
    record.key = key;
    record.value = value;
    const Result<Decoded> decoded = decoder_->Decode(record);
    EXPECT_THAT(decoded, IsOk());
    return decoded ? *decoded : Decoded::kPoison;
  }

  std::vector<std::string> Rows() {
    auto batch = decoder_->Finish();
    EXPECT_THAT(batch, IsOk());
    return RowsOf(*batch);
  }

  RecordColumns columns_;
  std::unique_ptr<RecordDecoder> decoder_;
};

TEST_F(JsonRecordDecoderTest, FillsColumnsAndIgnoresOtherMembers) {
  EXPECT_EQ(Take({}, R"({"name": "a", "other": {"x": [1]}, "id": 1, "at": "2024-02-29 12:00:00.5+01:00"})"),
            Decoded::kRow);
  EXPECT_EQ(Take({}, R"({"id": 2})"), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|a|2024-02-29 11:00:00.500000Z", "2|null|null"));
}

TEST_F(JsonRecordDecoderTest, PoisonLeavesNothingBehind) {
  EXPECT_EQ(Take({}, R"({"id": 1, "name": "a"})"), Decoded::kRow);
  for (const char* value :
       {"", "{", "[1]", "1", R"({"name": "a"})", R"({"id": null})", R"({"id": "1"})", R"({"id": 1.5})",
        R"({"id": 1, "name": 5})", R"({"id": 1, "id": 2})", "{\"id\": 1, \"name\": \"\xff\"}", R"({"id": 1} x)"}) {
    EXPECT_EQ(Take({}, value), Decoded::kPoison) << value;
    EXPECT_FALSE(decoder_->why().empty());
  }
  EXPECT_EQ(Take({}, R"({"id": 2, "name": "b"})"), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|a|null", "2|b|null"));
}

TEST_F(JsonRecordDecoderTest, TakesTombstonesFromTheKey) {
  EXPECT_EQ(Take(R"({"id": 7, "more": 1})", {}), Decoded::kRow);
  EXPECT_EQ(Take(R"({"ident": 7})", {}), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("a tombstone whose key lacks identifier column 'id'"));
  EXPECT_EQ(Take(R"({"id": 8})", R"({"name": "from value"})"), Decoded::kRow);
  EXPECT_EQ(Take(R"({"id": 8})", R"({"id": 9})"), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("-7|null|null", "8|from value|null", "9|null|null"));
}

TEST_F(JsonRecordDecoderTest, TakesPathsAndWholeKeys) {
  columns_.source_of = {{"id", "$key"}, {"name", "user.name"}, {"at", "$timestamp"}};
  Start();
  EXPECT_EQ(Take("7", R"({"user": {"name": "n"}})"), Decoded::kRow);
  EXPECT_EQ(Take("8", R"({"user": null, "name": "other"})"), Decoded::kRow);
  EXPECT_EQ(Take("9", {}), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("7|n|null", "8|null|null", "-9|null|null"));
}

TEST_F(JsonRecordDecoderTest, HoldsTimestampsToTheirDeclaredForm) {
  const char* sql = R"({"id": 1, "at": "2024-02-29 12:00:00.5Z"})";
  const char* iso = R"({"id": 1, "at": "2024-02-29T12:00:00.5Z"})";
  const char* no_zone = R"({"id": 1, "at": "2024-02-29T12:00:00.5"})";
  columns_.json_timestamps = JsonTimestamps::kSql;
  Start();
  EXPECT_EQ(Take({}, sql), Decoded::kRow);
  EXPECT_EQ(Take({}, iso), Decoded::kPoison);
  columns_.json_timestamps = JsonTimestamps::kIso8601;
  Start();
  EXPECT_EQ(Take({}, iso), Decoded::kRow);
  EXPECT_EQ(Take({}, sql), Decoded::kPoison);
  EXPECT_EQ(Take({}, no_zone), Decoded::kPoison);
  columns_.json_timestamps = JsonTimestamps::kAny;
  Start();
  for (const char* value : {sql, iso, no_zone}) EXPECT_EQ(Take({}, value), Decoded::kRow);
}

TEST_F(JsonRecordDecoderTest, FillsNestedColumns) {
  spec::Field with_default = Column(5, "n", TypeId::kInt, true);
  with_default.write_default = int32_t{3};
  Start(SchemaOf({Column(1, "id", TypeId::kLong, true),
                  Column(2, "s", Type::StructOf({Column(4, "u", TypeId::kUuid), with_default})),
                  Column(3, "l", Type::ListOf(Column(6, "element", TypeId::kInt, true)))}));
  EXPECT_EQ(Take({}, R"({"id": 1, "s": {"u": "f79c3e09-677c-4bbd-a479-3f349cb785e7"}, "l": [1, 2]})"), Decoded::kRow);
  EXPECT_EQ(Take({}, R"({"id": 2, "s": {"u": null, "n": 1}, "l": [1, null]})"), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("null in required column 'l.element'"));
  EXPECT_EQ(Take({}, R"({"id": 3, "l": []})"), Decoded::kRow);
  ASSERT_OK_AND_ASSIGN(const ChangeBatch batch, decoder_->Finish());
  EXPECT_TRUE(batch.rows->ValidateFull().ok());
  EXPECT_EQ(batch.rows->num_rows(), 2);
}

TEST_F(JsonRecordDecoderTest, KeysMayBeAvro) {
  auto registry = std::make_shared<TestRegistry>();
  registry->Add(1, R"({"type": "record", "name": "k", "fields": [{"name": "id", "type": "int"}]})");
  columns_.key_format = RecordFormat::kAvroConfluent;
  Start(Table(), registry);
  EXPECT_EQ(Take(Framed(1, [](format::AvroEncoder& out) { out.Int(5); }), {}), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("-5|null|null"));
  EXPECT_THAT(decoder_->key_schema_ids(), ElementsAre(1));
  EXPECT_THAT(MakeJsonRecordDecoder(Table(), columns_, nullptr),
              IsError(ErrorCode::kInvalidArgument, "avro-confluent needs a schema registry"));
}

}  // namespace
}  // namespace frazil::ingest
