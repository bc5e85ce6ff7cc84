// Rows in landing files that another engine's upsert believes it has deleted: its equality delete is scoped by a partition,
// and a landing file belongs to none.

#include "frazil/ingest/landing_deletes.h"

#include "frazil/index/equality_delete_keys.h"
#include "frazil/ingest/landed_to_strike_out.h"
#include "frazil/ingest/start_index.h"
#include "tests/support/foreign_table.h"
#include "tests/support/scenario.h"

namespace frazil::test {
namespace {

using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LandingDeletesTest : public ::testing::Test {
 protected:
  LandingDeletesTest() : table_(3, Fields()) {
    auto schema = spec::Schema::Make(table_.metadata().current_schema_id, Fields(), {FieldId{1}});
    EXPECT_THAT(schema, IsOk());
    table_.metadata().schemas = {*schema};
    landed_ = Landed(table_.Parquet(Fields(), {"[1, 2, 3]", R"(["a", "b", "c"])", R"(["x", "x", "y"])"}));
    table_.Commit({landed_});
    table_.Partition({{FieldId{3}, FieldId{1000}, "part", spec::Transform::Identity()}});
  }
  /// The same file under a name that only landing files have.
  spec::DataFile Landed(spec::DataFile file) {
    const auto bytes = table_.file_io()->ReadFile(file.file_path);
    EXPECT_THAT(bytes, IsOk());
    const std::string name = fmt::format("{}-landing.parquet", file.file_path.substr(file.file_path.rfind('/') + 1, 5));
    file.file_path = table_.File(name, *bytes, spec::FileFormat::kParquet, file.record_count).file_path;
    return file;
  }
  static std::vector<spec::Field> Fields() {
    spec::Field id = Column(1, "id", TypeId::kLong);
    id.required = true;
    return {id, Column(2, "value", TypeId::kString), Column(3, "part", TypeId::kString)};
  }
  static spec::PartitionTuple InX() { return {spec::Value(std::string("x"))}; }
  spec::DataFile Deletes(const std::vector<int>& columns, const std::string& values) {
    return table_.EqualityDeletes({Fields()[static_cast<size_t>(columns[0] - 1)]}, {values}, columns,
                                  spec::FileFormat::kParquet, InX());
  }
  table::OwnDeletes Found(const std::set<std::string>& known = {}) {
    table::Table table = *table::Table::Load(table_.MakeCatalog(), {{"db"}, "t"});
    ManualClock clock(1'700'000'000'000);
    auto started = ingest::OpenStartIndex(table, {}, clock);
    EXPECT_THAT(started, IsOk());
    EXPECT_THAT(started->index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
    table::OwnDeletes deletes;
    looked_at_.clear();
    EXPECT_THAT(ingest::AddLandingDeletes(table, *started->index, *started->key, known, looked_at_, deletes), IsOk());
    return deletes;
  }

  ForeignTable table_;
  spec::DataFile landed_;
  std::set<std::string> looked_at_;
};

TEST_F(LandingDeletesTest, AreThoseOfOlderLandingFilesWithTheKey) {
  EXPECT_THAT(Found(), IsEmpty());
  const spec::DataFile newer = table_.Parquet(Fields(), {"[2]", R"(["newer"])", R"(["x"])"}, FieldIds::kWritten, InX());
  table_.Commit({newer, Deletes({1}, "[2, 99]")});
  const table::OwnDeletes deletes = Found();
  ASSERT_EQ(deletes.size(), 1u);
  EXPECT_EQ(deletes.begin()->first, landed_.file_path);
  EXPECT_EQ(deletes.begin()->second.cardinality(), 1);
  EXPECT_TRUE(deletes.begin()->second.Contains(spec::RowPosition(1)));
  // A delete that was looked at is not looked at again.
  EXPECT_EQ(looked_at_.size(), 1u);
  const std::set<std::string> known = looked_at_;
  EXPECT_THAT(Found(known), IsEmpty());
}

/// Attempts of a commit are repeated, on the same base and on others.
TEST_F(LandingDeletesTest, AreLookedForOnceABase) {
  const spec::DataFile first = Deletes({1}, "[2]");
  table_.Commit({first});
  table::Table table = *table::Table::Load(table_.MakeCatalog(), {{"db"}, "t"});
  ManualClock clock(1'700'000'000'000);
  ASSERT_OK_AND_ASSIGN(ingest::StartedIndex started, ingest::OpenStartIndex(table, {}, clock));
  ASSERT_THAT(started.index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
  ingest::LandedToStrikeOut landed;
  const auto find = [&]() -> size_t {
    const auto found = landed.On(table, *started.index, *started.key);
    EXPECT_THAT(found, IsOk());
    return found ? (*found)->size() : 0;
  };
  EXPECT_EQ(find(), 1u);
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, table_.file_io()->ReadFile(first.file_path));
  ASSERT_THAT(table_.file_io()->Delete({first.file_path}), IsOk());
  EXPECT_EQ(find(), 1u);  // it is not read again
  landed.Committed();
  EXPECT_EQ(find(), 0u);  // what is in the table is done
  landed = {};
  EXPECT_THAT(landed.On(table, *started.index, *started.key), IsError(ErrorCode::kNotFound, first.file_path));
  ASSERT_THAT(table_.file_io()->WriteFile(first.file_path, bytes), IsOk());
  EXPECT_EQ(find(), 1u);
  // Another base is another question.
  table_.Commit({Deletes({1}, "[3]")});
  table = *table::Table::Load(table_.MakeCatalog(), {{"db"}, "t"});
  ASSERT_THAT(started.index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const table::OwnDeletes* found, landed.On(table, *started.index, *started.key));
  EXPECT_EQ(found->at(landed_.file_path).cardinality(), 2);
}

TEST_F(LandingDeletesTest, ADeleteOverOtherColumnsIsNoUpsert) {
  table_.Commit({Deletes({2}, R"(["b"])")});
  EXPECT_THAT(Found(), IsEmpty());
}

/// Files of old writers, in which columns are known by name alone: the landing file (moved in by add_files), and the deletes.
TEST_F(LandingDeletesTest, ColumnsAreFoundByNameWhereFilesHaveNoIds) {
  table_.Set("schema.name-mapping.default",
             R"([{"field-id": 1, "names": ["old_id", "id"]}, {"field-id": 2, "names": ["value"]},
                 {"field-id": 3, "names": ["part"]}])");
  std::vector<spec::Field> old = Fields();
  old[0].name = "old_id";
  spec::DataFile deletes = table_.Parquet({old[0]}, {"[2, 5]"}, FieldIds::kNone, InX());
  deletes.content = spec::FileContent::kEqualityDeletes;
  deletes.equality_ids = {FieldId{1}};
  spec::DataFile unnamed = Landed(table_.Parquet(old, {"[5, 6]", R"(["e", "f"])", R"(["x", "x"])"}, FieldIds::kNone));
  unnamed.spec_id = landed_.spec_id;
  unnamed.partition = {};
  table_.Commit({unnamed});
  table_.Commit({deletes});
  const table::OwnDeletes found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found.at(landed_.file_path).Contains(spec::RowPosition(1)));
  EXPECT_TRUE(found.at(unnamed.file_path).Contains(spec::RowPosition(0)));
  EXPECT_EQ(found.at(unnamed.file_path).cardinality(), 1);
}

/// As Flink writes them where write.delete.format.default or the table's format says avro; older writers give no ids.
TEST_F(LandingDeletesTest, AreReadFromAvroFilesAsWell) {
  table_.Set(
      "schema.name-mapping.default",
      R"([{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["value"]}, {"field-id": 3, "names": ["part"]}])");
  for (const FieldIds ids : {FieldIds::kWritten, FieldIds::kNone}) {
    SCOPED_TRACE(ids == FieldIds::kNone ? "without ids" : "with ids");
    spec::DataFile deletes = table_.Avro({Fields()[0]}, {"[2, 99]"}, InX(), ids);
    deletes.content = spec::FileContent::kEqualityDeletes;
    deletes.equality_ids = {FieldId{1}};
    table_.Commit({deletes});
    const std::set<std::string> before = looked_at_;
    const table::OwnDeletes found = Found(before);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.begin()->first, landed_.file_path);
    EXPECT_EQ(found.begin()->second.cardinality(), 1);
    EXPECT_TRUE(found.begin()->second.Contains(spec::RowPosition(1)));
    EXPECT_THAT(looked_at_, ElementsAre(deletes.file_path));
  }
}

