// Data files that other engines may have left, read by FileReader and by SQL alike (spec sections 1.11, 6, 7).

#include <algorithm>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <arrow/util/key_value_metadata.h>

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

Field WithDefault(Field field, spec::Value value) {
  field.initial_default = std::move(value);
  return field;
}

/// A table of columns given as Arrow has them: name, type, id, JSON.
struct ArrowColumn {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  int id;
  std::string json;
};
std::shared_ptr<arrow::Table> ArrowTable(const std::vector<ArrowColumn>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const ArrowColumn& column : columns) {
    auto array = arrow::json::ArrayFromJSONString(column.type, column.json);
    EXPECT_TRUE(array.ok()) << array.status().ToString();
    arrays.push_back(*array);
    auto metadata = arrow::KeyValueMetadata::Make({"PARQUET:field_id"}, {std::to_string(column.id)});
    fields.push_back(arrow::field(column.name, column.type, true, metadata));
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

// --- files without field ids ------------------------------------------------------------------------------------------

class FilesWithoutIds : public ::testing::TestWithParam<FileFormat> {
 protected:
  spec::DataFile Write(ForeignTable& table, const std::vector<Field>& fields, const std::vector<std::string>& columns,
                       spec::PartitionTuple partition = {}) {
    if (GetParam() == FileFormat::kAvro) return table.Avro(fields, columns, std::move(partition), FieldIds::kNone);
    return table.Parquet(fields, columns, FieldIds::kNone, std::move(partition));
  }
};
INSTANTIATE_TEST_SUITE_P(Format, FilesWithoutIds, ::testing::Values(FileFormat::kParquet, FileFormat::kAvro),
                         [](const auto& instance) { return std::string(spec::FileFormatName(instance.param)); });

TEST_P(FilesWithoutIds, AreReadByNameMapping) {
  ForeignTable table(2, {kId, kName});
  // A column that is not mapped stands in front of one that is; one id has two names.
  table.Set("schema.name-mapping.default",
            R"([{"names": ["ignored"]}, {"field-id": 1, "names": ["id", "nr"]}, {"field-id": 2, "names": ["text"]}])");
  const Field text = Column(2, "text", TypeId::kString), ignored = Column(9, "ignored", TypeId::kInt);
  table.Commit({Write(table, {ignored, text, kId}, {"[7]", R"(["a"])", "[1]"})});
  table.Commit({Write(table, {Column(1, "nr", TypeId::kInt), Column(8, "name", TypeId::kInt)}, {"[2]", "[8]"})});
  table.ExpectRows({"id", "name"}, {"1|a", "2|null"});
  EXPECT_THAT(table.ReadBySql({"id"}, "name = 'a'"), IsOkAnd(ElementsAre("1")));
}

TEST_P(FilesWithoutIds, AreMappedAtEveryDepth) {
  const Field street = Column(11, "street", TypeId::kString), zip = Column(12, "zip", TypeId::kInt);
  const Field address = Column(10, "address", Type::StructOf({zip, street}));
  const Field tags =
      Column(20, "tags", Type::ListOf(Column(21, "element", Type::StructOf({Column(22, "k", TypeId::kString)}))));
  Field key = Column(31, "key", TypeId::kString);
  key.required = true;
  const Field points =
      Column(30, "points", Type::MapOf(key, Column(32, "value", Type::StructOf({Column(33, "x", TypeId::kLong)}))));
  ForeignTable table(2, {address, tags, points});
  table.Set("schema.name-mapping.default", R"([
      {"field-id": 10, "names": ["addr"], "fields": [{"field-id": 11, "names": ["road"]}, {"field-id": 12, "names": ["zip"]}]},
      {"field-id": 20, "names": ["tags"], "fields": [{"field-id": 21, "names": ["element"], "fields": [{"field-id": 22, "names": ["key"]}]}]},
      {"field-id": 30, "names": ["points"], "fields": [{"field-id": 31, "names": ["key"]},
          {"field-id": 32, "names": ["value"], "fields": [{"field-id": 33, "names": ["ex"]}]}]}])");
  const Field old_address = Column(1, "addr",
                                   Type::StructOf({Column(2, "junk", TypeId::kInt), Column(3, "road", TypeId::kString),
                                                   Column(4, "zip", TypeId::kInt)}));
  const Field old_tags =
      Column(5, "tags", Type::ListOf(Column(6, "element", Type::StructOf({Column(7, "key", TypeId::kString)}))));
  Field old_key = Column(9, "key", TypeId::kString);
  old_key.required = true;
  const Field old_points = Column(
      8, "points",
      Type::MapOf(old_key, Column(13, "value",
                                  Type::StructOf({Column(14, "why", TypeId::kInt), Column(15, "ex", TypeId::kInt)}))));
  table.Commit({Write(table, {old_address, old_tags, old_points},
                      {R"([{"junk": 1, "road": "a", "zip": 7}, null])", R"([[{"key": "t"}, null], []])",
                       R"([[["p", {"why": 1, "ex": 5}]], null])"})});
  table.ExpectRows({"address", "tags", "points"},
                   {"{'zip': 7, 'street': a}|[{'k': t}, NULL]|{p={'x': 5}}", "null|[]|null"});
  EXPECT_THAT(table.Query("SELECT tags[1].k FROM t WHERE address.street = 'a' AND points['p'].x = 5"),
              IsOkAnd(ElementsAre("t")));
}

