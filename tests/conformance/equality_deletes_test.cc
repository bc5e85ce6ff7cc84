// Equality deletes of other engines (spec sections 4.5, 4.7), read by FileReader and by SQL alike.

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include "frazil/base/test_support.h"
#include "tests/support/foreign_table.h"

namespace frazil {
namespace {

using spec::FieldId;
using spec::FileFormat;
using spec::Type;
using spec::TypeId;
using test::Column;
using test::ForeignTable;

const spec::Field kId = Column(1, "id", TypeId::kLong);
const spec::Field kName = Column(2, "name", TypeId::kString);
const spec::Field kPart = Column(3, "part", TypeId::kString);

class EqualityDeletes : public ::testing::TestWithParam<FileFormat> {};
INSTANTIATE_TEST_SUITE_P(Format, EqualityDeletes, ::testing::Values(FileFormat::kParquet, FileFormat::kAvro),
                         [](const auto& instance) { return std::string(spec::FileFormatName(instance.param)); });

TEST_P(EqualityDeletes, HideStrictlyOlderRowsOnly) {
  ForeignTable table(2, {kId, kName});
  table.Commit({table.Parquet({kId, kName}, {"[1, 2, 3]", R"(["a", "b", "c"])"})});
  // The row that comes with the delete survives it, as in an upsert.
  table.Commit(
      {table.Parquet({kId, kName}, {"[2]", R"(["new"])"}), table.EqualityDeletes({kId}, {"[2]"}, {1}, GetParam())});
  table.Commit({table.Parquet({kId, kName}, {"[2]", R"(["newer"])"})});
  table.ExpectRows({"id", "name"}, {"1|a", "2|new", "2|newer", "3|c"});
}

TEST_P(EqualityDeletes, NullEqualsNullAndNothingElse) {
  ForeignTable table(2, {kId, kName});
  table.Commit({table.Parquet({kId, kName}, {"[1, null, 3, null]", R"(["a", "b", null, null])"})});
  table.Commit({table.EqualityDeletes({kId}, {"[null]"}, {1}, GetParam())});
  table.ExpectRows({"id", "name"}, {"1|a", "3|null"});
  table.Commit({table.EqualityDeletes({kId, kName}, {"[1, 3, null]", R"([null, null, "b"])"}, {1, 2}, GetParam())});
  table.ExpectRows({"id", "name"}, {"1|a"});
}

TEST_P(EqualityDeletes, OfAPartitionLeaveTheOthersAlone) {
  ForeignTable table(2, {kId, kPart});
  table.Partition({{FieldId(3), FieldId(1000), "part", spec::Transform::Identity()}});
  const auto x = spec::PartitionTuple{spec::Value(std::string("x"))},
             y = spec::PartitionTuple{spec::Value(std::string("y"))};
  const auto none = spec::PartitionTuple{spec::Value()};
  auto data = [&](const spec::PartitionTuple& partition, const char* name) {
    return table.Parquet({kId, kPart}, {"[1, 2]", fmt::format("[{0}, {0}]", name)}, test::FieldIds::kWritten,
                         partition);
  };
  table.Commit({data(x, "\"x\""), data(y, "\"y\""), data(none, "null")});
  table.Commit({table.EqualityDeletes({kId}, {"[1]"}, {1}, GetParam(), x),
                table.EqualityDeletes({kId}, {"[2]"}, {1}, GetParam(), none)});
  table.ExpectRows({"id", "part"}, {"2|x", "1|y", "2|y", "1|null"});
}

TEST_P(EqualityDeletes, OfAnUnpartitionedSpecAreGlobal) {
  ForeignTable table(2, {kId, kPart});
  const spec::DataFile everywhere = table.EqualityDeletes({kId}, {"[1]"}, {1}, GetParam());  // spec 0 has no fields
  table.Partition({{FieldId(3), FieldId(1000), "part", spec::Transform::Identity()}});
  table.Commit({table.Parquet({kId, kPart}, {"[1, 2]", R"(["x", "x"])"}, test::FieldIds::kWritten,
                              {spec::Value(std::string("x"))})});
  table.Commit({everywhere});
  table.ExpectRows({"id", "part"}, {"2|x"});
  // So is one of a spec whose fields are all void.
  table.Partition({{FieldId(3), FieldId(1000), "part", spec::Transform::Void()}});
  table.Commit({table.EqualityDeletes({kId}, {"[2]"}, {1}, GetParam(), {spec::Value()})});
  table.ExpectRows({"id", "part"}, {});
}

TEST_P(EqualityDeletes, OfAnOldSpecDoNotReachFilesOfANewOne) {
  ForeignTable table(2, {kId, kPart});
  table.Partition({{FieldId(3), FieldId(1000), "part", spec::Transform::Identity()}});
  const auto x = spec::PartitionTuple{spec::Value(std::string("x"))};
  const spec::DataFile old_spec = table.EqualityDeletes({kId}, {"[1]"}, {1}, GetParam(), x);
  table.Partition({{FieldId(3), FieldId(1001), "part_truncated", spec::Transform::Truncate(1)}});
  table.Commit({table.Parquet({kId, kPart}, {"[1]", R"(["x"])"}, test::FieldIds::kWritten, x)});
  table.Commit({old_spec});
  table.ExpectRows({"id"}, {"1"});
}

TEST_P(EqualityDeletes, CompareColumnsThatTheSchemaHasDropped) {
  ForeignTable table(2, {kId, kName});
  table.Commit({table.Parquet({kId, kName}, {"[1, 2, 3]", R"(["a", "b", null])"})});
  table.Commit({table.EqualityDeletes({kName}, {R"(["b"])"}, {2}, GetParam())});
  table.Evolve({kId});
  table.ExpectRows({"id"}, {"1", "3"});
  // A new column of the old name is another one.
  const spec::Field again = Column(4, "name", TypeId::kInt);
  table.Evolve({kId, again});
  table.Commit({table.Parquet({kId, again}, {"[4]", "[7]"})});
  table.ExpectRows({"id", "name"}, {"1|null", "3|null", "4|7"});
}

TEST_P(EqualityDeletes, OnSeveralColumnSetsApplyTogether) {
  ForeignTable table(2, {kId, kName, kPart});
  table.Commit(
      {table.Parquet({kId, kName, kPart}, {"[1, 2, 3, 4]", R"(["a", "b", "c", null])", R"(["x", "y", null, null])"})});
  table.Commit({table.EqualityDeletes({kId}, {"[1]"}, {1}, GetParam())});
  table.Commit(
      {table.EqualityDeletes({kName, kPart}, {R"(["b", "c", "a"])", R"(["y", "y", "x"])"}, {2, 3}, GetParam())});
  table.Commit({table.EqualityDeletes({kPart, kId}, {"[null]", "[4]"}, {3, 1}, GetParam())});
  table.ExpectRows({"id", "name", "part"}, {"3|c|null"});
  // Extra columns of a delete file are no part of the comparison.
  table.Commit({table.EqualityDeletes({kId, kName}, {"[3]", R"(["other"])"}, {1}, GetParam())});
  table.ExpectRows({"id"}, {});
}

TEST_P(EqualityDeletes, ComparePromotedTypesOnBothSides) {
  const spec::Field narrow_id = Column(1, "id", TypeId::kInt), wide_id = Column(1, "id", TypeId::kLong);
  const spec::Field narrow_price = Column(2, "price", Type::DecimalOf(5, 2)),
                    wide_price = Column(2, "price", Type::DecimalOf(20, 2));
  ForeignTable table(2, {narrow_id, narrow_price});
  table.Commit({table.Parquet({narrow_id, narrow_price}, {"[1, 2, 3]", R"(["1.00", "-2.50", "3.00"])"})});
  table.Commit({table.EqualityDeletes({narrow_id}, {"[1]"}, {1}, GetParam())});
  table.Evolve({wide_id, wide_price});
  table.Commit({table.Parquet({wide_id, wide_price}, {"[1, 5000000000]", R"(["1.00", "9.99"])"})});
  table.Commit({table.EqualityDeletes({wide_price}, {R"(["-2.50", "9.99"])"}, {2}, GetParam())});
  table.ExpectRows({"id", "price"}, {"3|3.00", "1|1.00"});
}

TEST_P(EqualityDeletes, CompareMembersOfStructsById) {
  const spec::Field zip = Column(11, "zip", TypeId::kInt), street = Column(12, "street", TypeId::kString);
  const spec::Field address = Column(10, "address", Type::StructOf({zip, street}));
  ForeignTable table(2, {kId, address});
  table.Commit({table.Parquet(
      {kId, address},
      {"[1, 2, 3, 4]",
       R"([{"zip": 7, "street": "a"}, {"zip": 8, "street": "b"}, null, {"zip": null, "street": "d"}])"})});
  table.Commit(
      {table.EqualityDeletes({Column(10, "address", Type::StructOf({zip}))}, {R"([{"zip": 8}])"}, {11}, GetParam())});
  table.ExpectRows({"id"}, {"1", "3", "4"});
  table.Evolve({kId, Column(10, "home", Type::StructOf({street}))});  // the member is dropped
  table.ExpectRows({"id", "home"}, {"1|{'street': a}", "3|null", "4|{'street': d}"});
  table.Commit({table.EqualityDeletes({Column(10, "address", Type::StructOf({zip}))}, {R"([{"zip": null}])"}, {11},
                                      GetParam())});
  table.ExpectRows({"id"}, {"1"});  // a member of a null struct is null
}

TEST_P(EqualityDeletes, SeeDefaultsAndPartitionConstantsOfMissingColumns) {
  spec::Field added = Column(4, "added", TypeId::kInt);
  added.initial_default = spec::Value(int32_t{42});
  const spec::Field plain = Column(5, "plain", TypeId::kInt);
  ForeignTable table(3, {kId, kPart});
  table.Partition({{FieldId(3), FieldId(1000), "part", spec::Transform::Identity()}});
  const auto x = spec::PartitionTuple{spec::Value(std::string("x"))},
             y = spec::PartitionTuple{spec::Value(std::string("y"))};
  // Imported files do not hold the partition's column.
  table.Commit({table.Parquet({kId}, {"[1, 2]"}, test::FieldIds::kWritten, x),
                table.Parquet({kId}, {"[3]"}, test::FieldIds::kWritten, y)});
  table.Evolve({kId, kPart, added, plain});
  table.Commit(
      {table.Parquet({kId, kPart, added, plain}, {"[4]", R"(["x"])", "[43]", "[1]"}, test::FieldIds::kWritten, x)});
  table.ExpectRows({"id", "part", "added", "plain"}, {"1|x|42|null", "2|x|42|null", "3|y|42|null", "4|x|43|1"});
  table.Commit({table.EqualityDeletes({added, kId}, {"[42, 42]", "[1, 4]"}, {4, 1}, GetParam(), x)});
  table.ExpectRows({"id"}, {"2", "3", "4"});
  table.Commit({table.EqualityDeletes({kPart, plain}, {R"(["y"])", "[null]"}, {3, 5}, GetParam(), y)});
  table.ExpectRows({"id"}, {"2", "4"});
}

TEST_P(EqualityDeletes, ApplyBesidePositionDeletesAndVectors) {
  ForeignTable table(2, {kId});
  const spec::DataFile a = table.Parquet({kId}, {"[0, 1, 2, 3, 4, 5]"}), b = table.Avro({kId}, {"[0, 1, 2, 3, 4, 5]"});
  table.Commit({a, b});
  table.Commit({table.PositionDeletes({{a.file_path, 0}, {b.file_path, 5}}, GetParam())});
  table.Commit({table.EqualityDeletes({kId}, {"[2]"}, {1}, GetParam())});
  table.ExpectRows({"id", "_pos"}, {"1|1", "3|3", "4|4", "5|5", "0|0", "1|1", "3|3", "4|4"});
  table.Upgrade();
  table.Commit({table.Vector(a, {0, 4})});
  table.ExpectRows({"id", "_row_id"}, {"1|1", "3|3", "5|5", "0|6", "1|7", "3|9", "4|10"});
}

TEST_P(EqualityDeletes, HideTheRightRowsWhateverIsSelectedOrFiltered) {
  ForeignTable table(2, {kId, kName});
  table.Commit({table.Parquet({kId, kName}, {"[1, 2, 3]", R"(["a", "b", "c"])"})});
  table.Commit({table.EqualityDeletes({kId}, {"[2]"}, {1}, GetParam())});
  table.ExpectRows({"name"}, {"a", "c"});
  table.ExpectRows({"_pos"}, {"0", "2"});
  EXPECT_THAT(table.Query("SELECT count(*) FROM t"), IsOkAnd(testing::ElementsAre("2")));
  EXPECT_THAT(table.ReadBySql({"name"}, "id >= 2"), IsOkAnd(testing::ElementsAre("c")));
  EXPECT_THAT(table.ReadBySql({"name"}, "name = 'b'"), IsOkAnd(testing::IsEmpty()));
  EXPECT_THAT(table.Query("SELECT max(id), min(id) FROM t"), IsOkAnd(testing::ElementsAre("3|1")));
  EXPECT_THAT(table.Query("SELECT a.name FROM t a JOIN t b USING (id)"), IsOkAnd(testing::ElementsAre("a", "c")));
}

/// The partition goes first for rows of a data file; a delete itself says which values it is about.
TEST_P(EqualityDeletes, OfFilesWithoutIdsMayNameThePartitionColumn) {
  ForeignTable table(2, {kId, kPart});
  table.Set("schema.name-mapping.default", R"([{"field-id": 1, "names": ["id"]}, {"field-id": 3, "names": ["part"]}])");
  table.Partition({{FieldId(3), FieldId(1000), "part", spec::Transform::Identity()}});
  const auto x = spec::PartitionTuple{spec::Value(std::string("x"))};
  table.Commit({table.Parquet({kId, kPart}, {"[1, 2]", R"(["x", "x"])"}, test::FieldIds::kWritten, x)});
  spec::DataFile deletes = GetParam() == FileFormat::kAvro
                               ? table.Avro({kId, kPart}, {"[2]", R"(["x"])"}, x, test::FieldIds::kNone)
                               : table.Parquet({kId, kPart}, {"[2]", R"(["x"])"}, test::FieldIds::kNone, x);
  deletes.content = spec::FileContent::kEqualityDeletes;
  deletes.equality_ids = {FieldId(1), FieldId(3)};
  table.Commit({deletes});
  table.ExpectRows({"id"}, {"1"});
}

TEST(EqualityDeletesOfManyKeys, KeepTheFewLiveRows) {  // duckdb-iceberg 624
  const auto ids = [](bool deleted_only) {
    arrow::Int64Builder builder;
    for (int64_t i = 0; i < 50'000; ++i) {
      if (deleted_only && i % 10'000 == 1) continue;
      EXPECT_TRUE(builder.Append(i).ok());
    }
    const auto metadata = arrow::KeyValueMetadata::Make({"PARQUET:field_id"}, {"1"});
    return arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64(), true, metadata)}),
                              {builder.Finish().ValueOrDie()});
  };
  ForeignTable table(2, {kId});
  table.Commit({table.ParquetOf(*ids(false))});
  spec::DataFile deletes = table.ParquetOf(*ids(true));
  deletes.content = spec::FileContent::kEqualityDeletes;
  deletes.equality_ids = {FieldId(1)};
  table.Commit({deletes});
  const std::vector<std::string> left = {"1", "10001", "20001", "30001", "40001"};
  EXPECT_THAT(table.ReadByFile({"id"}), IsOkAnd(left));
  EXPECT_THAT(table.ReadBySql({"id"}), IsOkAnd(left));
}

