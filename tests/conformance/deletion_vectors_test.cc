// Deletion vectors against bytes that others wrote (spec section 4.1) and against bytes that nobody should believe.

#include <random>
#include <set>

#include "frazil/base/hash.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/test_support.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/format/roaring_format.h"
#include "tests/support/golden.h"

namespace frazil::format {
namespace {

using spec::RowPosition;

/// A blob around a 64-bit bitmap: right length, magic and checksum.
Bytes BlobOf(ByteView bitmap) {
  Bytes blob;
  AppendBig(blob, static_cast<uint32_t>(bitmap.size() + 4));
  AppendLittle(blob, uint32_t{1681511377});
  AppendBytes(blob, bitmap);
  AppendBig(blob, Crc32(ByteView(blob).subspan(4)));
  return blob;
}

/// A 64-bit bitmap of 32-bit ones.
Bytes Bitmap64Of(const std::vector<std::pair<uint32_t, Bytes>>& bitmaps) {
  Bytes out;
  AppendLittle(out, uint64_t{bitmaps.size()});
  for (const auto& [key, bitmap] : bitmaps) {
    AppendLittle(out, key);
    AppendBytes(out, bitmap);
  }
  return out;
}

Bytes Bitmap32Of(const std::vector<uint16_t>& values) {
  Roaring32Writer writer;
  Bytes out;
  writer.AddContainer(0, values);
  writer.Finish(out);
  return out;
}

Bytes Golden(const std::string& name) { return test::GoldenBytes("iceberg-spec/deletes/" + name); }

const std::vector<std::string> kGoldenBlobs = {
    "empty-position-index.bin", "small-alternating-values-position-index.bin",
    "small-and-large-values-position-index.bin", "all-container-types-position-index.bin"};

TEST(DeletionVectorConformance, ReencodesEveryGoldenBlobToTheSameBytes) {
  for (const std::string& name : kGoldenBlobs) {
    SCOPED_TRACE(name);
    const Bytes blob = Golden(name);
    ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(blob));
    Bytes encoded;
    ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
    EXPECT_EQ(ToHex(encoded), ToHex(blob));
  }
}

TEST(DeletionVectorConformance, EncodesTheGoldenBlobsFromTheirPositions) {
  std::vector<int64_t> all_containers = {5, 7};
  for (int64_t i = 65537; i < 65536 + 1000; ++i) all_containers.push_back(i);
  for (int64_t i = 131073; i < 196607; ++i) all_containers.push_back(i);
  const int64_t key_1 = int64_t{1} << 32;
  for (const int64_t low : {10, 20}) all_containers.push_back(key_1 + low);
  for (int64_t i = 65546; i < 65536 + 500; ++i) all_containers.push_back(key_1 + i);
  for (int64_t i = 131073; i < 196607; ++i) all_containers.push_back(key_1 + i);
  const std::vector<std::vector<int64_t>> positions = {
      {}, {1, 3, 5, 7, 9}, {100, 101, 2147483747, 2147483748}, all_containers};

  for (size_t i = 0; i < positions.size(); ++i) {
    SCOPED_TRACE(kGoldenBlobs[i]);
    DeletionVector vector;
    ASSERT_THAT(vector.AddAll(positions[i]), IsOk());
    EXPECT_EQ(vector.cardinality(), static_cast<int64_t>(positions[i].size()));
    Bytes encoded;
    ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
    EXPECT_EQ(ToHex(encoded), ToHex(Golden(kGoldenBlobs[i])));
  }
}

// Reported fault C 1: an engine computed the checksum without the final complement, in reader and writer alike, so that
// its own round trip passed and every vector of Spark was refused.
TEST(DeletionVectorConformance, UsesTheChecksumThatJavaUses) {
  DeletionVector vector;
  ASSERT_THAT(vector.AddAll(std::vector<int64_t>{1, 2}), IsOk());
  Bytes encoded;
  ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
  EXPECT_EQ(LoadBig<uint32_t>(encoded.data() + encoded.size() - 4), 0x712fa6e8u);

  Bytes flipped = encoded;
  for (size_t i = encoded.size() - 4; i < encoded.size(); ++i) flipped[i] ^= std::byte{0xFF};
  EXPECT_THAT(DeletionVector::Decode(flipped), IsError(ErrorCode::kCorruptData, "wrong checksum"));
}

TEST(DeletionVectorConformance, RefusesEveryFlippedByte) {
  for (const std::string& name : kGoldenBlobs) {
    SCOPED_TRACE(name);
    const Bytes blob = Golden(name);
    for (size_t i = 0; i < blob.size(); ++i) {
      for (const int mask : {0x01, 0x80, 0xFF}) {
        Bytes damaged = blob;
        damaged[i] ^= static_cast<std::byte>(mask);
        EXPECT_THAT(DeletionVector::Decode(damaged), IsError(ErrorCode::kCorruptData, "corrupt")) << "byte " << i;
      }
    }
  }
}

TEST(DeletionVectorConformance, RefusesEveryTruncationAndExtension) {
  for (const std::string& name : kGoldenBlobs) {
    SCOPED_TRACE(name);
    Bytes blob = Golden(name);
    for (size_t size = 0; size < blob.size(); ++size) {
      EXPECT_THAT(DeletionVector::Decode(ByteView(blob).first(size)), IsError(ErrorCode::kCorruptData, "corrupt"));
    }
    blob.push_back(std::byte{0});
    EXPECT_THAT(DeletionVector::Decode(blob), IsError(ErrorCode::kCorruptData, "length"));
  }
}

// A flipped byte below a checksum that was made to fit must still never crash, and what decodes must re-encode.
TEST(DeletionVectorConformance, SurvivesEveryFlippedByteBelowAFittingChecksum) {
  for (const std::string& name : kGoldenBlobs) {
    const Bytes blob = Golden(name);
    const ByteView bitmap = ByteView(blob).subspan(8, blob.size() - 12);
    for (size_t i = 0; i < bitmap.size(); ++i) {
      for (int mask = 1; mask < 256; mask += mask) {
        Bytes damaged = CopyBytes(bitmap);
        damaged[i] ^= static_cast<std::byte>(mask);
        const auto vector = DeletionVector::Decode(BlobOf(damaged));
        if (!vector) {
          EXPECT_THAT(vector, IsError(ErrorCode::kCorruptData, "corrupt")) << name << " byte " << i;
          continue;
        }
        EXPECT_EQ(vector->cardinality(), static_cast<int64_t>(vector->ToPositions().size()));
      }
    }
  }
}

TEST(DeletionVectorConformance, ReadsBareBitmapsOfOtherWriters) {
  std::vector<int64_t> spread;
  for (int64_t key = 0; key < 10; ++key) {
    for (int64_t low = 0; low < 10; ++low) spread.push_back((key << 32) + low);
  }
  std::vector<int64_t> ten = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"64mapempty.bin", {}}, {"64map32bitvals.bin", ten}, {"64mapspreadvals.bin", spread}};
  for (const auto& [name, positions] : expected) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(BlobOf(Golden(name))));
    EXPECT_EQ(vector.ToPositions(), positions);
  }
}