TEST_P(FilesWithoutIds, GetPartitionConstantsBeforeMappedColumns) {
  ForeignTable table(2, {kId, kName});
  table.Partition({{FieldId(2), FieldId(1000), "name", spec::Transform::Identity()}});
  table.Set("schema.name-mapping.default", R"([{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["name"]}])");
  table.Commit({Write(table, {kId, kName}, {"[1]", R"(["in the file"])"}, {spec::Value(std::string("partition"))}),
                Write(table, {kId}, {"[2]"}, {spec::Value()})});
  table.ExpectRows({"id", "name"}, {"1|partition", "2|null"});
}

TEST_P(FilesWithoutIds, AreRefusedWithoutAMapping) {
  ForeignTable table(2, {kId});
  const spec::DataFile file = Write(table, {kId}, {"[1]"});
  table.Commit({file});
  const std::string text = "data file has no field ids and the table has no name mapping: " + file.file_path;
  EXPECT_THAT(table.ReadByFile({"id"}), IsError(ErrorCode::kInvalidTable, text));
  EXPECT_THAT(table.ReadBySql({"id"}), IsError(ErrorCode::kInvalidTable, text));
}

TEST(FilesWithIds, IgnoreTheNameMapping) {
  ForeignTable table(2, {kId, kName});
  table.Set("schema.name-mapping.default",
            R"([{"field-id": 2, "names": ["other"]}, {"field-id": 1, "names": ["id"]}])");
  // One column without an id, as engines that add their own do: it is nobody's, and those behind it are found.
  auto file = ArrowTable({{"other", arrow::utf8(), 77, R"(["x"])"},
                          {"name", arrow::utf8(), 2, R"(["a"])"},
                          {"id", arrow::int64(), 1, "[1]"}});
  auto fields = file->schema()->fields();
  fields[0] = fields[0]->RemoveMetadata();
  table.Commit({table.ParquetOf(*arrow::Table::Make(arrow::schema(fields), file->columns()))});
  table.ExpectRows({"id", "name"}, {"1|a"});
}

// --- Avro -------------------------------------------------------------------------------------------------------------

