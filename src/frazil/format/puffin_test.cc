#include "frazil/format/puffin.h"

#include "frazil/base/test_support.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::format {
namespace {

using testing::HasSubstr;

constexpr char kPath[] = "memory:/t/x.puffin";

/// A file with this footer payload and flags, and `blobs` before it.
Bytes FileWith(std::string_view payload, uint32_t flags = 0, std::string_view blobs = "") {
  Bytes bytes = CopyBytes(AsBytes("PFA1"));
  AppendBytes(bytes, AsBytes(blobs));
  AppendBytes(bytes, AsBytes("PFA1"));
  AppendBytes(bytes, AsBytes(payload));
  AppendLittle(bytes, static_cast<int32_t>(payload.size()));
  AppendLittle(bytes, flags);
  AppendBytes(bytes, AsBytes("PFA1"));
  return bytes;
}

Result<PuffinFooter> ReadFooterOf(Bytes bytes) {
  io::MemoryFileIO io;
  io.Overwrite(kPath, std::move(bytes));
  FRAZIL_ASSIGN(const auto file, io.Open(kPath));
  return ReadPuffinFooter(*file);
}

std::string OneBlob(std::string_view offset, std::string_view length) {
  return fmt::format(
      R"({{"blobs":[{{"type":"t","fields":[],"snapshot-id":1,"sequence-number":2,"offset":{},"length":{}}}]}})", offset,
      length);
}

TEST(Puffin, ReadsBackWhatItWrote) {
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(auto output, io.Create(kPath));
  PuffinWriter writer(std::move(output));
  PuffinBlob metadata{.type = kDeletionVectorBlobType,
                      .fields = {spec::kPosColumnId},
                      .properties = {{"referenced-data-file", "s3://b/ü \"x\".parquet"}, {"cardinality", "3"}}};
  ASSERT_OK_AND_ASSIGN(const PuffinBlob first, writer.AddBlob(metadata, AsBytes("hello")));
  ASSERT_OK_AND_ASSIGN(const PuffinBlob second, writer.AddBlob(metadata, AsBytes("world!")));
  EXPECT_EQ(first.offset, 4);
  EXPECT_EQ(first.length, 5);
  EXPECT_EQ(second.offset, 9);
  EXPECT_EQ(second.length, 6);
  ASSERT_OK_AND_ASSIGN(const int64_t size, writer.Finish());

  ASSERT_OK_AND_ASSIGN(const auto file, io.Open(kPath));
  EXPECT_EQ(file->size_bytes(), size);
  ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
  EXPECT_EQ(footer.blobs, (std::vector<PuffinBlob>{first, second}));
  EXPECT_THAT(footer.properties.at("created-by"), HasSubstr("frazil "));
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadPuffinBlob(*file, second));
  EXPECT_EQ(AsText(bytes), "world!");
}

TEST(Puffin, WritesAFileWithoutBlobs) {
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(auto output, io.Create(kPath));
  ASSERT_THAT(PuffinWriter(std::move(output)).Finish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto file, io.Open(kPath));
  ASSERT_OK_AND_ASSIGN(const PuffinFooter footer, ReadPuffinFooter(*file));
  EXPECT_TRUE(footer.blobs.empty());
}

TEST(Puffin, RefusesWrongFrames) {
  const Bytes good = FileWith(R"({"blobs":[]})");
  ASSERT_THAT(ReadFooterOf(good), IsOk());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(ReadFooterOf(CopyBytes(ByteView(good).first(size))), IsError(ErrorCode::kCorruptData, kPath));
  }
  for (const size_t i : {size_t{0}, size_t{4}, good.size() - 1, good.size() - 12, good.size() - 9}) {
    Bytes damaged = good;
    damaged[i] ^= std::byte{0x80};
    EXPECT_THAT(ReadFooterOf(damaged), IsError(ErrorCode::kCorruptData, kPath)) << "byte " << i;
  }
}

TEST(Puffin, RefusesFlagsItDoesNotKnow) {
  EXPECT_THAT(ReadFooterOf(FileWith(R"({"blobs":[]})", 1)), IsError(ErrorCode::kNotSupported, "LZ4"));
  for (const uint32_t flags : {2u, 3u, 0x100u, 0x80000000u}) {
    EXPECT_THAT(ReadFooterOf(FileWith(R"({"blobs":[]})", flags)), IsError(ErrorCode::kCorruptData, "unknown flags"));
  }
}

TEST(Puffin, RefusesFootersThatAreNotWhatTheSpecSays) {
  for (const std::string_view payload :
       {"", "{", "[]", "{}", R"({"blobs":{}})", R"({"blobs":[1]})", R"({"blobs":[{}]})",
        R"({"blobs":[],"properties":[]})", R"({"blobs":[],"properties":{"a":1}})", "\xff\xfe"}) {
    EXPECT_THAT(ReadFooterOf(FileWith(payload)), IsError(ErrorCode::kCorruptData, kPath)) << payload;
  }
}

TEST(Puffin, RefusesBlobsOutsideTheFile) {
  const auto read = [](std::string_view offset, std::string_view length) {
    return ReadFooterOf(FileWith(OneBlob(offset, length), 0, "0123456789"));
  };
  EXPECT_THAT(read("4", "10"), IsOk());
  EXPECT_THAT(read("14", "0"), IsOk());
  EXPECT_THAT(read("3", "1"), IsError(ErrorCode::kCorruptData, "lies outside"));
  EXPECT_THAT(read("4", "11"), IsError(ErrorCode::kCorruptData, "lies outside"));
  EXPECT_THAT(read("15", "0"), IsError(ErrorCode::kCorruptData, "lies outside"));
  EXPECT_THAT(read("4", "-1"), IsError(ErrorCode::kCorruptData, "lies outside"));
  EXPECT_THAT(read("9223372036854775807", "9223372036854775807"), IsError(ErrorCode::kCorruptData, "lies outside"));
  EXPECT_THAT(read("99999999999999999999", "1"), IsError(ErrorCode::kCorruptData, "corrupt Puffin footer"));
}

TEST(Puffin, RefusesBlobsThatItCannotDecompress) {
  io::MemoryFileIO io;
  io.Overwrite(kPath, CopyBytes(AsBytes("0123456789")));
  ASSERT_OK_AND_ASSIGN(const auto file, io.Open(kPath));
  PuffinBlob blob{.offset = 0, .length = 10, .compression_codec = "zstd"};
  EXPECT_THAT(ReadPuffinBlob(*file, blob), IsError(ErrorCode::kCorruptData, kPath));
  blob.compression_codec = "lz4";
  EXPECT_THAT(ReadPuffinBlob(*file, blob), IsError(ErrorCode::kNotSupported, "lz4"));
  blob = {.offset = 5, .length = 6};
  EXPECT_THAT(ReadPuffinBlob(*file, blob), IsError(ErrorCode::kCorruptData, "lies outside"));
}

}  // namespace
}  // namespace frazil::format
