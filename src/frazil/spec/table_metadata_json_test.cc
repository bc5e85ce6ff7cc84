#include "frazil/spec/table_metadata_json.h"

#include <nlohmann/json.hpp>

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

/// The smallest valid table, to which a test does one thing.
nlohmann::json Minimal(int format_version) {
  nlohmann::json json = nlohmann::json::parse(R"({
      "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://b/t", "last-sequence-number": 2,
      "last-updated-ms": 5000, "last-column-id": 1, "next-row-id": 7, "current-schema-id": 0,
      "schemas": [{"type": "struct", "schema-id": 0,
                   "fields": [{"id": 1, "name": "x", "required": true, "type": "long"}]}],
      "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
      "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}]})");
  json["format-version"] = format_version;
  return json;
}

nlohmann::json WithSnapshot(int format_version, int64_t id) {
  nlohmann::json json = Minimal(format_version);
  json["snapshots"] = {{{"snapshot-id", id},
                        {"sequence-number", 1},
                        {"timestamp-ms", 4000},
                        {"manifest-list", "s3://b/t/metadata/snap.avro"},
                        {"summary", {{"operation", "append"}}}}};
  json["current-snapshot-id"] = id;
  return json;
}

Result<TableMetadataPtr> Parse(const nlohmann::json& json) {
  return ParseTableMetadata(json.dump(), "t.metadata.json");
}

TEST(TableMetadataJson, NoSnapshotIsNullInVersion3AndMinusOneBefore) {
  ASSERT_OK_AND_ASSIGN(auto v3, Parse(Minimal(3)));
  ASSERT_OK_AND_ASSIGN(std::string v3_text, WriteTableMetadata(*v3));
  EXPECT_THAT(v3_text, ::testing::HasSubstr(R"("current-snapshot-id":null)"));
  ASSERT_OK_AND_ASSIGN(auto v2, Parse(Minimal(2)));
  ASSERT_OK_AND_ASSIGN(std::string v2_text, WriteTableMetadata(*v2));
  EXPECT_THAT(v2_text, ::testing::HasSubstr(R"("current-snapshot-id":-1)"));
}

TEST(TableMetadataJson, MinusOneNullAndAbsentAllMeanNoSnapshotInEveryVersion) {
  for (int version : {2, 3}) {
    for (const nlohmann::json& none : {nlohmann::json(-1), nlohmann::json(nullptr)}) {
      nlohmann::json json = Minimal(version);
      json["current-snapshot-id"] = none;
      ASSERT_OK_AND_ASSIGN(auto metadata, Parse(json));
      EXPECT_EQ(metadata->current_snapshot_id, std::nullopt);
      EXPECT_TRUE(metadata->refs.empty());
    }
    ASSERT_OK_AND_ASSIGN(auto metadata, Parse(Minimal(version)));
    EXPECT_EQ(metadata->current_snapshot_id, std::nullopt);
  }
}

TEST(TableMetadataJson, WritesMembersInTheOrderOfJava) {
  nlohmann::json json = WithSnapshot(3, 10);
  json["encryption-keys"] = {{{"key-id", "k"}, {"encrypted-key-metadata", "AA=="}}};
  json["properties"] = {{"b", "2"}, {"a", "1"}};
  json["snapshot-log"] = {{{"timestamp-ms", 4000}, {"snapshot-id", 10}}};
  json["metadata-log"] = {{{"timestamp-ms", 3000}, {"metadata-file", "s3://b/t/metadata/0.json"}}};
  json["snapshots"][0]["schema-id"] = 0;
  json["snapshots"][0]["first-row-id"] = 0;
  json["snapshots"][0]["added-rows"] = 7;
  json["snapshots"][0]["summary"]["added-records"] = "7";
  ASSERT_OK_AND_ASSIGN(auto metadata, Parse(json));
  EXPECT_THAT(
      WriteTableMetadata(*metadata),
      IsOkAnd(std::string(
          R"({"format-version":3,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://b/t",)"
          R"("last-sequence-number":2,"last-updated-ms":5000,"last-column-id":1,"current-schema-id":0,)"
          R"("schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"x","required":true,"type":"long"}]}],)"
          R"("default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,)"
          R"("default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],"properties":{"a":"1","b":"2"},)"
          R"("current-snapshot-id":10,"next-row-id":7,)"
          R"("encryption-keys":[{"key-id":"k","encrypted-key-metadata":"AA=="}],)"
          R"("refs":{"main":{"snapshot-id":10,"type":"branch"}},)"
          R"("snapshots":[{"sequence-number":1,"snapshot-id":10,"timestamp-ms":4000,)"
          R"("summary":{"operation":"append","added-records":"7"},"manifest-list":"s3://b/t/metadata/snap.avro",)"
          R"("schema-id":0,"first-row-id":0,"added-rows":7}],"statistics":[],"partition-statistics":[],)"
          R"("snapshot-log":[{"timestamp-ms":4000,"snapshot-id":10}],)"
          R"("metadata-log":[{"timestamp-ms":3000,"metadata-file":"s3://b/t/metadata/0.json"}]})")));
}