TEST(AvroFiles, HoldEveryType) {
  const std::vector<Field> fields = {
      Column(1, "bool", TypeId::kBoolean),
      Column(2, "int", TypeId::kInt),
      Column(3, "long", TypeId::kLong),
      Column(4, "float", TypeId::kFloat),
      Column(5, "double", TypeId::kDouble),
      Column(6, "dec", Type::DecimalOf(9, 2)),
      Column(7, "big", Type::DecimalOf(38, 10)),
      Column(8, "date", TypeId::kDate),
      Column(9, "time", TypeId::kTime),
      Column(10, "ts", TypeId::kTimestamp),
      Column(11, "tstz", TypeId::kTimestampTz),
      Column(12, "ns", TypeId::kTimestampNs),
      Column(13, "nstz", TypeId::kTimestampTzNs),
      Column(14, "string", TypeId::kString),
      Column(15, "uuid", TypeId::kUuid),
      Column(16, "fixed", Type::FixedOf(2)),
      Column(17, "binary", TypeId::kBinary),
      Column(18, "list", Type::ListOf(Column(19, "element", TypeId::kInt))),
      Column(20, "map",
             [] {
               Field key = Column(21, "key", TypeId::kString);
               key.required = true;
               return Type::MapOf(key, Column(22, "value", TypeId::kDouble));
             }()),
      Column(23, "pairs",
             [] {
               Field key = Column(24, "key", TypeId::kInt);
               key.required = true;
               return Type::MapOf(key, Column(25, "value", TypeId::kString));
             }()),
      Column(26, "struct",
             Type::StructOf({Column(27, "a", TypeId::kInt),
                             Column(28, "b", Type::ListOf(Column(29, "element", TypeId::kString)))})),
  };
  const std::vector<std::string> columns = {"[true, null]",
                                            "[-1, null]",
                                            "[9007199254740993, null]",
                                            "[1.5, null]",
                                            "[-0.25, null]",
                                            R"(["-1.23", null])",
                                            R"(["1234567890123456789012345678.0123456789", null])",
                                            "[-1, null]",
                                            "[1, null]",
                                            "[-1, null]",
                                            "[0, null]",
                                            "[-1, null]",
                                            "[1, null]",
                                            R"(["é", null])",
                                            R"(["aaaaaaaaaaaaaaaa", null])",
                                            R"(["ab", null])",
                                            R"(["", null])",
                                            "[[1, null], null]",
                                            R"([[["k", 0.5], ["l", null]], null])",
                                            R"([[[7, "x"]], null])",
                                            R"([{"a": 1, "b": ["x", null]}, null])"};
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  const std::string first =
      "true|-1|9007199254740993|1.5|-0.25|-1.23|1234567890123456789012345678.0123456789|1969-12-31|00:00:00.000001|"
      "1969-12-31 23:59:59.999999|1970-01-01 00:00:00|1969-12-31 23:59:59.999999999|1970-01-01 00:00:00.000000001|é|"
      "61616161-6161-6161-6161-616161616161|ab||[1, NULL]|{k=0.5, l=NULL}|{7=x}|{'a': 1, 'b': [x, NULL]}";
  std::string second = "null";
  for (size_t i = 1; i < fields.size(); ++i) second += "|null";
  ForeignTable table(3, fields);
  table.Commit({table.Avro(fields, columns)});
  table.ExpectRows(names, {first, second});
  table.Commit({table.Parquet(fields, columns)});  // a table of both formats
  table.ExpectRows(names, {first, second, first, second});
  EXPECT_THAT(table.ReadBySql(
                  {"_pos"}, "string = 'é' AND \"list\"[1] = 1 AND struct.a = 1 AND map['k'] = 0.5 AND pairs[7] = 'x'"),
              IsOkAnd(ElementsAre("0", "0")));
}

TEST(AvroFiles, EvolveById) {
  ForeignTable table(3,
                     {kId, kName, Column(3, "old", TypeId::kInt),
                      Column(4, "s", Type::StructOf({Column(5, "a", TypeId::kInt), Column(6, "b", TypeId::kFloat)}))});
  table.Commit(
      {table.Avro({Column(3, "old", TypeId::kInt), kName,
                   Column(4, "s", Type::StructOf({Column(5, "a", TypeId::kInt), Column(6, "b", TypeId::kFloat)})),
                   Column(1, "id", TypeId::kInt), Column(8, "day", TypeId::kDate)},
                  {"[3]", R"(["n"])", R"([{"a": 1, "b": 0.5}])", "[1]", "[1]"})});
  table.Evolve({WithDefault(Column(7, "old", TypeId::kString), spec::Value(std::string("new"))),
                Column(2, "title", TypeId::kString), kId, Column(8, "day", TypeId::kTimestamp),
                Column(4, "s",
                       Type::StructOf({Column(6, "bb", TypeId::kDouble),
                                       WithDefault(Column(9, "c", TypeId::kInt), spec::Value(int32_t{9})),
                                       Column(5, "aa", TypeId::kLong)}))});
  table.ExpectRows({"old", "title", "id", "day", "s"}, {"new|n|1|1970-01-02 00:00:00|{'bb': 0.5, 'c': 9, 'aa': 1}"});
  EXPECT_THAT(table.ReadBySql({"id"}, "s.c = 9 AND day < TIMESTAMP '1970-01-02 12:00:00' AND old = 'new'"),
              IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "s.aa > 1"), IsOkAnd(IsEmpty()));
}

