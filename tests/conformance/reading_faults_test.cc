// What made other engines lose rows, revive them or give them other ids, turned into rules (read by FileReader and by SQL
// alike): deletes and pruning, bounds that lie, NaN, lineage (spec sections 4.5, 5.2, 6.2, 6.4, 7.4).

#include <cmath>
#include <limits>
#include <random>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "tests/support/foreign_table.h"

namespace frazil {
namespace {

using spec::Field;
using spec::FieldId;
using spec::FileFormat;
using spec::Type;
using spec::TypeId;
using test::Column;
using test::FieldIds;
using test::ForeignTable;
using testing::ElementsAre;
using testing::IsEmpty;

const Field kId = Column(1, "id", TypeId::kLong);
const Field kName = Column(2, "name", TypeId::kString);

/// "[first, first + 1, ...]"
std::string Numbers(int64_t first, int64_t count, int64_t step = 1) {
  std::string json = "[";
  for (int64_t i = 0; i < count; ++i) json += fmt::format("{}{}", i > 0 ? "," : "", first + i * step);
  return json + "]";
}

std::shared_ptr<arrow::Table> IdTable(int64_t count) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(builder.Append(i).ok());
  auto metadata = arrow::KeyValueMetadata::Make({"PARQUET:field_id"}, {"1"});
  return arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64(), true, metadata)}),
                            {builder.Finish().ValueOrDie()});
}

Bytes Long(int64_t value) {
  Bytes bytes;
  AppendLittle(bytes, value);
  return bytes;
}
Bytes Double(double value) {
  Bytes bytes;
  AppendLittle(bytes, value);
  return bytes;
}
Bytes Text(std::string_view text) { return CopyBytes(AsBytes(text)); }

// --- deletes and row groups -------------------------------------------------------------------------------------------

TEST(Deletes, HitTheRightRowsWhateverRowGroupsArePruned) {  // velox 14043
  for (const bool as_vector : {false, true}) {
    SCOPED_TRACE(as_vector ? "vector" : "position deletes");
    ForeignTable table(as_vector ? 3 : 2, {kId});
    const spec::DataFile file = table.ParquetOf(*IdTable(300), false, /*row_group_rows=*/100);
    table.Commit({file});
    std::vector<int64_t> positions;
    std::vector<std::pair<std::string, int64_t>> rows;
    for (int64_t i = 0; i < 300; ++i) {
      if (i < 100 || i % 10 == 3) positions.push_back(i), rows.emplace_back(file.file_path, i);
    }
    table.Commit({as_vector ? table.Vector(file, positions) : table.PositionDeletes(rows)});
    auto session = table.MakeSession();
    ASSERT_THAT(session, IsOk());
    auto ask = [&](const std::string& query) { return ForeignTable::Query(**session, query); };
    EXPECT_THAT(ask("SELECT count(*) FROM t"), IsOkAnd(ElementsAre("180")));
    EXPECT_THAT(ask("SELECT count(*) FROM t WHERE id >= 100"), IsOkAnd(ElementsAre("180")));
    EXPECT_THAT(ask("SELECT count(*) FROM t WHERE id < 100"), IsOkAnd(ElementsAre("0")));
    EXPECT_THAT(ask("SELECT count(*) FROM t WHERE id >= 200"), IsOkAnd(ElementsAre("90")));
    EXPECT_THAT(ask("SELECT count(*) FROM t WHERE id BETWEEN 100 AND 199"), IsOkAnd(ElementsAre("90")));
    EXPECT_THAT(ask("SELECT count(*) FROM t WHERE id <> _pos"), IsOkAnd(ElementsAre("0")));
    EXPECT_THAT(ask("SELECT id, _pos FROM t WHERE id IN (203, 204)"), IsOkAnd(ElementsAre("204|204")));
    if (as_vector) {
      EXPECT_THAT(ask("SELECT _row_id FROM t WHERE id = 204"), IsOkAnd(ElementsAre("204")));
      EXPECT_THAT(ask("SELECT count(*) FROM t WHERE id >= 200 AND _row_id <> id"), IsOkAnd(ElementsAre("0")));
    }
  }
}