TEST(DeletionVectorConformance, ReadsTheBitmapsOfTheRoaringFormatSpec) {
  std::set<int64_t> expected;
  for (int64_t i = 0; i < 100000; i += 1000) expected.insert(i);
  for (int64_t i = 100000; i < 200000; ++i) expected.insert(3 * i);
  for (int64_t i = 700000; i < 800000; ++i) expected.insert(i);
  const std::vector<int64_t> positions(expected.begin(), expected.end());
  for (const std::string name : {"bitmapwithoutruns.bin", "bitmapwithruns.bin"}) {
    SCOPED_TRACE(name);
    const Bytes bitmap = test::GoldenBytes("iceberg-spec/roaring/format-spec/" + name);
    EXPECT_THAT(ValidateRoaring32(bitmap), IsOkAnd(testing::Eq(bitmap.size())));
    ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(BlobOf(Bitmap64Of({{0, bitmap}}))));
    EXPECT_EQ(vector.ToPositions(), positions);
    Bytes encoded;
    ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
    const Bytes with_runs = test::GoldenBytes("iceberg-spec/roaring/format-spec/bitmapwithruns.bin");
    EXPECT_EQ(encoded, BlobOf(Bitmap64Of({{0, with_runs}})));
  }

  const Bytes sparse = test::GoldenBytes("iceberg-spec/roaring/format-spec/bitmap64.bin");
  ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(BlobOf(sparse)));
  EXPECT_EQ(vector.cardinality(), 32768 + 1000000 + 1);
  EXPECT_TRUE(vector.Contains(RowPosition(65534)));
  EXPECT_FALSE(vector.Contains(RowPosition(65535)));
  EXPECT_EQ(vector.Max(), RowPosition(int64_t{1} << 48));
  EXPECT_EQ(vector.Rank(RowPosition((int64_t{1} << 32) + 10)), 32768 + 10);

  const Bytes two = test::GoldenBytes("iceberg-spec/roaring/format-spec/portable_bitmap64.bin");
  ASSERT_OK_AND_ASSIGN(const DeletionVector both, DeletionVector::Decode(BlobOf(two)));
  EXPECT_GT(both.Max(), RowPosition(int64_t{1} << 32));
}

TEST(DeletionVectorConformance, RefusesHostileInputsOfRoaringLibraries) {
  for (const std::string& name : test::GoldenFiles("iceberg-spec/roaring/croaring")) {
    SCOPED_TRACE(name);
    const Bytes input = test::GoldenBytes(name);
    EXPECT_THAT(DeletionVector::Decode(BlobOf(input)), IsError(ErrorCode::kCorruptData, "corrupt"));
    EXPECT_THAT(DeletionVector::Decode(input), IsError(ErrorCode::kCorruptData, "corrupt"));
    EXPECT_THAT(ValidateRoaring32(input), IsError(ErrorCode::kCorruptData, "corrupt roaring bitmap"));
  }
  EXPECT_THAT(DeletionVector::Decode(BlobOf(Golden("64maphighvals.bin"))), IsError(ErrorCode::kCorruptData, "corrupt"));
}