TEST(AvroFiles, KeepPositionsAndLineageUnderVectors) {
  std::string ids = "[", names = "[";
  std::vector<std::string> expected;
  for (int i = 0; i < 20'000; ++i) {
    ids += fmt::format("{}{}", i > 0 ? "," : "", i);
    names += fmt::format("{}\"some longer text to fill blocks {}\"", i > 0 ? "," : "", i);
    if (i % 7 != 0) expected.push_back(fmt::format("{0}|{0}|{1}|1", i, i));
  }
  std::vector<int64_t> sevens;
  for (int64_t i = 0; i < 20'000; i += 7) sevens.push_back(i);
  ForeignTable table(3, {kId, kName});
  const spec::DataFile file = table.Avro({kId, kName}, {ids + "]", names + "]"});
  table.Commit({file});
  table.Commit({table.Vector(file, sevens)});
  const std::vector<std::string> columns = {"id", "_pos", "_row_id", "_last_updated_sequence_number"};
  std::ranges::sort(expected);
  EXPECT_THAT(table.ReadByFile(columns), IsOkAnd(expected));
  EXPECT_THAT(table.ReadBySql(columns), IsOkAnd(expected));
  EXPECT_THAT(table.Query("SELECT count(*), count(name) FROM t WHERE id < 7000"), IsOkAnd(ElementsAre("6000|6000")));
  EXPECT_THAT(table.Query("SELECT _row_id FROM t WHERE _row_id BETWEEN 13 AND 15"), IsOkAnd(ElementsAre("13", "15")));
  EXPECT_THAT(table.Query("SELECT count(*) FROM t a JOIN t b ON a._row_id = b._pos WHERE a.id < 100"),
              IsOkAnd(ElementsAre("85")));
}

TEST(AvroFiles, OfDamagedBytesAreErrorsNeverCrashes) {
  ForeignTable source(2, {kId, kName, Column(3, "tags", Type::ListOf(Column(4, "element", TypeId::kString)))});
  const std::vector<Field> fields = source.metadata().schema()->fields();
  const spec::DataFile file = source.Avro(fields, {"[1, 2, null]", R"(["abc", null, "def"])", R"([["x"], [], null])"});
  auto whole = source.file_io()->ReadFile(file.file_path);
  ASSERT_THAT(whole, IsOk());
  int failures = 0;
  for (size_t at = 0; at < whole->size(); at += 1 + whole->size() / 150) {
    Bytes damaged = *whole;
    damaged[at] ^= std::byte{0x41};
    ForeignTable table(2, fields);
    table.Commit({table.File("x.avro", damaged, FileFormat::kAvro, 3)});
    auto rows = table.ReadByFile({"id", "name", "tags"});
    failures += rows ? 0 : 1;
    if (!rows) {
      EXPECT_THAT(rows, IsError(rows.error().code(), "x.avro"));
    }
    damaged.resize(at);
    ForeignTable cut(2, fields);
    cut.Commit({cut.File("x.avro", damaged, FileFormat::kAvro, 3)});
    EXPECT_THAT(cut.ReadByFile({"id"}), testing::Not(IsOk()));
  }
  EXPECT_GT(failures, 50);
}

TEST(OrcFiles, AreRefusedByName) {
  ForeignTable table(2, {kId});
  table.Commit({table.File("x.orc", AsBytes("ORC"), FileFormat::kOrc, 1)});
  EXPECT_THAT(table.ReadByFile({"id"}), IsError(ErrorCode::kNotSupported, "x.orc"));
  EXPECT_THAT(table.ReadBySql({"id"}), IsError(ErrorCode::kNotSupported, "x.orc"));
}

TEST(EncryptedFiles, AreRefusedByName) {
  ForeignTable table(3, {kId});
  spec::DataFile file = table.Parquet({kId}, {"[1]"});
  file.key_metadata = CopyBytes(AsBytes("key"));
  table.Commit({file});
  EXPECT_THAT(table.ReadByFile({"id"}), IsError(ErrorCode::kNotSupported, file.file_path));
  EXPECT_THAT(table.ReadBySql({"id"}), IsError(ErrorCode::kNotSupported, file.file_path));
}

// --- Parquet of other writers -----------------------------------------------------------------------------------------

TEST(ParquetFiles, OfImportedTablesReadAsTheTablesTypes) {
  const std::vector<Field> fields = {Column(1, "i", TypeId::kInt),        Column(2, "l", TypeId::kLong),
                                     Column(3, "s", TypeId::kString),     Column(4, "b", TypeId::kBinary),
                                     Column(5, "ts", TypeId::kTimestamp), Column(6, "tstz", TypeId::kTimestampTz),
                                     Column(7, "u", TypeId::kUuid),       Column(8, "t", TypeId::kTime)};
  ForeignTable table(2, fields);
  const auto millis = arrow::timestamp(arrow::TimeUnit::MILLI);
  table.Commit({table.ParquetOf(*ArrowTable({{"i", arrow::int8(), 1, "[-1, null]"},
                                             {"l", arrow::uint32(), 2, "[4294967295, null]"},
                                             {"s", arrow::binary(), 3, R"(["é\n\\x41", null])"},
                                             {"b", arrow::utf8(), 4, R"(["\\x41", null])"},
                                             {"ts", millis, 5, "[-1, null]"},
                                             {"tstz", arrow::timestamp(arrow::TimeUnit::MICRO), 6, "[1, null]"},
                                             {"u", arrow::fixed_size_binary(16), 7, R"(["aaaaaaaaaaaaaaaa", null])"},
                                             {"t", arrow::time32(arrow::TimeUnit::MILLI), 8, "[1, null]"}}))});
  table.ExpectRows({"i", "l", "s", "b", "ts", "tstz", "u", "t"},
                   {"-1|4294967295|é\n\\x41|\\x5Cx41|1969-12-31 23:59:59.999|1970-01-01 "
                    "00:00:00.000001|61616161-6161-6161-6161-616161616161|00:00:00.001",
                    "null|null|null|null|null|null|null|null"});
  EXPECT_THAT(table.ReadBySql({"i"}, "s = 'é\n\\x41' AND l > 4294967294"), IsOkAnd(ElementsAre("-1")));
}

TEST(ParquetFiles, WithInt96TimestampsAreRead) {
  ForeignTable table(2, {kId, Column(2, "ts", TypeId::kTimestamp), Column(3, "tstz", TypeId::kTimestampTz)});
  const auto micros = arrow::timestamp(arrow::TimeUnit::MICRO);
  const char* values = "[-1, 0, 1767225600123456, 253402300799999999, null]";
  table.Commit({table.ParquetOf(
      *ArrowTable(
          {{"id", arrow::int64(), 1, "[1, 2, 3, 4, 5]"}, {"ts", micros, 2, values}, {"tstz", micros, 3, values}}),
      /*int96=*/true)});
  table.ExpectRows({"id", "ts", "tstz"}, {"1|1969-12-31 23:59:59.999999|1969-12-31 23:59:59.999999",
                                          "2|1970-01-01 00:00:00|1970-01-01 00:00:00",
                                          "3|2026-01-01 00:00:00.123456|2026-01-01 00:00:00.123456",
                                          "4|9999-12-31 23:59:59.999999|9999-12-31 23:59:59.999999", "5|null|null"});
  EXPECT_THAT(table.ReadBySql({"id"}, "ts > TIMESTAMP '2026-01-01'"), IsOkAnd(ElementsAre("3", "4")));
}

TEST(ParquetFiles, KeepNanosecondsOfInstantsInAnySessionZone) {
  ForeignTable table(3, {kId, Column(2, "at", TypeId::kTimestampTzNs),
                         Column(3, "s", Type::StructOf({Column(4, "at", TypeId::kTimestampTzNs)}))});
  table.Commit({table.Parquet(table.metadata().schema()->fields(),
                              {"[1, 2]", "[1, -1]", R"([{"at": 1767225600123456789}, null])"})});
  table.ExpectRows({"id", "at"}, {"1|1970-01-01 00:00:00.000000001", "2|1969-12-31 23:59:59.999999999"});
  auto session = table.MakeSession();
  ASSERT_THAT(session, IsOk());
  ASSERT_THAT(ForeignTable::Query(**session, "SET TimeZone = 'Asia/Tokyo'"), IsOk());
  EXPECT_THAT(ForeignTable::Query(
                  **session, "SELECT id, \"at\", s.\"at\" FROM t WHERE \"at\" > TIMESTAMP_NS '1970-01-01 00:00:00'"),
              IsOkAnd(ElementsAre("1|1970-01-01 09:00:00.000000001+09|2026-01-01 09:00:00.123456789+09")));
}

TEST(ParquetFiles, OfTheOtherZoneReadTheSameInAnySessionZone) {
  ForeignTable table(2, {Column(1, "a", TypeId::kTimestamp), Column(2, "b", TypeId::kTimestampTz)});
  table.Commit({table.ParquetOf(*ArrowTable({{"a", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), 1, "[0]"},
                                             {"b", arrow::timestamp(arrow::TimeUnit::MICRO), 2, "[0]"}}))});
  table.ExpectRows({"a", "b"}, {"1970-01-01 00:00:00|1970-01-01 00:00:00"});
  auto session = table.MakeSession();
  ASSERT_THAT(session, IsOk());
  ASSERT_THAT(ForeignTable::Query(**session, "SET TimeZone = 'Asia/Tokyo'"), IsOk());
  EXPECT_THAT(ForeignTable::Query(**session, "SELECT a, epoch_us(b) FROM t"),
              IsOkAnd(ElementsAre("1970-01-01 00:00:00|0")));
}

