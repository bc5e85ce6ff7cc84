#include "frazil/index/run.h"

#include <filesystem>
#include <fstream>

#include "frazil/index/run_probe.h"
#include "frazil/index/run_test_support.h"
#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void WriteBytes(const std::string& path, ByteView bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// Touches everything that a run has.
Status ReadAll(const std::string& path, const std::vector<Hash96>& keys) {
  FRAZIL_ASSIGN(const auto run, Run::Open(path));
  const Runs runs{run};
  std::vector<ProbeHit> hits;
  FRAZIL_TRY(Probe(runs, keys, hits));
  Run::Cursor cursor(*run);
  Entry entry;
  while (true) {
    FRAZIL_ASSIGN(const bool more, cursor.Next(entry));
    if (!more) return run->Verify();
  }
}

std::vector<Hash96> KeysOf(const std::vector<Entry>& entries) {
  std::vector<Hash96> keys;
  for (const Entry& entry : entries) keys.push_back(entry.hash);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

constexpr RunLayout kAllLayouts[] = {{false, false}, {true, false}, {false, true}, {true, true}};

// Numbers of entries around one page of every layout.
constexpr size_t kCounts[] = {1,   2,   146, 147, 151, 157, 158, 177, 178, 185, 194,
                              195, 204, 205, 215, 227, 228, 240, 241, 255, 256, 4000};

// Entries that need just this layout.
std::vector<Entry> EntriesFor(RunLayout layout, Hashes hashes, size_t count, std::mt19937_64& random) {
  std::vector<Entry> entries = RandomEntries(hashes, count, layout.has_row_ids, random);
  Entry& one = entries[random() % count];
  if (layout.has_row_ids) one.row_id = RunLayout::kMaxNarrowRowId;
  one.file = RunLayout::kMaxNarrowFile;
  one.position = RunLayout::kMaxNarrowPosition;
  if (!layout.is_wide) return entries;
  switch (random() % (layout.has_row_ids ? 3 : 2)) {
    case 0: one.file = random() % 2 == 0 ? RunLayout::kMaxNarrowFile + 1 : UINT32_MAX - 1; break;
    case 1: one.position = random() % 2 == 0 ? RunLayout::kMaxNarrowPosition + 1 : UINT32_MAX; break;
    default: one.row_id = random() % 2 == 0 ? RunLayout::kMaxNarrowRowId + 1 : INT64_MAX;
  }
  return entries;
}

TEST(Run, GivesBackWhatWasWritten) {
  const TempDir folder;
  for (const uint64_t seed : {1, 2}) {
    for (const Hashes hashes : kAllHashes) {
      for (const size_t count : kCounts) {
        for (const RunLayout layout : kAllLayouts) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << seed << ", hashes " << static_cast<int>(hashes) << ", " << count);
          std::mt19937_64 random(seed);
          std::vector<Entry> entries = EntriesFor(layout, hashes, count, random);
          const std::string path = folder.Join(Uuid::Random().ToString());
          const auto written = MakeRunFile(path, entries);
          const auto in_memory = MakeRun(entries);
          std::sort(entries.begin(), entries.end());
          EXPECT_EQ(EntriesOf(*written), entries);
          EXPECT_EQ(EntriesOf(*in_memory), entries);
          EXPECT_TRUE(std::equal(written->bytes().begin(), written->bytes().end(), in_memory->bytes().begin(),
                                 in_memory->bytes().end()));
          EXPECT_EQ(written->num_entries(), static_cast<int64_t>(count));
          EXPECT_EQ(written->checksum(), in_memory->checksum());
          EXPECT_EQ(written->layout().has_row_ids, layout.has_row_ids);
          EXPECT_EQ(written->layout().is_wide, layout.is_wide);
          EXPECT_THAT(written->Verify(), IsOk());
          EXPECT_FALSE(written->in_memory());
          EXPECT_TRUE(in_memory->in_memory());
        }
      }
    }
  }
}

