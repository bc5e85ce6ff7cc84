#include "frazil/format/roaring_format.h"

#include <array>

#include "frazil/base/test_support.h"

namespace frazil::format {
namespace {

using testing::Eq;

/// Little-endian 16-bit words.
Bytes Words(std::initializer_list<int> words) {
  Bytes out;
  for (const int word : words) AppendLittle(out, static_cast<uint16_t>(word));
  return out;
}

constexpr int kNoRuns = 12346;
constexpr int kRuns = 12347;

TEST(ValidateRoaring32, MeasuresABitmapAndLeavesWhatFollows) {
  const Bytes empty = Words({kNoRuns, 0, 0, 0});
  EXPECT_THAT(ValidateRoaring32(empty), IsOkAnd(Eq(8u)));
  const Bytes array = Words({kNoRuns, 0, 1, 0, 5, 1, 16, 0, 7, 9, 0x1234});
  EXPECT_THAT(ValidateRoaring32(array), IsOkAnd(Eq(20u)));
}

TEST(ValidateRoaring32, RefusesArraysThatAreNotAscending) {
  EXPECT_THAT(ValidateRoaring32(Words({kNoRuns, 0, 1, 0, 5, 1, 16, 0, 9, 7})),
              IsError(ErrorCode::kCorruptData, "array is not ascending"));
  EXPECT_THAT(ValidateRoaring32(Words({kNoRuns, 0, 1, 0, 5, 1, 16, 0, 7, 7})),
              IsError(ErrorCode::kCorruptData, "array is not ascending"));
}

TEST(ValidateRoaring32, RefusesContainersOutOfOrder) {
  EXPECT_THAT(ValidateRoaring32(Words({kNoRuns, 0, 2, 0, 5, 0, 5, 0, 24, 0, 26, 0, 7, 7})),
              IsError(ErrorCode::kCorruptData, "key is not larger than the one before in container 1"));
}

TEST(ValidateRoaring32, RefusesOffsetsThatPointElsewhere) {
  EXPECT_THAT(ValidateRoaring32(Words({kNoRuns, 0, 1, 0, 5, 1, 18, 0, 7, 9, 11})),
              IsError(ErrorCode::kCorruptData, "offset points elsewhere"));
}

TEST(ValidateRoaring32, RefusesRunsThatLie) {
  const auto runs = [](std::initializer_list<int> words) {
    Bytes bytes = Words({kRuns, 0});
    bytes.push_back(std::byte{1});
    AppendBytes(bytes, Words(words));
    return bytes;
  };
  EXPECT_THAT(ValidateRoaring32(runs({0, 5, /*runs*/ 2, 1, 2, 10, 2})), IsOkAnd(Eq(19u)));
  EXPECT_THAT(ValidateRoaring32(runs({0, 6, 2, 1, 2, 10, 2})), IsError(ErrorCode::kCorruptData, "another cardinality"));
  EXPECT_THAT(ValidateRoaring32(runs({0, 5, 2, 1, 2, 3, 2})), IsError(ErrorCode::kCorruptData, "overlap"));
  EXPECT_THAT(ValidateRoaring32(runs({0, 5, 2, 10, 2, 1, 2})), IsError(ErrorCode::kCorruptData, "overlap"));
  EXPECT_THAT(ValidateRoaring32(runs({0, 5, 1, 0xFFFE, 5})), IsError(ErrorCode::kCorruptData, "ends after"));
  EXPECT_THAT(ValidateRoaring32(runs({0, 5, 0xFFFF, 0, 5})), IsError(ErrorCode::kCorruptData, "cut off"));
}

TEST(ValidateRoaring32, RefusesBitsetsOfAnotherCardinality) {
  Bytes bytes = Words({kNoRuns, 0, 1, 0, 0, 4096, 16, 0});
  bytes.resize(bytes.size() + 8192);
  for (size_t i = 16; i < 16 + 512; ++i) bytes[i] = std::byte{0xFF};
  EXPECT_THAT(ValidateRoaring32(bytes), IsError(ErrorCode::kCorruptData, "another cardinality"));
  bytes[16 + 600] = std::byte{1};
  EXPECT_THAT(ValidateRoaring32(bytes), IsOkAnd(Eq(bytes.size())));
}

TEST(ValidateRoaring32, RefusesCountsBeyondTheBytes) {
  EXPECT_THAT(ValidateRoaring32(Words({kNoRuns, 0, 0xFFFF, 0xFFFF})), IsError(ErrorCode::kCorruptData, "65536"));
  EXPECT_THAT(ValidateRoaring32(Words({kNoRuns, 0, 0, 1})), IsError(ErrorCode::kCorruptData, "header is cut off"));
  EXPECT_THAT(ValidateRoaring32(Words({kRuns, 0xFFFF})), IsError(ErrorCode::kCorruptData, "run flags"));
  EXPECT_THAT(ValidateRoaring32({}), IsError(ErrorCode::kCorruptData, "cookie is cut off"));
  EXPECT_THAT(ValidateRoaring32(Words({1, 0, 0, 0})), IsError(ErrorCode::kCorruptData, "unknown cookie"));
}

TEST(Roaring32Writer, MakesRunsOnlyWhereTheyAreSmaller) {
  const auto size_of = [](std::vector<uint16_t> values) {
    Roaring32Writer writer;
    writer.AddContainer(0, values);
    Bytes out;
    writer.Finish(out);
    EXPECT_THAT(ValidateRoaring32(out), IsOkAnd(Eq(out.size())));
    return out.size();
  };
  EXPECT_EQ(size_of({1, 2, 3}), 16u + 6);    // a run would need as much: stays an array
  EXPECT_EQ(size_of({1, 2, 3, 4}), 9u + 6);  // one run
  std::vector<uint16_t> every_second;
  for (int i = 0; i < 65536; i += 2) every_second.push_back(static_cast<uint16_t>(i));
  EXPECT_EQ(size_of(every_second), 16u + 8192);  // a bitset
  std::vector<uint16_t> full(65536);
  for (int i = 0; i < 65536; ++i) full[i] = static_cast<uint16_t>(i);
  EXPECT_EQ(size_of(full), 9u + 6);
}

TEST(Roaring32Writer, WritesBitsAsItWritesTheirNumbers) {
  for (const int kind : {0, 1, 2, 3}) {
    std::array<uint64_t, 1024> bits{};
    std::vector<uint16_t> values;
    for (uint32_t i = 0; i < 65'536; ++i) {
      const bool is_set = kind == 0   ? i % 2 == 0
                          : kind == 1 ? true
                          : kind == 2 ? i % 64 != 63 && i > 100 && i < 65'000
                                      : i >= 60'000;
      if (!is_set) continue;
      bits[i / 64] |= uint64_t{1} << (i % 64);
      values.push_back(static_cast<uint16_t>(i));
    }
    Roaring32Writer of_values;
    of_values.AddContainer(7, values);
    Roaring32Writer of_bits;
    of_bits.AddBitset(7, bits);
    Bytes expected;
    of_values.Finish(expected);
    Bytes written;
    of_bits.Finish(written);
    EXPECT_EQ(written, expected) << "kind " << kind;
    const std::vector<Roaring32Container> containers = ContainersOf(written);
    ASSERT_EQ(containers.size(), 1u);
    EXPECT_EQ(containers[0].key, 7);
    EXPECT_EQ(containers[0].cardinality, values.size());
    EXPECT_EQ(containers[0].kind, kind == 0 ? Roaring32Container::Kind::kBitset : Roaring32Container::Kind::kRuns);
  }
}

}  // namespace
}  // namespace frazil::format