TEST(Columns, OfTypesWithoutAReaderAreRefusedWhileTheOthersRead) {
  ForeignTable table(3, {kId, Column(2, "place", TypeId::kGeometry), Column(3, "nothing", TypeId::kUnknown)});
  table.Commit(
      {table.ParquetOf(*ArrowTable({{"id", arrow::int64(), 1, "[1]"}, {"place", arrow::binary(), 2, R"([""])"}}))});
  table.ExpectRows({"id", "nothing"}, {"1|null"});
  EXPECT_THAT(table.ReadByFile({"place"}), IsError(ErrorCode::kNotSupported, "place"));
  EXPECT_THAT(table.ReadBySql({"place"}), IsError(ErrorCode::kNotSupported, "place"));
  EXPECT_THAT(table.Query("SELECT count(*) FROM t WHERE nothing IS NULL"), IsOkAnd(ElementsAre("1")));
}

// --- evolution --------------------------------------------------------------------------------------------------------

class Evolution : public ::testing::TestWithParam<FileFormat> {
 protected:
  spec::DataFile Write(ForeignTable& table, const std::vector<Field>& fields, const std::vector<std::string>& columns) {
    return GetParam() == FileFormat::kAvro ? table.Avro(fields, columns) : table.Parquet(fields, columns);
  }
};
INSTANTIATE_TEST_SUITE_P(Format, Evolution, ::testing::Values(FileFormat::kParquet, FileFormat::kAvro),
                         [](const auto& instance) { return std::string(spec::FileFormatName(instance.param)); });

