#include "frazil/index/entry_sorter.h"

#include <atomic>
#include <filesystem>
#include <thread>

#include "frazil/index/run_test_support.h"
#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SortEntries, SortsAsTheStandardLibraryDoes) {
  for (const uint64_t seed : {41, 42, 43}) {
    for (const Hashes hashes : kAllHashes) {
      for (const size_t count : {0u, 1u, 2u, 33u, 1000u, 30'000u}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", hashes " << static_cast<int>(hashes) << ", " << count);
        std::mt19937_64 random(seed);
        std::vector<Entry> entries = RandomEntries(hashes, count, true, random);
        std::vector<Entry> expected = entries;
        std::sort(expected.begin(), expected.end());
        SortEntries(entries);
        ASSERT_EQ(entries, expected);
      }
    }
  }
}

TEST(SortEntries, SortsEntriesOfOneShard) {
  std::mt19937_64 random(44);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 30'000, false, random);
  for (Entry& entry : entries) entry.hash.high = entry.hash.high >> 8 | uint64_t{0xab} << 56;
  std::vector<Entry> expected = entries;
  std::sort(expected.begin(), expected.end());
  SortEntries(entries);
  EXPECT_EQ(entries, expected);
}

// All entries of the runs of all shards, each of which must be where it belongs and in order.
std::vector<Entry> Gather(const std::vector<std::vector<std::shared_ptr<const Run>>>& shards) {
  std::vector<Entry> entries;
  for (uint32_t shard = 0; shard < shards.size(); ++shard) {
    for (const auto& run : shards[shard]) {
      const std::vector<Entry> of_run = EntriesOf(*run);
      EXPECT_TRUE(std::is_sorted(of_run.begin(), of_run.end()));
      for (const Entry& entry : of_run) {
        EXPECT_EQ(ShardOf(entry.hash, static_cast<uint32_t>(shards.size())), shard);
        entries.push_back(entry);
      }
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

TEST(EntrySorter, GivesBackEveryEntryOnceInTheRunsOfItsShard) {
  const TempDir folder;
  Executor executor(2);
  for (const Hashes hashes : kAllHashes) {
    for (const uint32_t num_shards : {1u, 4u, 256u}) {
      for (const int64_t in_memory : {1, 100, 7000, 1'000'000}) {
        for (const bool to_files : {false, true}) {
          const auto count = static_cast<size_t>(std::min<int64_t>(in_memory * 20 + 7, 20'000));
          if (to_files && num_shards * count > 30 * static_cast<size_t>(in_memory)) continue;  // each file is synced
          SCOPED_TRACE(testing::Message() << "hashes " << static_cast<int>(hashes) << ", shards " << num_shards
                                          << ", in memory " << in_memory);
          std::mt19937_64 random(45);
          std::vector<Entry> entries = RandomEntries(hashes, count, true, random);
          EntrySorter sorter(
              {.num_shards = num_shards,
               .max_entries_in_memory = in_memory,
               .name_run = [&](uint32_t) { return to_files ? folder.Join(Uuid::Random().ToString()) : ""; },
               .local = io::MakeLocalFileIO(),
               .executor = num_shards == 4 ? &executor : nullptr});
          for (size_t i = 0; i < entries.size();) {
            const size_t some = std::min<size_t>(entries.size() - i, random() % 3000);
            ASSERT_THAT(sorter.Add(std::span(entries).subspan(i, some)), IsOk());
            i += some;
          }
          ASSERT_OK_AND_ASSIGN(const auto shards, sorter.Finish());
          ASSERT_EQ(shards.size(), num_shards);
          std::sort(entries.begin(), entries.end());
          ASSERT_EQ(Gather(shards), entries);
        }
        std::filesystem::remove_all(folder.path());
      }
    }
  }
}

TEST(EntrySorter, TakesEntriesFromTasksOfItsOwnExecutor) {
  Executor executor(3);
  std::mt19937_64 random(46);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 300'000, false, random);
  EntrySorter sorter(
      {.num_shards = 4, .max_entries_in_memory = 110'000, .name_run = {}, .local = {}, .executor = &executor});
  ASSERT_THAT(
      executor.ParallelFor(300, [&](size_t i) { return sorter.Add(std::span(entries).subspan(i * 1000, 1000)); }),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const auto shards, sorter.Finish());
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(Gather(shards), entries);
}

TEST(EntrySorter, RunsComeNewestFirst) {
  EntrySorter sorter({.num_shards = 1, .max_entries_in_memory = 1, .name_run = {}, .local = {}});
  for (uint32_t i = 0; i < 3; ++i) ASSERT_THAT(sorter.Add(std::vector<Entry>{{{1, 1}, i, 0}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto shards, sorter.Finish());
  ASSERT_EQ(shards[0].size(), 3u);
  EXPECT_EQ(EntriesOf(*shards[0][0])[0].file, 2u);
  EXPECT_EQ(EntriesOf(*shards[0][2])[0].file, 0u);
}

TEST(EntrySorter, WithoutEntriesThereAreNoRuns) {
  EntrySorter sorter({.num_shards = 2, .max_entries_in_memory = 10, .name_run = {}, .local = {}});
  ASSERT_OK_AND_ASSIGN(const auto shards, sorter.Finish());
  EXPECT_THAT(shards, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(EntrySorter, AFailedRunFailsAllThatFollows) {
  const TempDir folder;
  std::atomic<bool> fails = true;
  const auto local = std::make_shared<io::FaultInjectingFileIO>(
      io::MakeLocalFileIO(), [&](std::string_view operation, const std::string& path) -> Status {
        if (operation == "append" && fails) return Fail(ErrorCode::kIo, "cannot write file: no space left: {}", path);
        return {};
      });
  EntrySorter sorter({.num_shards = 1,
                      .max_entries_in_memory = 10,
                      .name_run = [&](uint32_t) { return folder.Join(Uuid::Random().ToString()); },
                      .local = local});
  std::mt19937_64 random(47);
  const std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 10, false, random);
  EXPECT_THAT(sorter.Add(entries), IsError(ErrorCode::kIo, "no space left"));
  fails = false;
  EXPECT_THAT(sorter.Add(entries), IsError(ErrorCode::kIo, "no space left"));
  EXPECT_THAT(sorter.Finish(), IsError(ErrorCode::kIo, "no space left"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace frazil::index
