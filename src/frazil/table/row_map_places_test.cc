#include "frazil/table/row_map_places.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>

#include "frazil/base/test_support.h"

namespace frazil::table {
namespace {

constexpr int64_t kMany = int64_t{1} << 20;

RowMapPlaces Make(int64_t count, const std::string& folder = "", MemoryBudget* budget = nullptr) {
  auto places = RowMapPlaces::Make(count, folder, budget);
  EXPECT_THAT(places, IsOk());
  return places ? *std::move(places) : RowMapPlaces();
}

/// A folder in which no file can be made.
std::string NoFolder(const TempDir& parent) {
  std::string path = parent.Join("file");
  std::ofstream(path) << "x";
  return path;
}

TEST(RowMapPlaces, HoldWhatWasSetAndElseDropped) {
  for (const int64_t count : {int64_t{5}, kMany}) {
    SCOPED_TRACE(count);
    RowMapPlaces places = Make(count);
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
  EXPECT_TRUE(Make(0).empty());
  EXPECT_FALSE(Make(1000).is_in_file());
  EXPECT_TRUE(Make(kMany).is_in_file());
}

// The system's temporary folder may be memory.
TEST(RowMapPlaces, LieInTheFolderThatIsAskedFor) {
  const TempDir parent;
  const std::string folder = parent.Join("not/there/yet");
  EXPECT_TRUE(Make(kMany, folder).is_in_file());
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "the file has no name";
  // Where none can be made, memory must do.
  RowMapPlaces in_memory = Make(kMany, NoFolder(parent));
  EXPECT_FALSE(in_memory.is_in_file());
  in_memory.Set(7, 9);
  EXPECT_EQ(in_memory.Get(7), 9);
}

TEST(RowMapPlaces, ReserveWhatTheyTakeOfMemoryForAsLongAsTheyLive) {
  const TempDir parent;
  MemoryBudget budget(2 * kMany * 8);
  {
    const RowMapPlaces many = Make(kMany, NoFolder(parent), &budget);
    EXPECT_EQ(budget.used_bytes(), kMany * 8);
    RowMapPlaces few = Make(1000, "", &budget);
    EXPECT_EQ(budget.used_bytes(), kMany * 8 + 8000);
    const RowMapPlaces moved = std::move(few);
    EXPECT_EQ(budget.used_bytes(), kMany * 8 + 8000);
    EXPECT_TRUE(Make(kMany, "", &budget).is_in_file());
    EXPECT_EQ(budget.used_bytes(), kMany * 8 + 8000) << "the system has it back when it likes";
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

// Of thousands of sources the few rows of each are many.
TEST(RowMapPlaces, OfFewRowsLieInAFileWhereMemoryHasNoRoom) {
  MemoryBudget budget(7999);
  EXPECT_TRUE(Make(1000, "", &budget).is_in_file());
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(RowMapPlaces, AreRefusedWithoutAFileAndWithoutRoom) {
  const TempDir parent;
  MemoryBudget budget(7999);
  const std::string folder = NoFolder(parent);
  for (const int64_t count : {int64_t{1000}, kMany}) {
    EXPECT_THAT(RowMapPlaces::Make(count, folder, &budget), IsError(ErrorCode::kResourceExhausted, folder));
    EXPECT_THAT(RowMapPlaces::Make(count, folder, &budget),
                IsError(ErrorCode::kResourceExhausted, "where sorted rows went needs"));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

}  // namespace
}  // namespace frazil::table
