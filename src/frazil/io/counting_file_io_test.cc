#include "frazil/io/counting_file_io.h"

#include "frazil/base/test_support.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::io {
namespace {

StorageCounters::Counts Of(const StorageCounters& counters, StorageOperation operation) {
  return counters.Snapshot()[static_cast<size_t>(operation)];
}

TEST(CountingFileIO, CountsRequestsAndBytes) {
  auto counters = std::make_shared<StorageCounters>();
  CountingFileIO io(std::make_shared<MemoryFileIO>(), counters);
  ASSERT_THAT(io.WriteFile("/a", AsBytes("hello")), IsOk());
  ASSERT_THAT(io.ReadFile("/a"), IsOk());
  ASSERT_THAT(io.Open("/absent"), IsError(ErrorCode::kNotFound, "/absent"));
  ASSERT_THAT(io.Exists("/a"), IsOkAnd(true));
  ASSERT_THAT(io.List("/"), IsOk());
  ASSERT_THAT(io.Delete({"/a"}), IsOk());
  EXPECT_EQ(Of(*counters, StorageOperation::kCreate).ok, 1);
  EXPECT_EQ(Of(*counters, StorageOperation::kWrite).bytes, 5);
  EXPECT_EQ(Of(*counters, StorageOperation::kOpen).ok, 2);  // that a file is not there is an answer
  EXPECT_EQ(Of(*counters, StorageOperation::kRead).bytes, 5);
  EXPECT_EQ(Of(*counters, StorageOperation::kExists).ok, 1);
  EXPECT_EQ(Of(*counters, StorageOperation::kList).ok, 1);
  EXPECT_EQ(Of(*counters, StorageOperation::kDelete).ok, 1);
  for (const StorageCounters::Counts& counts : counters->Snapshot()) EXPECT_EQ(counts.failed, 0);
}

TEST(CountingFileIO, CountsFailuresApart) {
  auto counters = std::make_shared<StorageCounters>();
  const auto refuse = [](std::string_view operation, const std::string& path) -> Status {
    if (operation == "read") return Fail(ErrorCode::kUnavailable, "store is away: {}", path);
    return {};
  };
  auto memory = std::make_shared<MemoryFileIO>();
  ASSERT_THAT(memory->WriteFile("/a", AsBytes("hello")), IsOk());
  CountingFileIO io(std::make_shared<FaultInjectingFileIO>(memory, refuse), counters);
  ASSERT_THAT(io.ReadFile("/a"), IsError(ErrorCode::kUnavailable, "/a"));
  const StorageCounters::Counts counts = Of(*counters, StorageOperation::kRead);
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(counts.ok, 0);
  EXPECT_EQ(counts.bytes, 0);
}

}  // namespace
}  // namespace frazil::io