TEST(Deletes, OfEveryRowLeaveNone) {  // velox 9856
  ForeignTable table(2, {kId});
  const spec::DataFile file = table.ParquetOf(*IdTable(20'000), false, 777);
  table.Commit({file});
  std::vector<std::pair<std::string, int64_t>> rows;
  for (int64_t i = 0; i < 20'000; ++i) rows.emplace_back(file.file_path, i);
  table.Commit({table.PositionDeletes(rows)});
  table.ExpectRows({"id"}, {});
  EXPECT_THAT(table.Query("SELECT count(*) FROM t"), IsOkAnd(ElementsAre("0")));
}

TEST(PositionDeletes, OfSeveralFilesOverSeveralDataFilesAddUp) {  // ClickHouse 91525
  for (const FileFormat format : {FileFormat::kParquet, FileFormat::kAvro}) {
    ForeignTable table(2, {kId});
    const spec::DataFile a = table.Parquet({kId}, {Numbers(0, 10)}), b = table.Parquet({kId}, {Numbers(10, 10)});
    table.Commit({a, b});
    std::vector<std::pair<std::string, int64_t>> even, thirds;
    for (int64_t id = 0; id < 20; ++id) {
      if (id % 2 == 0) even.emplace_back((id < 10 ? a : b).file_path, id % 10);
      if (id % 3 == 0) thirds.emplace_back((id < 10 ? a : b).file_path, id % 10);
    }
    table.Commit({table.PositionDeletes(even, format)});
    table.Commit({table.PositionDeletes(thirds, format)});
    table.ExpectRows({"id"}, {"1", "5", "7", "11", "13", "17", "19"});
    // A vector supersedes the position deletes of its file only.
    table.Upgrade();
    table.Commit({table.Vector(a, {1})});
    table.ExpectRows({"id"}, {"0", "2", "3", "4", "5", "6", "7", "8", "9", "11", "13", "17", "19"});
  }
}

TEST(PositionDeletes, ApplyToFilesOfTheirOwnCommitAndOlderOnes) {
  ForeignTable table(2, {kId});
  const spec::DataFile first = table.Parquet({kId}, {"[1, 2]"}), second = table.Parquet({kId}, {"[3, 4]"}),
                       third = table.Parquet({kId}, {"[5, 6]"});
  table.Commit({first});
  table.Commit({second, table.PositionDeletes({{first.file_path, 0}, {second.file_path, 0}, {third.file_path, 0}})});
  table.Commit({third});
  table.ExpectRows({"id"}, {"2", "4", "5", "6"});
}

TEST(Vectors, OlderThanTheirFileAreIgnoredAndPositionDeletesUsed) {  // iceberg-cpp 915
  ForeignTable table(2, {kId});
  const spec::DataFile file = table.Parquet({kId}, {"[1, 2, 3]"});
  table.Commit({table.Parquet({kId}, {"[9]"})});
  table.Commit({file});
  table.Commit({table.PositionDeletes({{file.file_path, 0}})});
  table.Upgrade();
  table.Commit({table.Vector(file, {2})}, /*sequence_number=*/1);
  table.ExpectRows({"id"}, {"2", "3", "9"});
}

// --- lineage ----------------------------------------------------------------------------------------------------------

TEST(RowIds, DoNotDependOnTheFilter) {  // duckdb-iceberg 1308
  ForeignTable table(3, {kId});
  std::vector<spec::DataFile> files;
  for (int64_t i = 0; i < 5; ++i) {
    files.push_back(table.Parquet({kId}, {Numbers(i * 10, 10)}));
    test::AddMetrics(*table.file_io(), files.back());
  }
  table.Commit(files);
  EXPECT_THAT(table.ReadBySql({"_row_id"}, "id = 47"), IsOkAnd(ElementsAre("47")));
  EXPECT_THAT(table.ReadBySql({"_row_id"}, "id > 46 AND _row_id < 48"), IsOkAnd(ElementsAre("47")));
  EXPECT_THAT(table.Query("SELECT count(*) FROM t WHERE _row_id = id"), IsOkAnd(ElementsAre("50")));
  table.Commit({}, {}, {files[0].file_path, files[3].file_path});
  EXPECT_THAT(table.ReadBySql({"_row_id"}, "id = 47"), IsOkAnd(ElementsAre("47")));
}

TEST(Lineage, IsNullBeforeVersion3EvenIfFilesStoreValues) {
  const Field row_id = {.id = spec::kRowIdColumnId, .name = "_row_id", .type = Type::Primitive(TypeId::kLong)};
  const Field updated = {.id = spec::kLastUpdatedSequenceNumberColumnId,
                         .name = "_last_updated_sequence_number",
                         .type = Type::Primitive(TypeId::kLong)};
  for (const FileFormat format : {FileFormat::kParquet, FileFormat::kAvro}) {
    ForeignTable table(2, {kId});
    const std::vector<Field> fields = {kId, row_id, updated};
    const std::vector<std::string> columns = {"[1, 2]", "[77, null]", "[null, 5]"};
    table.Commit({format == FileFormat::kAvro ? table.Avro(fields, columns) : table.Parquet(fields, columns)});
    table.ExpectRows({"id", "_row_id", "_last_updated_sequence_number"}, {"1|null|null", "2|null|null"});
    table.Upgrade();
    table.Commit({});
    table.ExpectRows({"id", "_row_id", "_last_updated_sequence_number"}, {"1|77|1", "2|1|5"});
    EXPECT_THAT(table.ReadBySql({"id"}, "_row_id = 77"), IsOkAnd(ElementsAre("1")));
    EXPECT_THAT(table.ReadBySql({"id"}, "_last_updated_sequence_number > 1"), IsOkAnd(ElementsAre("2")));
  }
}

TEST(Lineage, InheritsTheDataSequenceNumber) {
  ForeignTable table(3, {kId});
  table.Commit({table.Parquet({kId}, {"[1]"})});
  table.Commit({table.Parquet({kId}, {"[2]"})}, /*sequence_number=*/1);  // as a compaction does
  table.ExpectRows({"id", "_last_updated_sequence_number"}, {"1|1", "2|1"});
}

// --- bounds -----------------------------------------------------------------------------------------------------------

class LyingBounds : public ::testing::Test {
 protected:
  /// Whatever the bounds of column 1 are, a filter finds the rows.
  static void ExpectFound(const Field& column, const std::string& values, Bytes lower, Bytes upper,
                          const std::string& where, std::vector<std::string> rows) {
    ForeignTable table(2, {column});
    spec::DataFile file = table.Parquet({column}, {values});
    test::AddMetrics(*table.file_io(), file);
    file.lower_bounds[column.id] = std::move(lower);
    file.upper_bounds[column.id] = std::move(upper);
    table.Commit({file});
    EXPECT_THAT(table.ReadBySql({column.name}, where), IsOkAnd(rows)) << where;
  }
};

TEST_F(LyingBounds, InvertedHideNothing) {  // ClickHouse 118113
  ExpectFound(kId, "[1, 5, 9]", Long(9), Long(1), "id = 5", {"5"});
  ExpectFound(kId, "[1, 5, 9]", Long(9), Long(1), "id > 8", {"9"});
  ExpectFound(kId, "[1, 5, 9]", Long(9), Long(1), "id < 2", {"1"});
  ExpectFound(kName, R"(["a", "m", "z"])", Text("z"), Text("a"), "name = 'm'", {"m"});
  ExpectFound(kName, R"(["a", "m", "z"])", Text("z"), Text("a"), "name IN ('a', 'z')", {"a", "z"});
  const Field price = Column(1, "price", TypeId::kDouble);
  ExpectFound(price, "[1, 5, 9]", Double(9), Double(1), "price = 5", {"5.0"});
}

TEST_F(LyingBounds, OfImpossibleLengthHideNothing) {
  ExpectFound(kId, "[1, 5, 9]", Bytes(3), Bytes(5), "id = 5", {"5"});
  ExpectFound(kId, "[1, 5, 9]", {}, {}, "id = 5", {"5"});
  ExpectFound(Column(1, "d", TypeId::kDouble), "[1, 5]", Bytes(2), Bytes(1), "d = 5", {"5.0"});
  ExpectFound(Column(1, "b", TypeId::kBoolean), "[true, false]", Bytes(2), {}, "b", {"true"});
  ExpectFound(Column(1, "u", TypeId::kUuid), R"(["aaaaaaaaaaaaaaaa"])", Bytes(4), Bytes(4),
              "u = '61616161-6161-6161-6161-616161616161'", {"61616161-6161-6161-6161-616161616161"});
}

TEST_F(LyingBounds, CutInsideACharacterHideNothing) {  // duckdb-iceberg 1047
  const std::string long_name = "ééééééééééééééééééééé";
  const std::string values = "[\"" + long_name + "\"]";
  ExpectFound(kName, values, Text(long_name.substr(0, 15)), Text(long_name.substr(0, 16)), "name = '" + long_name + "'",
              {long_name});
  ExpectFound(kName, values, Text(long_name.substr(0, 16)), Text(long_name.substr(0, 15)), "name LIKE 'éééé%'",
              {long_name});
}

TEST_F(LyingBounds, OfPromotedColumnsAreDecodedByTheirLength) {
  ForeignTable table(3, {Column(1, "i", TypeId::kInt), Column(2, "f", TypeId::kFloat), Column(3, "d", TypeId::kDate)});
  spec::DataFile file = table.Parquet(table.metadata().schema()->fields(), {"[-5, 7]", "[0.5, 1.5]", "[0, 1]"});
  test::AddMetrics(*table.file_io(), file);
  ASSERT_EQ(file.lower_bounds.at(FieldId(1)).size(), 4u);
  table.Commit({file});
  table.Evolve({Column(1, "i", TypeId::kLong), Column(2, "f", TypeId::kDouble), Column(3, "d", TypeId::kTimestamp)});
  EXPECT_THAT(table.ReadBySql({"i"}, "i = -5"), IsOkAnd(ElementsAre("-5")));
  EXPECT_THAT(table.ReadBySql({"i"}, "i > 7"), IsOkAnd(IsEmpty()));
  EXPECT_THAT(table.ReadBySql({"f"}, "f >= 1.5"), IsOkAnd(ElementsAre("1.5")));
  EXPECT_THAT(table.ReadBySql({"d"}, "d > TIMESTAMP '1970-01-01 12:00:00'"),
              IsOkAnd(ElementsAre("1970-01-02 00:00:00")));
  EXPECT_THAT(table.ReadBySql({"i"}, "d = TIMESTAMP '1970-01-02 00:00:00'"), IsOkAnd(ElementsAre("7")));
}

TEST_F(LyingBounds, OfManifestsHideNothing) {
  ForeignTable table(2, {kId, kName});
  table.Partition({{FieldId(1), FieldId(1000), "id", spec::Transform::Identity()}});
  table.change_manifest = [](spec::ManifestFile& manifest) {
    std::swap(manifest.partitions.at(0).lower_bound, manifest.partitions.at(0).upper_bound);
  };
  table.Commit({table.Parquet({kId, kName}, {"[1]", R"(["a"])"}, FieldIds::kWritten, {spec::Value(int64_t{1})}),
                table.Parquet({kId, kName}, {"[9]", R"(["b"])"}, FieldIds::kWritten, {spec::Value(int64_t{9})})});
  EXPECT_THAT(table.ReadBySql({"name"}, "id = 9"), IsOkAnd(ElementsAre("b")));
  EXPECT_THAT(table.ReadBySql({"name"}, "id < 5"), IsOkAnd(ElementsAre("a")));
}

TEST_F(LyingBounds, OfPositionDeletesReviveNothing) {
  ForeignTable table(2, {kId});
  const spec::DataFile a = table.Parquet({kId}, {"[1, 2]"}), b = table.Parquet({kId}, {"[3, 4]"});
  table.Commit({a, b});
  spec::DataFile deletes = table.PositionDeletes({{a.file_path, 0}, {b.file_path, 1}});
  deletes.lower_bounds[spec::kDeleteFilePathColumnId] = Text(b.file_path);
  deletes.upper_bounds[spec::kDeleteFilePathColumnId] = Text(a.file_path);
  table.Commit({deletes});
  table.ExpectRows({"id"}, {"2", "3"});
}

TEST(NaN, IsNeverPrunedAway) {  // ClickHouse 118112
  const Field x = Column(1, "x", TypeId::kDouble), f = Column(2, "f", TypeId::kFloat);
  for (const bool with_counts : {true, false}) {
    for (const FileFormat format : {FileFormat::kParquet, FileFormat::kAvro}) {
      ForeignTable table(2, {x, f});
      const std::vector<std::string> columns = {"[3, NaN, 3, -0.0]", "[3, NaN, 3, 0.0]"};
      spec::DataFile file = format == FileFormat::kAvro ? table.Avro({x, f}, columns) : table.Parquet({x, f}, columns);
      file.lower_bounds = {{x.id, Double(-0.0)}, {f.id, Bytes(4)}};
      Bytes three;
      AppendLittle(three, 3.0F);
      file.upper_bounds = {{x.id, Double(3)}, {f.id, three}};
      if (with_counts)
        file.value_counts = {{x.id, 4}, {f.id, 4}}, file.nan_value_counts = {{x.id, 1}, {f.id, 1}},
        file.null_value_counts = {{x.id, 0}, {f.id, 0}};
      table.Commit({file});
      auto session = table.MakeSession();
      ASSERT_THAT(session, IsOk());
      for (const auto& [where, rows] :
           std::map<std::string, std::vector<std::string>>{{"isnan(x)", {"nan"}},
                                                           {"x > 5", {"nan"}},
                                                           {"x >= 3", {"3.0", "3.0", "nan"}},
                                                           {"x = 'nan'::DOUBLE", {"nan"}},
                                                           {"x < 5", {"-0.0", "3.0", "3.0"}},
                                                           {"x <> 3", {"-0.0", "nan"}},
                                                           {"f > 5", {"nan"}},
                                                           {"f = 'nan'::FLOAT", {"nan"}},
                                                           {"x = 0", {"-0.0"}},
                                                           {"f = -0.0::FLOAT", {"-0.0"}},
                                                           {"x > 0", {"3.0", "3.0", "nan"}}}) {
        EXPECT_THAT(ForeignTable::Query(**session, "SELECT x FROM t WHERE " + where), IsOkAnd(rows)) << where;
      }
    }
  }
}

TEST(Defaults, CountWhenFilesWithoutTheColumnArePruned) {
  Field added = Column(2, "added", TypeId::kInt);
  added.initial_default = spec::Value(int32_t{42});
  ForeignTable table(3, {kId});
  spec::DataFile file = table.Parquet({kId}, {"[1]"});
  test::AddMetrics(*table.file_io(), file);
  table.Commit({file});
  table.Evolve({kId, added, Column(3, "plain", TypeId::kInt)});
  EXPECT_THAT(table.ReadBySql({"id"}, "added = 42"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "added IS NOT NULL"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "added <> 42"), IsOkAnd(IsEmpty()));
  EXPECT_THAT(table.ReadBySql({"id"}, "plain IS NULL"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "plain = 1"), IsOkAnd(IsEmpty()));
}

TEST(UnknownTransforms, PruneNothing) {
  ForeignTable table(2, {kId, kName});
  table.Partition({{FieldId(1), FieldId(1000), "id_zorder", spec::Transform::Unknown("zorder[3]")},
                   {FieldId(2), FieldId(1001), "name", spec::Transform::Identity()}});
  table.Commit({table.Parquet({kId, kName}, {"[1]", R"(["a"])"}, FieldIds::kWritten,
                              {spec::Value(std::string("??")), spec::Value(std::string("a"))})});
  EXPECT_THAT(table.ReadBySql({"id"}, "id = 1"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "name = 'b'"), IsOkAnd(IsEmpty()));
  table.ExpectRows({"id", "name"}, {"1|a"});
}

// --- any filter -------------------------------------------------------------------------------------------------------

/// A column of random values with the filters that make sense on it.
struct RandomColumn {
  Field old_field;  ///< of the first files
  Field field;      ///< of the table
  std::function<std::string(std::mt19937&)> json;
  std::vector<std::string> constants;  ///< in SQL, near the values
};

TEST(Filters, NeverLoseARowWhateverIsPruned) {
  const unsigned seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const auto pick = [](std::vector<std::string> values) {
    return [values = std::move(values)](std::mt19937& engine) { return values[engine() % values.size()]; };
  };
  const std::vector<RandomColumn> columns = {
      {Column(1, "i", TypeId::kInt),
       Column(1, "i", TypeId::kLong),
       pick({"-7", "0", "1", "2", "3", "2147483647", "-2147483648"}),
       {"0", "2", "-7", "5000000000", "-2147483648", "2.5"}},
      {Column(2, "f", TypeId::kFloat),
       Column(2, "f", TypeId::kDouble),
       pick({"0.1", "-0.0", "0.0", "NaN", "Inf", "-Inf", "1.5", "-2.25"}),
       {"0.1::DOUBLE", "0.1::FLOAT::DOUBLE", "0.0", "-0.0", "'nan'::DOUBLE", "1.5", "'inf'::DOUBLE"}},
      {Column(3, "p", Type::DecimalOf(5, 2)),
       Column(3, "p", Type::DecimalOf(25, 2)),
       pick({"\"1.50\"", "\"-1.50\"", "\"0.00\"", "\"999.99\""}),
       {"1.5", "-1.50", "0", "1000000", "1.505"}},
      {Column(4, "d", TypeId::kDate),
       Column(4, "d", TypeId::kTimestamp),
       pick({"-1", "0", "1", "20454"}),
       {"TIMESTAMP '1970-01-01'", "TIMESTAMP '1970-01-01 12:00:00'", "TIMESTAMP '1969-12-31'", "DATE '1970-01-02'"}},
      {Column(5, "s", TypeId::kString),
       Column(5, "s", TypeId::kString),
       pick({"\"\"", "\"a\"", "\"ab\"", "\"éa\"", "\"a very long text of more than sixteen\"",
             "\"a very long text of more than sixteen!\""}),
       {"''", "'a'", "'ab'", "'é'", "'a very long text of more than sixteen'", "'b'"}},
      {Column(6, "u", TypeId::kUuid),
       Column(6, "u", TypeId::kUuid),
       pick({"\"aaaaaaaaaaaaaaaa\"", "\"bbbbbbbbbbbbbbbb\""}),
       {"'61616161-6161-6161-6161-616161616161'::UUID", "'00000000-0000-0000-0000-000000000000'::UUID"}},
      {Column(7, "b", TypeId::kBinary),
       Column(7, "b", TypeId::kBinary),
       pick({"\"\"", "\"a\"", "\"zz\""}),
       {"'a'::BLOB", "''::BLOB"}},
      {Column(8, "y", TypeId::kBoolean), Column(8, "y", TypeId::kBoolean), pick({"true", "false"}), {"true", "false"}},
      {Column(9, "n", TypeId::kTimestampNs),
       Column(9, "n", TypeId::kTimestampNs),
       pick({"-1", "0", "1", "1000"}),
       {"TIMESTAMP_NS '1970-01-01'", "TIMESTAMP_NS '1970-01-01 00:00:00.000000001'"}},
      {Column(10, "z", TypeId::kTimestampTz),
       Column(10, "z", TypeId::kTimestampTz),
       pick({"-1", "0", "1000000"}),
       {"TIMESTAMPTZ '1970-01-01 00:00:00+00'", "TIMESTAMPTZ '1970-01-01 02:00:01+02'"}},
      {Column(11, "t", TypeId::kTime),
       Column(11, "t", TypeId::kTime),
       pick({"0", "1", "86399999999"}),
       {"TIME '00:00:00'", "TIME '23:59:59.999999'"}},
  };
  const auto numbered = [&](bool old_types) {
    std::vector<Field> fields = {Column(100, "row", TypeId::kLong)};
    for (const RandomColumn& column : columns) fields.push_back(old_types ? column.old_field : column.field);
    return fields;
  };
  Field late = Column(101, "late", TypeId::kInt);
  late.initial_default = spec::Value(int32_t{42});
  ForeignTable table(3, numbered(true));
  int64_t next_row = 0;
  const auto write = [&](const std::vector<Field>& fields, bool as_avro) {
    const int64_t num_rows = 1 + static_cast<int64_t>(random() % 4);
    std::vector<std::string> json = {Numbers(next_row, num_rows)};
    next_row += num_rows;
    for (const RandomColumn& column : columns) {
      // Few kinds of values in a file, so that bounds prune.
      const std::string first = column.json(random), second = column.json(random);
      std::string values;
      for (int64_t i = 0; i < num_rows; ++i)
        values += (i > 0 ? "," : "") + (random() % 8 == 0 ? "null" : random() % 2 == 0 ? first : second);
      json.push_back("[" + values + "]");
    }
    if (fields.size() > json.size())
      json.push_back("[" + [&] {
        std::string values;
        for (int64_t i = 0; i < num_rows; ++i) values += i > 0 ? ",7" : "7";
        return values;
      }() + "]");
    spec::DataFile file = as_avro ? table.Avro(fields, json) : table.Parquet(fields, json);
    if (!as_avro) test::AddMetrics(*table.file_io(), file);
    return file;
  };
  std::vector<spec::DataFile> files;
  for (int i = 0; i < 6; ++i) files.push_back(write(numbered(true), i == 0));
  table.Commit(files);
  std::vector<Field> now = numbered(false);
  now.push_back(late);
  table.Evolve(now);
  files.clear();
  for (int i = 0; i < 6; ++i) files.push_back(write(now, i == 0));
  table.Commit(files);
  table.Commit({table.Vector(files[1], {0}), table.EqualityDeletes({now[0]}, {"[3, 5]"}, {100})});

  auto session = table.MakeSession();
  ASSERT_THAT(session, IsOk());
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  std::function<std::string(int)> make = [&](int depth) -> std::string {
    if (depth > 0 && random() % 3 == 0)
      return fmt::format("({} {} {})", make(depth - 1), any({"AND", "OR"}), make(depth - 1));
    if (depth > 0 && random() % 8 == 0) return fmt::format("(NOT {})", make(depth - 1));
    if (random() % 12 == 0) return any({"late = 42", "late <> 42", "late IS NULL", "late < 10", "late IS NOT NULL"});
    const RandomColumn& column = columns[random() % columns.size()];
    const std::string& name = column.field.name;
    switch (random() % 7) {
      case 0: return fmt::format("({} IS {}NULL)", name, any({"", "NOT "}));
      case 1:
        return fmt::format("({} {}IN ({}, {}))", name, any({"", "NOT "}), any(column.constants), any(column.constants));
      case 2: return fmt::format("({} BETWEEN {} AND {})", name, any(column.constants), any(column.constants));
      case 3: return fmt::format("({} IS {}DISTINCT FROM {})", name, any({"", "NOT "}), any(column.constants));
      case 4:
        if (name == "s")
          return fmt::format("(s {}LIKE '{}%')", any({"", "NOT "}),
                             any({"a", "é", "a very long text of more than", "b"}));
        [[fallthrough]];
      default: return fmt::format("({} {} {})", name, any({"=", "<>", "<", "<=", ">", ">="}), any(column.constants));
    }
  };
  const char* scale = std::getenv("FRAZIL_TEST_FILTERS");
  const int count = scale != nullptr ? std::atoi(scale) : 150;
  int with_rows = 0;
  for (int i = 0; i < count; ++i) {
    const std::string filter = make(2);
    auto pruned = ForeignTable::Query(**session, "SELECT row FROM t WHERE " + filter);
    // No filter passes a LIMIT.
    auto all = ForeignTable::Query(**session, "SELECT row FROM (SELECT * FROM t LIMIT 1000000) WHERE " + filter);
    ASSERT_THAT(all, IsOk()) << filter;
    ASSERT_THAT(pruned, IsOkAnd(*all)) << filter;
    with_rows += all->empty() ? 0 : 1;
  }
  EXPECT_GT(with_rows, count / 4);
}

}  // namespace
}  // namespace frazil
