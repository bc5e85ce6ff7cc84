// Records as other Avro libraries write them (tests/fixtures/avro-messages), decoded into the columns of a table made for
// their schema: the rows are those that their JSON stands for.

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/avro_table_schema.h"
#include "frazil/ingest/json_record_decoder.h"
#include "frazil/spec/hex.h"
#include "frazil/spec/json_access.h"
#include "tests/support/golden.h"

namespace frazil {
namespace {

constexpr int32_t kSchemaId = 11;

class OneSchema final : public ingest::SchemaRegistry {
 public:
  explicit OneSchema(std::string text) { schema_->text = std::move(text); }
  Result<std::shared_ptr<const ingest::RegisteredSchema>> ById(int32_t) override { return schema_; }
  Result<std::shared_ptr<const ingest::RegisteredSchema>> BySubject(const std::string&, int) override {
    return schema_;
  }
  Result<std::shared_ptr<const ingest::RegisteredSchema>> Latest(const std::string&) override { return schema_; }
  Result<int32_t> Register(const std::string&, const ingest::RegisteredSchema&) override { return kSchemaId; }

 private:
  std::shared_ptr<ingest::RegisteredSchema> schema_ = std::make_shared<ingest::RegisteredSchema>();
};

void Take(ingest::RecordDecoder& decoder, std::string_view value) {
  ingest::SourceRecord record;
  record.value = value;
  ASSERT_OK_AND_ASSIGN(const ingest::Decoded decoded, decoder.Decode(record));
  ASSERT_EQ(decoded, ingest::Decoded::kRow) << decoder.why();
}

TEST(AvroMessages, OfOtherLibrariesBecomeTheirRows) {
  for (const char* name : {"user_kv", "primitives", "logical", "nested"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const spec::Json file,
                         spec::ParseJson(test::GoldenText(fmt::format("avro-messages/{}.json", name)), name));
    const std::string schema_text = file["schema"].dump();
    ASSERT_OK_AND_ASSIGN(const format::AvroNodePtr writer, format::ParseAvroSchema(schema_text));
    ASSERT_OK_AND_ASSIGN(const spec::SchemaPtr schema, ingest::TableSchemaFor(*writer, nullptr, {}, {}));
    ASSERT_OK_AND_ASSIGN(const auto avro,
                         ingest::MakeAvroRecordDecoder(schema, {}, std::make_shared<OneSchema>(schema_text)));
    ASSERT_OK_AND_ASSIGN(const auto json, ingest::MakeJsonRecordDecoder(schema, {}, nullptr));
    for (const spec::Json& record : file["records"]) {
      const std::optional<Bytes> body = spec::ParseHex(record["avro"].get<std::string>());
      ASSERT_TRUE(body);
      Bytes message = {std::byte{0}};
      AppendBig<int32_t>(message, kSchemaId);
      AppendBytes(message, *body);
      Take(*avro, AsText(message));
      Take(*json, record["row"].dump());
    }
    ASSERT_OK_AND_ASSIGN(const ingest::ChangeBatch from_avro, avro->Finish());
    ASSERT_OK_AND_ASSIGN(const ingest::ChangeBatch from_json, json->Finish());
    ASSERT_TRUE(from_avro.rows->ValidateFull().ok());
    EXPECT_EQ(from_avro.rows->num_rows(), static_cast<int64_t>(file["records"].size()));
    EXPECT_TRUE(from_avro.rows->Equals(*from_json.rows)) << from_avro.rows->ToString() << from_json.rows->ToString();
  }
}

}  // namespace
}  // namespace frazil
