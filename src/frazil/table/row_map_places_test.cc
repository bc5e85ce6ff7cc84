#include "frazil/table/row_map_places.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>

#include "frazil/base/test_support.h"

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

// The system's temporary folder may be memory.
TEST(RowMapPlaces, LieInTheFolderThatIsAskedFor) {
  const TempDir parent;
  const std::string folder = parent.Join("not/there/yet");
  EXPECT_TRUE(RowMapPlaces(int64_t{1} << 20, folder).is_in_file());
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "the file has no name";
  // Where none can be made, memory must do.
  const std::string no_folder = parent.Join("file");
  std::ofstream(no_folder) << "x";
  RowMapPlaces in_memory(int64_t{1} << 20, no_folder);
  EXPECT_FALSE(in_memory.is_in_file());
  in_memory.Set(7, 9);
  EXPECT_EQ(in_memory.Get(7), 9);
}

}  // namespace
}  // namespace frazil::table
