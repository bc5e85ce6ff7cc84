#include "frazil/index/run_filter.h"

#include "frazil/index/run_probe.h"
#include "frazil/index/run_test_support.h"

namespace frazil::index {
namespace {

std::vector<Hash96> SortedHashes(size_t count, std::mt19937_64& random) {
  std::vector<Hash96> hashes;
  for (size_t i = 0; i < count; ++i) hashes.push_back({random(), static_cast<uint32_t>(random())});
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

/// A finished filter of `hashes`, asked without a run.
class Filter {
 public:
  Filter(const std::vector<Hash96>& hashes, RunFilterBuilder builder) {
    for (const Hash96& hash : hashes) builder.Add(hash);
    built_ = builder.Finish();
    filter_ = {.first = hashes.front().high, .factor = built_.factor};
    bits_a_key_ = static_cast<double>(built_.words.size()) * 64 / static_cast<double>(hashes.size());
  }

  bool exists() const { return built_.factor != 0; }
  double bits_a_key() const { return bits_a_key_; }
  bool MayHold(const Hash96& hash) const {
    const auto bytes = std::as_bytes(std::span(built_.words));
    return RunFilter::MayHold(bytes.subspan(filter_.BlockOf(hash.high) * RunFilter::kBlockBytes).data(), hash);
  }
  /// Of hashes that are not there, in thousandths.
  size_t FalsePositives(const std::vector<Hash96>& hashes, std::mt19937_64& random) const {
    size_t count = 0;
    for (int i = 0; i < 100'000; ++i) {
      // Beside one that is there, so within the range.
      const Hash96& beside = hashes[random() % hashes.size()];
      count += MayHold({beside.high, beside.low + 1 + static_cast<uint32_t>(random() % 1000)}) ? 1 : 0;
    }
    return count / 100;
  }

 private:
  RunFilterBuilder::Built built_;
  RunFilter filter_;
  double bits_a_key_ = 0;
};

TEST(RunFilter, HoldsWhatWasAddedAndLittleElse) {
  std::mt19937_64 random(51);
  for (const size_t count : {2000u, 5000u, 200'000u}) {
    SCOPED_TRACE(count);
    const std::vector<Hash96> hashes = SortedHashes(count, random);
    const Filter filter(hashes, {static_cast<int64_t>(count), hashes.front().high, hashes.back().high});
    ASSERT_TRUE(filter.exists());
    for (const Hash96& hash : hashes) ASSERT_TRUE(filter.MayHold(hash));
    EXPECT_LT(filter.FalsePositives(hashes, random), 30u);
    EXPECT_LT(filter.bits_a_key(), 13);
  }
}

// A merge knows how many entries go in, not how many stay.
TEST(RunFilter, OfFewerThanExpectedIsSmallerAndAsGood) {
  std::mt19937_64 random(52);
  const std::vector<Hash96> all = SortedHashes(240'000, random);
  for (const size_t every : {2u, 3u, 5u, 12u, 20u}) {
    SCOPED_TRACE(every);
    std::vector<Hash96> hashes;
    for (size_t i = every / 2; i < all.size(); i += every) hashes.push_back(all[i]);
    const Filter filter(hashes, {static_cast<int64_t>(all.size()), all.front().high, all.back().high});
    ASSERT_TRUE(filter.exists());
    for (const Hash96& hash : hashes) ASSERT_TRUE(filter.MayHold(hash));
    EXPECT_LT(filter.FalsePositives(hashes, random), 30u);
    EXPECT_LT(filter.bits_a_key(), 20);
  }
}

TEST(RunFilter, IsNotMadeWhereItWouldNotHelp) {
  std::mt19937_64 random(53);
  const std::vector<Hash96> few = SortedHashes(100, random);
  EXPECT_FALSE(Filter(few, {100, few.front().high, few.back().high}).exists());
  // Hashes in a narrow range, and one outside of what was expected.
  std::vector<Hash96> narrow;
  for (uint32_t i = 0; i < 5000; ++i) narrow.push_back({7, i});
  EXPECT_FALSE(Filter(narrow, {5000, 7, 7}).exists());
  narrow.push_back({UINT64_MAX, 0});
  EXPECT_FALSE(Filter(narrow, {5000, 7, 1 << 20}).exists());
}

TEST(RunFilter, OfARunInAFileIsFoundAgainAndChecked) {
  const TempDir folder;
  std::mt19937_64 random(54);
  const std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 20'000, false, random);
  const auto written = MakeRunFile(folder.Join("run"), entries);
  ASSERT_TRUE(written->has_filter());
  ASSERT_OK_AND_ASSIGN(const auto run, ::frazil::index::Run::Open(written->path()));
  ASSERT_TRUE(run->has_filter());
  EXPECT_THAT(run->Verify(), IsOk());
  EXPECT_EQ(EntriesOf(*run), EntriesOf(*MakeRun(entries)));

  // A bit of the filter that went lost would hide rows.
  Bytes bytes = CopyBytes(run->bytes());
  bytes[static_cast<size_t>(run->FilterPageOf(0)) * RunPage::kBytes + 5] ^= std::byte{1};
  ASSERT_OK_AND_ASSIGN(const auto damaged, ::frazil::index::Run::FromBytes(bytes, "damaged run"));
  EXPECT_THAT(damaged->Verify(), IsError(ErrorCode::kCorruptData, "damaged run"));
  std::vector<Hash96> keys;
  for (const Entry& entry : EntriesOf(*run)) keys.push_back(entry.hash);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<ProbeHit> hits;
  EXPECT_THAT(Probe(Runs{damaged}, keys, hits), IsError(ErrorCode::kCorruptData, "damaged run"));
}

// As every run was written before there were filters.
TEST(RunFilter, RunsWithoutOneAreReadAsEver) {
  std::mt19937_64 random(55);
  std::vector<Entry> entries = RandomEntries(Hashes::kUniform, 5000, true, random);
  const auto with_filter = MakeRun(entries);
  std::sort(entries.begin(), entries.end());
  const auto writer = RunWriter::ToMemory("without", RunLayout{.has_row_ids = true});
  ASSERT_THAT(writer->Add(entries), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto run, writer->Finish());
  EXPECT_FALSE(run->has_filter());
  EXPECT_LT(run->size_bytes(), with_filter->size_bytes());
  std::vector<Hash96> keys = SortedHashes(1000, random);
  for (size_t i = 0; i < entries.size(); i += 7) keys.push_back(entries[i].hash);
  std::sort(keys.begin(), keys.end());
  std::vector<ProbeHit> hits;
  ASSERT_THAT(Probe(Runs{run, run}, keys, hits), IsOk());
  std::vector<ProbeHit> filtered;
  ASSERT_THAT(Probe(Runs{with_filter, with_filter}, keys, filtered), IsOk());
  EXPECT_EQ(hits, filtered);
  EXPECT_FALSE(hits.empty());
}

}  // namespace
}  // namespace frazil::index
