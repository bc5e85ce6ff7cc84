#include "frazil/io/counting_file_io.h"

#include "frazil/base/test_support.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::io {
namespace {

RequestCounters::Counts Of(const RequestCounters& counters, const char* operation) {
  const RequestCounters::Snapshot all = counters.Read();
  const auto found = all.find(operation);
  return found == all.end() ? RequestCounters::Counts() : found->second;
}

TEST(CountingFileIO, CountsRequestsAndBytes) {
  auto counters = std::make_shared<RequestCounters>();
  CountingFileIO io(std::make_shared<MemoryFileIO>(), counters);
  ASSERT_THAT(io.WriteFile("/a", AsBytes("hello")), IsOk());
  ASSERT_THAT(io.ReadFile("/a"), IsOk());
  ASSERT_THAT(io.Open("/absent"), IsError(ErrorCode::kNotFound, "/absent"));
  ASSERT_THAT(io.Exists("/a"), IsOkAnd(true));
  ASSERT_THAT(io.List("/"), IsOk());
  ASSERT_THAT(io.Delete({"/a"}), IsOk());
  EXPECT_EQ(Of(*counters, "create").ok, 1);
  EXPECT_EQ(Of(*counters, "write").bytes, 5);
  EXPECT_EQ(Of(*counters, "open").ok, 2);  // that a file is not there is an answer
  EXPECT_EQ(Of(*counters, "read").bytes, 5);
  EXPECT_EQ(Of(*counters, "exists").ok, 1);
  EXPECT_EQ(Of(*counters, "list").ok, 1);
  EXPECT_EQ(Of(*counters, "delete").ok, 1);
  for (const auto& [operation, counts] : counters->Read()) EXPECT_EQ(counts.failed, 0) << operation;
}

TEST(CountingFileIO, CountsFailuresApart) {
  auto counters = std::make_shared<RequestCounters>();
  const auto refuse = [](std::string_view operation, const std::string& path) -> Status {
    if (operation == "read") return Fail(ErrorCode::kUnavailable, "store is away: {}", path);
    return {};
  };
  auto memory = std::make_shared<MemoryFileIO>();
  ASSERT_THAT(memory->WriteFile("/a", AsBytes("hello")), IsOk());
  CountingFileIO io(std::make_shared<FaultInjectingFileIO>(memory, refuse), counters);
  ASSERT_THAT(io.ReadFile("/a"), IsError(ErrorCode::kUnavailable, "/a"));
  const RequestCounters::Counts counts = Of(*counters, "read");
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(counts.ok, 0);
  EXPECT_EQ(counts.bytes, 0);
}

}  // namespace
}  // namespace frazil::io
