#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "frazil/base/test_support.h"
#include "frazil/index/run_writer.h"

namespace frazil::index {

/// Inside of a TEST `Run` is a function of GoogleTest.
using Runs = std::vector<std::shared_ptr<const Run>>;

/// `sorted`: all that will come. Few entries get none.
inline void AddFilter(RunWriter& writer, const std::vector<Entry>& sorted) {
  if (sorted.empty()) return;
  writer.AddFilter(static_cast<int64_t>(sorted.size()), sorted.front().hash.high, sorted.back().hash.high);
}

/// A run of `entries` in any order, in memory.
inline std::shared_ptr<const Run> MakeRun(std::vector<Entry> entries, std::string name = "test run") {
  std::sort(entries.begin(), entries.end());
  const auto writer = RunWriter::ToMemory(std::move(name), RunLayout::Of(entries));
  AddFilter(*writer, entries);
  EXPECT_THAT(writer->Add(entries), IsOk());
  auto run = writer->Finish();
  EXPECT_THAT(run, IsOk());
  return run ? *run : nullptr;
}

/// The same in a file.
inline std::shared_ptr<const Run> MakeRunFile(const std::string& path, std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end());
  const auto local = io::MakeLocalFileIO();
  auto writer = RunWriter::ToFile(*local, path, RunLayout::Of(entries));
  EXPECT_THAT(writer, IsOk());
  AddFilter(**writer, entries);
  EXPECT_THAT((*writer)->Add(entries), IsOk());
  auto run = (*writer)->Finish();
  EXPECT_THAT(run, IsOk());
  return run ? *run : nullptr;
}

inline std::vector<Entry> EntriesOf(const Run& run) {
  std::vector<Entry> entries;
  Run::Cursor cursor(run);
  while (true) {
    Entry entry;
    const Result<bool> more = cursor.Next(entry);
    EXPECT_THAT(more, IsOk());
    if (!more || !*more) return entries;
    entries.push_back(entry);
  }
}

/// Hashes as an index meets them, and as it hardly ever does.
enum class Hashes {
  kUniform,
  kFewKeys,       ///< many entries of each key, over several pages
  kSameHighBits,  ///< told apart by the low 32 bits alone
  kClustered,     ///< where guessing a place from the value goes wrong
  kExtremes,      ///< the smallest and the largest there are
  kDense,         ///< as of a hundred million keys
  kGaps,          ///< dense first, then in clusters as far from each other as those of a few thousand
};
inline constexpr Hashes kAllHashes[] = {Hashes::kUniform,  Hashes::kFewKeys, Hashes::kSameHighBits, Hashes::kClustered,
                                        Hashes::kExtremes, Hashes::kDense,   Hashes::kGaps};

inline Hash96 RandomHash(Hashes hashes, std::mt19937_64& random) {
  switch (hashes) {
    case Hashes::kUniform: return {random(), static_cast<uint32_t>(random())};
    case Hashes::kFewKeys: return {random() % 4 << 62, 7};
    case Hashes::kSameHighBits: return {42, static_cast<uint32_t>(random() % 1000)};
    case Hashes::kClustered: return {uint64_t{1} << (random() % 64), static_cast<uint32_t>(random() % 3)};
    case Hashes::kDense: return {(uint64_t{1} << 60) + (random() >> 18), static_cast<uint32_t>(random())};
    case Hashes::kGaps:
      return {(random() % 2 == 0 ? 0 : (1 + random() % 15) << 60) + (random() >> 20), static_cast<uint32_t>(random())};
    case Hashes::kExtremes: break;
  }
  const Hash96 extremes[] = {{0, 0}, {0, 1}, {UINT64_MAX, UINT32_MAX - 1}, {UINT64_MAX, UINT32_MAX}, {random(), 0}};
  return extremes[random() % 5];
}

/// Distinct by (hash, file, position), for a narrow run.
inline std::vector<Entry> RandomEntries(Hashes hashes, size_t count, bool row_ids, std::mt19937_64& random) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < count; ++i) {
    const auto position = static_cast<uint32_t>(i);
    entries.push_back({.hash = RandomHash(hashes, random),
                       .file = static_cast<uint32_t>(random() % 9),
                       .position = position,
                       .row_id = row_ids && random() % 2 == 0 ? static_cast<int64_t>(random() >> 25) : kDerivedRowId});
  }
  return entries;
}

}  // namespace frazil::index
