#include "frazil/ingest/avro_record_decoder.h"

#include "frazil/ingest/avro_test_support.h"

namespace frazil::ingest {
namespace {

using format::AvroEncoder;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kUserKv = R"({"type": "record", "name": "user_kv", "fields": [
  {"name": "app_id", "type": "long"}, {"name": "user_id", "type": "long"},
  {"name": "key", "type": "string"}, {"name": "value", "type": ["null", "string"]}]})";
constexpr const char* kUserKvKey = R"({"type": "record", "name": "user_kv_key", "fields": [
  {"name": "app_id", "type": "long"}, {"name": "user_id", "type": "long"}, {"name": "key", "type": "string"}]})";
constexpr int32_t kValueId = 258;  // more than one byte of the frame
constexpr int32_t kKeyId = 3;

spec::SchemaPtr UserKv() {
  return SchemaOf({Column(1, "app_id", TypeId::kLong, true), Column(2, "user_id", TypeId::kLong, true),
                   Column(3, "key", TypeId::kString, true), Column(4, "value", TypeId::kString)},
                  {1, 2, 3});
}

std::string Value(int64_t app, int64_t user, std::string_view key, std::optional<std::string_view> value,
                  int32_t id = kValueId) {
  return Framed(id, [&](AvroEncoder& out) {
    out.Long(app);
    out.Long(user);
    out.String(key);
    value ? out.Present() : out.Null();
    if (value) out.String(*value);
  });
}

std::string Key(int64_t app, int64_t user, std::string_view key) {
  return Framed(kKeyId, [&](AvroEncoder& out) {
    out.Long(app);
    out.Long(user);
    out.String(key);
  });
}

class AvroRecordDecoderTest : public ::testing::Test {
 protected:
  AvroRecordDecoderTest() {
    registry_->Add(kValueId, kUserKv);
    registry_->Add(kKeyId, kUserKvKey);
    columns_.key_format = RecordFormat::kAvroConfluent;
  }

  void Start(spec::SchemaPtr schema = UserKv()) {
    auto decoder = MakeAvroRecordDecoder(std::move(schema), columns_, registry_);
    ASSERT_THAT(decoder, IsOk());
    decoder_ = *std::move(decoder);
  }

  Decoded Take(std::optional<std::string_view> key, std::optional<std::string_view> value) {
    if (decoder_ == nullptr) Start();
    record_.key = key;
    record_.value = value;
    const Result<Decoded> decoded = decoder_->Decode(record_);
    EXPECT_THAT(decoded, IsOk());
    ++record_.offset;
    return decoded ? *decoded : Decoded::kPoison;
  }

  std::vector<std::string> Rows() {
    auto batch = decoder_->Finish();
    EXPECT_THAT(batch, IsOk());
    return RowsOf(*batch);
  }

  std::shared_ptr<TestRegistry> registry_ = std::make_shared<TestRegistry>();
  RecordColumns columns_;
  std::unique_ptr<RecordDecoder> decoder_;
  SourceRecord record_;
};

