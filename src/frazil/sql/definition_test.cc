// What the statements that define tables must hold besides their answers, which tests/sql says: SHOW CREATE TABLE goes round,
// a failed statement leaves no metadata behind, lost races are won on the newest state.

#include "frazil/base/test_support.h"
#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/table_metadata_builder.h"
#include "frazil/sql/definition_statement.h"
#include "frazil/sql/name_pattern.h"
#include "frazil/sql/session.h"
#include "frazil/sql/statement.h"
#include "frazil/sql/table_renderer.h"

#include <arrow/record_batch.h>

namespace frazil::sql {
namespace {

using testing::HasSubstr;

class DefinitionTest : public testing::Test {
 protected:
  DefinitionTest()
      : io_(std::make_shared<io::MemoryFileIO>()),
        inner_(catalog::MakeMemoryCatalog("demo", "memory://lake", io_)),
        catalog_(
            catalog::MakeFaultInjectingCatalog(inner_, [this](std::string_view operation, const catalog::TableName&) {
              return before_ ? before_(operation) : Status();
            })) {
    SessionOptions options;
    options.catalogs["demo"] = catalog_;
    options.default_catalog = "demo";
    auto session = Session::Make(std::move(options));
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
    Do("create namespace demo");
    Do("use demo");
  }

  void Do(const std::string& statement) { EXPECT_THAT(session_->Execute(statement), IsOk()) << statement; }
  std::string ErrorOf(const std::string& statement) {
    auto result = session_->Execute(statement);
    return result ? "succeeded" : result.error().ToString();
  }
  std::string Text(const std::string& statement) {
    auto result = session_->Execute(statement);
    EXPECT_THAT(result, IsOk()) << statement;
    auto batch = result ? (*result)->Next() : Result<std::shared_ptr<arrow::RecordBatch>>(nullptr);
    EXPECT_THAT(batch, IsOk());
    auto cells = CellsOf(**batch);
    EXPECT_THAT(cells, IsOk());
    return (*cells)[0][0].text;
  }
  catalog::LoadedTable Loaded(const std::string& name) { return *inner_->LoadTable({{"demo"}, name}); }

  std::function<Status(std::string_view operation)> before_;
  std::shared_ptr<io::MemoryFileIO> io_;
  std::shared_ptr<catalog::Catalog> inner_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<Session> session_;
};

TEST_F(DefinitionTest, ShowCreateTableMakesTheSameTable) {
  Do(R"(create table `odd name` (
          id bigint not null comment 'the "key"', `two words` string default 'it''s \\ here',
          price decimal(9,2) default 1.50, at timestamp, born date default date '2026-01-31', raw binary, `a.b` int,
          place struct<shelf: int not null comment 'number', `the room`: array<struct<x: double>>>, m map<string, int>)
        using iceberg
        partitioned by (bucket(4, id) as shard, days(at), truncate(2, `two words`), bucket(8, id), void(price))
        comment 'for a test' location 'memory://lake/odd'
        tblproperties ('format-version' = '3', 'write.distribution-mode' = 'hash', 'a\\b' = 'c''d'))");
  Do("alter table `odd name` set identifier fields id");
  Do("alter table `odd name` write locally ordered by at desc, bucket(4, id) nulls last");
  const std::string script = Text("show create table `odd name`");
  const spec::TableMetadataPtr before = Loaded("odd name").metadata;
  Do("drop table `odd name`");
  for (const ScriptStatement& statement : SplitScript(script)) Do(statement.text);
  const spec::TableMetadataPtr after = Loaded("odd name").metadata;
  EXPECT_TRUE(after->schema()->SameAs(*before->schema())) << script;
  EXPECT_EQ(after->default_sort_order().fields, before->default_sort_order().fields) << script;
  EXPECT_EQ(after->properties, before->properties) << script;
  EXPECT_EQ(after->location, before->location);
  EXPECT_EQ(after->format_version, before->format_version);
  // A void field partitions nothing and cannot come back under its id.
  spec::PartitionSpec expected(spec::SpecId(0),
                               {before->default_spec().fields().begin(), before->default_spec().fields().end() - 1});
  EXPECT_EQ(after->default_spec().fields(), expected.fields()) << script;
}

TEST_F(DefinitionTest, ShowCreateTablePrintsDefaultsOfEveryTypeAsLiterals) {
  Do(R"(create table t (
          b boolean default false, i int default -7, l bigint default 9223372036854775807, f float default 1.5,
          d double default -2.5e-10, big double default 1e300,
          price decimal(9,2) default 1.5, whole decimal(38,0) default -99999999999999999999999999999999999999,
          born date default date '1969-12-31', noon time default time '12:30:00.000001',
          at timestamp default timestamp '2026-01-31 12:00:00.5', ntz timestamp_ntz default timestamp_ntz '1969-12-31 23:59:59',
          ns timestamp_ns default '2026-01-31 12:00:00.123456789', tzns timestamptz_ns default '2026-01-31T12:00:00+02:00',
          s string default 'it''s \\\\ "here"', empty string default '', u uuid default 'f79c3e09-677c-4bbd-a479-3f349cb785e7',
          raw binary default x'00ff', none binary default x'', fx fixed(2) default x'abcd'))");
  const std::string script = Text("show create table t");
  for (const char* column :
       {"b boolean DEFAULT false", "i int DEFAULT -7", "l bigint DEFAULT 9223372036854775807", "f float DEFAULT 1.5",
        "big double DEFAULT 1e+300", "price decimal(9,2) DEFAULT 1.50", "born date DEFAULT DATE '1969-12-31'",
        "noon time DEFAULT TIME '12:30:00.000001'", "at timestamp DEFAULT TIMESTAMP '2026-01-31 12:00:00.5+00:00'",
        "ntz timestamp_ntz DEFAULT TIMESTAMP_NTZ '1969-12-31 23:59:59'",
        "ns timestamp_ns DEFAULT '2026-01-31 12:00:00.123456789'", "raw binary DEFAULT X'00ff'",
        "none binary DEFAULT X''", "fx fixed(2) DEFAULT X'abcd'"}) {
    EXPECT_THAT(script, HasSubstr(std::string("  ") + column)) << script;
  }
  const spec::TableMetadataPtr before = Loaded("t").metadata;
  Do("drop table t");
  Do(script);
  EXPECT_TRUE(Loaded("t").metadata->schema()->SameAs(*before->schema())) << script;
  EXPECT_EQ(Text("show create table t"), script);
}