TEST_F(LandingDeletesTest, AFileThatLacksTheKeyIsNamed) {
  for (const spec::FileFormat format : {spec::FileFormat::kParquet, spec::FileFormat::kAvro}) {
    const spec::DataFile deletes = table_.EqualityDeletes({Fields()[1]}, {R"(["b"])"}, {1}, format);
    const table::Table table = *table::Table::Load(table_.MakeCatalog(), {{"db"}, "t"});
    const spec::Schema& schema = *table.metadata()->schema();
    ASSERT_OK_AND_ASSIGN(const index::CanonicalKey key, index::CanonicalKey::Make(schema, 7));
    EXPECT_THAT(index::ReadEqualityDeleteKeys(*table.io(), *table.metadata(), schema, key, deletes,
                                              [](int64_t, const auto&) { return Status(); }),
                IsError(ErrorCode::kInvalidTable, deletes.file_path));
  }
}

/// Every engine reads those rows as live: the delete of an upsert in a partition was never about them.
TEST_F(LandingDeletesTest, RowsFromBeforeTheTableWasPartitionedStay) {
  spec::DataFile old = table_.Parquet(Fields(), {"[7]", R"(["g"])", R"(["x"])"});
  old.spec_id = landed_.spec_id;
  table_.Commit({old});
  table_.Commit({Deletes({1}, "[7]")});
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(LandingDeletesTest, RowsThatLandedLaterStay) {
  table_.Commit({Deletes({1}, "[1, 2, 3]")}, 0);
  EXPECT_THAT(Found(), IsEmpty());
}

}  // namespace
}  // namespace frazil::test
