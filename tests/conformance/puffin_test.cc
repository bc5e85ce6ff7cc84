// Puffin files that others wrote (spec section 4.2), and the deletion vectors in them.

#include "frazil/format/puffin.h"

#include "frazil/base/test_support.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/golden.h"

namespace frazil::format {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr char kPath[] = "memory:/foreign.puffin";

Result<std::unique_ptr<io::InputFile>> OpenBytes(Bytes bytes) {
  io::MemoryFileIO io;
  io.Overwrite(kPath, std::move(bytes));
  return io.Open(kPath);
}

Result<std::unique_ptr<io::InputFile>> OpenFixture(const std::string& name) {
  return OpenBytes(test::GoldenBytes("iceberg-spec/" + name));
}

std::vector<std::string> TextsOf(const io::InputFile& file, const PuffinFooter& footer) {
  std::vector<std::string> texts;
  for (const PuffinBlob& blob : footer.blobs) {
    const auto bytes = ReadPuffinBlob(file, blob);
    EXPECT_THAT(bytes, IsOk());
    if (bytes) texts.emplace_back(AsText(*bytes));
  }
  return texts;
}

TEST(PuffinConformance, ReadsTheSampleFiles) {
  const std::string second("some blob \0 binary data 🤯 that is not very very very very very very long, is it?", 83);
  for (const auto& [name, footer_size] :
       std::map<std::string, int64_t>{{"sample-metric-data-uncompressed.bin", 355 - 4 - 9 - 83},
                                      {"sample-metric-data-compressed-zstd.bin", 314}}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const auto file, OpenFixture("puffin/" + name));
    ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
    EXPECT_EQ(footer.footer_size_bytes, footer_size);
    EXPECT_EQ(footer.properties, (std::map<std::string, std::string>{{"created-by", "Test 1234"}}));
    EXPECT_THAT(TextsOf(*file, footer), ElementsAre("abcdefghi", second));
  }
}

TEST(PuffinConformance, ReadsAFileWithoutBlobs) {
  ASSERT_OK_AND_ASSIGN(const auto file, OpenFixture("puffin/empty-puffin-uncompressed.bin"));
  ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
  EXPECT_EQ(footer.footer_size_bytes, 28);
  EXPECT_THAT(footer.blobs, SizeIs(0));
}

TEST(PuffinConformance, ReadsTheVectorsOfJavaAndGo) {
  struct Expected {
    std::string file;
    std::vector<std::vector<int64_t>> positions;
  };
  for (const auto& [name, positions] : {Expected{"single-blob-dv.puffin", {{1, 3, 5, 7, 9}}},
                                        Expected{"multi-blob-dv.puffin", {{0, 100, 200}, {50, 150}}}}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const auto file, OpenFixture("puffin-dv/" + name));
    ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
    ASSERT_THAT(footer.blobs, SizeIs(positions.size()));
    for (size_t i = 0; i < positions.size(); ++i) {
      EXPECT_EQ(footer.blobs[i].type, kDeletionVectorBlobType);
      EXPECT_EQ(footer.blobs[i].properties.at("cardinality"), std::to_string(positions[i].size()));
      ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadPuffinBlob(*file, footer.blobs[i]));
      ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(bytes));
      EXPECT_EQ(vector.ToPositions(), positions[i]);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto file, OpenFixture("puffin-dv/deletion-vector-v1-go-writer.puffin"));
  ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
  ASSERT_THAT(footer.blobs, SizeIs(1));
  EXPECT_TRUE(footer.blobs[0].fields.empty());
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadPuffinBlob(*file, footer.blobs[0]));
  EXPECT_THAT(DeletionVector::Decode(bytes), IsOk());
}

TEST(PuffinConformance, RewritesVectorsOfOthersToTheSameBytes) {
  const Bytes original = test::GoldenBytes("iceberg-spec/puffin-dv/multi-blob-dv.puffin");
  ASSERT_OK_AND_ASSIGN(const auto file, OpenBytes(original));
  ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));

  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(auto output, io.Create(kPath));
  PuffinWriter writer(std::move(output));
  for (const PuffinBlob& blob : footer.blobs) {
    ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadPuffinBlob(*file, blob));
    ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(bytes));
    Bytes encoded;
    ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
    ASSERT_THAT(writer.AddBlob(blob, encoded), IsOkAnd(testing::Eq(blob)));
  }
  ASSERT_THAT(writer.Finish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const Bytes rewritten, io.ReadFile(kPath));
  const size_t end_of_blobs = static_cast<size_t>(footer.blobs.back().offset + footer.blobs.back().length);
  EXPECT_EQ(ToHex(ByteView(rewritten).first(end_of_blobs)), ToHex(ByteView(original).first(end_of_blobs)));
  ASSERT_OK_AND_ASSIGN(const auto again, OpenBytes(rewritten));
  ASSERT_OK_AND_ASSIGN(const PuffinFooter footer_again, ReadPuffinFooter(*again));
  EXPECT_EQ(footer_again.blobs, footer.blobs);
}

TEST(PuffinConformance, RewritesSparksVectorsToTheSameBytes) {
  int blobs = 0;
  for (const std::string& path : test::GoldenFiles("spark-v3")) {
    if (!path.ends_with(".puffin")) continue;
    SCOPED_TRACE(path);
    ASSERT_OK_AND_ASSIGN(const auto file, OpenBytes(test::GoldenBytes(path)));
    ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
    for (const PuffinBlob& blob : footer.blobs) {
      ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadPuffinBlob(*file, blob));
      ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(bytes));
      EXPECT_EQ(blob.properties.at("cardinality"), std::to_string(vector.cardinality()));
      Bytes encoded;
      ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
      EXPECT_EQ(ToHex(encoded), ToHex(bytes));
      ++blobs;
    }
  }
  EXPECT_GT(blobs, 10);
}

TEST(PuffinConformance, NeverCrashesOnFlippedOrMissingBytes) {
  for (const std::string folder : {"iceberg-spec/puffin", "iceberg-spec/puffin-dv"}) {
    for (const std::string& name : test::GoldenFiles(folder)) {
      const Bytes original = test::GoldenBytes(name);
      const auto read_all = [](Bytes bytes) {
        const auto file = OpenBytes(std::move(bytes));
        const auto footer = ReadPuffinFooter(**file);
        if (!footer) {
          EXPECT_THAT(footer.error().ToString(), testing::HasSubstr(kPath));
          return;
        }
        for (const PuffinBlob& blob : footer->blobs) (void)ReadPuffinBlob(**file, blob);
      };
      for (size_t i = 0; i < original.size(); ++i) {
        Bytes flipped = original;
        flipped[i] ^= std::byte{0x15};
        read_all(std::move(flipped));
        read_all(CopyBytes(ByteView(original).first(i)));
      }
    }
  }
}

}  // namespace
}  // namespace frazil::format
