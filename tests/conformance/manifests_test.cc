// Manifests and manifest lists of other writers: Java through Spark (tests/fixtures/spark-v3) and old Java lists.

#include <map>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_schema.h"
#include "frazil/format/avro_type.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/manifest_schema.h"
#include "frazil/spec/schema_json.h"
#include "tests/support/golden.h"
#include "tests/support/spark_fixture.h"

namespace frazil::test {
namespace {

using format::ReadManifest;
using format::ReadManifestList;
using nlohmann::json;
using spec::DataFile;
using spec::ManifestContent;
using spec::ManifestEntry;
using spec::ManifestFile;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What manifests need to know of the table's metadata.
struct TableParts {
  json metadata;
  spec::SchemaPtr schema;
  std::vector<spec::PartitionSpec> specs;
};

/// The metadata file's JSON; gzip in one of the tables.
std::string MetadataText(const SparkFixture& fixture) {
  const std::string path = SparkFixtureFileIO::Map(fixture.metadata_location());
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  EXPECT_NE(file, nullptr) << path;
  std::string text;
  char buffer[16384];
  for (int got = 0; file && (got = gzread(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

TableParts PartsOf(const SparkFixture& fixture) {
  TableParts parts;
  parts.metadata = json::parse(MetadataText(fixture));
  for (const json& schema : parts.metadata["schemas"]) {
    if (schema["schema-id"] != parts.metadata["current-schema-id"]) continue;
    auto parsed = spec::ParseSchemaJson(schema.dump());
    EXPECT_THAT(parsed, IsOk());
    if (parsed) parts.schema = *parsed;
  }
  for (const json& fields : parts.metadata["partition-specs"]) {
    auto parsed =
        spec::ParsePartitionFieldsJson(spec::SpecId(fields["spec-id"].get<int32_t>()), fields["fields"].dump());
    EXPECT_THAT(parsed, IsOk());
    if (parsed) parts.specs.push_back(*parsed);
  }
  return parts;
}

const json* CurrentSnapshot(const json& metadata) {
  for (const json& snapshot : metadata["snapshots"]) {
    if (snapshot["snapshot-id"] == metadata["current-snapshot-id"]) return &snapshot;
  }
  return nullptr;
}

std::vector<ManifestEntry> LiveEntries(const SparkFixture& fixture, const TableParts& parts, const json& snapshot) {
  std::vector<ManifestEntry> live;
  auto manifests = ReadManifestList(*fixture.file_io(), snapshot["manifest-list"].get<std::string>());
  EXPECT_THAT(manifests, IsOk());
  if (!manifests) return live;
  for (const ManifestFile& manifest : *manifests) {
    auto entries = ReadManifest(*fixture.file_io(), manifest, parts.specs, *parts.schema);
    EXPECT_THAT(entries, IsOk());
    if (!entries) continue;
    for (ManifestEntry& entry : *entries) {
      if (entry.is_live()) live.push_back(std::move(entry));
    }
  }
  return live;
}

template <typename T>
json OrNull(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (requires { value->value(); }) {
    return value->value();
  } else {
    return *value;
  }
}

/// A file in the form of expected.json's `files`.
json ExpectedForm(const SparkFixture& fixture, const DataFile& file) {
  json equality_ids = nullptr;
  for (spec::FieldId id : file.equality_ids) equality_ids.push_back(id.value());
  return {{"content", static_cast<int>(file.content)},
          {"file_path", fixture.RelativePath(file.file_path)},
          {"file_format", std::string(FileFormatName(file.file_format))},
          {"spec_id", file.spec_id.value()},
          {"record_count", file.record_count},
          {"referenced_data_file",
           file.referenced_data_file ? json(fixture.RelativePath(*file.referenced_data_file)) : json()},
          {"content_offset", OrNull(file.content_offset)},
          {"content_size_in_bytes", OrNull(file.content_size_in_bytes)},
          {"equality_ids", equality_ids},
          {"first_row_id", OrNull(file.first_row_id)}};
}

class SparkManifests : public ::testing::TestWithParam<std::string> {};

/// Those that Spark can read back, so that expected.json says what it saw: all but `javatypes`.
class SparkLiveFiles : public SparkManifests {};

std::vector<std::string> TablesSparkReads() {
  std::vector<std::string> names = SparkFixture::TableNames();
  std::erase(names, "javatypes");
  return names;
}

const auto kTableName = [](const auto& table) { return table.param; };
INSTANTIATE_TEST_SUITE_P(Tables, SparkManifests, ::testing::ValuesIn(SparkFixture::TableNames()), kTableName);
INSTANTIATE_TEST_SUITE_P(Tables, SparkLiveFiles, ::testing::ValuesIn(TablesSparkReads()), kTableName);

TEST_P(SparkManifests, EveryListAndEveryManifestOfEveryListIsReadAndAddsUp) {
  const SparkFixture fixture(GetParam());
  const TableParts parts = PartsOf(fixture);
  ASSERT_NE(parts.schema, nullptr);
  int num_manifests = 0;
  for (const std::string& list : fixture.FilesIn("metadata", ".avro")) {
    if (list.find("/snap-") == std::string::npos) continue;
    ASSERT_OK_AND_ASSIGN(auto manifests, ReadManifestList(*fixture.file_io(), list));
    for (const ManifestFile& manifest : manifests) {
      // Expired snapshots leave their lists behind, not always their manifests.
      if (!fixture.file_io()->Exists(manifest.manifest_path).value_or(false)) continue;
      ASSERT_OK_AND_ASSIGN(auto entries, ReadManifest(*fixture.file_io(), manifest, parts.specs, *parts.schema));
      ++num_manifests;
      std::map<spec::EntryStatus, std::pair<int64_t, int64_t>> seen;
      for (const ManifestEntry& entry : entries) {
        ++seen[entry.status].first;
        seen[entry.status].second += entry.data_file.record_count;
        ASSERT_TRUE(entry.snapshot_id && entry.sequence_number && entry.file_sequence_number);
        EXPECT_GE(entry.sequence_number->value(), entry.is_live() ? manifest.min_sequence_number.value() : 0);
        EXPECT_LE(*entry.sequence_number, manifest.sequence_number);
      }
      using Counts = std::pair<int64_t, int64_t>;
      EXPECT_EQ(seen[spec::EntryStatus::kAdded], Counts(*manifest.added_files_count, *manifest.added_rows_count));
      EXPECT_EQ(seen[spec::EntryStatus::kExisting],
                Counts(*manifest.existing_files_count, *manifest.existing_rows_count));
      EXPECT_EQ(seen[spec::EntryStatus::kDeleted], Counts(*manifest.deleted_files_count, *manifest.deleted_rows_count));
    }
  }
  EXPECT_GT(num_manifests, 0);
}

TEST_P(SparkManifests, ManifestsReadWithoutTheirTableAgreeWithTheirListUpToInheritance) {
  const SparkFixture fixture(GetParam());
  const TableParts parts = PartsOf(fixture);
  const json* snapshot = CurrentSnapshot(parts.metadata);
  ASSERT_NE(snapshot, nullptr);
  ASSERT_OK_AND_ASSIGN(auto manifests,
                       ReadManifestList(*fixture.file_io(), (*snapshot)["manifest-list"].get<std::string>()));
  for (const ManifestFile& manifest : manifests) {
    ASSERT_OK_AND_ASSIGN(Bytes bytes, fixture.file_io()->ReadFile(manifest.manifest_path));
    ASSERT_EQ(static_cast<int64_t>(bytes.size()), manifest.manifest_length);
    ASSERT_OK_AND_ASSIGN(auto alone, format::ReadManifestBytes(bytes, manifest.manifest_path));
    ASSERT_OK_AND_ASSIGN(auto inherited, ReadManifest(*fixture.file_io(), manifest, parts.specs, *parts.schema));
    ASSERT_EQ(alone.size(), inherited.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      ManifestEntry expected = inherited[i];
      expected.snapshot_id = alone[i].snapshot_id;
      expected.sequence_number = alone[i].sequence_number;
      expected.file_sequence_number = alone[i].file_sequence_number;
      expected.data_file.first_row_id = alone[i].data_file.first_row_id;
      EXPECT_TRUE(alone[i] == expected) << manifest.manifest_path << " entry " << i;
    }
  }
}

TEST_P(SparkLiveFiles, LiveFilesOfTheCurrentSnapshotAreThoseThatSparkSees) {
  const SparkFixture fixture(GetParam());
  const TableParts parts = PartsOf(fixture);
  const json* snapshot = CurrentSnapshot(parts.metadata);
  ASSERT_NE(snapshot, nullptr);
  std::multiset<json> ours;
  for (const ManifestEntry& entry : LiveEntries(fixture, parts, *snapshot))
    ours.insert(ExpectedForm(fixture, entry.data_file));
  const std::multiset<json> theirs(fixture.expected()["files"].begin(), fixture.expected()["files"].end());
  EXPECT_EQ(ours, theirs);
}

// Rows know the first row id and the sequence number that their file inherited; compaction alone stores them in the rows.
TEST_P(SparkLiveFiles, InheritedNumbersAgreeWithTheLineageOfTheRows) {
  const SparkFixture fixture(GetParam());
  const TableParts parts = PartsOf(fixture);
  std::map<std::string, ManifestEntry> by_name;
  for (const ManifestEntry& entry : LiveEntries(fixture, parts, *CurrentSnapshot(parts.metadata))) {
    const std::string& path = entry.data_file.file_path;
    if (entry.data_file.content == spec::FileContent::kData) by_name[path.substr(path.rfind('/') + 1)] = entry;
  }
  size_t num_equal = 0;
  for (const json& row : fixture.expected()["rows"]) {
    ASSERT_TRUE(by_name.contains(row["_file"].get<std::string>())) << row;
    const ManifestEntry& entry = by_name.at(row["_file"].get<std::string>());
    const auto updated = row["_last_updated_sequence_number"].get<int64_t>();
    EXPECT_LE(updated, entry.sequence_number->value()) << row;
    const bool inherited_id = row["_row_id"] == entry.data_file.first_row_id->value() + row["_pos"].get<int64_t>();
    if (inherited_id && updated == entry.sequence_number->value()) ++num_equal;
  }
  if (GetParam() == "lineage") return;
  EXPECT_GT(num_equal, fixture.expected()["rows"].size() / 2);
}

TEST_P(SparkManifests, DeletionVectorsCarryTheFieldsThatFindTheirBlob) {
  const SparkFixture fixture(GetParam());
  const TableParts parts = PartsOf(fixture);
  const std::vector<ManifestEntry> live = LiveEntries(fixture, parts, *CurrentSnapshot(parts.metadata));
  for (const ManifestEntry& entry : live) {
    const DataFile& vector = entry.data_file;
    if (!vector.is_deletion_vector()) continue;
    EXPECT_THAT(vector.column_sizes, IsEmpty());
    EXPECT_LE(*vector.content_offset + *vector.content_size_in_bytes, vector.file_size_in_bytes);
    int num_targets = 0;
    for (const ManifestEntry& other : live) {
      if (other.data_file.content != spec::FileContent::kData ||
          other.data_file.file_path != *vector.referenced_data_file)
        continue;
      ++num_targets;
      EXPECT_EQ(other.data_file.spec_id, vector.spec_id);
      EXPECT_TRUE(spec::PartitionTupleEqual()(other.data_file.partition, vector.partition));
      EXPECT_LE(*other.sequence_number, *entry.sequence_number);
      EXPECT_LE(vector.record_count, other.data_file.record_count);
    }
    EXPECT_EQ(num_targets, 1) << vector.file_path;
  }
}

/// A parsed schema as text, to compare two of them by what matters: names, ids, kinds, order, logical types.
std::string Describe(const format::AvroNode& node) {
  std::string text = fmt::format("{}{}{}", AvroKindName(node.kind), node.name.empty() ? "" : ":" + node.name,
                                 node.logical_type.empty() ? "" : "/" + node.logical_type);
  if (node.element_id) text += fmt::format("#{}", *node.element_id);
  if (node.kind == format::AvroKind::kFixed)
    text += fmt::format("[{} {} {}]", node.fixed_size, node.precision, node.scale);
  if (node.adjust_to_utc) text += " utc";
  for (const auto& field : node.fields)
    text += fmt::format("{{{}#{} {}}}", field.name, field.field_id.value_or(-1), Describe(*field.type));
  for (const auto& child : node.children) text += "<" + Describe(*child) + ">";
  return text;
}

void ExpectSameJson(const std::string& ours, const std::string& theirs) {
  EXPECT_EQ(json::parse(ours), json::parse(theirs));
}

/// Java's header of the first manifest or list that fits.
TEST_P(SparkManifests, OurSchemasAreThoseOfJava) {
  const SparkFixture fixture(GetParam());
  const TableParts parts = PartsOf(fixture);
  for (const std::string& path : fixture.FilesIn("metadata", ".avro")) {
    ASSERT_OK_AND_ASSIGN(auto file, format::AvroFileReader::Open(*fixture.file_io(), path));
    const auto& header = file.metadata();
    const int version = std::stoi(header.at("format-version"));
    std::string record = "manifest_file";
    std::vector<spec::Field> fields = format::ManifestListFields(version);
    if (header.contains("partition-spec")) {
      record = "manifest_entry";
      ASSERT_OK_AND_ASSIGN(auto schema, spec::ParseSchemaJson(header.at("schema")));
      ASSERT_OK_AND_ASSIGN(auto partition_spec,
                           spec::ParsePartitionFieldsJson(spec::SpecId(0), header.at("partition-spec")));
      fields = format::ManifestEntryFields(version, format::PartitionFields(partition_spec, *schema));
      EXPECT_EQ(json::parse(spec::WriteSchemaJson(*schema)), json::parse(header.at("schema"))) << path;
      EXPECT_EQ(spec::WritePartitionFieldsJson(partition_spec), header.at("partition-spec")) << path;
    }
    ASSERT_OK_AND_ASSIGN(std::string ours, format::WriteAvroSchema(record, fields));
    ExpectSameJson(ours, header.at("avro.schema"));
    ASSERT_OK_AND_ASSIGN(auto parsed, format::ParseAvroSchema(ours));
    EXPECT_EQ(Describe(*parsed), Describe(*file.schema())) << path;
    ASSERT_OK_AND_ASSIGN(auto row_schema, spec::Schema::Make(spec::SchemaId(0), fields));
    EXPECT_EQ(spec::WriteSchemaJson(*row_schema), header.at("iceberg.schema")) << path;
  }
}

TEST(ManifestLists, CountsAreFoundUnderTheirOldAndTheirNewNames) {
  for (const char* name : {"manifest-list-v2-1.avro", "manifest-list-v2-2.avro"}) {
    ASSERT_OK_AND_ASSIGN(auto manifests, format::ReadManifestListBytes(
                                             GoldenBytes(std::string("iceberg-spec/manifest-lists/") + name), name));
    ASSERT_THAT(manifests, SizeIs(1)) << name;
    EXPECT_TRUE(manifests[0].added_files_count && manifests[0].existing_files_count && manifests[0].deleted_files_count)
        << name;
    EXPECT_TRUE(manifests[0].added_rows_count && manifests[0].existing_rows_count && manifests[0].deleted_rows_count)
        << name;
    EXPECT_TRUE(manifests[0].has_live_files()) << name;
    EXPECT_GT(*manifests[0].added_files_count + *manifests[0].existing_files_count, 0) << name;
  }
}

TEST(ManifestLists, EncryptedListIsRefusedByName) {
  EXPECT_THAT(format::ReadManifestListBytes(GoldenBytes("iceberg-spec/manifest-lists/manifest-list-v3-encrypted.avro"),
                                            "list.avro"),
              IsError(ErrorCode::kNotSupported, "encrypted Avro file: list.avro"));
}

TEST(AvroSchemas, OfIcebergRustAreUnderstood) {
  for (const char* name :
       {"avro_schema_manifest_entry.json", "avro_schema_manifest_file_v1.json", "avro_schema_manifest_file_v2.json"}) {
    const Bytes text = GoldenBytes(std::string("iceberg-spec/avro-schemas/") + name);
    ASSERT_OK_AND_ASSIGN(auto schema, format::ParseAvroSchema(AsText(text)));
    EXPECT_EQ(schema->kind, format::AvroKind::kRecord) << name;
    for (const auto& field : schema->fields) EXPECT_TRUE(field.field_id.has_value()) << name << " " << field.name;
  }
}

}  // namespace
}  // namespace frazil::test
