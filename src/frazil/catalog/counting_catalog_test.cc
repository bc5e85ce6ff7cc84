#include "frazil/catalog/counting_catalog.h"

#include "frazil/base/test_support.h"
#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::catalog {
namespace {

TEST(CountingCatalog, CountsRequestsByWhatTheyAskForAndFailuresApart) {
  const auto counters = std::make_shared<RequestCounters>();
  const auto refuse = [](std::string_view operation, const TableName&) -> Status {
    return operation == "load" ? Fail(ErrorCode::kUnavailable, "away") : Status();
  };
  const auto memory = MakeMemoryCatalog("c", "memory:/w", std::make_shared<io::MemoryFileIO>());
  const auto catalog = MakeCountingCatalog(MakeFaultInjectingCatalog(memory, refuse), counters);
  EXPECT_EQ(catalog->name(), "c");
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  EXPECT_THAT(catalog->CreateNamespace({"db"}, {}), IsError(ErrorCode::kAlreadyExists, "db"));
  EXPECT_THAT(catalog->DropTable({{"db"}, "t"}, false), IsError(ErrorCode::kNotFound, "t"));
  EXPECT_THAT(catalog->LoadTable({{"db"}, "t"}), IsError(ErrorCode::kUnavailable, "away"));
  const RequestCounters::Snapshot counts = counters->Read();
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.at("create_namespace").ok, 2);  // that it is there is an answer
  EXPECT_EQ(counts.at("drop_table").ok, 1);
  EXPECT_EQ(counts.at("load_table").failed, 1);
}

}  // namespace
}  // namespace frazil::catalog