TEST_P(Evolution, FollowsIdsAtEveryDepth) {
  Field key = Column(20, "key", TypeId::kString);
  key.required = true;
  const auto make = [&](std::vector<Field> members) {
    return Column(
        10, "deep",
        Type::ListOf(Column(11, "element", Type::MapOf(key, Column(21, "value", Type::StructOf(std::move(members)))))));
  };
  ForeignTable table(3, {kId, make({Column(30, "a", TypeId::kInt), Column(31, "b", TypeId::kString)})});
  table.Commit(
      {Write(table, table.metadata().schema()->fields(), {"[1]", R"([[[["k", {"a": 1, "b": "x"}]], null]])"})});
  // Renamed and promoted, moved, added with a default, and b dropped and made again.
  table.Evolve(
      {make({Column(32, "b", TypeId::kString), WithDefault(Column(33, "n", TypeId::kInt), spec::Value(int32_t{5})),
             Column(30, "aa", TypeId::kLong)}),
       kId});
  table.ExpectRows({"id", "deep"}, {"1|[{k={'b': NULL, 'n': 5, 'aa': 1}}, NULL]"});
  table.Commit({Write(table, table.metadata().schema()->fields(),
                      {R"([[[["k", {"b": "y", "n": 6, "aa": 5000000000}]]]])", "[2]"})});
  table.ExpectRows({"id", "deep"},
                   {"1|[{k={'b': NULL, 'n': 5, 'aa': 1}}, NULL]", "2|[{k={'b': y, 'n': 6, 'aa': 5000000000}}]"});
  EXPECT_THAT(table.ReadBySql({"id"}, "deep[1]['k'].aa >= 1 AND deep[1]['k'].b IS NULL"), IsOkAnd(ElementsAre("1")));
}