TEST_F(AvroRecordDecoderTest, FillsTheTablesColumns) {
  EXPECT_EQ(Take({}, Value(7, -1, "theme", "dark")), Decoded::kRow);
  EXPECT_EQ(Take({}, Value(8, int64_t{1} << 40, "größe", std::nullopt)), Decoded::kRow);
  EXPECT_EQ(decoder_->num_rows(), 2);
  EXPECT_GT(decoder_->buffered_bytes(), 0);
  EXPECT_THAT(Rows(), ElementsAre("7|-1|theme|dark", "8|1099511627776|größe|null"));
  EXPECT_EQ(decoder_->num_rows(), 0);
  EXPECT_EQ(Take({}, Value(1, 1, "a", "b")), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|1|a|b"));
  EXPECT_THAT(decoder_->value_schema_ids(), ElementsAre(kValueId));
}

TEST_F(AvroRecordDecoderTest, TakesTombstonesFromTheKey) {
  EXPECT_EQ(Take(Key(7, 1, "theme"), {}), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("-7|1|theme|null"));
  EXPECT_THAT(decoder_->key_schema_ids(), ElementsAre(kKeyId));
}

TEST_F(AvroRecordDecoderTest, TombstoneWhoseKeyLacksAnIdentifierIsPoison) {
  registry_->Add(4, R"({"type": "record", "name": "k", "fields": [{"name": "app_id", "type": "long"}]})");
  EXPECT_EQ(Take(Framed(4, [](AvroEncoder& out) { out.Long(1); }), {}), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("lacks identifier column 'user_id'"));
  EXPECT_EQ(Take({}, {}), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("without a key"));
  EXPECT_THAT(Rows(), ElementsAre());
}

TEST_F(AvroRecordDecoderTest, PoisonLeavesNothingBehind) {
  const std::string good = Value(7, 1, "theme", "dark");
  EXPECT_EQ(Take({}, good), Decoded::kRow);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Take({}, std::string_view(good).substr(0, size)), Decoded::kPoison) << size;
  }
  EXPECT_EQ(Take({}, good + "x"), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("bytes are left behind the Avro value: 1"));
  EXPECT_EQ(Take({}, Value(7, 1, "bad \xff text", "dark")), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("text of column 'key' is not UTF-8"));
  EXPECT_EQ(Take({}, "\x01" + good.substr(1)), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("not framed for a schema registry: the first byte is 1"));
  EXPECT_EQ(Take({}, Value(7, 1, "theme", "dark", 99)), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("schema not found in the registry: 99"));
  EXPECT_EQ(Take({}, good), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("7|1|theme|dark", "7|1|theme|dark"));
}

TEST_F(AvroRecordDecoderTest, WaitsForARegistryThatIsAway) {
  Start();
  registry_->is_away = true;
  const std::string value = Value(7, 1, "theme", "dark");
  record_.value = value;
  EXPECT_THAT(decoder_->Decode(record_), IsError(ErrorCode::kUnavailable, "registry away"));
  registry_->is_away = false;
  EXPECT_EQ(Take({}, value), Decoded::kRow);
  registry_->is_away = true;  // known by now
  EXPECT_EQ(Take({}, value), Decoded::kRow);
}

TEST_F(AvroRecordDecoderTest, TakesRecordsOfSeveralSchemasInTurn) {
  registry_->Add(5, R"({"type": "record", "name": "user_kv", "fields": [{"name": "value", "type": "string"},
      {"name": "key", "type": "string"}, {"name": "user_id", "type": "int"}, {"name": "app_id", "type": "long"}]})");
  const std::string other = Framed(5, [](AvroEncoder& out) {
    out.String("v");
    out.String("k");
    out.Int(2);
    out.Long(1);
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Take({}, other), Decoded::kRow);
    EXPECT_EQ(Take({}, Value(7, 1, "theme", "dark")), Decoded::kRow);
  }
  EXPECT_THAT(Rows(), ElementsAre("1|2|k|v", "7|1|theme|dark", "1|2|k|v", "7|1|theme|dark"));
  EXPECT_THAT(decoder_->value_schema_ids(), ElementsAre(5, kValueId));
}

TEST_F(AvroRecordDecoderTest, TakesColumnsFromWhereTheMappingSays) {
  columns_.source_of = {{"app", "app_id"},       {"at", "$timestamp"}, {"part", "$partition"}, {"pos", "$offset"},
                        {"trace", "$headers.t"}, {"k2", "$key.key"},   {"value", "value"},     {"copy", "value"}};
  columns_.ignored_fields = {"key", "user_id"};
  Start(SchemaOf({Column(1, "app", TypeId::kLong, true), Column(2, "at", TypeId::kTimestampTz),
                  Column(3, "part", TypeId::kInt), Column(4, "pos", TypeId::kLong), Column(5, "trace", TypeId::kString),
                  Column(6, "k2", TypeId::kString), Column(7, "value", TypeId::kString),
                  Column(8, "copy", TypeId::kBinary)}));
  record_.partition = 3;
  record_.offset = 41;
  record_.timestamp_ms = 1'500;
  const std::vector<std::pair<std::string_view, std::string_view>> headers = {
      {"t", "first"}, {"u", "x"}, {"t", "last"}};
  record_.headers = headers;
  EXPECT_EQ(Take(Key(1, 2, "from key"), Value(7, 1, "theme", "dark")), Decoded::kRow);
  record_.headers = {};
  record_.timestamp_ms.reset();
  EXPECT_EQ(Take({}, Value(8, 1, "theme", std::nullopt)), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("7|1970-01-01 00:00:01.500000Z|3|41|last|from key|dark|dark",
                                  "8|null|3|42|null|null|null|null"));
}

