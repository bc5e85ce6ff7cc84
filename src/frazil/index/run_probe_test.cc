#include "frazil/index/run_probe.h"

#include <map>
#include <thread>

#include "frazil/index/run_test_support.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What Probe promises, by the simplest means.
std::vector<ProbeHit> ProbeNaively(const Runs& runs, const std::vector<Hash96>& keys) {
  std::vector<std::multimap<Hash96, Entry>> maps;
  for (const auto& run : runs) {
    maps.emplace_back();
    for (const Entry& entry : EntriesOf(*run)) maps.back().emplace(entry.hash, entry);
  }
  std::vector<ProbeHit> hits;
  for (size_t key = 0; key < keys.size(); ++key) {
    for (const auto& map : maps) {
      const auto [first, last] = map.equal_range(keys[key]);
      for (auto hit = first; hit != last; ++hit) {
        hits.push_back({static_cast<uint32_t>(key), hit->second.file, hit->second.position, hit->second.row_id});
      }
    }
  }
  return hits;
}

std::vector<Hash96> SortedAndDistinct(std::vector<Hash96> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// Keys that are there, their neighbours, and any others.
std::vector<Hash96> KeysToProbe(const Runs& runs, size_t count, Hashes hashes, std::mt19937_64& random) {
  std::vector<Hash96> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(RandomHash(hashes, random));
  for (const auto& run : runs) {
    for (const Entry& entry : EntriesOf(*run)) {
      if (random() % 4 != 0) continue;
      keys.push_back(entry.hash);
      keys.push_back({entry.hash.high, entry.hash.low + 1});
      keys.push_back({entry.hash.high + 1, entry.hash.low});
      // As far from a fence as the bits of a digest and a rest reach: only by the distance itself another.
      for (const int bits : {16, 32, 40, 48, 56}) {
        keys.push_back({entry.hash.high + (uint64_t{1} << bits), entry.hash.low});
        keys.push_back({entry.hash.high - (uint64_t{1} << bits), entry.hash.low});
      }
    }
  }
  return SortedAndDistinct(std::move(keys));
}

TEST(Probe, FindsWhatAMultimapFinds) {
  for (const uint64_t seed : {21, 22, 23}) {
    for (const Hashes hashes : kAllHashes) {
      for (const size_t num_runs : {1u, 2u, 5u}) {
        for (const size_t size : {1u, 227u, 228u, 255u, 256u, 3000u}) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << ", hashes " << static_cast<int>(hashes) << ", runs "
                                          << num_runs << " of " << size);
          std::mt19937_64 random(seed);
          Runs runs;
          for (size_t i = 0; i < num_runs; ++i) {
            runs.push_back(MakeRun(RandomEntries(hashes, std::max<size_t>(1, size >> i), i % 2 == 1, random)));
          }
          for (const size_t count : {0u, 1u, 500u}) {
            const std::vector<Hash96> keys = KeysToProbe(runs, count, hashes, random);
            std::vector<ProbeHit> hits;
            ASSERT_THAT(Probe(runs, keys, hits), IsOk());
            ASSERT_EQ(hits, ProbeNaively(runs, keys));
            // And a few keys far from each other, as a sparse batch has them.
            std::vector<Hash96> some;
            for (size_t i = random() % 50; i < keys.size(); i += 1 + random() % 100) some.push_back(keys[i]);
            hits.clear();
            ASSERT_THAT(Probe(runs, some, hits), IsOk());
            ASSERT_EQ(hits, ProbeNaively(runs, some));
          }
        }
      }
    }
  }
}