TEST_P(Evolution, AMemberOfTheSameNameIsAnotherMember) {
  ForeignTable table(
      3, {kId, Column(10, "s", Type::StructOf({Column(11, "x", TypeId::kInt), Column(12, "y", TypeId::kInt)}))});
  table.Commit({Write(table, table.metadata().schema()->fields(),
                      {"[1, 2, 3]", R"([{"x": 1, "y": 10}, null, {"x": 2, "y": null}])"})});
  table.Evolve({kId, Column(10, "s", Type::StructOf({Column(13, "x", TypeId::kInt), Column(11, "y", TypeId::kInt)}))});
  table.ExpectRows({"id", "s"}, {"1|{'x': NULL, 'y': 1}", "2|null", "3|{'x': NULL, 'y': 2}"});
  EXPECT_THAT(table.ReadBySql({"id"}, "s.x = 1"), IsOkAnd(IsEmpty()));
  EXPECT_THAT(table.ReadBySql({"id"}, "s.y = 1"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "s.x IS NULL"), IsOkAnd(ElementsAre("1", "2", "3")));
  EXPECT_THAT(table.ReadBySql({"id"}, "s.y > 1"), IsOkAnd(ElementsAre("3")));
  EXPECT_THAT(table.Query("SELECT s.y FROM t WHERE id < 3"), IsOkAnd(ElementsAre("1", "null")));
}

TEST_P(Evolution, DefaultsFillMembersButNotNullStructs) {
  ForeignTable table(3, {kId, Column(10, "s", Type::StructOf({Column(11, "x", TypeId::kInt)}))});
  table.Commit({Write(table, table.metadata().schema()->fields(), {"[1, 2]", R"([{"x": 1}, null])"})});
  Field added = WithDefault(Column(12, "n", TypeId::kInt), spec::Value(int32_t{7}));
  table.Evolve({kId, Column(10, "s", Type::StructOf({Column(11, "x", TypeId::kInt), added})),
                WithDefault(Column(20, "top", TypeId::kString), spec::Value(std::string("d")))});
  table.Commit({Write(table, table.metadata().schema()->fields(), {"[3]", R"([{"x": 3, "n": null}])", R"(["e"])"})});
  table.ExpectRows({"id", "s", "top"}, {"1|{'x': 1, 'n': 7}|d", "2|null|d", "3|{'x': 3, 'n': NULL}|e"});
  EXPECT_THAT(table.ReadBySql({"id"}, "s.n = 7"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "s.n IS NULL"), IsOkAnd(ElementsAre("2", "3")));
  EXPECT_THAT(table.ReadBySql({"id"}, "top = 'd'"), IsOkAnd(ElementsAre("1", "2")));
  EXPECT_THAT(table.ReadBySql({"id"}, "top <> 'd'"), IsOkAnd(ElementsAre("3")));
}