TEST_F(DefinitionTest, ADefaultThatJsonCannotHoldIsRefused) {
  for (const char* value : {"'NaN'", "'-Infinity'", "1e400"}) {
    EXPECT_THAT(ErrorOf(fmt::format("create table t (x double default {})", value)), HasSubstr("default of column x "))
        << value;
  }
}

TEST_F(DefinitionTest, AFailedStatementWritesNothing) {
  Do("create table t (id bigint not null, name string, n int) partitioned by (name)");
  Do("insert into t values (1, 'a', 2)");
  const std::string location = Loaded("t").metadata_location;
  for (const char* statement :
       {"alter table t add columns (a int, b int not null)", "alter table t drop columns n, name",
        "alter table t alter column n type bigint, id type string", "alter table t rename column n to name",
        "alter table t replace partition field name with hours(name)", "alter table t write ordered by n, nobody",
        "alter table t set tblproperties ('a' = 'b', 'format-version' = '9')",
        "alter table t create branch b as of version 5", "alter table t drop tag x",
        "alter table t set identifier fields n", "alter table t rename to t"}) {
    EXPECT_NE(ErrorOf(statement), "succeeded") << statement;
    EXPECT_EQ(Loaded("t").metadata_location, location) << statement;
  }
}

TEST_F(DefinitionTest, AChangeIsMadeAnewAfterALostRace) {
  Do("create table t (id bigint)");
  int attempts = 0;
  before_ = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || attempts++ > 0) return {};
    // Somebody else adds a column first: the id that we had in mind is taken.
    const catalog::LoadedTable base = Loaded("t");
    auto schema = spec::Schema::Make(
        spec::SchemaId(1), {base.metadata->schema()->fields()[0],
                            {spec::FieldId(2), "theirs", false, spec::Type::Primitive(spec::TypeId::kString)}});
    const std::vector<spec::TableUpdate> updates = {spec::update::AddSchema{*schema},
                                                    spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
    EXPECT_THAT(inner_->CommitTable({{"demo"}, "t"}, {}, updates), IsOk());
    return {};
  };
  Do("alter table t add column ours int");
  EXPECT_EQ(attempts, 2);
  const spec::SchemaPtr schema = Loaded("t").metadata->schema();
  ASSERT_EQ(schema->fields().size(), 3u);
  EXPECT_EQ(schema->FindField("theirs")->id, spec::FieldId(2));
  EXPECT_EQ(schema->FindField("ours")->id, spec::FieldId(3));
}

TEST_F(DefinitionTest, UpgradesToVersionThreeKeepRowsAndGiveIds) {
  Do("create table t (id bigint) tblproperties ('format-version' = '2')");
  Do("insert into t values (1), (2)");
  EXPECT_THAT(ErrorOf("alter table t add column n int default 1"),
              HasSubstr("default values are not supported until v3"));
  Do("alter table t set tblproperties ('format-version' = '3')");
  Do("alter table t add column n int default 1");
  Do("insert into t (id) values (3)");
  EXPECT_EQ(Text("select string_agg(id || ':' || n || ':' || _row_id, ' ' order by id) from t"), "1:1:1 2:1:2 3:1:0");
}

TEST(NamePattern, StarsStandForAnyTextAndBarsSeparate) {
  for (const char* pattern : {"*", "flights", "FLIGHTS", "f*s", "*light*", "x|flights", " x | fl* ", "**"}) {
    EXPECT_TRUE(MatchesNamePattern("flights", pattern)) << pattern;
  }
  for (const char* pattern : {"", "flight", "lights", "f*x", "*z*", "x|y", "f?ights", "flights*x"}) {
    EXPECT_FALSE(MatchesNamePattern("flights", pattern)) << pattern;
  }
}

TEST(DefinitionStatement, ParsesSnapshotRetention) {
  auto parsed = ParseStatement(
      "ALTER TABLE a.b CREATE OR REPLACE BRANCH `my branch` AS OF VERSION 12 RETAIN 2 HOURS WITH SNAPSHOT RETENTION 5 "
      "MINUTES;");
  ASSERT_THAT(parsed, IsOk());
  const auto& set = std::get<statement::SetRef>(**parsed);
  EXPECT_EQ(set.name, "my branch");
  EXPECT_TRUE(set.is_branch && set.may_create && set.may_replace && !set.if_not_exists);
  EXPECT_EQ(set.snapshot_id, 12);
  EXPECT_EQ(set.max_ref_age_ms, 7'200'000);
  EXPECT_EQ(set.max_snapshot_age_ms, 300'000);
  EXPECT_EQ(set.min_snapshots_to_keep, std::nullopt);
}

}  // namespace
}  // namespace frazil::sql