// Entries whose density makes a run take `rest_bytes`, and gaps on both sides of how far a page reaches then.
std::vector<Entry> EntriesWithGaps(int rest_bytes, int64_t row_id, std::mt19937_64& random) {
  const uint64_t reach = RunLayout{.rest_bytes = rest_bytes}.max_distance();
  std::vector<Entry> entries;
  uint64_t high = random() % 1000;
  while (entries.size() < 5000) {
    entries.push_back({{high, static_cast<uint32_t>(random())}, 3, static_cast<uint32_t>(entries.size()), row_id});
    if (random() % 4 == 0) entries.back().hash.low = UINT32_MAX;
    uint64_t step = random() % (reach >> 9);
    if (entries.size() > 1024) {
      switch (random() % 50) {
        case 0: step = reach; break;
        case 1: step = reach + 1; break;
        case 2: step = reach + 1 + random() % 1000; break;
        case 3: step = reach - random() % 1000; break;
        case 4: step = 2 * (reach + 1); break;
        case 5: step = 0; break;
        default: break;
      }
    }
    if (high > UINT64_MAX - step) break;
    high += step;
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// A hash in a gap has the digest and rest of one that is there: it must not be found, and nothing behind the gap be lost.
TEST(Probe, FindsNothingInTheGapsBetweenPages) {
  for (const uint64_t seed : {25, 26, 27, 28}) {
    for (const int rest_bytes : {4, 5}) {
      for (const int64_t row_id : {kDerivedRowId, int64_t{7}, RunLayout::kMaxNarrowRowId + 1}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", rest of " << rest_bytes << ", row id " << row_id);
        std::mt19937_64 random(seed);
        const std::vector<Entry> entries = EntriesWithGaps(rest_bytes, row_id, random);
        const Runs runs{MakeRun(entries)};
        const RunLayout layout = runs[0]->layout();
        ASSERT_EQ(layout.rest_bytes, rest_bytes);
        ASSERT_GT(runs[0]->num_pages(), runs[0]->num_entries() / layout.entries_per_page() + 20) << "few gaps";
        EXPECT_EQ(EntriesOf(*runs[0]), entries);
        EXPECT_THAT(runs[0]->Verify(), IsOk());

        const uint64_t reach = layout.max_distance();
        std::vector<Hash96> keys;
        for (const uint64_t fence : runs[0]->fences()) {
          for (const uint32_t low : {0u, 5u, UINT32_MAX}) {
            for (const uint64_t distance : {reach - 1, reach, reach + 1, reach + 2, 2 * reach + 1, 2 * reach + 2}) {
              keys.push_back({fence + distance, low});
            }
          }
        }
        for (const Entry& entry : entries) {
          keys.push_back(entry.hash);
          keys.push_back({entry.hash.high, entry.hash.low + 1});
          for (const uint64_t times : {1, 2}) keys.push_back({entry.hash.high + times * (reach + 1), entry.hash.low});
        }
        keys = SortedAndDistinct(std::move(keys));
        std::vector<ProbeHit> hits;
        ASSERT_THAT(Probe(runs, keys, hits), IsOk());
        ASSERT_EQ(hits, ProbeNaively(runs, keys));
        EXPECT_EQ(hits.size(), entries.size());
        // One by one, as readers of single rows do.
        for (uint32_t key = 0; key < keys.size(); key += 1 + static_cast<uint32_t>(random() % 20)) {
          std::vector<ProbeHit> expected;
          const auto [first, last] = std::ranges::equal_range(hits, key, {}, &ProbeHit::key);
          for (auto hit = first; hit != last; ++hit) expected.push_back({0, hit->file, hit->position, hit->row_id});
          std::vector<ProbeHit> of_key;
          ASSERT_THAT(Probe(runs, std::span(&keys[key], 1), of_key), IsOk());
          ASSERT_EQ(of_key, expected);
        }
      }
    }
  }
}

// Slots without an entry have all bits set: so has this hash, from its page's fence.
TEST(Probe, TakesNoUnusedSlotForAnEntry) {
  for (const int rest_bytes : {4, 5, 6}) {
    const uint64_t reach = RunLayout{.rest_bytes = rest_bytes}.max_distance();
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < 1100; ++i) entries.push_back({{i * (reach >> 12), i}, 1, i});
    const uint64_t fence = rest_bytes == 6 ? 0 : entries.back().hash.high + reach + 1;
    if (rest_bytes == 6) entries = {{{0, 0}, 1, 1}};
    entries.push_back({{fence, 1}, 1, 1200});
    entries.push_back({{fence + reach, 0}, 1, 1201});
    entries.push_back({{fence + reach, UINT32_MAX - 1}, 1, 1202});
    if (rest_bytes < 6) entries.push_back({{fence + reach + 1, 0}, 1, 1203});
    const Runs runs{MakeRun(entries)};
    ASSERT_EQ(runs[0]->layout().rest_bytes, rest_bytes);
    const std::vector<Hash96> keys{{fence + reach, 0}, {fence + reach, UINT32_MAX - 1}, {fence + reach, UINT32_MAX}};
    std::vector<ProbeHit> hits;
    ASSERT_THAT(Probe(runs, keys, hits), IsOk());
    EXPECT_THAT(hits, ElementsAre(ProbeHit{0, 1, 1201}, ProbeHit{1, 1, 1202}));
    // And where it is there.
    entries.push_back({{fence + reach, UINT32_MAX}, 1, 1204});
    const Runs others{MakeRun(entries)};
    hits.clear();
    ASSERT_THAT(Probe(others, keys, hits), IsOk());
    EXPECT_THAT(hits, ElementsAre(ProbeHit{0, 1, 1201}, ProbeHit{1, 1, 1202}, ProbeHit{2, 1, 1204}));
    EXPECT_EQ(EntriesOf(*others[0]).size(), entries.size());
  }
}

