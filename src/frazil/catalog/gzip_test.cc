#include "frazil/catalog/gzip.h"

#include "frazil/base/test_support.h"

namespace frazil::catalog {
namespace {

constexpr int64_t kPlenty = 1 << 24;

std::string Unpacked(const Bytes& packed) {
  const auto bytes = Gunzip(packed, kPlenty, "/f.gz");
  EXPECT_THAT(bytes, IsOk());
  return bytes ? std::string(AsText(*bytes)) : std::string();
}

TEST(Gzip, UnpacksWhatItPacked) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{3'000'000}}) {
    std::string text(size, 'x');
    for (size_t i = 0; i < size; i += 7) text[i] = static_cast<char>(i * 31);
    ASSERT_OK_AND_ASSIGN(const Bytes packed, Gzip(AsBytes(text)));
    EXPECT_TRUE(IsGzip(packed));
    EXPECT_TRUE(Unpacked(packed) == text) << size;
  }
}

TEST(Gzip, UnpacksBytesOfTheGzipProgram) {
  // printf '{"a":1}' | gzip -n -9
  const unsigned char foreign[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x4a, 0x54,
                                   0xb2, 0x32, 0xac, 0x05, 0x00, 0xaf, 0xac, 0x1b, 0x56, 0x07, 0x00, 0x00, 0x00};
  EXPECT_EQ(Unpacked(CopyBytes(std::as_bytes(std::span(foreign)))), "{\"a\":1}");
}

TEST(Gzip, UnpacksSeveralMembersInARow) {
  ASSERT_OK_AND_ASSIGN(Bytes packed, Gzip(AsBytes("first ")));
  ASSERT_OK_AND_ASSIGN(const Bytes second, Gzip(AsBytes("second")));
  AppendBytes(packed, second);
  EXPECT_EQ(Unpacked(packed), "first second");
}

TEST(Gzip, RefusesEveryTruncation) {
  ASSERT_OK_AND_ASSIGN(const Bytes packed, Gzip(AsBytes("some text that is some text")));
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_THAT(Gunzip(ByteView(packed).first(size), kPlenty, "/f.gz"), IsError(ErrorCode::kCorruptData, "/f.gz"))
        << size;
  }
}

TEST(Gzip, RefusesEveryFlippedByteOfTheContentAndItsChecksum) {
  ASSERT_OK_AND_ASSIGN(const Bytes packed, Gzip(AsBytes("some text that is some text")));
  for (size_t at = 10; at < packed.size(); ++at) {  // the ten bytes before are names and times
    Bytes damaged = packed;
    damaged[at] ^= std::byte{0xff};
    EXPECT_THAT(Gunzip(damaged, kPlenty, "/f.gz"), IsError(ErrorCode::kCorruptData, "/f.gz")) << at;
  }
}

TEST(Gzip, StopsAtTheLimitHoweverMuchAFewBytesClaim) {
  ASSERT_OK_AND_ASSIGN(const Bytes bomb, Gzip(Bytes(4'000'000)));
  ASSERT_LT(bomb.size(), 5'000U);
  EXPECT_THAT(Gunzip(bomb, 100'000, "/f.gz"), IsError(ErrorCode::kResourceExhausted, "/f.gz"));
  EXPECT_THAT(Gunzip(bomb, 3'999'999, "/f.gz"), IsError(ErrorCode::kResourceExhausted, "/f.gz"));
  EXPECT_THAT(Gunzip(bomb, 4'000'000, "/f.gz"), IsOk());
}

}  // namespace
}  // namespace frazil::catalog