TEST(Run, NamesTheFilesThatItsEntriesName) {
  const auto run =
      MakeRun({{{1, 0}, 70'000, 0}, {{2, 0}, 3, 0}, {{3, 0}, UINT32_MAX - 1, 0}, {{4, 0}, 3, 1}, {{5, 0}, 0, 1}});
  EXPECT_THAT(run->file_numbers(), ElementsAre(0, 3, 70'000, UINT32_MAX - 1));
}

// The fewer the denser the hashes are; 1.3 of them for the filter, and five more with row ids.
TEST(Run, TakesSixteenToEighteenBytesAKey) {
  const std::pair<int, double> sizes[] = {{0, 19.9}, {8, 18.6}, {17, 17.5}};  // bits that the hashes have in common
  for (const auto& [bits, most] : sizes) {
    SCOPED_TRACE(bits);
    std::mt19937_64 random(5);
    std::vector<Entry> entries = RandomEntries(Hashes::kUniform, bits == 0 ? 20'000 : 100'000, false, random);
    for (Entry& entry : entries) entry.hash.high >>= bits;
    const auto bytes_a_key = [&] {
      return static_cast<double>(MakeRun(entries)->size_bytes()) / static_cast<double>(entries.size());
    };
    EXPECT_LT(bytes_a_key(), most);
    for (Entry& entry : entries) entry.row_id = 5;
    EXPECT_LT(bytes_a_key(), most + 5.2);
  }
}

/// Rows that are there twice, or live equality deletes: one of the first hashes may have very many entries.
TEST(Run, AKeyOfVeryManyEntriesDoesNotMakePagesEndEarly) {
  std::mt19937_64 random(5);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 60'000, false, random);
  for (Entry& entry : entries) entry.hash.high >>= 4;
  std::vector<Entry> of_first(1'000, entries.front());
  for (uint32_t i = 0; i < of_first.size(); ++i) of_first[i].position = i;
  of_first.insert(of_first.end(), entries.begin() + 1, entries.end());
  EXPECT_LT(static_cast<double>(MakeRun(of_first)->size_bytes()) / static_cast<double>(of_first.size()), 19);
}

TEST(Run, ChecksumTellsRunsApartThatDifferInOneLocation) {
  std::vector<Entry> entries = {{{1, 0}, 1, 1}, {{2, 0}, 1, 2}, {{3, 0}, 1, 3}};
  const uint64_t checksum = MakeRun(entries)->checksum();
  entries[1].position = 9;
  EXPECT_NE(MakeRun(entries)->checksum(), checksum);
}

TEST(Run, EveryFlippedByteIsNoticedAndTheFileNamed) {
  const TempDir folder;
  for (const bool row_ids : {false, true}) {
    std::mt19937_64 random(11);
    std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 450, row_ids, random);
    for (size_t i = 0; i < entries.size(); ++i) entries[i].file = static_cast<uint32_t>(i % 3);
    const std::string original = folder.Join(row_ids ? "original-ids" : "original");
    const Bytes bytes = CopyBytes(MakeRunFile(original, entries)->bytes());
    const std::vector<Hash96> keys = KeysOf(entries);
    const std::string path = folder.Join(row_ids ? "damaged-ids" : "damaged");
    const size_t pages = bytes.size() / RunPage::kBytes;
    for (size_t offset = 0; offset < bytes.size(); offset += offset / RunPage::kBytes < pages ? 37 : 1) {
      SCOPED_TRACE(offset);
      Bytes damaged = bytes;
      damaged[offset] ^= std::byte{static_cast<unsigned char>(1u << (offset % 8))};
      WriteBytes(path, damaged);
      const Status read = ReadAll(path, keys);
      ASSERT_THAT(read, IsError(ErrorCode::kCorruptData, path));
      if (offset / RunPage::kBytes < pages) {
        EXPECT_THAT(read.error().message(), HasSubstr("page " + std::to_string(offset / RunPage::kBytes)));
      }
    }
  }
}

TEST(Run, EveryTruncationAndEveryAddedTailIsNoticed) {
  const TempDir folder;
  std::mt19937_64 random(12);
  const std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 450, false, random);
  const Bytes bytes = CopyBytes(MakeRunFile(folder.Join("original"), entries)->bytes());
  const std::string path = folder.Join("damaged");
  for (size_t size = 0; size < bytes.size(); size += size + 300 < bytes.size() ? 101 : 1) {
    SCOPED_TRACE(size);
    WriteBytes(path, ByteView(bytes).first(size));
    EXPECT_THAT(Run::Open(path), IsError(ErrorCode::kCorruptData, path));
  }
  Bytes longer = bytes;
  longer.resize(bytes.size() + 8);
  WriteBytes(path, longer);
  EXPECT_THAT(Run::Open(path), IsError(ErrorCode::kCorruptData, path));
  // A footer that is whole, behind bytes that are not.
  longer = CopyBytes(ByteView(bytes).subspan(RunPage::kBytes));
  WriteBytes(path, longer);
  EXPECT_THAT(Run::Open(path), IsError(ErrorCode::kCorruptData, path));
}

TEST(Run, PagesThatChangedPlacesAreNoticed) {
  const TempDir folder;
  std::mt19937_64 random(13);
  const std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 612, false, random);
  Bytes bytes = CopyBytes(MakeRun(entries)->bytes());
  std::swap_ranges(bytes.begin(), bytes.begin() + RunPage::kBytes, bytes.begin() + RunPage::kBytes);
  const std::string path = folder.Join("damaged");
  WriteBytes(path, bytes);
  EXPECT_THAT(ReadAll(path, KeysOf(entries)), IsError(ErrorCode::kCorruptData, "page 0"));
}

TEST(Run, APageOfAnotherRunIsNoticedByVerify) {
  std::mt19937_64 random(14);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 408, false, random);
  const Bytes old_bytes = CopyBytes(MakeRun(entries)->bytes());
  for (Entry& entry : entries) entry.position += 1'000'000;
  Bytes bytes = CopyBytes(MakeRun(entries)->bytes());
  std::copy(old_bytes.begin(), old_bytes.begin() + RunPage::kBytes, bytes.begin());
  ASSERT_OK_AND_ASSIGN(const auto run, Run::FromBytes(bytes, "mixed"));
  EXPECT_THAT(run->Verify(), IsError(ErrorCode::kCorruptData, "not those of its footer: mixed"));
}

TEST(Run, AFileThatBecameShorterIsAnErrorWhereItsPagesWereNotReadYet) {
  const TempDir folder;
  std::mt19937_64 random(15);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 2000, false, random);
  const std::string path = folder.Join("run");
  const Runs runs{MakeRunFile(path, entries)};
  std::filesystem::resize_file(path, RunPage::kBytes);
  std::vector<ProbeHit> hits;
  EXPECT_THAT(Probe(runs, KeysOf(entries), hits), IsError(ErrorCode::kCorruptData, "became shorter"));
  EXPECT_THAT(runs[0]->Verify(), IsError(ErrorCode::kCorruptData, "became shorter"));
}

TEST(Run, OfAnEarlierVersionIsRefused) {
  Bytes bytes(RunPage::kBytes + 88);
  std::memcpy(bytes.data() + RunPage::kBytes, "FZILRUN1", 8);
  EXPECT_THAT(::frazil::index::Run::FromBytes(bytes, "old run"),
              IsError(ErrorCode::kCorruptData, "earlier version: old run"));
}

TEST(Run, WhatIsNotThereIsNotFound) {
  const TempDir folder;
  EXPECT_THAT(Run::Open(folder.Join("none")), IsError(ErrorCode::kNotFound, folder.Join("none")));
  EXPECT_THAT(Run::Open(folder.path().string()), IsError(ErrorCode::kNotFound, folder.path().string()));
}

TEST(Run, StaysReadableWhenItsFileIsDeleted) {
  const TempDir folder;
  std::mt19937_64 random(16);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 2000, false, random);
  const auto run = MakeRunFile(folder.Join("run"), entries);
  std::filesystem::remove(folder.Join("run"));
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(EntriesOf(*run), entries);
}

