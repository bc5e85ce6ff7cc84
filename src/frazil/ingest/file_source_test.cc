#include "frazil/ingest/file_source.h"

#include <fstream>

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FileSourceTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text, std::ios::openmode mode = std::ios::trunc) {
    std::ofstream(dir_.Join("in.json"), std::ios::binary | mode) << text;
    return dir_.Join("in.json");
  }
  std::unique_ptr<FileSource> Open() {
    auto source = FileSource::Open(dir_.Join("in.json"));
    EXPECT_THAT(source, IsOk());
    return *std::move(source);
  }
  static std::vector<std::string> Lines(FileSource& source) {
    std::vector<std::string> lines;
    for (;;) {
      auto line = source.Next();
      EXPECT_THAT(line, IsOk());
      if (!line || !*line) return lines;
      lines.emplace_back(**line);
    }
  }
  TempDir dir_;
};

TEST_F(FileSourceTest, NumbersLinesFromZero) {
  Write("a\n\nb\n");
  const auto source = Open();
  EXPECT_EQ(source->next_ordinal(), 0);
  EXPECT_THAT(Lines(*source), ElementsAre("a", "", "b"));
  EXPECT_EQ(source->next_ordinal(), 3);
  EXPECT_EQ(source->bytes_read(), 5);
  EXPECT_EQ(source->size_bytes(), 5);
}

TEST_F(FileSourceTest, TakesALastLineWithoutNewline) {
  Write("a\nb");
  EXPECT_THAT(Lines(*Open()), ElementsAre("a", "b"));
}

TEST_F(FileSourceTest, HasNoRecordInAnEmptyFile) {
  Write("");
  const auto source = Open();
  EXPECT_THAT(Lines(*source), IsEmpty());
  EXPECT_THAT(Lines(*source), IsEmpty());  // the end stays the end
}

TEST_F(FileSourceTest, LeavesCarriageReturnsToTheDecoder) {
  Write("a\r\nb\r\n");
  EXPECT_THAT(Lines(*Open()), ElementsAre("a\r", "b\r"));
}

TEST_F(FileSourceTest, CrossesItsBufferAtAnyPlace) {
  std::string text;
  std::vector<std::string> expected;
  for (size_t i = 0; text.size() < (size_t{5} << 20); ++i) {
    expected.push_back(std::string(i * 977 % 70'000, static_cast<char>('a' + i % 26)));
    text += expected.back() + "\n";
  }
  Write(text);
  EXPECT_EQ(Lines(*Open()), expected);
}

TEST_F(FileSourceTest, SkipsToARecord) {
  Write("a\nb\nc\n");
  const auto source = Open();
  ASSERT_THAT(source->SkipTo(2), IsOk());
  EXPECT_THAT(Lines(*source), ElementsAre("c"));
  ASSERT_THAT(Open()->SkipTo(3), IsOk());
}

TEST_F(FileSourceTest, RefusesToSkipBehindItsEnd) {
  const std::string path = Write("a\nb\n");
  EXPECT_THAT(Open()->SkipTo(3), IsError(ErrorCode::kInvalidArgument, path));
}

TEST_F(FileSourceTest, KnowsAFileThatGrew) {
  Write("a\nb\n");
  const auto recorded = Open()->identity();
  Write("c\n", std::ios::app);
  EXPECT_THAT(Open()->CheckSame(recorded), IsOk());
}

TEST_F(FileSourceTest, KnowsAFileThatGrewOverItsHead) {
  Write(std::string(size_t{1} << 20, 'x'));
  const auto recorded = Open()->identity();
  EXPECT_EQ(recorded.at("head-bytes"), "1048576");
  Write(std::string(100, 'y'), std::ios::app);
  EXPECT_THAT(Open()->CheckSame(recorded), IsOk());
}

TEST_F(FileSourceTest, RefusesAFileWhoseHeadChanged) {
  Write("a\nb\n");
  const auto recorded = Open()->identity();
  const std::string path = Write("A\nb\n");
  EXPECT_THAT(Open()->CheckSame(recorded), IsError(ErrorCode::kInvalidArgument, path));
}

TEST_F(FileSourceTest, RefusesAFileThatWasCut) {
  Write("a\nb\n");
  const auto recorded = Open()->identity();
  Write("a\n");
  EXPECT_THAT(Open()->CheckSame(recorded), IsError(ErrorCode::kInvalidArgument, "not the one"));
}

TEST_F(FileSourceTest, AcceptsWhatWasNeverRecorded) {
  Write("a\n");
  EXPECT_THAT(Open()->CheckSame({}), IsOk());
  EXPECT_THAT(Open()->CheckSame({{"head-bytes", "-1"}, {"head-hash", "x"}}), IsError(ErrorCode::kInvalidArgument, ""));
}

TEST_F(FileSourceTest, HasOneNameForOneFile) {
  const std::string path = Write("a\n");
  ASSERT_OK_AND_ASSIGN(const auto roundabout,
                       FileSource::Open(dir_.Join("../" + dir_.path().filename().string() + "/in.json")));
  EXPECT_EQ(roundabout->id(), Open()->id());
  EXPECT_EQ(Open()->id(), "file:" + std::filesystem::canonical(path).string());
}

TEST_F(FileSourceTest, SaysWhichFileIsMissingOrNone) {
  EXPECT_THAT(FileSource::Open(dir_.Join("nothing")), IsError(ErrorCode::kNotFound, "nothing"));
  EXPECT_THAT(FileSource::Open(dir_.path().string()), IsError(ErrorCode::kInvalidArgument, dir_.path().string()));
}

TEST_F(FileSourceTest, RefusesARecordThatNeverEnds) {
  {
    std::ofstream file(dir_.Join("in.json"), std::ios::binary);
    const std::string block(size_t{1} << 20, 'x');
    for (int i = 0; i < 66; ++i) file << block;
  }
  EXPECT_THAT(Open()->Next(), IsError(ErrorCode::kInvalidArgument, "64 MiB"));
}

}  // namespace
}  // namespace frazil::ingest