TEST(Probe, FindsAllEntriesOfAKeyThatFillsPages) {
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < 150; ++i) entries.push_back({{1, i}, 0, i});
  for (uint32_t i = 0; i < 1000; ++i) entries.push_back({{7, 7}, i % 3, i});
  for (uint32_t i = 0; i < 300; ++i) entries.push_back({{7, 8 + i}, 5, i});
  const Runs runs{MakeRun(entries)};
  std::vector<ProbeHit> hits;
  ASSERT_THAT(Probe(runs, std::vector<Hash96>{{7, 6}, {7, 7}, {7, 100}, {7, 5000}, {8, 0}}, hits), IsOk());
  EXPECT_EQ(hits.size(), 1001u);
  EXPECT_EQ(hits, ProbeNaively(runs, {{7, 6}, {7, 7}, {7, 100}, {7, 5000}, {8, 0}}));
}

TEST(Probe, FindsTheSmallestAndTheLargestHash) {
  const Runs runs{MakeRun({{{0, 0}, 1, 2}, {{UINT64_MAX, UINT32_MAX}, 3, 4, 5}})};
  std::vector<ProbeHit> hits;
  ASSERT_THAT(Probe(runs, std::vector<Hash96>{{0, 0}, {0, 1}, {UINT64_MAX, UINT32_MAX}}, hits), IsOk());
  EXPECT_THAT(hits, ElementsAre(ProbeHit{0, 1, 2, kDerivedRowId}, ProbeHit{2, 3, 4, 5}));
}

TEST(Probe, OfNothingOrInNothingFindsNothing) {
  std::vector<ProbeHit> hits;
  EXPECT_THAT(Probe({}, std::vector<Hash96>{{1, 1}}, hits), IsOk());
  EXPECT_THAT(Probe(Runs{MakeRun({{{1, 1}, 0, 0}})}, {}, hits), IsOk());
  EXPECT_THAT(hits, IsEmpty());
}

TEST(Probe, AppendsToTheHitsThatAreThere) {
  const Runs runs{MakeRun({{{1, 1}, 0, 0}}), MakeRun({{{1, 1}, 1, 1}})};
  std::vector<ProbeHit> hits{{9, 9, 9, 9}};
  ASSERT_THAT(Probe(runs, std::vector<Hash96>{{1, 1}}, hits), IsOk());
  EXPECT_THAT(hits, ElementsAre(ProbeHit{9, 9, 9, 9}, ProbeHit{0, 0, 0}, ProbeHit{0, 1, 1}));
}

TEST(Probe, ManyThreadsMayTouchTheSamePagesForTheFirstTime) {
  const TempDir folder;
  std::mt19937_64 random(24);
  const Runs runs{MakeRunFile(folder.Join("run"), RandomEntries(Hashes::kUniform, 20'000, true, random))};
  const std::vector<Hash96> keys = KeysToProbe(runs, 0, Hashes::kUniform, random);
  const std::vector<ProbeHit> expected = ProbeNaively({MakeRun(EntriesOf(*runs[0]))}, keys);
  std::vector<std::vector<ProbeHit>> hits(4);
  std::vector<std::thread> threads;
  for (auto& of_thread : hits) threads.emplace_back([&] { EXPECT_THAT(Probe(runs, keys, of_thread), IsOk()); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : hits) EXPECT_EQ(of_thread, expected);
}

}  // namespace
}  // namespace frazil::index