TEST(RunWriter, RefusesWhatIsOutOfOrder) {
  const Entry entry{{5, 5}, 5, 5};
  for (const Entry& below : {Entry{{4, 9}, 9, 9}, Entry{{5, 4}, 9, 9}, Entry{{5, 5}, 4, 9}, Entry{{5, 5}, 5, 4}}) {
    const auto writer = RunWriter::ToMemory("run", RunLayout{});
    ASSERT_THAT(writer->Add(entry), IsOk());
    EXPECT_THAT(writer->Add(below), IsError(ErrorCode::kInternal, "out of order"));
  }
}

TEST(RunWriter, DropsExactRepetitions) {
  const auto writer = RunWriter::ToMemory("run", RunLayout{.has_row_ids = true});
  const Entry zero{{0, 0}, 0, 0, 7};
  for (const Entry& entry : {zero, zero, Entry{{0, 0}, 0, 1, 8}, Entry{{0, 0}, 0, 1, 9}}) {
    ASSERT_THAT(writer->Add(entry), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto run, writer->Finish());
  EXPECT_THAT(EntriesOf(*run), ElementsAre(zero, Entry{{0, 0}, 0, 1, 8}));
}

TEST(RunWriter, RefusesARowIdWhereNoneAreStored) {
  const auto writer = RunWriter::ToMemory("run", RunLayout{});
  EXPECT_THAT(writer->Add({{5, 5}, 5, 5, 0}), IsError(ErrorCode::kInternal, "row id"));
}

TEST(RunWriter, RefusesWhatIsTooLarge) {
  const auto writer = RunWriter::ToMemory("run", RunLayout{.has_row_ids = true});
  EXPECT_THAT(writer->Add({{5, 5}, (1 << 24) - 1, 5, 0}), IsError(ErrorCode::kInternal, "file number 16777215"));
  EXPECT_THAT(writer->Add({{5, 5}, 5, 1 << 24, 0}), IsError(ErrorCode::kInternal, "position 16777216"));
  EXPECT_THAT(writer->Add({{5, 5}, 5, 5, int64_t{1} << 39}), IsError(ErrorCode::kInternal, "row id 549755813888"));
  const auto wide = RunWriter::ToMemory("run", RunLayout{.is_wide = true});
  EXPECT_THAT(wide->Add({{5, 5}, UINT32_MAX, 5}), IsError(ErrorCode::kInternal, "file number 4294967295"));
}

TEST(RunWriter, ARunOfNoEntriesIsNoFile) {
  const TempDir folder;
  const auto local = io::MakeLocalFileIO();
  ASSERT_OK_AND_ASSIGN(const auto writer, RunWriter::ToFile(*local, folder.Join("run"), RunLayout{}));
  ASSERT_OK_AND_ASSIGN(const auto run, writer->Finish());
  EXPECT_EQ(run, nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder.Join("run")));
}