// Reported fault C 10, the cases that lie in the blob.
TEST(DeletionVectorConformance, RefusesTrailingBytes) {
  Bytes bitmap = Bitmap64Of({{0, Bitmap32Of({1, 2, 5})}});
  ASSERT_THAT(DeletionVector::Decode(BlobOf(bitmap)), IsOk());
  bitmap.push_back(std::byte{0});
  EXPECT_THAT(DeletionVector::Decode(BlobOf(bitmap)), IsError(ErrorCode::kCorruptData, "bytes after"));
}

TEST(DeletionVectorConformance, RefusesUnsortedAndRepeatedKeys) {
  const Bytes one = Bitmap32Of({1});
  EXPECT_THAT(DeletionVector::Decode(BlobOf(Bitmap64Of({{1, one}, {0, one}}))),
              IsError(ErrorCode::kCorruptData, "keys are not ascending"));
  EXPECT_THAT(DeletionVector::Decode(BlobOf(Bitmap64Of({{1, one}, {1, one}}))),
              IsError(ErrorCode::kCorruptData, "keys are not ascending"));
  EXPECT_THAT(DeletionVector::Decode(BlobOf(Bitmap64Of({{0, one}, {7, one}}))), IsOk());
}

TEST(DeletionVectorConformance, RefusesKeysThatJavaCannotHold) {
  const Bytes zero = Bitmap32Of({0});
  EXPECT_THAT(DeletionVector::Decode(BlobOf(Bitmap64Of({{0x7FFFFFFE, zero}}))), IsOk());
  for (const uint32_t key : {0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    EXPECT_THAT(DeletionVector::Decode(BlobOf(Bitmap64Of({{key, zero}}))),
                IsError(ErrorCode::kCorruptData, "key is above 2147483646"));
  }
}

TEST(DeletionVectorConformance, RefusesPositionsAboveTheLargest) {
  const auto high = [](uint16_t container, uint16_t low) {
    Roaring32Writer writer;
    Bytes out;
    const uint16_t values[] = {low};
    writer.AddContainer(container, values);
    writer.Finish(out);
    return BlobOf(Bitmap64Of({{0x7FFFFFFE, out}}));
  };
  ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(high(0x8000, 0)));
  EXPECT_EQ(vector.Max(), DeletionVector::kMaxPosition);
  EXPECT_THAT(DeletionVector::Decode(high(0x8000, 1)), IsError(ErrorCode::kCorruptData, "above the largest"));
}

TEST(DeletionVectorConformance, CostsLittleForOneBitmapWithAHugeKey) {
  const Bytes blob = BlobOf(Bitmap64Of({{0x7FFFFFF0, Bitmap32Of({3})}}));
  const int64_t before = MemoryBudget::PeakResidentBytes();
  ASSERT_OK_AND_ASSIGN(const DeletionVector vector, DeletionVector::Decode(blob));
  EXPECT_EQ(vector.ToPositions(), std::vector<int64_t>{(int64_t{0x7FFFFFF0} << 32) + 3});
  Bytes out;
  EXPECT_THAT(vector.EncodeTo(out), IsError(ErrorCode::kInvalidArgument, "larger than 2 GiB"));
  EXPECT_TRUE(out.empty());
  EXPECT_LT(MemoryBudget::PeakResidentBytes() - before, int64_t{16} << 20);
}

TEST(DeletionVectorConformance, CostsLittleForAHugeCount) {
  Bytes bitmap;
  AppendLittle(bitmap, uint64_t{0x7FFFFFFF});
  AppendLittle(bitmap, uint32_t{0});
  AppendBytes(bitmap, Bitmap32Of({3}));
  EXPECT_THAT(DeletionVector::Decode(BlobOf(bitmap)), IsError(ErrorCode::kCorruptData, "more bitmaps than bytes"));
}

TEST(DeletionVectorConformance, AcceptsEmptyBitmapsBetweenKeys) {
  Bytes empty;
  Roaring32Writer().Finish(empty);
  ASSERT_OK_AND_ASSIGN(const DeletionVector vector,
                       DeletionVector::Decode(BlobOf(Bitmap64Of({{0, empty}, {1, Bitmap32Of({4})}, {2, empty}}))));
  EXPECT_EQ(vector.ToPositions(), std::vector<int64_t>{(int64_t{1} << 32) + 4});
  DeletionVector same;
  ASSERT_THAT(same.Add(RowPosition((int64_t{1} << 32) + 4)), IsOk());
  EXPECT_EQ(vector, same);
}

}  // namespace
}  // namespace frazil::format
