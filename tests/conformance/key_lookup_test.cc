// Queries that name whole keys go through the key index that ingest left on this machine, and give what a scan gives.

#include <filesystem>

#include <arrow/record_batch.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/index/key_index.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/table.h"

namespace frazil {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Rows = std::vector<std::string>;

class KeyLookup : public ::testing::Test {
 protected:
  KeyLookup()
      : io_(std::make_shared<io::MemoryFileIO>()), catalog_(catalog::MakeMemoryCatalog("demo", "memory://lake", io_)) {
    with_index_ = MakeSession([this](const spec::TableMetadata&) { return (folder_.path() / "index").string(); });
    by_scan_ = MakeSession(nullptr);
    Do("create namespace db");
  }

  std::unique_ptr<sql::Session> MakeSession(sql::KeyIndexDirectory directory) {
    sql::SessionOptions options;
    options.catalogs["demo"] = catalog_;
    options.default_catalog = "demo";
    options.default_namespace = {"db"};
    options.threads = 2;
    options.key_index_directory = std::move(directory);
    auto session = sql::Session::Make(std::move(options));
    EXPECT_THAT(session, IsOk());
    return *std::move(session);
  }

  static Result<Rows> Query(sql::Session& session, const std::string& statement) {
    FRAZIL_ASSIGN(auto result, session.Execute(statement));
    Rows rows;
    while (true) {
      FRAZIL_ASSIGN(auto batch, result->Next());
      if (!batch) break;
      FRAZIL_ASSIGN(auto cells, sql::CellsOf(*batch));
      for (const auto& row : cells) {
        std::string line;
        for (const auto& cell : row) line += (cell.is_null ? "NULL" : cell.text) + "|";
        rows.push_back(line);
      }
    }
    std::ranges::sort(rows);
    return rows;
  }
  void Do(const std::string& statement) { ASSERT_THAT(Query(*by_scan_, statement), IsOk()) << statement; }