TEST_P(Evolution, StructsOfWhichNothingIsLeftKeepTheirNulls) {
  ForeignTable table(3, {kId, Column(10, "s", Type::StructOf({Column(11, "x", TypeId::kInt)}))});
  table.Commit({Write(table, table.metadata().schema()->fields(), {"[1, 2]", R"([{"x": 1}, null])"})});
  table.Evolve({kId, Column(10, "s", Type::StructOf({Column(12, "y", TypeId::kInt)}))});
  table.ExpectRows({"id", "s"}, {"1|{'y': NULL}", "2|null"});
  EXPECT_THAT(table.ReadBySql({"id"}, "s IS NULL"), IsOkAnd(ElementsAre("2")));
}

TEST_P(Evolution, FiltersSeePromotedValues) {
  ForeignTable table(
      3, {kId, Column(2, "f", TypeId::kFloat), Column(3, "d", TypeId::kDate), Column(4, "i", TypeId::kInt),
          Column(5, "p", Type::DecimalOf(4, 2)), Column(6, "s", Type::StructOf({Column(7, "f", TypeId::kFloat)}))});
  table.Commit({Write(table, table.metadata().schema()->fields(),
                      {"[1, 2]", "[0.1, 16777216]", "[0, 1]", "[2147483647, -1]", R"(["1.50", "-1.50"])",
                       R"([{"f": 0.1}, {"f": 1}])"})});
  table.Evolve({kId, Column(2, "f", TypeId::kDouble), Column(3, "d", TypeId::kTimestamp), Column(4, "i", TypeId::kLong),
                Column(5, "p", Type::DecimalOf(20, 2)),
                Column(6, "s", Type::StructOf({Column(7, "f", TypeId::kDouble)}))});
  table.ExpectRows({"id", "d", "i", "p"}, {"1|1970-01-01 00:00:00|2147483647|1.50", "2|1970-01-02 00:00:00|-1|-1.50"});
  const std::map<std::string, std::vector<std::string>> answers = {
      {"f > 0.1::DOUBLE", {"1", "2"}},
      {"f = 0.1::DOUBLE", {}},
      {"f < 16777217", {"1", "2"}},
      {"f >= 16777217", {}},
      {"s.f > 0.1::DOUBLE", {"1", "2"}},
      {"s.f = 0.1::DOUBLE", {}},
      {"d < TIMESTAMP '1970-01-01 12:00:00'", {"1"}},
      {"d = TIMESTAMP '1970-01-01 12:00:00'", {}},
      {"d > TIMESTAMP '1970-01-01 12:00:00'", {"2"}},
      {"d = TIMESTAMP '1970-01-02 00:00:00'", {"2"}},
      {"d IN (TIMESTAMP '1970-01-01 00:00:01', TIMESTAMP '1970-01-02 00:00:00')", {"2"}},
      {"i > 2147483646", {"1"}},
      {"i > 5000000000", {}},
      {"i < 5000000000", {"1", "2"}},
      {"i = -1", {"2"}},
      {"p > 1000000.00", {}},
      {"p <= 1.50", {"1", "2"}},
      {"p = -1.5", {"2"}}};
  auto session = table.MakeSession();
  ASSERT_THAT(session, IsOk());
  for (const auto& [filter, ids] : answers) {
    EXPECT_THAT(ForeignTable::Query(**session, "SELECT id FROM t WHERE " + filter), IsOkAnd(ids)) << filter;
  }
}

TEST_P(Evolution, OfPartitionSpecsKeepsOldConstants) {
  ForeignTable table(3, {kId, kName});
  table.Partition({{FieldId(2), FieldId(1000), "name", spec::Transform::Identity()}});
  spec::DataFile old_file = Write(table, {kId}, {"[1]"});
  old_file.partition = {spec::Value(std::string("p"))};
  table.Partition({{FieldId(1), FieldId(1001), "id_bucket", spec::Transform::Bucket(4)}});
  spec::DataFile new_file = Write(table, {kId, kName}, {"[2]", R"(["q"])"});
  new_file.partition = {spec::Value(int32_t{0})};
  table.Commit({old_file, new_file});
  table.ExpectRows({"id", "name"}, {"1|p", "2|q"});
  EXPECT_THAT(table.ReadBySql({"id"}, "name = 'p'"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(table.ReadBySql({"id"}, "name >= 'q'"), IsOkAnd(ElementsAre("2")));
}

}  // namespace
}  // namespace frazil
