#include "frazil/catalog/metadata_file.h"

#include "frazil/catalog/catalog_test_support.h"
#include "frazil/catalog/gzip.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/table_metadata_json.h"

namespace frazil::catalog {
namespace {

using ::testing::MatchesRegex;

constexpr char kUuid[] = "[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+";

class MetadataFile : public ::testing::Test {
 protected:
  spec::TableMetadataPtr Metadata(std::map<std::string, std::string> properties = {}) {
    spec::CreateTableRequest request = SmallTable(std::move(properties));
    request.location = "mem:/w/t";
    const auto updates = spec::MakeCreateUpdates(request);
    EXPECT_THAT(updates, IsOk());
    const auto metadata = ApplyUpdates(nullptr, {spec::requirement::AssertCreate{}}, *updates, 1'700'000'000'000);
    EXPECT_THAT(metadata, IsOk());
    return *metadata;
  }
  std::string Write(const spec::TableMetadata& metadata, const std::string& previous) {
    const auto location = WriteMetadataFile(io_, metadata, previous);
    EXPECT_THAT(location, IsOk());
    return location.value_or("");
  }

  io::MemoryFileIO io_;
};

TEST_F(MetadataFile, IsNamedAfterItsPredecessor) {
  const auto metadata = Metadata();
  auto name = [](const std::string& version) {
    return MatchesRegex("mem:/w/t/metadata/" + version + "-" + kUuid + "\\.metadata\\.json");
  };
  EXPECT_THAT(Write(*metadata, ""), name("00000"));
  EXPECT_THAT(Write(*metadata, "x/00000-a.metadata.json"), name("00001"));
  EXPECT_THAT(Write(*metadata, "x/00099-a.gz.metadata.json"), name("00100"));
  EXPECT_THAT(Write(*metadata, "x/99999-a.metadata.json"), name("100000"));
  // Names of other styles count as -1 (spec section 1.6).
  EXPECT_THAT(Write(*metadata, "x/v7.metadata.json"), name("00000"));
  EXPECT_THAT(Write(*metadata, "x/7"), name("00000"));
  EXPECT_THAT(Write(*metadata, "x/-1-a.metadata.json"), name("00000"));
  EXPECT_THAT(Write(*metadata, "x/99999999999999999999-a.metadata.json"), name("00000"));
  EXPECT_THAT(Write(*metadata, "x/9223372036854775807-a.metadata.json"), name("00000"));
}

TEST_F(MetadataFile, ReadsBackWhatWasWritten) {
  for (const char* codec : {"none", "gzip", "GZIP"}) {
    const auto metadata = Metadata({{"write.metadata.compression-codec", codec}, {"a", "b"}});
    const std::string location = Write(*metadata, "");
    EXPECT_EQ(location.ends_with(".gz.metadata.json"), std::string(codec) != "none");
    ASSERT_OK_AND_ASSIGN(const auto read, ReadMetadataFile(io_, location));
    EXPECT_EQ(read->Property("a", ""), "b");
    EXPECT_EQ(read->table_uuid, metadata->table_uuid);
    EXPECT_EQ(read->format_version, 3);
    EXPECT_EQ(spec::WriteTableMetadata(*read).value(), spec::WriteTableMetadata(*metadata).value());
  }
}

TEST_F(MetadataFile, GzipIsRealUnderItsName) {
  const auto metadata = Metadata({{"write.metadata.compression-codec", "gzip"}});
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, io_.ReadFile(Write(*metadata, "")));
  EXPECT_TRUE(IsGzip(bytes));
}

TEST_F(MetadataFile, AnUnknownCodecIsRefusedByName) {
  EXPECT_THAT(WriteMetadataFile(io_, *Metadata({{"write.metadata.compression-codec", "zstd"}}), ""),
              IsError(ErrorCode::kInvalidArgument, "none or gzip: 'zstd'"));
}

TEST_F(MetadataFile, LiesWhereThePropertySays) {
  EXPECT_TRUE(
      Write(*Metadata({{"write.metadata.path", "mem:/elsewhere/m/"}}), "").starts_with("mem:/elsewhere/m/00000-"));
}

TEST_F(MetadataFile, GzipIsKnownByItsBytesUnderAnyName) {
  ASSERT_OK_AND_ASSIGN(const std::string json, spec::WriteTableMetadata(*Metadata()));
  ASSERT_OK_AND_ASSIGN(const Bytes packed, Gzip(AsBytes(json)));
  for (const char* name : {"/a.metadata.json", "/a.gz.metadata.json", "/a.metadata.json.gz"}) {
    ASSERT_THAT(io_.WriteFile(name, packed), IsOk());
    EXPECT_THAT(ReadMetadataFile(io_, name), IsOk()) << name;
  }
  ASSERT_THAT(io_.WriteFile("/b.gz.metadata.json", AsBytes(json)), IsOk());
  EXPECT_THAT(ReadMetadataFile(io_, "/b.gz.metadata.json"), IsError(ErrorCode::kCorruptData, "/b.gz.metadata.json"));
}

TEST_F(MetadataFile, ErrorsNameTheFile) {
  ASSERT_THAT(io_.WriteFile("/empty.metadata.json", {}), IsOk());
  EXPECT_THAT(ReadMetadataFile(io_, "/empty.metadata.json"), IsError(ErrorCode::kCorruptData, "/empty.metadata.json"));
  EXPECT_THAT(ReadMetadataFile(io_, "/missing"), IsError(ErrorCode::kNotFound, "/missing"));
}

TEST_F(MetadataFile, UpdatesApplyOnlyWhenEveryRequirementHolds) {
  const LoadedTable current{Metadata(), "mem:/w/t/metadata/00000-a.metadata.json"};
  const std::vector<spec::TableRequirement> holds{spec::requirement::AssertTableUuid{current.metadata->table_uuid}};
  ASSERT_OK_AND_ASSIGN(const auto next, ApplyUpdates(&current, holds, SetProperty("a", "b"), 1'700'000'000'001));
  EXPECT_EQ(next->Property("a", ""), "b");
  EXPECT_EQ(next->last_updated_ms, 1'700'000'000'001);
  ASSERT_EQ(next->metadata_log.size(), 1U);
  EXPECT_EQ(next->metadata_log[0].metadata_file, current.metadata_location);

  EXPECT_THAT(ApplyUpdates(&current, {holds[0], spec::requirement::AssertTableUuid{Uuid::Random()}},
                           SetProperty("a", "b"), 1'700'000'000'001),
              IsError(ErrorCode::kCommitConflict, ""));
  EXPECT_THAT(ApplyUpdates(&current, {spec::requirement::AssertCreate{}}, {}, 1'700'000'000'001),
              IsError(ErrorCode::kCommitConflict, ""));
}

}  // namespace
}  // namespace frazil::catalog
