// A filter that the page indexes of a large file narrow to few pages reads those only, and gives what a scan gives.

#include <random>

#include <arrow/record_batch.h>

#include "frazil/base/request_counters.h"
#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/counting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"

namespace frazil {
namespace {

using Rows = std::vector<std::string>;

class PagePruning : public ::testing::Test {
 protected:
  PagePruning() {
    sql::SessionOptions options;
    options.catalogs["demo"] = catalog::MakeMemoryCatalog("demo", "memory://lake", io_);
    options.default_catalog = "demo";
    options.default_namespace = {"db"};
    options.threads = 2;
    auto session = sql::Session::Make(std::move(options));
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
    Query("create namespace db");
  }

  Rows Query(const std::string& statement) {
    Rows rows;
    auto result = session_->Execute(statement);
    EXPECT_THAT(result, IsOk()) << statement;
    while (result) {
      auto batch = (*result)->Next();
      EXPECT_THAT(batch, IsOk()) << statement;
      if (!batch || !*batch) break;
      auto cells = sql::CellsOf(**batch);
      EXPECT_THAT(cells, IsOk());
      for (const auto& row : *cells) {
        std::string line;
        for (const auto& cell : row) line += (cell.is_null ? "NULL" : cell.text) + "|";
        rows.push_back(line);
      }
    }
    return rows;
  }
  int64_t BytesReadBy(const std::string& statement) {
    const int64_t before = counters_->Read().at("read").bytes;
    Query(statement);
    return counters_->Read().at("read").bytes - before;
  }

  /// 200,000 rows in one file with pages of 2,000 rows, `id` and `moment` ascending, `grp` not; then some are deleted,
  /// and a column is added and one promoted.
  void MakeEvents() {
    Query(
        "create table events (id int, moment timestamp, grp int, price double, note string, tags array<string>, "
        "place struct<x: int, y: int>) using iceberg tblproperties ('write.parquet.page-row-limit' = '2000')");
    Query(
        "insert into events select i, timestamp '2026-01-01' + to_seconds(i), i * 7919 % 50, "
        "case when i // 2000 % 9 = 4 and i % 5 <> 0 then 'nan'::double when i % 7 = 0 then null else i / 8 end, "
        "case when i // 2000 % 5 = 2 then null else 'note ' || (i // 100) end, ['t' || (i % 3)], "
        "{'x': i // 1000, 'y': i % 10} from range(200000) t(i) order by i");
    Query("delete from events where id between 50500 and 51499 or grp = 13");
    Query("alter table events alter column id type bigint");
    Query("alter table events add column later int default 3");
  }

  std::shared_ptr<RequestCounters> counters_ = std::make_shared<RequestCounters>();
  std::shared_ptr<io::FileIO> io_ =
      std::make_shared<io::CountingFileIO>(std::make_shared<io::MemoryFileIO>(), counters_);
  std::unique_ptr<sql::Session> session_;
};

TEST_F(PagePruning, ReadsFewPagesOnly) {
  MakeEvents();
  const std::string select = "select sum(price), count(note), max(moment), sum(place.y) from events where ";
  const int64_t all = BytesReadBy(select + "grp = 7");
  EXPECT_LT(BytesReadBy(select + "id = 123456"), all / 5);
  EXPECT_LT(BytesReadBy(select + "moment between timestamp '2026-01-01 10:00:00' and timestamp '2026-01-01 10:10:00'"),
            all / 5);
  EXPECT_EQ(Query("select id, grp = id * 7919 % 50, _pos, _row_id, later from events where id = 123456"),
            Rows{"123456|true|123456|123456|3|"});
}

TEST_F(PagePruning, GivesWhatAScanGives) {
  MakeEvents();
  const std::string columns = "id, moment, grp, price, note, tags, place, later, _pos, _row_id, _file";
  Query("create temp table scanned as select " + columns + " from events");
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto pick = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const auto predicate = [&]() -> std::string {
    const int id = pick(210'000) - 5'000;
    switch (pick(14)) {
      case 0: return fmt::format("id = {}", id);
      case 1: return fmt::format("id between {} and {}", id, id + pick(5000));
      case 2: return fmt::format("id in ({}, {}, {})", id, pick(200'000), pick(200'000));
      case 3: return fmt::format("moment < timestamp '2026-01-01' + to_seconds({})", pick(20'000));
      case 4: return fmt::format("price > {}.5", 20'000 + pick(5'000));
      case 5: return fmt::format("price = {}", pick(25'000));
      case 6: return "isnan(price)";
      case 7: return fmt::format("note = 'note {}'", pick(2'000));
      case 8: return fmt::format("note like 'note 1{}%'", pick(100));
      case 9: return "note is null";
      case 10: return fmt::format("place.x = {}", pick(200));
      case 11: return fmt::format("grp = {}", pick(50));
      case 12: return fmt::format("_pos = {}", pick(200'000));
      default: return fmt::format("later = {}", 2 + pick(2));
    }
  };
  for (int round = 0; round < 150; ++round) {
    std::string where = predicate();
    if (pick(3) == 0) where = fmt::format("not ({})", where);
    for (int i = pick(3); i > 0; --i)
      where = fmt::format("({}) {} ({})", where, pick(3) > 0 ? "and" : "or", predicate());
    const std::string query =
        fmt::format("select count(*), bit_xor(hash({})), min(id) from {{}} where {}", columns, where);
    EXPECT_EQ(Query(fmt::format(fmt::runtime(query), "events")), Query(fmt::format(fmt::runtime(query), "scanned")))
        << where;
  }
}

TEST_F(PagePruning, StatementsFindTheirRowsByPagesToo) {
  MakeEvents();
  Query("update events set note = 'changed' where id between 1000 and 1009 and grp <> 13");
  EXPECT_EQ(Query("select count(*) = count(*) filter (where id between 1000 and 1009 and grp <> 13) from events where "
                  "note = 'changed'"),
            Rows{"true|"});
  const std::string but_one = "select count(*) - (select count(*) from events where id = 150000) from events";
  const Rows before = Query(but_one);
  Query("delete from events where id = 150000");
  EXPECT_EQ(Query("select count(*) from events where id = 150000"), Rows{"0|"});
  EXPECT_EQ(Query("select count(*) from events where _deleted and id = 150000"), Rows{"1|"});
  EXPECT_EQ(Query("select count(*) from events"), before);
}

}  // namespace
}  // namespace frazil
