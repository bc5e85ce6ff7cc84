#include "frazil/format/avro_file.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::format {
namespace {

constexpr char kSchema[] =
    R"({"type":"record","name":"r","fields":[{"name":"n","type":"long"},{"name":"s","type":"string"}]})";
constexpr AvroCodec kCodecs[] = {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kZstandard, AvroCodec::kSnappy};

Bytes Write(AvroCodec codec, int64_t num_records, size_t text_size = 10) {
  io::MemoryFileIO io;
  auto file = io.Create("f.avro");
  AvroFileWriter writer(*std::move(file), kSchema, codec, {{"key", "value"}});
  for (int64_t i = 0; i < num_records; ++i) {
    Bytes record;
    AvroEncoder encoder(record);
    encoder.Long(i);
    encoder.String(std::string(text_size, 'x'));
    EXPECT_THAT(writer.Append(record), IsOk());
  }
  auto size = writer.Finish();
  EXPECT_THAT(size, IsOk());
  auto bytes = io.ReadFile("f.avro");
  EXPECT_EQ(static_cast<int64_t>(bytes->size()), *size);
  return *std::move(bytes);
}

/// Decodes everything; number of records.
Result<int64_t> ReadAll(Bytes bytes) {
  FRAZIL_ASSIGN(AvroFileReader reader, AvroFileReader::FromBytes(std::move(bytes), "f.avro"));
  int64_t next = 0;
  FRAZIL_TRY(reader.ForEachBlock([&](ByteView block, int64_t num_records) -> Status {
    AvroDecoder decoder(block);
    for (int64_t i = 0; i < num_records; ++i, ++next) {
      if (decoder.ReadLong() != next) return Fail(ErrorCode::kInternal, "wrong record: {}", next);
      decoder.ReadString();
    }
    if (!decoder.ok()) return Fail(decoder.error_code(), "{}", decoder.error_text());
    return {};
  }));
  return next;
}

/// A container with one block of the given raw content.
Bytes Container(std::string_view codec, int64_t num_records, ByteView content) {
  Bytes bytes = CopyBytes(AsBytes(std::string_view("Obj\1", 4)));
  AvroEncoder encoder(bytes);
  const std::map<std::string, std::string> metadata = {{"avro.codec", std::string(codec)}, {"avro.schema", kSchema}};
  encoder.Array(metadata, [&](const auto& item) {
    encoder.String(item.first);
    encoder.String(item.second);
  });
  const Bytes sync(16, std::byte{7});
  encoder.Raw(sync);
  encoder.Long(num_records);
  encoder.BytesValue(content);
  encoder.Raw(sync);
  return bytes;
}

TEST(AvroFile, RecordsComeBackInEveryCodecOverManyBlocks) {
  for (AvroCodec codec : kCodecs) {
    EXPECT_THAT(ReadAll(Write(codec, 0)), IsOkAnd(0)) << AvroCodecName(codec);
    EXPECT_THAT(ReadAll(Write(codec, 1)), IsOkAnd(1)) << AvroCodecName(codec);
    EXPECT_THAT(ReadAll(Write(codec, 20000)), IsOkAnd(20000)) << AvroCodecName(codec);
    EXPECT_THAT(ReadAll(Write(codec, 3, 200'000)), IsOkAnd(3)) << AvroCodecName(codec);
  }
}

TEST(AvroFile, KeepsMetadata) {
  ASSERT_OK_AND_ASSIGN(auto reader, AvroFileReader::FromBytes(Write(AvroCodec::kDeflate, 1), "f.avro"));
  EXPECT_EQ(reader.metadata().at("key"), "value");
  EXPECT_EQ(reader.metadata().at("avro.codec"), "deflate");
  EXPECT_EQ(reader.schema()->fields.size(), 2u);
}

TEST(AvroFile, MissingFileIsNotFound) {
  io::MemoryFileIO io;
  EXPECT_THAT(AvroFileReader::Open(io, "none.avro"), IsError(ErrorCode::kNotFound, "none.avro"));
}

TEST(AvroFile, EveryTruncationIsRefusedOrEndsBetweenBlocks) {
  for (AvroCodec codec : kCodecs) {
    const Bytes whole = Write(codec, 7);
    for (size_t size = 0; size < whole.size(); ++size) {
      Result<int64_t> result = ReadAll(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
      if (result) {
        EXPECT_EQ(*result, 0) << size;
      } else {
        EXPECT_THAT(result, IsError(ErrorCode::kCorruptData, "f.avro"));
      }
    }
  }
}

TEST(AvroFile, FlippedBytesNeverCrash) {
  for (AvroCodec codec : kCodecs) {
    const Bytes whole = Write(codec, 7);
    for (size_t i = 0; i < whole.size(); ++i) {
      for (int flip : {0x01, 0x80, 0xFF}) {
        Bytes damaged = whole;
        damaged[i] ^= static_cast<std::byte>(flip);
        (void)ReadAll(std::move(damaged));
      }
    }
  }
}

TEST(AvroFile, SnappyChecksumIsChecked) {
  Bytes content;
  ASSERT_THAT(CompressAvroBlock(AvroCodec::kSnappy, {}, AsBytes(std::string_view("\0\0", 2)), content), IsOk());
  ASSERT_THAT(ReadAll(Container("snappy", 1, content)), IsOkAnd(1));
  content.back() ^= std::byte{1};
  EXPECT_THAT(ReadAll(Container("snappy", 1, content)), IsError(ErrorCode::kCorruptData, "snappy checksum"));
}

TEST(AvroFile, ABlockCannotHoldMoreRecordsThanItsBytesAllow) {
  for (int64_t count : {int64_t{2}, int64_t{1} << 40, int64_t{-1}}) {
    EXPECT_THAT(ReadAll(Container("null", count, AsBytes(std::string_view("\0\0", 2)))),
                IsError(ErrorCode::kCorruptData, "cannot hold its number of records"));
  }
}

TEST(AvroFile, DecompressionBombsAreRefused) {
  const Bytes zeros(size_t{65} << 20);
  for (AvroCodec codec : {AvroCodec::kDeflate, AvroCodec::kZstandard, AvroCodec::kSnappy}) {
    Bytes bomb;
    ASSERT_THAT(CompressAvroBlock(codec, {}, zeros, bomb), IsOk());
    EXPECT_THAT(ReadAll(Container(AvroCodecName(codec), 1, bomb)),
                IsError(ErrorCode::kCorruptData, "expands to more bytes than allowed"));
  }
}

TEST(AvroFile, ForeignCodecsAndEncryptionAreRefusedByName) {
  EXPECT_THAT(ReadAll(Container("bzip2", 0, {})), IsError(ErrorCode::kNotSupported, "Avro codec: bzip2"));
  EXPECT_THAT(ReadAll(CopyBytes(AsBytes("AGS1...."))),
              IsError(ErrorCode::kNotSupported, "encrypted Avro file: f.avro"));
  EXPECT_THAT(ReadAll(CopyBytes(AsBytes("PAR1...."))),
              IsError(ErrorCode::kCorruptData, "not an Avro file (wrong magic): f.avro"));
}

TEST(AvroFile, SyncMarkersAreChecked) {
  Bytes bytes = Container("null", 1, AsBytes(std::string_view("\0\0", 2)));
  bytes.back() = std::byte{8};
  EXPECT_THAT(ReadAll(bytes), IsError(ErrorCode::kCorruptData, "sync marker"));
}

TEST(AvroFile, CodecsGoByTheNamesOfTheTableProperty) {
  EXPECT_THAT(ParseAvroCodec("gzip"), IsOkAnd(AvroCodec::kDeflate));
  EXPECT_THAT(ParseAvroCodec("ZSTD"), IsOkAnd(AvroCodec::kZstandard));
  EXPECT_THAT(ParseAvroCodec("uncompressed"), IsOkAnd(AvroCodec::kNull));
  EXPECT_THAT(ParseAvroCodec("snappy"), IsOkAnd(AvroCodec::kSnappy));
  EXPECT_THAT(ParseAvroCodec("lzo"), IsError(ErrorCode::kInvalidArgument, "lzo"));
}

TEST(AvroFile, RandomBytesNeverCrash) {
  const unsigned seed = 20260101;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    Bytes content(random() % 200);
    std::generate(content.begin(), content.end(), [&] { return static_cast<std::byte>(random()); });
    for (AvroCodec codec : kCodecs)
      (void)ReadAll(Container(AvroCodecName(codec), 1 + static_cast<int64_t>(random() % 9), content));
  }
}

}  // namespace
}  // namespace frazil::format