  /// What ingest does at a checkpoint.
  void Checkpoint() {
    ASSERT_OK_AND_ASSIGN(table::Table table, table::Table::Load(catalog_, {{"db"}, "t"}));
    ASSERT_OK_AND_ASSIGN(const auto index, index::OpenKeyIndex({.directory = (folder_.path() / "index").string(),
                                                                .table_uuid = table.metadata()->table_uuid.ToString(),
                                                                .schema = table.metadata()->schema(),
                                                                .seed = 7}));
    ASSERT_THAT(index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }

  std::string Explain(const std::string& query) {
    const auto plan = Query(*with_index_, "EXPLAIN " + query);
    EXPECT_THAT(plan, IsOk());
    std::string text;
    for (const std::string& row : plan.value_or(Rows())) text += row;
    return text;
  }

  /// By the index, and as a scan says.
  void ExpectLookUp(const std::string& query) {
    SCOPED_TRACE(query);
    EXPECT_THAT(Explain(query), HasSubstr("Key index lookup"));
    ExpectLikeAScan(query);
  }
  void ExpectScan(const std::string& query) {
    SCOPED_TRACE(query);
    EXPECT_THAT(Explain(query), Not(HasSubstr("Key index lookup")));
    ExpectLikeAScan(query);
  }
  void ExpectLikeAScan(const std::string& query) {
    const auto expected = Query(*by_scan_, query);
    ASSERT_THAT(expected, IsOk());
    EXPECT_THAT(Query(*with_index_, query), IsOkAnd(*expected));
  }

  TempDir folder_;
  std::shared_ptr<io::MemoryFileIO> io_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<sql::Session> with_index_;
  std::unique_ptr<sql::Session> by_scan_;
};

TEST_F(KeyLookup, OfEqualityOnAllIdentifierFields) {
  Do("create table t (region string not null, id bigint not null, value string, tags array<string>) using iceberg "
     "tblproperties ('frazil.index.seed' = '7')");
  Do("alter table t set identifier fields region, id");
  Do("insert into t values ('eu', 1, 'a', ['x', 'y']), ('eu', 2, 'b', null), ('us', 1, 'c', [])");
  Do("insert into t values ('us', 2, 'd', null), ('it''s', 3, null, [null])");
  Checkpoint();
  ExpectLookUp("select * from t where region = 'eu' and id = 1");
  ExpectLookUp("select value from t where id = 1 and region in ('eu', 'us')");
  ExpectLookUp("select tags, id from t where id in (1, 2, 3) and region in ('eu', 'us', 'it''s')");
  ExpectLookUp("select * from t where region = 'eu' and id = 1 and value = 'a'");
  ExpectLookUp("select * from t where region = 'eu' and id = 1 and value like '%z'");
  ExpectLookUp("select * from t where region = 'eu' and id = 77");
  ExpectLookUp("select count(*) from t where region = 'us' and id = 2");
  ExpectLookUp(
      "select _row_id, _last_updated_sequence_number, _file, _pos, _spec_id from t where region = 'eu' and id = 2");
  ExpectLookUp(
      "select x.value, y.value from t x, t y where x.region = 'eu' and x.id = 1 and y.region = 'us' and y.id = 2");
  ExpectScan("select * from t where region = 'eu'");
  ExpectScan("select * from t where id = 1");
  ExpectScan("select * from t where region = 'eu' or id = 1");
  ExpectScan("select * from t where region = 'eu' and id > 1");
  EXPECT_THAT(Explain("select * from t where region = 'eu' and id = 1"), HasSubstr("1 key, 1 row"));
}

TEST_F(KeyLookup, IsNeverStale) {
  Do("create table t (id bigint not null, value string) using iceberg tblproperties ('frazil.index.seed' = '7')");
  Do("alter table t set identifier fields id");
  Do("insert into t values (1, 'a'), (2, 'b'), (3, 'c')");
  Checkpoint();
  const std::string one = "select value, _row_id, _pos, _file from t where id = 1";
  ExpectLookUp(one);
  // What happened since the checkpoint is followed in memory, in an open session and in a new one.
  Do("delete from t where id = 1");
  ExpectLookUp(one);
  Do("insert into t values (1, 'again')");
  ExpectLookUp(one);
  with_index_ = MakeSession([this](const spec::TableMetadata&) { return (folder_.path() / "index").string(); });
  ExpectLookUp(one);
  Do("alter table t add column more int default 5");
  ExpectLookUp("select * from t where id = 1");
  Checkpoint();
  ExpectLookUp("select * from t where id = 1");
  // Another state than the newest is scanned.
  ASSERT_OK_AND_ASSIGN(const Rows snapshots, Query(*by_scan_, "select snapshot_id from t.snapshots"));
  ASSERT_OK_AND_ASSIGN(const table::Table table, table::Table::Load(catalog_, {{"db"}, "t"}));
  ExpectScan(
      fmt::format("select value from t version as of {} where id = 1", table.metadata()->snapshots[0].id.value()));
}

TEST_F(KeyLookup, StaysRightInAnOpenSessionWhileTheSchemaChangesAndTheSnapshotDoesNot) {
  Do("create table t (id int not null, day date, value string) using iceberg "
     "tblproperties ('frazil.index.seed' = '7')");
  Do("alter table t set identifier fields id");
  Do("insert into t values (1, date '2024-02-29', 'a'), (2, null, 'b'), (-3, null, 'c')");
  Checkpoint();
  const auto look_up = [this](const std::string& key) {
    ExpectLookUp(fmt::format("select * from t where {} = 1", key));
    ExpectLookUp(fmt::format("select *, _row_id, _pos from t where {} in (-3, 2, 77)", key));
  };
  look_up("id");
  Do("alter table t alter column id type bigint");
  look_up("id");
  Do("alter table t add column more int not null default 5");
  look_up("id");
  Do("alter table t rename column id to number");
  look_up("number");
  Do("alter table t drop column value");
  look_up("number");
  Do("alter table t add column value int");  // another one
  look_up("number");
  Do("insert into t (number, more) values (5000000000, 6)");
  look_up("number");
  ExpectLookUp("select * from t where number = 5000000000");
  // Another key than the index has: a scan until somebody builds it again, in the open session too.
  Do("alter table t set identifier fields number, more");
  ExpectScan("select * from t where number = 1 and more = 5");
  Checkpoint();
  ExpectLookUp("select * from t where number = 1 and more = 5");
  ExpectScan("select * from t where number = 1");
}

TEST_F(KeyLookup, OfKeysOfEveryType) {
  const std::vector<std::vector<std::string>> types = {
      {"boolean", "true", "false"},
      {"int", "1", "-7"},
      {"bigint", "9223372036854775807", "-1"},
      {"decimal(9, 2)", "1.50", "-0.01"},
      {"decimal(38, 0)", "12345678901234567890123456789012345678", "0"},
      {"date", "date '2024-02-29'", "date '1969-12-31'"},
      {"timestamp_ntz", "timestamp '2024-02-29 12:00:00.000001'", "timestamp '1900-01-01 00:00:00'"},
      {"timestamp", "timestamptz '2024-02-29 12:00:00+01:00'", "timestamptz '2024-02-29 12:00:00+00:00'"},
      {"string", "'ä b'", "''"},
      {"binary", "'\\x00\\xFF'::blob", "''::blob"},
  };
  for (const auto& type : types) {
    SCOPED_TRACE(type[0]);
    Do(fmt::format("create table t (k {} not null, v int) using iceberg tblproperties ('frazil.index.seed' = '7')",
                   type[0]));
    Do("alter table t set identifier fields k");
    Do(fmt::format("insert into t values ({}, 1), ({}, 2)", type[1], type[2]));
    std::filesystem::remove_all((folder_.path() / "index").string());
    Checkpoint();
    ExpectLookUp(fmt::format("select * from t where k = {}", type[1]));
    ExpectLookUp(fmt::format("select * from t where k in ({}, {})", type[1], type[2]));
    EXPECT_THAT(Query(*with_index_, fmt::format("select v from t where k = {}", type[2])), IsOkAnd(Rows{"2|"}));
    Do("drop table t");
  }
}

TEST_F(KeyLookup, WithoutAnIndexThatFitsTheTableIsScanned) {
  Do("create table t (id bigint not null, value string) using iceberg tblproperties ('frazil.index.seed' = '7')");
  Do("alter table t set identifier fields id");
  Do("insert into t values (1, 'a'), (2, 'b')");
  ExpectScan("select * from t where id = 1");  // no index at all
  Checkpoint();
  ExpectLookUp("select * from t where id = 1");
  for (const auto& file : std::filesystem::directory_iterator((folder_.path() / "index").string())) {
    if (file.path().extension() == ".run") std::filesystem::resize_file(file.path(), 10);
  }
  with_index_ = MakeSession([this](const spec::TableMetadata&) { return (folder_.path() / "index").string(); });
  ExpectLikeAScan("select * from t where id = 1");  // damaged
  Do("alter table t set tblproperties ('frazil.index.seed' = '8')");
  ExpectLikeAScan("select * from t where id = 1");  // hashes of another seed
}

TEST_F(KeyLookup, ChangesOfRowsByKeyGoThroughItToo) {
  Do("create table t (id bigint not null, value string) using iceberg tblproperties ('frazil.index.seed' = '7')");
  Do("alter table t set identifier fields id");
  Do("insert into t values (1, 'a'), (2, 'b'), (3, 'c')");
  Checkpoint();
  ASSERT_THAT(Query(*with_index_, "delete from t where id = 2"), IsOk());
  ASSERT_THAT(Query(*with_index_, "update t set value = 'new' where id = 3"), IsOk());
  EXPECT_THAT(Query(*by_scan_, "select * from t"), IsOkAnd(Rows{"1|a|", "3|new|"}));
  ExpectLookUp("select *, _row_id from t where id = 3");
  ExpectLookUp("select * from t where id = 2");
}

}  // namespace
}  // namespace frazil
