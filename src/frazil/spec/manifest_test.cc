#include "frazil/spec/manifest.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

TEST(FileFormat, NamesAreWrittenUpperCaseAndReadInAnyCase) {
  for (const FileFormat format : {FileFormat::kParquet, FileFormat::kAvro, FileFormat::kOrc, FileFormat::kPuffin}) {
    EXPECT_THAT(ParseFileFormat(FileFormatName(format)), IsOkAnd(format));
  }
  EXPECT_EQ(FileFormatName(FileFormat::kPuffin), "PUFFIN");
  EXPECT_THAT(ParseFileFormat("puffin"), IsOkAnd(FileFormat::kPuffin));
  EXPECT_THAT(ParseFileFormat("csv"), IsError(ErrorCode::kInvalidTable, "unknown file format: 'csv'"));
}

TEST(DeleteFileId, VectorsOfOnePuffinDiffer) {
  DataFile one;
  one.file_path = "a.puffin";
  one.content_offset = 4;
  one.content_size_in_bytes = 40;
  DataFile two = one;
  two.content_offset = 44;
  EXPECT_NE(IdOf(one), IdOf(two));
  EXPECT_EQ(IdOf(one), IdOf(DataFile(one)));
}

TEST(ManifestFile, MissingCountsMeanThatLiveFilesMayBeThere) {
  ManifestFile manifest;
  EXPECT_TRUE(manifest.has_live_files());
  manifest.added_files_count = 0;
  manifest.existing_files_count = 0;
  EXPECT_FALSE(manifest.has_live_files());
  manifest.existing_files_count = 1;
  EXPECT_TRUE(manifest.has_live_files());
}

}  // namespace
}  // namespace frazil::spec