TEST_F(AvroRecordDecoderTest, ValueWinsOverKeyUnlessTheMappingSaysKey) {
  EXPECT_EQ(Take(Key(1, 2, "key's"), Value(7, 1, "value's", "dark")), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("7|1|value's|dark"));
  columns_.source_of = {{"key", "$key.key"}};
  Start();
  EXPECT_EQ(Take(Key(1, 2, "key's"), Value(7, 1, "value's", "dark")), Decoded::kRow);
  EXPECT_EQ(Take(Key(1, 2, "key's"), {}), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("7|1|key's|dark", "-1|2|key's|null"));
}

TEST_F(AvroRecordDecoderTest, IdentifiersThatTheValueLacksComeFromTheKey) {
  registry_->Add(6, R"({"type": "record", "name": "v", "fields": [{"name": "value", "type": "string"},
                        {"name": "app_id", "type": "long"}]})");
  const std::string value = Framed(6, [](AvroEncoder& out) {
    out.String("dark");
    out.Long(70);
  });
  EXPECT_EQ(Take(Key(7, 1, "theme"), value), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("70|1|theme|dark"));
  EXPECT_EQ(Take({}, value), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("identifier column 'user_id' is neither in the value nor in the key"));
}

TEST_F(AvroRecordDecoderTest, KeyMayNameAnIdentifierAsTheValueDoes) {
  columns_.source_of = {{"app", "app_id"}};
  columns_.adds_columns = false;
  Start(SchemaOf({Column(1, "app", TypeId::kLong, true), Column(2, "value", TypeId::kString)}));
  EXPECT_EQ(Take(Key(7, 1, "theme"), {}), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("-7|null"));
}

TEST_F(AvroRecordDecoderTest, RawKeysFillOneColumn) {
  columns_.key_format = RecordFormat::kRaw;
  columns_.source_of = {{"id", "$key"}};
  columns_.adds_columns = false;
  Start(SchemaOf({Column(1, "id", TypeId::kLong, true), Column(2, "value", TypeId::kString)}));
  const std::string_view key("\0\0\0\0\0\0\1\2", 8);
  EXPECT_EQ(Take(key, {}), Decoded::kRow);
  EXPECT_EQ(Take(key, Value(7, 1, "theme", "dark")), Decoded::kRow);
  EXPECT_EQ(Take("258", {}), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("raw key of 3 bytes for column 'id'"));
  EXPECT_THAT(Rows(), ElementsAre("-258|null", "258|dark"));
}

TEST_F(AvroRecordDecoderTest, NullInAnIdentifierIsPoison) {
  registry_->Add(6, R"({"type": "record", "name": "v", "fields": [{"name": "id", "type": ["null", "long"]}]})");
  Start(SchemaOf({Column(1, "id", TypeId::kLong, true)}));
  EXPECT_EQ(Take({}, Framed(6, [](AvroEncoder& out) { out.Null(); })), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("null in required column 'id'"));
}

TEST_F(AvroRecordDecoderTest, AbsentColumnsGetTheirWriteDefault) {
  spec::Field with_default = Column(5, "n", TypeId::kInt, true);
  with_default.write_default = int32_t{7};
  Start(SchemaOf({Column(1, "app_id", TypeId::kLong, true), Column(2, "user_id", TypeId::kLong, true),
                  Column(3, "key", TypeId::kString, true), Column(4, "value", TypeId::kString), with_default,
                  Column(6, "other", TypeId::kDouble)},
                 {1, 2, 3}));
  EXPECT_EQ(Take({}, Value(7, 1, "theme", "dark")), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("7|1|theme|dark|7|null"));
}

