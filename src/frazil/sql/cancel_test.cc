#include <set>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"

namespace frazil::sql {
namespace {

constexpr int kPartitions = 150;
constexpr int64_t kMemory = int64_t{64} << 20;  // files of 102 partitions are open at once, rows of the others wait

struct Statement {
  const char* name;
  const char* text;
  int cancel_at;  ///< when it creates this data file, the first being 1: the query that gives the rows has ended
};

class CancelTest : public testing::TestWithParam<Statement> {
 protected:
  CancelTest() {
    const auto hooked = std::make_shared<io::FaultInjectingFileIO>(
        io_, [this](std::string_view operation, const std::string& path) -> Status {
          const bool is_data_file = operation == "create" && path.ends_with(".parquet");
          if (is_data_file && cancel_at_ > 0 && --cancel_at_ == 0) session_->Cancel();
          return {};
        });
    SessionOptions options;
    options.catalogs["demo"] = catalog::MakeMemoryCatalog("demo", "memory://lake", hooked);
    options.default_catalog = "demo";
    options.default_namespace = {"demo"};
    options.memory_limit_bytes = kMemory;
    auto session = Session::Make(std::move(options));
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
    Do("create namespace demo");
    for (const char* mode : {"merge-on-read", "copy-on-write"}) {
      const std::string table = std::string(mode) == "merge-on-read" ? "demo.t" : "demo.cow";
      Do(
          fmt::format("create table {} (part bigint, x bigint) using iceberg partitioned by (part) tblproperties "
                      "('write.delete.mode' = '{}', 'write.update.mode' = '{}', 'write.merge.mode' = '{}')",
                      table, mode, mode, mode));
      Do(fmt::format("insert into {} select p, x from range({}) a(p), range(1, 3) b(x)", table, kPartitions));
    }
  }

  void Do(const std::string& statement) { EXPECT_THAT(session_->Execute(statement), IsOk()) << statement; }

  std::string SumOf(const std::string& table) {
    auto result = session_->Execute(fmt::format("select count(*) || ' rows, ' || sum(x) from {}", table));
    EXPECT_THAT(result, IsOk());
    auto batch = (*result)->Next();
    EXPECT_THAT(batch, IsOk());
    auto cells = CellsOf(**batch);
    EXPECT_THAT(cells, IsOk());
    return cells->at(0).at(0).text;
  }

  std::set<std::string> Files() {
    std::set<std::string> paths;
    auto listed = io_->List("memory://lake");
    EXPECT_THAT(listed, IsOk());
    for (const io::FileInfo& file : *listed) paths.insert(file.path);
    return paths;
  }

  const std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::unique_ptr<Session> session_;
  int cancel_at_ = 0;
};

TEST_P(CancelTest, IsHeardWhileRowsAreWrittenAndLeavesTheTableAsItWas) {
  const std::string t = SumOf("demo.t");
  const std::string cow = SumOf("demo.cow");
  EXPECT_EQ(t, "300 rows, 450");
  const std::set<std::string> files = Files();
  cancel_at_ = GetParam().cancel_at;
  EXPECT_THAT(session_->Execute(GetParam().text), IsError(ErrorCode::kShuttingDown, "was asked to stop"));
  EXPECT_EQ(cancel_at_, 0);
  EXPECT_EQ(Files(), files);
  EXPECT_EQ(SumOf("demo.t"), t);
  EXPECT_EQ(SumOf("demo.cow"), cow);
  // It ended that statement only.
  Do(GetParam().text);
  EXPECT_NE(Files(), files);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, CancelTest,
    testing::Values(
        Statement{"Insert", "insert into demo.t select range, 7 from range(150)", 120},
        Statement{"InsertInItsLastFile", "insert into demo.t select range, 7 from range(150)", 150},
        Statement{"InsertOverwrite", "insert overwrite demo.t select range, 7 from range(150)", 120},
        Statement{"CreateTableAs",
                  "create table demo.n using iceberg partitioned by (part) as select range as part from range(150)",
                  120},
        Statement{"ReplaceTable",
                  "create or replace table demo.t partitioned by (part) as select range as part, 7::bigint as x from "
                  "range(150)",
                  120},
        Statement{"Update", "update demo.t set x = x + 10 where x = 1", 120},
        Statement{"Merge",
                  "merge into demo.t t using (select range as part, 20 as x from range(150)) s on t.part = s.part and "
                  "t.x = 1 "
                  "when matched then update set x = s.x when not matched then insert (part, x) values (s.part, s.x)",
                  120},
        Statement{"CopyOnWriteDelete", "delete from demo.cow where x = 1", 50},
        Statement{"CopyOnWriteUpdate", "update demo.cow set x = x + 10 where x = 1", 120}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace frazil::sql
