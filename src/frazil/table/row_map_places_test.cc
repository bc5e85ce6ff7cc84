#include "frazil/table/row_map_places.h"

#include <utility>

#include <gmock/gmock.h>

namespace frazil::table {
namespace {

TEST(RowMapPlaces, HoldWhatWasSetAndElseDropped) {
  for (const int64_t count : {int64_t{5}, int64_t{1} << 20}) {
    SCOPED_TRACE(count);
    RowMapPlaces places(count);
    EXPECT_EQ(places.size(), count);
    for (const int64_t position : {int64_t{0}, count / 2, count - 1}) {
      EXPECT_EQ(places.Get(position), RowMapPlaces::kDropped);
      places.Set(position, position * 3);
      EXPECT_EQ(places.Get(position), position * 3);
    }
    EXPECT_EQ(places.Get(1), RowMapPlaces::kDropped);
    const RowMapPlaces moved = std::move(places);
    EXPECT_EQ(moved.Get(count - 1), (count - 1) * 3);
  }
}

TEST(RowMapPlaces, OfManyRowsLieInAFile) {
  EXPECT_FALSE(RowMapPlaces().is_in_file());
  EXPECT_TRUE(RowMapPlaces().empty());
  EXPECT_FALSE(RowMapPlaces(1000).is_in_file());
  EXPECT_TRUE(RowMapPlaces(int64_t{1} << 20).is_in_file());
}

}  // namespace
}  // namespace frazil::table
