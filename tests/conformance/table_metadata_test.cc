#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "frazil/base/test_support.h"
#include "frazil/spec/table_metadata_json.h"
#include "tests/support/golden.h"

// Golden metadata.json files of Iceberg's Java, Rust and Go implementations.

namespace frazil::spec {
namespace {

constexpr char kFolder[] = "iceberg-spec/table-metadata/";

Result<TableMetadataPtr> ParseFixture(const std::string& name) {
  return ParseTableMetadata(test::GoldenText(kFolder + name), name);
}

struct Reject {
  const char* name;
  ErrorCode code;
  const char* text;
};

const std::vector<Reject>& Rejects() {
  static const std::vector<Reject> rejects = {
      {"TableMetadataUnsupportedVersion.json", ErrorCode::kNotSupported, "Cannot read unsupported version 42"},
      {"TableMetadataV1MissingSchemaType.json", ErrorCode::kInvalidTable, "missing member 'type'"},
      {"TableMetadataV2CurrentSchemaNotFound.json", ErrorCode::kInvalidTable,
       "Cannot find schema with current-schema-id=2 from schemas"},
      {"TableMetadataV2MissingLastPartitionId.json", ErrorCode::kInvalidTable,
       "last-partition-id must exist in format v2"},
      {"TableMetadataV2MissingPartitionSpecs.json", ErrorCode::kInvalidTable,
       "partition-specs must exist in format v2"},
      {"TableMetadataV2MissingSchemas.json", ErrorCode::kInvalidTable, "schemas must exist in format v2"},
      {"TableMetadataV2MissingSortOrder.json", ErrorCode::kInvalidTable, "sort-orders must exist in format v2"},
      {"rust/TableMetadataV1NoValidSchema.json", ErrorCode::kInvalidTable, "missing member 'schema'"},
      {"rust/TableMetadataV2CurrentSchemaNotFound.json", ErrorCode::kInvalidTable,
       "Cannot find schema with current-schema-id=2 from schemas"},
  };
  return rejects;
}

enum class Versions { kAll, kFrom2 };

std::vector<std::string> ValidFixtures(Versions versions) {
  std::vector<std::string> names;
  for (const std::string& path : test::GoldenFiles(kFolder)) {
    std::string name = path.substr(std::string(kFolder).size());
    bool is_reject =
        std::any_of(Rejects().begin(), Rejects().end(), [&](const Reject& reject) { return name == reject.name; });
    bool is_version_1 = name.find("MetadataV1") != std::string::npos;
    if (!is_reject && (versions == Versions::kAll || !is_version_1)) names.push_back(name);
  }
  return names;
}

class ValidTableMetadata : public ::testing::TestWithParam<std::string> {};

TEST_P(ValidTableMetadata, ReadsTheSameAfterBeingWritten) {
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr metadata, ParseFixture(GetParam()));
  if (metadata->format_version == 1) {
    EXPECT_THAT(WriteTableMetadata(*metadata), IsError(ErrorCode::kNotSupported, "format version 1"));
    // The rest of the round trip as the v2 table that an upgrade makes of it.
    auto upgraded = std::make_shared<TableMetadata>(*metadata);
    upgraded->format_version = 2;
    metadata = upgraded;
  }
  ASSERT_OK_AND_ASSIGN(std::string written, WriteTableMetadata(*metadata));
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr again, ParseTableMetadata(written, "written"));
  EXPECT_EQ(*again, *metadata);
  EXPECT_THAT(WriteTableMetadata(*again), IsOkAnd(written));
}

/// Those of the versions that are written.
class WrittenTableMetadata : public ::testing::TestWithParam<std::string> {};

TEST_P(WrittenTableMetadata, KeepsEveryMemberOfTheFile) {
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr metadata, ParseFixture(GetParam()));
  ASSERT_OK_AND_ASSIGN(std::string text, WriteTableMetadata(*metadata));
  nlohmann::json written = nlohmann::json::parse(text);
  nlohmann::json original = nlohmann::json::parse(test::GoldenText(kFolder + GetParam()));
  // What Java leaves out on writing as well.
  for (auto& snapshot : original["snapshots"]) {
    if (snapshot.value("sequence-number", 1) == 0) snapshot.erase("sequence-number");
  }
  for (auto& schema : original["schemas"]) {
    if (schema.contains("identifier-field-ids") && schema["identifier-field-ids"].empty()) {
      schema.erase("identifier-field-ids");
    }
  }
  // A missing map means main alone; a missing main is the current snapshot.
  if (original["refs"].is_null()) original["refs"] = nlohmann::json::object();
  written["refs"].erase("main");
  original["refs"].erase("main");
  for (const auto& [member, value] : original.items()) {
    if (value.is_null()) continue;
    EXPECT_EQ(written[member], value) << member;
  }
}