TEST_F(AvroRecordDecoderTest, ReadsBlocksOfNegativeCountAndRefusesDoubleKeys) {
  registry_->Add(6, R"({"type": "record", "name": "v", "fields": [{"name": "id", "type": "long"},
      {"name": "l", "type": {"type": "array", "items": "int"}}, {"name": "m", "type": {"type": "map", "values": "int"}}]})");
  using spec::Type;
  Start(SchemaOf(
      {Column(1, "id", TypeId::kLong, true),
       Column(2, "l", Type::ListOf(Column(3, "element", TypeId::kInt, true)), true),
       Column(4, "m", Type::MapOf(Column(5, "key", TypeId::kString, true), Column(6, "value", TypeId::kInt, true)),
              true)}));
  const auto message = [](std::string_view second_key) {
    return Framed(6, [&](AvroEncoder& out) {
      out.Long(1);
      out.Long(-2);  // two items in so many bytes
      out.Long(2);
      out.Int(5);
      out.Int(6);
      out.Long(1);
      out.Int(7);
      out.Long(0);
      out.Long(2);
      out.String("a");
      out.Int(1);
      out.String(second_key);
      out.Int(2);
      out.Long(0);
    });
  };
  EXPECT_EQ(Take({}, message("b")), Decoded::kRow);
  EXPECT_EQ(Take({}, message("a")), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("a map has a key twice: a"));
  EXPECT_EQ(Take({}, message("c")), Decoded::kRow);
  EXPECT_THAT(Rows(),
              ElementsAre(HasSubstr("[5, 6, 7]|map<string, int32>[{key:string = a, value:int32 = 1}, {key:string = b"),
                          HasSubstr("{key:string = c, value:int32 = 2}]")));
}

TEST_F(AvroRecordDecoderTest, ResolvesReferencedSchemas) {
  registry_->Add(10, R"({"type": "record", "name": "geo.Point", "fields": [{"name": "x", "type": "int"}]})");
  registry_->by_subject[{"geo.Point", 2}] = 10;
  registry_->Add(11, R"({"type": "record", "name": "v", "fields": [{"name": "id", "type": "long"},
                         {"name": "at", "type": "geo.Point"}]})");
  registry_->by_id[11].references = {{"geo.Point", "geo.Point", 2}};
  columns_.source_of = {{"x", "at.x"}};
  Start(SchemaOf({Column(1, "id", TypeId::kLong, true), Column(2, "x", TypeId::kInt)}));
  EXPECT_EQ(Take({}, Framed(11,
                            [](AvroEncoder& out) {
                              out.Long(1);
                              out.Int(42);
                            })),
            Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|42"));
}

TEST_F(AvroRecordDecoderTest, NamesWhatHasNoPlaceInATable) {
  registry_->Add(6, R"({"type": "record", "name": "v", "fields": [{"name": "id", "type": "long"},
                        {"name": "u", "type": ["int", "string"]}]})");
  const std::string value = Framed(6, [](AvroEncoder& out) {
    out.Long(1);
    out.Long(0);
    out.Int(1);
  });
  Start(SchemaOf({Column(1, "id", TypeId::kLong, true)}));
  EXPECT_EQ(Take({}, value), Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("Avro field 'u' has no Iceberg type: a union of several types"));
  columns_.ignored_fields = {"u"};
  Start(SchemaOf({Column(1, "id", TypeId::kLong, true)}));
  EXPECT_EQ(Take({}, value), Decoded::kRow);
}

TEST_F(AvroRecordDecoderTest, RefusesSourcesThatCannotFillTheirColumn) {
  const auto make = [&](std::map<std::string, std::string> sources) {
    columns_.source_of = std::move(sources);
    return MakeAvroRecordDecoder(UserKv(), columns_, registry_);
  };
  EXPECT_THAT(make({{"value", "$timestamp"}}), IsError(ErrorCode::kInvalidArgument, "column 'value' of type string"));
  EXPECT_THAT(make({{"value", "$timestmp"}}), IsError(ErrorCode::kInvalidArgument, "did you mean $timestamp?"));
  EXPECT_THAT(make({{"valu", "value"}}), IsError(ErrorCode::kInvalidArgument, "did you mean value?"));
  columns_.key_format = RecordFormat::kNone;
  EXPECT_THAT(make({{"value", "$key"}}), IsError(ErrorCode::kInvalidArgument, "key without a format"));
}

}  // namespace
}  // namespace frazil::ingest
