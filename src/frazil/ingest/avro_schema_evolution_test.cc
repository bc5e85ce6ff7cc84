#include <algorithm>

#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/avro_table_schema.h"
#include "frazil/ingest/avro_test_support.h"

namespace frazil::ingest {
namespace {

using format::AvroEncoder;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Record(const std::string& fields) {
  return R"({"type": "record", "name": "v", "fields": [)" + fields + "]}";
}

/// Columns as "name: type", required ones with '!', defaults behind '='.
std::vector<std::string> Texts(const spec::Schema& schema) {
  std::vector<std::string> texts;
  for (const auto& [field, name] : schema.AllFields()) {
    std::string text = name + ": " + (field->type.is_nested() ? "nested" : field->type.ToString());
    if (field->required) text += "!";
    if (!spec::IsNull(field->write_default)) text += " = " + std::to_string(field->write_default.index());
    texts.push_back(text);
  }
  return texts;
}

class AvroSchemaEvolution : public ::testing::Test {
 protected:
  void Start(std::vector<spec::Field> fields, int format_version = 3) {
    metadata_.format_version = format_version;
    metadata_.schemas = {SchemaOf(std::move(fields))};
    metadata_.last_column_id = spec::FieldId{100};
    metadata_.partition_specs = {spec::PartitionSpec(spec::SpecId(0), {})};
    metadata_.sort_orders = {spec::SortOrder()};
    metadata_.snapshots.emplace_back();
    auto decoder = MakeAvroRecordDecoder(metadata_.schemas[0], columns_, registry_);
    ASSERT_THAT(decoder, IsOk());
    decoder_ = *std::move(decoder);
  }

  Decoded Take(const std::string& value, std::optional<std::string_view> key = {}) {
    SourceRecord record;
    record.value = value;
    record.key = key;
    const Result<Decoded> decoded = decoder_->Decode(record);
    EXPECT_THAT(decoded, IsOk());
    return decoded ? *decoded : Decoded::kPoison;
  }

  /// Does what the pipeline does after kNeedsSchema, without the commit.
  void Evolve() {
    ASSERT_OK_AND_ASSIGN(const std::vector<spec::TableUpdate> updates, decoder_->WantedUpdates(metadata_));
    ASSERT_FALSE(updates.empty());
    metadata_.schemas = {std::get<spec::update::AddSchema>(updates[0]).schema};
    ASSERT_THAT(decoder_->UseSchema(metadata_.schemas[0]), IsOk());
  }

  std::vector<std::string> Rows() {
    auto batch = decoder_->Finish();
    EXPECT_THAT(batch, IsOk());
    return RowsOf(*batch);
  }

