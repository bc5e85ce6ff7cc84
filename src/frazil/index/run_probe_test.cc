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
    }
  }
  return SortedAndDistinct(std::move(keys));
}

TEST(Probe, FindsWhatAMultimapFinds) {
  for (const uint64_t seed : {21, 22, 23}) {
    for (const Hashes hashes : kAllHashes) {
      for (const size_t num_runs : {1u, 2u, 5u}) {
        for (const size_t size : {1u, 214u, 215u, 216u, 3000u}) {
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
