#include "frazil/maintain/rewrite_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/io/memory_file_io.h"
#include "frazil/table/table_test_support.h"

namespace frazil::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<uint32_t, int64_t>> Places(const CarriedRows& rows, const std::vector<int64_t>& positions,
                                                 const format::DeletionVector& dropped) {
  std::vector<std::pair<uint32_t, int64_t>> places;
  rows.ForEach(positions, dropped, [&](uint32_t output, int64_t position) { places.emplace_back(output, position); });
  return places;
}

TEST(CarriedRows, NeighboursAreOneRun) {
  CarriedRows rows;
  rows.Add(0, 10, 5);
  rows.Add(0, 15, 5);
  rows.Add(1, 0, 2);
  int num_runs = 0;
  rows.ForEachRun([&](uint32_t, int64_t, int64_t) { ++num_runs; });
  EXPECT_EQ(num_runs, 2);
  EXPECT_EQ(rows.num_rows(), 12);
}

TEST(CarriedRows, FindsRowsBehindDroppedOnes) {
  CarriedRows rows;  // positions 0, 2, 3 | 5, 6
  rows.Add(0, 100, 3);
  rows.Add(1, 0, 2);
  const format::DeletionVector dropped = table::Positions({1, 4});
  EXPECT_THAT(Places(rows, {0, 1, 2, 3, 4, 5, 6, 7}, dropped),
              ElementsAre(Pair(0, 100), Pair(0, 101), Pair(0, 102), Pair(1, 0), Pair(1, 1)));
  EXPECT_THAT(Places(rows, {3, 6}, dropped), ElementsAre(Pair(0, 102), Pair(1, 1)));
}

TEST(CarriedRows, RunsOfSortedRowsAreReservedOrThePlacesKept) {
  constexpr int64_t kRows = 200;
  auto made = SortedPlaces::Make(kRows, "", nullptr);
  ASSERT_THAT(made, IsOk());
  for (int64_t i = 0; i < kRows; ++i) (*made)->Set(i, {static_cast<uint32_t>(i / 50), i % 50});
  MemoryBudget budget(4 * 16);
  {
    const CarriedRows runs = CarriedRows::Smallest(*made, 0, kRows, &budget);
    EXPECT_FALSE(runs.is_sorted());
    EXPECT_EQ(budget.used_bytes(), 4 * 16);
    const CarriedRows no_room = CarriedRows::Smallest(*made, 0, kRows, &budget);
    EXPECT_TRUE(no_room.is_sorted());
    for (int64_t position = 0; position < kRows; ++position) {
      EXPECT_EQ(Places(no_room, {position}, {}), Places(runs, {position}, {}));
    }
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(CarriedRows, TellsARowMapTheSame) {
  const auto io = std::make_shared<io::MemoryFileIO>();
  for (const bool is_sorted : {false, true}) {
    const int64_t count = 200;
    const format::DeletionVector dropped = table::Positions({0, 7, 8, 199});
    constexpr int64_t kBefore = 3;  // rows of another source
    const auto made = SortedPlaces::Make(kBefore + count - 4, "", nullptr);
    ASSERT_THAT(made, IsOk());
    const std::shared_ptr<SortedPlaces>& places = *made;
    for (int64_t i = 0; i < count - 4; ++i) places->Set(kBefore + i, {0, is_sorted ? count - 5 - i : i});
    const CarriedRows rows = CarriedRows::Smallest(places, kBefore, count - 4, nullptr);
    EXPECT_EQ(rows.is_sorted(), is_sorted);
    table::RowMapWriter writer;
    const uint32_t source = writer.AddSource({"s", spec::SequenceNumber{1}, spec::RowId{0}, count}, dropped.Clone());
    writer.AddOutput({"other", 0});
    writer.AddOutput({"o", count - 4});
    ASSERT_THAT(rows.TellTo(writer, source, 1, dropped), IsOk());
    const std::string path = is_sorted ? "memory:/sorted" : "memory:/kept";
    ASSERT_THAT(writer.Write(*io, path), IsOk());
    const auto map = table::RowMap::Read(*io, path);
    ASSERT_THAT(map, IsOk());
    for (int64_t position = 0; position < count; ++position) {
      const auto target = (*map)->Find(source, spec::RowPosition(position));
      const auto place = Places(rows, {position}, dropped);
      ASSERT_EQ(target.has_value(), place.size() == 1);
      if (!target) continue;
      EXPECT_EQ(target->output, 1u);
      EXPECT_EQ(target->position.value(), place[0].second);
    }
  }
}

}  // namespace
}  // namespace frazil::maintain