TEST(TableMetadataJson, UnknownTransformsAndDroppedColumnsInOldSpecsDoNotBreakLoading) {
  nlohmann::json json = Minimal(3);
  json["partition-specs"].push_back(
      {{"spec-id", 1},
       {"fields", {{{"name", "gone"}, {"transform", "identity"}, {"source-id", 77}, {"field-id", 1000}}}}});
  json["partition-specs"].push_back(
      {{"spec-id", 2},
       {"fields", {{{"name", "z"}, {"transform", "zorder[3]"}, {"source-id", 1}, {"field-id", 1001}}}}});
  json["sort-orders"].push_back(
      {{"order-id", 4},
       {"fields",
        {{{"transform", "zorder[3]"}, {"source-id", 77}, {"direction", "asc"}, {"null-order", "nulls-first"}}}}});
  ASSERT_OK_AND_ASSIGN(auto metadata, Parse(json));
  EXPECT_EQ(metadata->FindSpec(SpecId{2})->fields()[0].transform.ToString(), "zorder[3]");
  json["default-spec-id"] = 1;
  EXPECT_THAT(Parse(json), IsError(ErrorCode::kInvalidTable, "Cannot find source column for partition field: gone"));
}

TEST(TableMetadataJson, IgnoresMembersItDoesNotKnow) {
  nlohmann::json json = WithSnapshot(3, 10);
  json["future"] = {{"a", {1, 2, 3}}};
  json["snapshots"][0]["future"] = 1;
  json["schemas"][0]["future"] = 1;
  EXPECT_THAT(Parse(json), IsOk());
}

TEST(TableMetadataJson, RefsAndCurrentSnapshotMustAgree) {
  nlohmann::json dangling = WithSnapshot(3, 10);
  dangling["refs"] = {{"main", {{"snapshot-id", 10}, {"type", "branch"}}},
                      {"t", {{"snapshot-id", 4}, {"type", "TAG"}}}};
  EXPECT_THAT(Parse(dangling), IsError(ErrorCode::kInvalidTable, "reference t does not exist"));
  nlohmann::json differs = WithSnapshot(3, 10);
  differs["snapshots"].push_back(differs["snapshots"][0]);
  differs["snapshots"][1]["snapshot-id"] = 11;
  differs["refs"] = {{"main", {{"snapshot-id", 11}, {"type", "branch"}}}};
  EXPECT_THAT(Parse(differs), IsError(ErrorCode::kInvalidTable, "does not match main branch (10 != 11)"));
  differs.erase("current-snapshot-id");
  EXPECT_THAT(Parse(differs), IsError(ErrorCode::kInvalidTable, "Current snapshot is not set, but main branch exists"));
  nlohmann::json unknown = WithSnapshot(3, 10);
  unknown["current-snapshot-id"] = 12;
  EXPECT_THAT(Parse(unknown), IsError(ErrorCode::kInvalidTable, "does not exist in the existing snapshots list"));
}