  std::shared_ptr<TestRegistry> registry_ = std::make_shared<TestRegistry>();
  RecordColumns columns_;
  spec::TableMetadata metadata_;
  std::unique_ptr<RecordDecoder> decoder_;
};

constexpr const char* kId = R"({"name": "id", "type": "long"})";

TEST_F(AvroSchemaEvolution, NewFieldsBecomeOptionalColumnsWithTheirDefault) {
  registry_->Add(1, Record(kId));
  registry_->Add(2, Record(std::string(kId) + R"(, {"name": "n", "type": "int", "default": 42},
      {"name": "t", "type": ["null", "string"], "default": null}, {"name": "d",
      "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "default": "\u00ff\u009c"})"));
  Start({Column(1, "id", TypeId::kLong, true)});
  const std::string old_record = Framed(1, [](AvroEncoder& out) { out.Long(1); });
  const std::string new_record = Framed(2, [](AvroEncoder& out) {
    out.Long(2);
    out.Int(3);
    out.Present();
    out.String("x");
    out.String(std::string_view("\x01", 1));
  });
  EXPECT_EQ(Take(old_record), Decoded::kRow);
  EXPECT_EQ(Take(new_record), Decoded::kNeedsSchema);
  EXPECT_EQ(Take(new_record), Decoded::kNeedsSchema);
  EXPECT_THAT(Rows(), ElementsAre("1"));
  Evolve();
  EXPECT_THAT(Texts(*metadata_.schemas[0]),
              ElementsAre("id: long!", "n: int = 2", "t: string", "d: decimal(4, 2) = 8"));
  const spec::Field& n = metadata_.schemas[0]->fields()[1];
  EXPECT_EQ(n.initial_default, spec::Value(int32_t{42}));
  EXPECT_EQ(metadata_.schemas[0]->fields()[3].initial_default, spec::Value(spec::Decimal{-100}));
  EXPECT_EQ(Take(new_record), Decoded::kRow);
  EXPECT_EQ(Take(old_record), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("2|3|x|0.01", "1|42|null|-1.00"));
  EXPECT_THAT(decoder_->WantedUpdates(metadata_), IsOkAnd(IsEmpty()));
}

TEST_F(AvroSchemaEvolution, VersionTwoHasNoDefaults) {
  registry_->Add(2, Record(std::string(kId) + R"(, {"name": "n", "type": "int", "default": 42})"));
  Start({Column(1, "id", TypeId::kLong, true)}, 2);
  EXPECT_EQ(Take(Framed(2,
                        [](AvroEncoder& out) {
                          out.Long(2);
                          out.Int(3);
                        })),
            Decoded::kNeedsSchema);
  Evolve();
  EXPECT_THAT(Texts(*metadata_.schemas[0]), ElementsAre("id: long!", "n: int"));
}

TEST_F(AvroSchemaEvolution, TypesWidenAtEveryDepth) {
  registry_->Add(1, Record(R"({"name": "id", "type": "long"}, {"name": "f", "type": "double"},
      {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
      {"name": "s", "type": {"type": "record", "name": "s", "fields": [{"name": "a", "type": "long"},
        {"name": "b", "type": "string"}]}},
      {"name": "l", "type": {"type": "array", "items": ["null", "double"]}})"));
  Start({Column(1, "id", TypeId::kInt, true), Column(2, "f", TypeId::kFloat), Column(3, "d", Type::DecimalOf(9, 2)),
         Column(4, "s", Type::StructOf({Column(5, "a", TypeId::kInt)})),
         Column(6, "l", Type::ListOf(Column(7, "element", TypeId::kFloat, true)))});
  const std::string value = Framed(1, [](AvroEncoder& out) {
    out.Long(int64_t{1} << 40);
    out.Double(0.1);
    out.String(std::string_view("\x01", 1));
    out.Long(int64_t{1} << 41);
    out.String("b");
    out.Long(0);
  });
  EXPECT_EQ(Take(value), Decoded::kNeedsSchema);
  Evolve();
  EXPECT_THAT(Texts(*metadata_.schemas[0]), ElementsAre("id: long!", "f: double", "d: decimal(20, 2)", "s: nested",
                                                        "s.a: long", "s.b: string", "l: nested", "l.element: double"));
  EXPECT_EQ(Take(value), Decoded::kRow);
  EXPECT_THAT(Rows(),
              ElementsAre("1099511627776|0.1|0.01|{a:int64 = 2199023255552, b:string = b}|list<element: double>[]"));
}

TEST_F(AvroSchemaEvolution, FieldsThatAreDroppedOrMayBeNullBecomeOptional) {
  registry_->Add(1, Record(std::string(kId) + R"(, {"name": "a", "type": ["null", "int"]})"));
  Start({Column(1, "id", TypeId::kLong, true), Column(2, "a", TypeId::kInt, true),
         Column(3, "b", TypeId::kString, true)});
  const std::string value = Framed(1, [](AvroEncoder& out) {
    out.Long(1);
    out.Null();
  });
  EXPECT_EQ(Take(value), Decoded::kNeedsSchema);
  Evolve();
  EXPECT_THAT(Texts(*metadata_.schemas[0]), ElementsAre("id: long!", "a: int", "b: string"));
  EXPECT_EQ(Take(value), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|null|null"));
}

TEST_F(AvroSchemaEvolution, NarrowerRecordsFitAsTheyAre) {
  registry_->Add(1,
                 Record(R"({"name": "id", "type": "int"}, {"name": "f", "type": "float"}, {"name": "n", "type": "int"},
      {"name": "d", "type": {"type": "fixed", "name": "d2", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 2}},
      {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
      {"name": "local", "type": {"type": "long", "logicalType": "timestamp-micros"}})"));
  Start({Column(1, "id", TypeId::kLong, true), Column(2, "f", TypeId::kDouble), Column(3, "n", TypeId::kDouble),
         Column(4, "d", Type::DecimalOf(30, 2)), Column(5, "at", TypeId::kTimestampTzNs),
         Column(6, "local", TypeId::kTimestamp)});
  EXPECT_EQ(Take(Framed(1,
                        [](AvroEncoder& out) {
                          out.Int(1);
                          out.Float(0.5F);
                          out.Int(2);
                          out.Raw(AsBytes(std::string_view("\xff\x00", 2)));
                          out.Long(-1);
                          out.Long(1);
                        })),
            Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|0.5|2|-2.56|1969-12-31 23:59:59.999000000Z|1970-01-01 00:00:00.000001"));
}

TEST_F(AvroSchemaEvolution, KeyAndValueAreHeldUpOnce) {
  registry_->Add(1, Record(std::string(kId) + R"(, {"name": "a", "type": "string"})"));
  registry_->Add(2, Record(R"({"name": "n", "type": "long"})"));
  columns_.key_format = RecordFormat::kAvroConfluent;
  columns_.source_of = {{"n", "$key.n"}};
  Start({Column(1, "id", TypeId::kLong, true), Column(2, "n", TypeId::kInt)});
  const std::string value = Framed(1, [](AvroEncoder& out) {
    out.Long(1);
    out.String("x");
  });
  const std::string key = Framed(2, [](AvroEncoder& out) { out.Long(int64_t{1} << 40); });
  EXPECT_EQ(Take(value, key), Decoded::kNeedsSchema);
  Evolve();
  EXPECT_THAT(Texts(*metadata_.schemas[0]), ElementsAre("id: long!", "n: long", "a: string"));
  EXPECT_EQ(Take(value, key), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|1099511627776|x"));
}

// The pipeline commits what came before: by then another schema of somebody else may have been taken over.
TEST_F(AvroSchemaEvolution, WhatARecordAsksForOutlivesAnotherTableSchema) {
  registry_->Add(1, Record(std::string(kId) + R"(, {"name": "a", "type": "string"})"));
  Start({Column(1, "id", TypeId::kLong, true)});
  const std::string value = Framed(1, [](AvroEncoder& out) {
    out.Long(1);
    out.String("x");
  });
  EXPECT_EQ(Take(value), Decoded::kNeedsSchema);
  metadata_.schemas = {SchemaOf({Column(1, "id", TypeId::kLong, true), Column(2, "b", TypeId::kString)})};
  ASSERT_THAT(decoder_->UseSchema(metadata_.schemas[0]), IsOk());
  Evolve();
  EXPECT_EQ(Take(value), Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|null|x"));
}

TEST_F(AvroSchemaEvolution, IncompatibleSchemaIsPoisonThatNamesBoth) {
  registry_->Add(1, Record(std::string(kId) + R"(, {"name": "a", "type": "string"})"));
  Start({Column(1, "id", TypeId::kLong, true), Column(2, "a", TypeId::kInt)});
  EXPECT_EQ(Take(Framed(1,
                        [](AvroEncoder& out) {
                          out.Long(1);
                          out.String("x");
                        })),
            Decoded::kPoison);
  EXPECT_THAT(decoder_->why(), HasSubstr("Avro field 'a' of type string does not fit column 'a' of type int"));
  EXPECT_THAT(decoder_->why(), HasSubstr("schema 1 of the registry does not fit schema 0 of the table"));
  EXPECT_THAT(decoder_->WantedUpdates(metadata_), IsOkAnd(IsEmpty()));
}

TEST_F(AvroSchemaEvolution, WantedChangesAreComputedOnTheTableOfToday) {
  registry_->Add(1, Record(std::string(kId) + R"(, {"name": "a", "type": "string"})"));
  Start({Column(1, "id", TypeId::kLong, true)});
  EXPECT_EQ(Take(Framed(1,
                        [](AvroEncoder& out) {
                          out.Long(1);
                          out.String("x");
                        })),
            Decoded::kNeedsSchema);
  // Meanwhile somebody else added the column; or one of that name that cannot take it.
  metadata_.schemas = {SchemaOf({Column(1, "id", TypeId::kLong, true), Column(2, "a", TypeId::kString)})};
  EXPECT_THAT(decoder_->WantedUpdates(metadata_), IsOkAnd(IsEmpty()));
  metadata_.schemas = {SchemaOf({Column(1, "id", TypeId::kLong, true), Column(2, "a", TypeId::kDate)})};
  EXPECT_THAT(decoder_->WantedUpdates(metadata_), IsError(ErrorCode::kInvalidArgument, "does not fit column 'a'"));
}

TEST_F(AvroSchemaEvolution, NoColumnIsMadeOfWhatIsIgnoredMappedOrNamedOtherwise) {
  registry_->Add(1, Record(std::string(kId) + R"(, {"name": "Name", "type": "string"}, {"name": "skip", "type": "int"},
      {"name": "at", "type": "long"}, {"name": "nothing", "type": "null"})"));
  columns_.ignored_fields = {"skip"};
  columns_.source_of = {{"at", "$timestamp"}};
  Start({Column(1, "id", TypeId::kLong, true), Column(2, "name", TypeId::kString),
         Column(3, "at", TypeId::kTimestampTz)});
  EXPECT_EQ(Take(Framed(1,
                        [](AvroEncoder& out) {
                          out.Long(1);
                          out.String("folded");
                          out.Int(5);
                          out.Long(6);
                        })),
            Decoded::kRow);
  EXPECT_THAT(Rows(), ElementsAre("1|folded|null"));
}

format::AvroNodePtr Parsed(const std::string& text) {
  auto schema = format::ParseAvroSchema(text);
  EXPECT_THAT(schema, IsOk());
  return *schema;
}

TEST(AvroTableSchema, MakesColumnsOfFieldsAndSources) {
  const auto value = Parsed(Record(std::string(kId) + R"(, {"name": "v", "type": ["null", "string"], "doc": "what"},
      {"name": "skip", "type": "int"}, {"name": "insight_id", "type": "long"},
      {"name": "s", "type": {"type": "record", "name": "s", "fields": [{"name": "a", "type": "int"}]}})"));
  const auto key =
      Parsed(R"({"type": "record", "name": "k", "fields": [{"name": "user", "type": ["null", "string"]}]})");
  RecordColumns columns;
  columns.source_of = {{"app_id", "insight_id"}, {"updated_at", "$timestamp"}, {"h", "$headers.x"}};
  columns.ignored_fields = {"skip"};
  ASSERT_OK_AND_ASSIGN(const spec::SchemaPtr schema, TableSchemaFor(*value, key.get(), columns, {"app_id", "user"}));
  EXPECT_THAT(Texts(*schema), ElementsAre("id: long!", "v: string", "app_id: long!", "s: nested!", "s.a: int!",
                                          "h: string", "updated_at: timestamptz", "user: string!"));
  EXPECT_EQ(schema->fields()[1].doc, "what");
  EXPECT_THAT(schema->identifier_field_ids(), ElementsAre(spec::FieldId{3}, spec::FieldId{7}));
  EXPECT_THAT(TableSchemaFor(*value, nullptr, columns, {"user"}),
              IsError(ErrorCode::kInvalidArgument, "identifier field is neither in the value nor in the key: user"));
  columns.source_of["x"] = "insight";
  EXPECT_THAT(TableSchemaFor(*value, nullptr, columns, {}),
              IsError(ErrorCode::kInvalidArgument, "no Avro field for column 'x': insight"));
}

TEST(AvroTableSchema, MapsEveryType) {
  const std::vector<std::pair<std::string, std::string>> types = {
      {R"("int")", "int"},
      {R"("long")", "long"},
      {R"("float")", "float"},
      {R"("double")", "double"},
      {R"("boolean")", "boolean"},
      {R"("string")", "string"},
      {R"("bytes")", "binary"},
      {R"({"type": "fixed", "name": "f", "size": 3})", "fixed[3]"},
      {R"({"type": "enum", "name": "e", "symbols": ["A"]})", "string"},
      {R"({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})", "decimal(9, 2)"},
      {R"({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 9})", "binary"},
      {R"({"type": "int", "logicalType": "date"})", "date"},
      {R"({"type": "int", "logicalType": "time-millis"})", "time"},
      {R"({"type": "long", "logicalType": "time-micros"})", "time"},
      {R"({"type": "long", "logicalType": "timestamp-millis"})", "timestamptz"},
      {R"({"type": "long", "logicalType": "timestamp-micros"})", "timestamptz"},
      {R"({"type": "long", "logicalType": "timestamp-nanos"})", "timestamptz_ns"},
      {R"({"type": "long", "logicalType": "local-timestamp-millis"})", "timestamp"},
      {R"({"type": "long", "logicalType": "local-timestamp-micros"})", "timestamp"},
      {R"({"type": "long", "logicalType": "local-timestamp-nanos"})", "timestamp_ns"},
      {R"({"type": "string", "logicalType": "uuid"})", "uuid"},
      {R"({"type": "long", "logicalType": "made-up"})", "long"},
  };
  for (const auto& [avro, iceberg] : types) {
    ASSERT_OK_AND_ASSIGN(const spec::SchemaPtr schema,
                         TableSchemaFor(*Parsed(Record(R"({"name": "c", "type": )" + avro + "}")), nullptr, {}, {}));
    EXPECT_EQ(schema->fields()[0].type.ToString(), iceberg) << avro;
    EXPECT_TRUE(schema->fields()[0].required);
  }
  EXPECT_THAT(TableSchemaFor(*Parsed(Record(R"({"name": "c", "type":
                  {"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 2}})")),
                             nullptr, {}, {}),
              IsError(ErrorCode::kNotSupported, "Avro field 'c' has no Iceberg type: a decimal of 39 digits"));
}

}  // namespace
}  // namespace frazil::ingest
