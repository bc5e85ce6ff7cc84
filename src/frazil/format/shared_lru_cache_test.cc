#include "frazil/format/shared_lru_cache.h"

#include <memory>
#include <optional>

#include "frazil/base/test_support.h"

namespace frazil::format {
namespace {

using Cache = SharedLruCache<int, int>;

std::shared_ptr<const int> Of(int value) { return std::make_shared<const int>(value); }

TEST(SharedLruCache, DropsWhatWasUsedLeastRecently) {
  Cache cache(100);
  const auto first = cache.Insert(1, Of(10), 40);
  cache.Insert(2, Of(20), 40);
  EXPECT_EQ(cache.Find(1), first);
  cache.Insert(3, Of(30), 40);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_EQ(cache.Find(1), first);
  EXPECT_EQ(*cache.Find(3), 30);
  EXPECT_EQ(cache.used_bytes(), 80);
}

TEST(SharedLruCache, WhatIsLargerThanAllOfItGoesBackToItsMakerAndDropsNothing) {
  Cache cache(100);
  cache.Insert(1, Of(10), 100);
  EXPECT_EQ(*cache.Insert(2, Of(20), 101), 20);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_EQ(*cache.Find(1), 10);
}

TEST(SharedLruCache, TakesWhatItKeepsOutOfTheBudgetAndNoMoreThanIsLeft) {
  MemoryBudget budget(100);
  {
    Cache cache(1000, &budget);
    cache.Insert(1, Of(10), 40);
    cache.Insert(2, Of(20), 40);
    EXPECT_EQ(budget.used_bytes(), 80);
    cache.Insert(3, Of(30), 40);
    EXPECT_EQ(budget.used_bytes(), 80);
    EXPECT_EQ(cache.Find(1), nullptr);
    ASSERT_OK_AND_ASSIGN(auto others, budget.Reserve(20, "others"));
    EXPECT_EQ(*cache.Insert(4, Of(40), 90), 40);  // others have it: nothing is kept
    EXPECT_EQ(cache.Find(4), nullptr);
    EXPECT_EQ(budget.used_bytes(), 20);  // nor charged
    others.Release();
    cache.Insert(4, Of(40), 90);
    EXPECT_EQ(*cache.Find(4), 40);
    EXPECT_EQ(budget.used_bytes(), 90);
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(SharedLruCache, GivesBackWhatSomebodyElseNeedsLeastRecentlyUsedFirst) {
  MemoryBudget budget(100);
  std::optional<MemoryBudget::Reservation> others;
  {
    Cache cache(1000, &budget);
    cache.Insert(1, Of(10), 40);
    cache.Insert(2, Of(20), 40);
    const auto held = cache.Find(1);
    ASSERT_OK_AND_ASSIGN(others, budget.Reserve(50, "others"));
    EXPECT_EQ(cache.Find(2), nullptr);
    EXPECT_EQ(cache.Find(1), held);
    EXPECT_EQ(budget.used_bytes(), 90);
    ASSERT_THAT(others->Resize(100), IsOk());
    EXPECT_EQ(cache.Find(1), nullptr);
    EXPECT_EQ(*held, 10);  // who holds one keeps it
    EXPECT_THAT(others->Resize(101), IsError(ErrorCode::kResourceExhausted, "1 more bytes wanted"));
  }
  EXPECT_THAT(others->Resize(10), IsOk());
  EXPECT_THAT(others->Resize(101), IsError(ErrorCode::kResourceExhausted, "91 more"));  // the cache is gone
}

// One cache's wish is no reason to empty another.
TEST(SharedLruCache, TakesNothingFromOtherCaches) {
  MemoryBudget budget(100);
  Cache first(1000, &budget);
  Cache second(1000, &budget);
  first.Insert(1, Of(10), 60);
  EXPECT_EQ(*second.Insert(2, Of(20), 60), 20);
  EXPECT_EQ(second.Find(2), nullptr);
  EXPECT_EQ(*first.Find(1), 10);
  EXPECT_EQ(budget.used_bytes(), 60);
}

}  // namespace
}  // namespace frazil::format