TEST(RunWriter, AFailedWriteIsTheErrorAndLeavesNothing) {
  std::mt19937_64 random(17);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 100'000, false, random);
  std::sort(entries.begin(), entries.end());
  for (const std::string_view failing : {"create", "append", "close.before"}) {
    for (const int nth : {1, 2, 100}) {
      const TempDir folder;
      int count = 0;
      bool has_failed = false;
      io::FaultInjectingFileIO local(io::MakeLocalFileIO(), [&](std::string_view operation, const std::string& path) {
        if (operation != failing || ++count != nth) return Status();
        has_failed = true;
        return Status(Fail(ErrorCode::kIo, "cannot write file: no space left on device: {}", path));
      });
      const auto write = [&]() -> Result<Runs::value_type> {
        FRAZIL_ASSIGN(const auto writer, RunWriter::ToFile(local, folder.Join("run"), RunLayout{}));
        FRAZIL_TRY(writer->Add(entries));
        return writer->Finish();
      };
      const auto run = write();
      if (!has_failed) {
        EXPECT_THAT(run, IsOk());
        continue;
      }
      EXPECT_THAT(run, IsError(ErrorCode::kIo, folder.Join("run")));
      EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << failing << " " << nth;
    }
  }
}

}  // namespace
}  // namespace frazil::index