std::string TestName(const ::testing::TestParamInfo<std::string>& param) {
  std::string name = param.param.substr(0, param.param.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, ValidTableMetadata, ::testing::ValuesIn(ValidFixtures(Versions::kAll)), TestName);
INSTANTIATE_TEST_SUITE_P(Golden, WrittenTableMetadata, ::testing::ValuesIn(ValidFixtures(Versions::kFrom2)), TestName);

TEST(TableMetadataConformance, RefusesBadFilesWithTheMessageThatPeopleKnow) {
  for (const Reject& reject : Rejects()) {
    SCOPED_TRACE(reject.name);
    Result<TableMetadataPtr> metadata = ParseFixture(reject.name);
    EXPECT_THAT(metadata, IsError(reject.code, reject.text));
    EXPECT_THAT(metadata, IsError(reject.code, reject.name)) << "the message must name the file";
  }
}

TEST(TableMetadataConformance, ReadsVersion1WithoutLists) {
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr metadata, ParseFixture("TableMetadataV1Valid.json"));
  EXPECT_EQ(metadata->format_version, 1);
  ASSERT_EQ(metadata->schemas.size(), 1u);
  EXPECT_EQ(metadata->schema()->id(), SchemaId{0});
  ASSERT_EQ(metadata->partition_specs.size(), 1u);
  EXPECT_EQ(metadata->default_spec().fields()[0].field_id, FieldId{1000});
  EXPECT_EQ(metadata->last_partition_id, FieldId{1000});
  ASSERT_EQ(metadata->sort_orders.size(), 1u);
  EXPECT_FALSE(metadata->default_sort_order().is_sorted());
  EXPECT_EQ(metadata->current_snapshot(), nullptr);
  EXPECT_EQ(metadata->last_sequence_number, SequenceNumber{0});
}

TEST(TableMetadataConformance, ReadsVersion1WithOneOfTheIdsMissing) {
  ASSERT_OK_AND_ASSIGN(auto no_spec_id, ParseFixture("rust/TableMetadataV1PartitionSpecsWithoutDefaultId.json"));
  EXPECT_EQ(no_spec_id->default_spec_id, SpecId{2});
  EXPECT_EQ(no_spec_id->last_partition_id, FieldId{1001});
  ASSERT_OK_AND_ASSIGN(auto no_schema_id, ParseFixture("rust/TableMetadataV1SchemasWithoutCurrentId.json"));
  EXPECT_EQ(no_schema_id->current_schema_id, SchemaId{0});
}

TEST(TableMetadataConformance, ReadsVersion2) {
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr metadata, ParseFixture("TableMetadataV2Valid.json"));
  EXPECT_EQ(metadata->table_uuid.ToString(), "9c12d441-03fe-4693-9a96-a0705ddf69c1");
  EXPECT_EQ(metadata->schemas.size(), 2u);
  EXPECT_EQ(metadata->schema()->identifier_field_ids(), (std::vector{FieldId{1}, FieldId{2}}));
  EXPECT_EQ(metadata->default_sort_order_id, SortOrderId{3});
  ASSERT_EQ(metadata->default_sort_order().fields.size(), 2u);
  EXPECT_EQ(metadata->default_sort_order().fields[1].transform, Transform::Bucket(4));
  ASSERT_NE(metadata->current_snapshot(), nullptr);
  EXPECT_EQ(metadata->current_snapshot()->parent_id, SnapshotId{3051729675574597004});
  EXPECT_EQ(metadata->current_snapshot()->operation, Operation::kAppend);
  ASSERT_TRUE(metadata->refs.contains("main")) << "a missing refs map means main alone";
  EXPECT_EQ(metadata->refs.at("main").snapshot_id, *metadata->current_snapshot_id);
}

TEST(TableMetadataConformance, ReadsVersion3) {
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr metadata, ParseFixture("TableMetadataV3ValidMinimal.json"));
  EXPECT_EQ(metadata->next_row_id, RowId{0});
  EXPECT_EQ(metadata->current_snapshot_id, std::nullopt);
  EXPECT_EQ(std::get<int64_t>(metadata->schema()->FindField(FieldId{1})->initial_default), 1);

  ASSERT_OK_AND_ASSIGN(auto encrypted, ParseFixture("rust/TableMetadataV3ValidEncryption.json"));
  ASSERT_EQ(encrypted->encryption_keys.size(), 2u);
  EXPECT_EQ(encrypted->encryption_keys[0].encrypted_by_id, "master-1");
  EXPECT_EQ(encrypted->snapshots[0].key_id, encrypted->encryption_keys[1].key_id);

  ASSERT_OK_AND_ASSIGN(auto lenient, ParseFixture("go/TableMetadataV3WithPartitionStatistics.json"));
  EXPECT_EQ(lenient->snapshots[0].first_row_id, RowId{1000});
  EXPECT_EQ(lenient->snapshots[0].added_rows, std::nullopt);
  EXPECT_EQ(lenient->partition_statistics.size(), 2u);
  EXPECT_EQ(lenient->refs.at("test").type, RefType::kTag);
}

}  // namespace
}  // namespace frazil::spec
