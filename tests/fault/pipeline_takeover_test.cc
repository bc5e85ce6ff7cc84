// A table that Flink has written so far: version 2, upserts by equality deletes. A pipeline takes over, and what was deleted
// stays deleted.

#include "frazil/catalog/catalog.h"
#include "frazil/ingest/pipeline.h"
#include "tests/support/fake_record_source.h"
#include "tests/support/foreign_table.h"

namespace frazil::test {
namespace {

using spec::Type;
using spec::TypeId;

std::vector<spec::Field> Fields() {
  spec::Field id = Column(1, "id", TypeId::kLong);
  id.required = true;
  return {id, Column(2, "value", TypeId::kString), Column(3, "part", TypeId::kString)};
}

class TakeOverTest : public ::testing::Test {
 protected:
  TakeOverTest() : table_(2, Fields()) {
    auto schema = spec::Schema::Make(table_.metadata().current_schema_id, Fields(), {spec::FieldId{1}});
    EXPECT_THAT(schema, IsOk());
    table_.metadata().schemas = {*schema};
    table_.Commit({File("[1, 2, 3]", R"(["a", "b", "c"])")});
    table_.Commit({File("[2, 4]", R"(["newer", "d"])"),
                   table_.EqualityDeletes({Fields()[0]}, {"[2, 3]"}, {1}, spec::FileFormat::kParquet)});
    catalog_ = table_.MakeCatalog();
  }
  spec::DataFile File(const std::string& ids, const std::string& values) {
    const auto count = std::count(ids.begin(), ids.end(), ',') + 1;
    std::string parts = "[";
    for (int64_t i = 0; i < count; ++i) parts += i == 0 ? "\"x\"" : ", \"x\"";
    return table_.Parquet(Fields(), {ids, values, parts + "]"});
  }
  Status Run(bool upgrade) {
    auto loaded = table::Table::Load(catalog_, {{"db"}, "t"});
    FRAZIL_TRY(loaded);
    ingest::PipelineOptions options;
    options.id = "takes over";
    options.startup.kind = ingest::StartupMode::Kind::kEarliest;
    options.is_bounded = true;
    options.upgrade_table = upgrade;
    options.clock = &clock_;
    const spec::SchemaPtr schema = loaded->metadata()->schema();
    ingest::Pipeline pipeline(*loaded, std::make_unique<FakeRecordSource>(topic_, clock_),
                              std::make_unique<FakeRecordDecoder>(schema), nullptr, options);
    FRAZIL_TRY(pipeline.Run());
    FRAZIL_TRY(loaded->Refresh());
    FRAZIL_ASSIGN(const std::vector<index::LiveRow> rows, index::ReadLiveRows(*loaded));
    rows_.clear();
    for (const index::LiveRow& row : rows) rows_.emplace(row.row.id, row.row.value);
    EXPECT_EQ(rows_.size(), rows.size()) << "doubled key";
    return {};
  }

  ManualClock clock_{1'700'000'000'000};
  ForeignTable table_;
  std::shared_ptr<FakeTopic> topic_ = std::make_shared<FakeTopic>();
  std::shared_ptr<catalog::Catalog> catalog_;
  std::map<int64_t, std::string> rows_;
};

TEST_F(TakeOverTest, NeedsTheFlag) { EXPECT_THAT(Run(false), IsError(ErrorCode::kNotSupported, "--upgrade-table")); }

TEST_F(TakeOverTest, HonoursEqualityDeletes) {
  topic_->Append({1, "from the topic", "x"});
  topic_->Append({3, "back", "x"});
  topic_->Append({4, std::nullopt, ""});
  ASSERT_THAT(Run(true), IsOk());
  EXPECT_EQ(rows_, (std::map<int64_t, std::string>{{1, "from the topic"}, {2, "newer"}, {3, "back"}}));
  topic_->Append({2, "newest", "x"});
  ASSERT_THAT(Run(false), IsOk());
  EXPECT_EQ(rows_.at(2), "newest");
}

}  // namespace
}  // namespace frazil::test
