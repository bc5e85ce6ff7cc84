#include "frazil/table/file_names.h"

#include "frazil/base/test_support.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::MatchesRegex;

constexpr char kUuid[] = "[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+";

FileNames NamesOf(const spec::TableMetadata& base, const std::map<std::string, std::string>& properties) {
  auto metadata = std::make_shared<spec::TableMetadata>(base);
  metadata->location = "s3://bucket/db/t";
  metadata->properties = properties;
  return *FileNames::Make(metadata);
}

TEST(FileNames, DataFilesLieInTheirPartition) {
  TestTable test({}, true);
  FileNames names = NamesOf(test.metadata(), {});
  const std::string first =
      names.NextDataFile(test.metadata().default_spec(), {std::string("a/b")}, *test.metadata().schema());
  EXPECT_THAT(first, MatchesRegex(std::string("s3://bucket/db/t/data/part=a%2Fb/00000-0-") + kUuid + "-00001.parquet"));
  const std::string second =
      names.NextDataFile(test.metadata().default_spec(), {std::string("a/b")}, *test.metadata().schema());
  EXPECT_THAT(second, testing::EndsWith("-00002.parquet"));
  EXPECT_THAT(names.NextPuffin(),
              MatchesRegex(std::string("s3://bucket/db/t/data/00000-0-") + kUuid + "-00003-deletes.puffin"));
}

TEST(FileNames, LandingFilesAreKnownByNameAndSpec) {
  TestTable partitioned({}, true);
  TestTable plain;
  for (const char* in_folders : {"true", "false"}) {
    FileNames names = NamesOf(plain.metadata(), {{"write.object-storage.enabled", "true"},
                                                 {"write.object-storage.partitioned-paths", in_folders}});
    const std::string landing = names.NextLandingFile();
    EXPECT_TRUE(IsLandingFile(plain.metadata(), plain.metadata().default_spec_id, landing)) << landing;
    EXPECT_FALSE(IsLandingFile(partitioned.metadata(), partitioned.metadata().default_spec_id, landing)) << landing;
    const std::string other = names.NextDataFile(plain.metadata().default_spec(), {}, *plain.metadata().schema());
    EXPECT_FALSE(IsLandingFile(plain.metadata(), plain.metadata().default_spec_id, other)) << other;
  }
}

TEST(FileNames, MetadataFilesFollowTheirProperty) {
  TestTable test;
  const FileNames names = NamesOf(test.metadata(), {{"write.metadata.path", "s3://meta/t/"}});
  EXPECT_THAT(names.Manifest(3), MatchesRegex(std::string("s3://meta/t/") + kUuid + "-m3.avro"));
  EXPECT_THAT(names.ManifestList(spec::SnapshotId{42}, 2),
              MatchesRegex(std::string("s3://meta/t/snap-42-2-") + kUuid + ".avro"));
}

TEST(FileNames, DataPathIsHonoured) {
  TestTable test;
  FileNames names = NamesOf(test.metadata(), {{"write.data.path", "s3://data/t"}});
  EXPECT_THAT(names.NextPuffin(), testing::StartsWith("s3://data/t/00000-0-"));
}

TEST(FileNames, ObjectStorageSpreadsFilesByHash) {
  EXPECT_EQ(HashFolders("a"), "0101/0110/1001/10110010");
  EXPECT_EQ(HashFolders("b"), "1110/0111/1110/00000011");
  EXPECT_EQ(HashFolders("c"), "0010/1101/0110/01011111");
  EXPECT_EQ(HashFolders("d"), "1001/0001/0100/01110011");
  EXPECT_EQ(HashFolders("test.parquet"), "0110/1010/0011/11101000");

  TestTable test({}, true);
  const auto next = [&](const std::map<std::string, std::string>& properties) {
    FileNames names = NamesOf(test.metadata(), properties);
    return names.NextDataFile(test.metadata().default_spec(), {std::string("x")}, *test.metadata().schema());
  };
  const std::string bits = "[01]+/[01]+/[01]+/[01]+";
  const std::string file = std::string("00000-0-") + kUuid + "-00001.parquet";
  EXPECT_THAT(next({{"write.object-storage.enabled", "true"}}),
              MatchesRegex("s3://bucket/db/t/data/" + bits + "/part=x/" + file));
  EXPECT_THAT(next({{"write.object-storage.enabled", "true"}, {"write.object-storage.partitioned-paths", "false"}}),
              MatchesRegex("s3://bucket/db/t/data/" + bits + "-" + file));
  EXPECT_THAT(next({{"write.object-storage.enabled", "true"}, {"write.data.path", "s3://other/data"}}),
              MatchesRegex("s3://other/data/" + bits + "/db/t/part=x/" + file));
}

TEST(FileNames, WhatCannotBeHonouredIsRefused) {
  TestTable test;
  for (const char* key : {"write.location-provider.impl", "write.object-storage.path", "write.folder-storage.path"}) {
    auto metadata = std::make_shared<spec::TableMetadata>(test.metadata());
    metadata->properties[key] = "x";
    EXPECT_THAT(FileNames::Make(metadata), IsError(ErrorCode::kNotSupported, key));
  }
}

}  // namespace
}  // namespace frazil::table