TEST(TableMetadataJson, LogsMayRunAMinuteBackwardsButNotMore) {
  for (const auto& [name, member, value] : {std::tuple{"snapshot-log", "snapshot-id", nlohmann::json(1)},
                                            std::tuple{"metadata-log", "metadata-file", nlohmann::json("m")}}) {
    nlohmann::json json = Minimal(3);
    auto set_times = [&, name = name, member = member, value = value](std::vector<int64_t> times) {
      json[name] = nlohmann::json::array();
      for (int64_t time : times) json[name].push_back({{"timestamp-ms", time}, {member, value}});
    };
    json["last-updated-ms"] = 100'000;
    set_times({160'000, 100'000, 160'000});
    EXPECT_THAT(Parse(json), IsOk());
    set_times({160'001, 100'000});
    EXPECT_THAT(Parse(json), IsError(ErrorCode::kInvalidTable, "is not sorted by timestamp"));
    set_times({160'001});
    EXPECT_THAT(Parse(json), IsError(ErrorCode::kInvalidTable, "last-updated-ms lies before the last entry"));
    set_times({INT64_MAX, INT64_MIN});
    EXPECT_THAT(Parse(json), IsError(ErrorCode::kInvalidTable, "is not sorted by timestamp"));
  }
}

TEST(TableMetadataJson, RefusesWhatBreaksTheSpec) {
  auto with = [](auto change) {
    nlohmann::json json = WithSnapshot(3, 10);
    change(json);
    return Parse(json);
  };
  const ErrorCode code = ErrorCode::kInvalidTable;
  EXPECT_THAT(with([](auto& json) { json["snapshots"][0]["sequence-number"] = 3; }),
              IsError(code, "above last-sequence-number: 3 > 2"));
  EXPECT_THAT(with([](auto& json) { json["snapshots"][0].erase("manifest-list"); }),
              IsError(code, "snapshot without manifest-list"));
  EXPECT_THAT(with([](auto& json) { json["snapshots"].push_back(json["snapshots"][0]); }),
              IsError(code, "snapshots holds an id twice: 10"));
  EXPECT_THAT(with([](auto& json) { json.erase("next-row-id"); }), IsError(code, "next-row-id"));
  EXPECT_THAT(with([](auto& json) { json["next-row-id"] = -1; }), IsError(code, "must not be negative"));
  EXPECT_THAT(with([](auto& json) { json.erase("table-uuid"); }), IsError(code, "UUID is required in format v3"));
  EXPECT_THAT(with([](auto& json) { json["table-uuid"] = "x"; }), IsError(code, "table-uuid is not a UUID: x"));
  EXPECT_THAT(with([](auto& json) { json["format-version"] = 0; }), IsError(code, "Cannot read unsupported version 0"));
  EXPECT_THAT(with([](auto& json) { json["default-spec-id"] = 9; }), IsError(code, "default-spec-id=9"));
  EXPECT_THAT(with([](auto& json) { json["default-sort-order-id"] = 9; }), IsError(code, "default-sort-order-id=9"));
  EXPECT_THAT(with([](auto& json) { json["properties"] = {{"a", 1}}; }), IsError(code, "properties"));
  EXPECT_THAT(with([](auto& json) { json["snapshots"] = 1; }), IsError(code, "snapshots"));
  EXPECT_THAT(with([](auto& json) { json["snapshots"][0]["snapshot-id"] = 1e30; }), IsError(code, "snapshot-id"));
  EXPECT_THAT(with([](auto& json) { json["snapshots"][0] = "s3://"; }), IsError(code, "snapshot"));
  EXPECT_THAT(with([](auto& json) { json["schemas"].clear(); }), IsError(code, "current-schema-id=0"));
}

TEST(TableMetadataJson, ASummaryWithoutOperationReadsAsOverwrite) {
  nlohmann::json json = WithSnapshot(2, 10);
  json["snapshots"][0]["summary"] = {{"x", "y"}};
  ASSERT_OK_AND_ASSIGN(auto metadata, Parse(json));
  EXPECT_EQ(metadata->snapshots[0].operation, Operation::kOverwrite);
  json["snapshots"][0].erase("summary");
  ASSERT_OK_AND_ASSIGN(metadata, Parse(json));
  EXPECT_EQ(metadata->snapshots[0].operation, std::nullopt);
}

TEST(TableMetadataJson, ReadsVersion1SnapshotsThatListManifests) {
  nlohmann::json json = WithSnapshot(1, 10);
  json["snapshots"][0].erase("manifest-list");
  json["snapshots"][0]["manifests"] = {"a.avro", "b.avro"};
  ASSERT_OK_AND_ASSIGN(auto metadata, Parse(json));
  EXPECT_EQ(metadata->snapshots[0].manifests, (std::vector<std::string>{"a.avro", "b.avro"}));
  EXPECT_EQ(metadata->last_sequence_number, SequenceNumber{0});
  EXPECT_EQ(metadata->snapshots[0].sequence_number, SequenceNumber{0});
}

TEST(TableMetadataJson, StripsTrailingSlashesOfTheLocation) {
  nlohmann::json json = Minimal(2);
  json["location"] = "s3://b/t//";
  ASSERT_OK_AND_ASSIGN(auto metadata, Parse(json));
  EXPECT_EQ(metadata->location, "s3://b/t");
  json["location"] = "file:///";
  ASSERT_OK_AND_ASSIGN(metadata, Parse(json));
  EXPECT_EQ(metadata->location, "file://");
}

TEST(TableMetadataJson, HostileBytesAreCorruptDataAndNothingElse) {
  EXPECT_THAT(ParseTableMetadata(std::string(100'000, '['), "p"), IsError(ErrorCode::kCorruptData, "p"));
  EXPECT_THAT(ParseTableMetadata("{\"a\":\"\xff\"}", "p"), IsError(ErrorCode::kCorruptData, "p"));
  EXPECT_THAT(ParseTableMetadata("", "p"), IsError(ErrorCode::kCorruptData, "p"));
  EXPECT_THAT(ParseTableMetadata("[1]", "p"), IsError(ErrorCode::kInvalidTable, "p"));
}

TEST(TableMetadataJson, EveryTruncationIsRefused) {
  const std::string text = WithSnapshot(3, 10).dump();
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(ParseTableMetadata(text.substr(0, length), "p"), IsError(ErrorCode::kCorruptData, "p"));
  }
}

TEST(TableMetadataJson, RefusesToWriteTextThatIsNotUtf8) {
  ASSERT_OK_AND_ASSIGN(auto metadata, Parse(Minimal(3)));
  TableMetadata changed = *metadata;
  changed.properties["a"] = "\xff";
  EXPECT_THAT(WriteTableMetadata(changed), IsError(ErrorCode::kInvalidArgument, "not UTF-8"));
}

}  // namespace
}  // namespace frazil::spec