TEST(EqualityDeletesOfManyFiles, AreMergedAndKeepTheirOrderInTime) {
  ForeignTable table(2, {kId, kName});
  for (int commit = 0; commit < 20; ++commit) {
    table.Commit({table.Parquet({kId, kName}, {"[1, 2]", fmt::format(R"(["{0}", "{0}"])", commit)}),
                  table.EqualityDeletes({kId}, {commit % 2 == 0 ? "[1, 2]" : "[1]"}, {1})});
  }
  table.ExpectRows({"id", "name"}, {"1|19", "2|18", "2|19"});
}

TEST(EqualityDeletesOfEveryType, CompareValues) {
  struct Case {
    Type type;
    const char* rows;
    const char* deleted;
    std::vector<std::string> left;
  };
  const std::vector<Case> cases = {
      {Type::Primitive(TypeId::kBoolean), "[true, false]", "[true]", {"false"}},
      {Type::Primitive(TypeId::kInt), "[1, -1]", "[-1]", {"1"}},
      {Type::Primitive(TypeId::kLong), "[1, -9223372036854775808]", "[-9223372036854775808]", {"1"}},
      {Type::DecimalOf(9, 2), R"(["1.00", "-1.00"])", R"(["-1.00"])", {"1.00"}},
      {Type::DecimalOf(18, 2), R"(["1.00", "-1.00"])", R"(["-1.00"])", {"1.00"}},
      {Type::DecimalOf(38, 2), R"(["1.00", "-1.00"])", R"(["-1.00"])", {"1.00"}},
      {Type::Primitive(TypeId::kDate), "[0, -1]", "[-1]", {"1970-01-01"}},
      {Type::Primitive(TypeId::kTime), "[0, 1]", "[1]", {"00:00:00"}},
      {Type::Primitive(TypeId::kTimestamp), "[0, -1]", "[-1]", {"1970-01-01 00:00:00"}},
      {Type::Primitive(TypeId::kTimestampTz), "[0, -1]", "[-1]", {"1970-01-01 00:00:00"}},
      {Type::Primitive(TypeId::kTimestampNs), "[0, -1]", "[-1]", {"1970-01-01 00:00:00"}},
      {Type::Primitive(TypeId::kTimestampTzNs), "[0, -1]", "[-1]", {"1970-01-01 00:00:00"}},
      {Type::Primitive(TypeId::kString), R"(["", "a"])", R"(["a"])", {""}},
      {Type::Primitive(TypeId::kBinary), R"(["", "a"])", R"([""])", {"a"}},
      {Type::FixedOf(3), R"(["abc", "abd"])", R"(["abd"])", {"abc"}},
      {Type::Primitive(TypeId::kUuid),
       R"(["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"])",
       R"(["bbbbbbbbbbbbbbbb"])",
       {"61616161-6161-6161-6161-616161616161"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.type.ToString());
    const spec::Field column = Column(1, "x", one.type);
    ForeignTable table(3, {column});
    table.Commit({table.Parquet({column}, {one.rows}), table.Avro({column}, {one.rows})});
    table.Commit({table.EqualityDeletes({column}, {one.deleted}, {1}, FileFormat::kAvro)});
    std::vector<std::string> left = one.left;
    left.push_back(one.left[0]);
    table.ExpectRows({"x"}, left);
  }
}

TEST(EqualityDeletesThatAreWrong, AreNamed) {
  ForeignTable table(2, {kId, kName});
  table.Commit({table.Parquet({kId, kName}, {"[1]", R"(["a"])"})});
  auto both = [&](ErrorCode code, const std::string& text) {
    EXPECT_THAT(table.ReadByFile({"id"}), IsError(code, text));
    EXPECT_THAT(table.ReadBySql({"id"}), IsError(code, text));
  };
  const spec::DataFile lacks = table.EqualityDeletes({kId}, {"[1]"}, {2});
  table.Commit({lacks});
  both(ErrorCode::kInvalidTable, "an equality delete file lacks its column of id 2: " + lacks.file_path);
  const spec::DataFile unknown = table.EqualityDeletes({kId}, {"[1]"}, {99});
  table.Commit({unknown}, {}, {lacks.file_path});
  both(ErrorCode::kInvalidTable, "id 99");
  spec::DataFile orc = table.EqualityDeletes({kId}, {"[1]"}, {1});
  orc.file_format = FileFormat::kOrc;
  table.Commit({orc}, {}, {unknown.file_path});
  both(ErrorCode::kNotSupported, orc.file_path);
  spec::DataFile damaged = table.File("damaged.parquet", AsBytes("PAR1 no"), FileFormat::kParquet, 1);
  damaged.content = spec::FileContent::kEqualityDeletes;
  damaged.equality_ids = {FieldId(1)};
  table.Commit({damaged}, {}, {orc.file_path});
  both(ErrorCode::kCorruptData, damaged.file_path);
}

}  // namespace
}  // namespace frazil
