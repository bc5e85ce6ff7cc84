#include "frazil/index/run_merge.h"

#include <map>
#include <set>

#include "frazil/index/run_test_support.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;

using RewriteEntry = std::function<Result<bool>(Entry& entry)>;

RewriteEntries ForEach(const RewriteEntry& rewrite) {
  if (!rewrite) return nullptr;
  return [rewrite](std::span<Entry> entries) -> Result<size_t> {
    size_t num_stay = 0;
    for (Entry& entry : entries) {
      FRAZIL_ASSIGN(const bool stays, rewrite(entry));
      if (stays) entries[num_stay++] = entry;
    }
    return num_stay;
  };
}

Result<std::shared_ptr<const Run>> Merge(const Runs& runs, const RewriteEntry& rewrite, MergePace* pace = nullptr) {
  const auto writer = RunWriter::ToMemory("merged", RunLayout{.has_row_ids = true});
  FRAZIL_TRY(MergeRuns(runs, ForEach(rewrite), *writer, pace));
  return writer->Finish();
}

// The entries that a merge must write: in order, of equal (hash, file, position) that of the first run.
std::vector<Entry> MergeNaively(const Runs& runs, const RewriteEntry& rewrite) {
  std::map<std::tuple<Hash96, FileNumber, uint32_t>, int64_t> entries;
  for (const auto& run : runs) {
    for (Entry entry : EntriesOf(*run)) {
      if (rewrite && !*rewrite(entry)) continue;
      entries.emplace(std::tuple(entry.hash, entry.file, entry.position), entry.row_id);
    }
  }
  std::vector<Entry> merged;
  for (const auto& [place, row_id] : entries) {
    merged.push_back({std::get<0>(place), std::get<1>(place), std::get<2>(place), row_id});
  }
  return merged;
}

TEST(MergeRuns, WritesWhatASetHolds) {
  const TempDir folder;
  for (const uint64_t seed : {31, 32, 33}) {
    for (const Hashes hashes : kAllHashes) {
      for (const size_t num_runs : {1u, 2u, 3u, 8u}) {
        for (const size_t size : {1u, 215u, 2000u}) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << ", hashes " << static_cast<int>(hashes) << ", runs "
                                          << num_runs << " of " << size);
          std::mt19937_64 random(seed);
          Runs runs;
          std::vector<Entry> shared = RandomEntries(hashes, size / 3, false, random);
          for (size_t i = 0; i < num_runs; ++i) {
            std::vector<Entry> entries = RandomEntries(hashes, size, i % 2 == 1, random);
            entries.insert(entries.end(), shared.begin(), shared.end());
            runs.push_back(i == 1 && size > 1 && seed == 31
                               ? MakeRunFile(folder.Join(Uuid::Random().ToString()), entries)
                               : MakeRun(entries));
          }
          ASSERT_OK_AND_ASSIGN(const auto merged, Merge(runs, nullptr));
          ASSERT_EQ(EntriesOf(*merged), MergeNaively(runs, nullptr));
        }
      }
    }
  }
}

TEST(MergeRuns, RewritesAndDropsAndOrdersAnew) {
  // Drops a third, moves a third to places that are in the opposite order and sometimes the same.
  const RewriteEntry rewrite = [](Entry& entry) -> Result<bool> {
    if (entry.position % 3 == 0) return false;
    if (entry.position % 3 == 1) {
      entry.file = 100 - entry.file / 2;
      entry.position = 10'000 - entry.position / 7;
      entry.row_id = entry.position;
    }
    return true;
  };
  for (const uint64_t seed : {34, 35}) {
    for (const Hashes hashes : kAllHashes) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", hashes " << static_cast<int>(hashes));
      std::mt19937_64 random(seed);
      Runs runs;
      for (size_t i = 0; i < 4; ++i) runs.push_back(MakeRun(RandomEntries(hashes, 3000, false, random)));
      ASSERT_OK_AND_ASSIGN(const auto merged, Merge(runs, rewrite));
      const auto sorted = EntriesOf(*merged);
      const auto expected = MergeNaively(runs, rewrite);
      ASSERT_EQ(sorted, expected);
    }
  }
}

TEST(MergeRuns, OfNothingOrOfWhatIsDroppedIsNoRun) {
  ASSERT_OK_AND_ASSIGN(const auto nothing, Merge({}, nullptr));
  EXPECT_EQ(nothing, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto dropped,
                       Merge({MakeRun({{{1, 1}, 1, 1}})}, [](Entry&) -> Result<bool> { return false; }));
  EXPECT_EQ(dropped, nullptr);
}

TEST(MergeRuns, EndsWithTheErrorOfWhoRewritesOrPauses) {
  const Runs runs{MakeRun({{{1, 1}, 1, 1}}), MakeRun({{{2, 1}, 1, 1}})};
  EXPECT_THAT(Merge(runs, [](Entry&) -> Result<bool> { return Fail(ErrorCode::kCorruptData, "row map"); }),
              IsError(ErrorCode::kCorruptData, "row map"));
  EXPECT_THAT(Merge(runs,
                    [](Entry& entry) -> Result<bool> {
                      entry.hash.high = 3 - entry.hash.high;
                      return true;
                    }),
              IsError(ErrorCode::kInternal, "out of order"));

  class Stop : public MergePace {
   public:
    Status Pause() override {
      ++pauses;
      return Fail(ErrorCode::kShuttingDown, "stopping");
    }
    int pauses = 0;
  } stop;
  std::mt19937_64 random(36);
  const Runs large{MakeRun(RandomEntries(Hashes::kUniform, 60'000, false, random)),
                   MakeRun(RandomEntries(Hashes::kUniform, 60'000, false, random))};
  EXPECT_THAT(Merge(large, nullptr, &stop), IsError(ErrorCode::kShuttingDown, "stopping"));
  EXPECT_EQ(stop.pauses, 1);
}

TEST(MergeRuns, ADamagedPageIsAnErrorThatNamesRunAndPage) {
  std::mt19937_64 random(37);
  const auto whole = MakeRun(RandomEntries(Hashes::kUniform, 3000, false, random));
  Bytes bytes = CopyBytes(whole->bytes());
  bytes[5 * RunPage::kBytes + 99] ^= std::byte{1};
  ASSERT_OK_AND_ASSIGN(const auto damaged, Run::FromBytes(bytes, "damaged run"));
  const auto merged = Merge({whole, damaged}, nullptr);
  EXPECT_THAT(merged, IsError(ErrorCode::kCorruptData, "damaged run"));
  EXPECT_THAT(merged, IsError(ErrorCode::kCorruptData, "page 5"));
}

}  // namespace
}  // namespace frazil::index
