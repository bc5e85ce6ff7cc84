#include "frazil/format/parquet_reader.h"

#include <arrow/util/byte_size.h>
#include <parquet/arrow/writer.h>

#include "frazil/format/parquet_io.h"
#include "frazil/format/parquet_test_support.h"
#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::format {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using spec::Value;
using testing::ElementsAre;
using testing::SizeIs;

constexpr char kPath[] = "memory:/data/x.parquet";

Type Of(TypeId id) { return Type::Primitive(id); }

/// Expects one column of the table to hold what the JSON says in the column's own type.
void ExpectColumn(const arrow::Table& table, int column, const std::string& json) {
  const auto chunks = table.column(column);
  const auto expected = ArrayOf(chunks->type(), json);
  EXPECT_TRUE(chunks->Equals(arrow::ChunkedArray(expected))) << table.field(column)->ToString() << "\n"
                                                             << chunks->ToString() << "\n"
                                                             << expected->ToString();
}

/// A file as other writers make it, straight through Arrow.
Status WriteForeign(io::FileIO& io, const std::shared_ptr<arrow::Table>& table, bool int96 = false) {
  FRAZIL_ASSIGN(const auto file, io.Create(kPath));
  parquet::ArrowWriterProperties::Builder properties;
  if (int96) properties.enable_deprecated_int96_timestamps();
  const auto status = parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), ToArrowStream(file.get()), 1000,
                                                 parquet::default_writer_properties(), properties.build());
  if (!status.ok()) return Fail(ErrorCode::kInternal, "{}", status.ToString());
  return file->Close();
}

std::shared_ptr<arrow::Field> WithId(const std::string& name, std::shared_ptr<arrow::DataType> type, int id) {
  return arrow::field(name, std::move(type), true,
                      arrow::KeyValueMetadata::Make({"PARQUET:field_id"}, {std::to_string(id)}));
}

TEST(ParquetReader, FollowsIdsThroughRenamesReordersAndMissingColumns) {
  const auto written = MakeSchema({
      MakeField(1, "a", Of(TypeId::kInt), true),
      MakeField(2, "b", Of(TypeId::kString)),
      MakeField(3, "st",
                Type::StructOf({MakeField(4, "x", Of(TypeId::kInt)), MakeField(5, "y", Of(TypeId::kString)),
                                MakeField(6, "z", Of(TypeId::kLong))})),
      MakeField(7, "li",
                Type::ListOf(MakeField(
                    8, "element",
                    Type::StructOf({MakeField(9, "p", Of(TypeId::kInt)), MakeField(10, "q", Of(TypeId::kInt))})))),
      MakeField(11, "m",
                Type::MapOf(MakeField(12, "key", Of(TypeId::kString), true),
                            MakeField(13, "value",
                                      Type::StructOf({MakeField(14, "v", Of(TypeId::kFloat)),
                                                      MakeField(15, "w", Of(TypeId::kInt))})))),
  });
  io::MemoryFileIO io;
  ASSERT_THAT(
      WriteBatches(
          io, kPath, written,
          {BatchOf(*written, {"[1, 2, 3]", R"(["x", null, "z"])", R"([[1, "one", 10], null, [3, null, 30]])",
                              "[[[1, 2], null, [3, 4]], [], null]", R"([[["k", [1.5, 7]]], null, [["l", null]]])"})}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));

  Field added = MakeField(20, "added", Of(TypeId::kInt));
  added.initial_default = int32_t{42};
  const std::vector<Field> wanted = {
      MakeField(11, "map",
                Type::MapOf(MakeField(12, "key", Of(TypeId::kString), true),
                            MakeField(13, "value", Type::StructOf({MakeField(14, "v", Of(TypeId::kDouble))})))),
      MakeField(99, "new_column", Of(TypeId::kString)),
      MakeField(3, "renamed",
                Type::StructOf({MakeField(6, "y", Of(TypeId::kLong)), added, MakeField(4, "z", Of(TypeId::kLong)),
                                MakeField(21, "none", Of(TypeId::kString))})),
      MakeField(7, "li",
                Type::ListOf(MakeField(8, "element", Type::StructOf({MakeField(10, "p", Of(TypeId::kLong))})))),
      MakeField(1, "b", Of(TypeId::kLong), true),
  };
  ASSERT_OK_AND_ASSIGN(const auto batches, reader->Read(wanted));
  EXPECT_THAT(batches->missing(), ElementsAre(FieldId(99)));
  ASSERT_OK_AND_ASSIGN(const auto table, ReadAll(*batches));
  EXPECT_EQ(table->schema()->field_names(), (std::vector<std::string>{"map", "renamed", "li", "b"}));
  EXPECT_EQ(FieldIdOf(*table->field(1)), FieldId(3));
  ExpectColumn(*table, 0, R"([[["k", [1.5]]], null, [["l", null]]])");
  ExpectColumn(*table, 1, R"([[10, 42, 1, null], null, [30, 42, 3, null]])");
  ExpectColumn(*table, 2, "[[[2], null, [4]], [], null]");
  ExpectColumn(*table, 3, "[1, 2, 3]");
}

TEST(ParquetReader, KnowsWhereAStructIsNullWhenNoneOfItsFieldsIsThere) {
  const auto written = MakeSchema({MakeField(1, "st", Type::StructOf({MakeField(2, "x", Of(TypeId::kInt))}))});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, written, {BatchOf(*written, {"[[1], null, [null]]"})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_OK_AND_ASSIGN(
      const auto table,
      ReadColumns(*reader, {MakeField(1, "st", Type::StructOf({MakeField(3, "y", Of(TypeId::kInt))}))}));
  ExpectColumn(*table, 0, "[[null], null, [null]]");

  EXPECT_THAT(ReadColumns(*reader, {MakeField(1, "st", Type::StructOf({MakeField(3, "y", Of(TypeId::kInt), true)}))}),
              IsError(ErrorCode::kInvalidTable, "required field y of st"));
}

TEST(ParquetReader, WidensPromotedTypes) {
  const auto written = MakeSchema({MakeField(1, "i", Of(TypeId::kInt)), MakeField(2, "f", Of(TypeId::kFloat)),
                                   MakeField(3, "dec", Type::DecimalOf(9, 2)), MakeField(4, "date", Of(TypeId::kDate)),
                                   MakeField(5, "dec18", Type::DecimalOf(18, 2))});
  io::MemoryFileIO io;
  ASSERT_THAT(
      WriteBatches(
          io, kPath, written,
          {BatchOf(*written, {"[-5, null]", "[1.5, null]", R"(["-1.25", null])", "[1, null]", R"(["-1.25", null])"})}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_OK_AND_ASSIGN(
      const auto table,
      ReadColumns(*reader, {MakeField(1, "i", Of(TypeId::kLong)), MakeField(2, "f", Of(TypeId::kDouble)),
                            MakeField(3, "dec", Type::DecimalOf(20, 2)), MakeField(4, "date", Of(TypeId::kTimestamp)),
                            MakeField(5, "dec18", Type::DecimalOf(38, 2))}));
  ExpectColumn(*table, 0, "[-5, null]");
  ExpectColumn(*table, 1, "[1.5, null]");
  ExpectColumn(*table, 2, R"(["-1.25", null])");
  ExpectColumn(*table, 3, "[86400000000, null]");
  ExpectColumn(*table, 4, R"(["-1.25", null])");

  for (const Field& narrow : {MakeField(1, "i", Of(TypeId::kString)), MakeField(2, "f", Of(TypeId::kLong)),
                              MakeField(5, "dec18", Type::DecimalOf(9, 2)), MakeField(3, "dec", Type::DecimalOf(12, 3)),
                              MakeField(1, "i", Type::ListOf(MakeField(2, "element", Of(TypeId::kInt))))}) {
    EXPECT_THAT(reader->Read({narrow}), IsError(ErrorCode::kInvalidTable, kPath)) << narrow.type.ToString();
  }
}

TEST(ParquetReader, ReadsWhatImportedFilesHold) {
  const std::vector<std::shared_ptr<arrow::Field>> fields = {
      WithId("i8", arrow::int8(), 1),
      WithId("u16", arrow::uint16(), 2),
      WithId("u32", arrow::uint32(), 3),
      WithId("ms", arrow::timestamp(arrow::TimeUnit::MILLI, "UTC"), 4),
      WithId("t32", arrow::time32(arrow::TimeUnit::MILLI), 5),
      WithId("raw", arrow::binary(), 6),
      WithId("local", arrow::timestamp(arrow::TimeUnit::MICRO), 7),
      WithId("small", arrow::decimal128(5, 2), 8),
      WithId("big", arrow::large_utf8(), 9),
      WithId("dict", arrow::dictionary(arrow::int32(), arrow::utf8()), 10)};
  const auto dictionary = arrow::DictionaryArray::FromArrays(fields[9]->type(), ArrayOf(arrow::int32(), "[0, null]"),
                                                             ArrayOf(arrow::utf8(), R"(["d"])"))
                              .ValueOrDie();
  const auto table =
      arrow::Table::Make(arrow::schema(fields),
                         {ArrayOf(fields[0]->type(), "[-1, null]"), ArrayOf(fields[1]->type(), "[65535, null]"),
                          ArrayOf(fields[2]->type(), "[4294967295, null]"), ArrayOf(fields[3]->type(), "[1500, null]"),
                          ArrayOf(fields[4]->type(), "[1500, null]"), ArrayOf(fields[5]->type(), R"(["text", null])"),
                          ArrayOf(fields[6]->type(), "[-1, null]"), ArrayOf(fields[7]->type(), R"(["-1.25", null])"),
                          ArrayOf(fields[8]->type(), R"(["large", null])"), dictionary});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteForeign(io, table), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_OK_AND_ASSIGN(
      const auto read,
      ReadColumns(*reader,
                  {MakeField(1, "i8", Of(TypeId::kInt)), MakeField(2, "u16", Of(TypeId::kInt)),
                   MakeField(3, "u32", Of(TypeId::kLong)), MakeField(4, "ms", Of(TypeId::kTimestampTz)),
                   MakeField(5, "t32", Of(TypeId::kTime)), MakeField(6, "raw", Of(TypeId::kString)),
                   MakeField(7, "local", Of(TypeId::kTimestampTz)), MakeField(8, "small", Type::DecimalOf(5, 2)),
                   MakeField(9, "big", Of(TypeId::kString)), MakeField(10, "dict", Of(TypeId::kString))}));
  ExpectColumn(*read, 0, "[-1, null]");
  ExpectColumn(*read, 1, "[65535, null]");
  ExpectColumn(*read, 2, "[4294967295, null]");
  ExpectColumn(*read, 3, "[1500000, null]");
  ExpectColumn(*read, 4, "[1500000, null]");
  ExpectColumn(*read, 5, R"(["text", null])");
  ExpectColumn(*read, 6, "[-1, null]");
  ExpectColumn(*read, 7, R"(["-1.25", null])");
  ExpectColumn(*read, 8, R"(["large", null])");
  ExpectColumn(*read, 9, R"(["d", null])");

  ASSERT_OK_AND_ASSIGN(const ParquetMetrics metrics, reader->RowGroupMetrics(0));
  EXPECT_EQ(metrics.upper_bounds.at(FieldId(3)), Value(int64_t{4294967295}));
  EXPECT_EQ(metrics.upper_bounds.at(FieldId(4)), Value(int64_t{1500000}));
  EXPECT_EQ(metrics.upper_bounds.at(FieldId(5)), Value(int64_t{1500000}));
  EXPECT_EQ(metrics.lower_bounds.at(FieldId(8)), Value(spec::Decimal{-125}));

  ASSERT_OK_AND_ASSIGN(const auto too_small, reader->Read({MakeField(3, "u32", Of(TypeId::kInt))}));
  EXPECT_THAT(too_small->Next(), IsError(ErrorCode::kCorruptData, kPath));
}

TEST(ParquetReader, ReadsInt96TimestampsFarFromToday) {
  const auto type = arrow::timestamp(arrow::TimeUnit::MICRO);
  const auto table = arrow::Table::Make(arrow::schema({WithId("ts", type, 1)}),
                                        {ArrayOf(type, "[0, 1356998400123456, -62135596800000000, null]")});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteForeign(io, table, /*int96=*/true), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_OK_AND_ASSIGN(const auto read, ReadColumns(*reader, {MakeField(1, "ts", Of(TypeId::kTimestampTz))}));
  ExpectColumn(*read, 0, "[0, 1356998400123456, -62135596800000000, null]");
  ASSERT_OK_AND_ASSIGN(const ParquetMetrics metrics, reader->RowGroupMetrics(0));
  EXPECT_TRUE(metrics.lower_bounds.empty());
}

TEST(ParquetReader, MapsNamesOnlyWhereTheFileHasNoIds) {
  const auto list = arrow::list(arrow::field("item", arrow::int32()));
  const auto map = arrow::map(arrow::utf8(), arrow::int32());
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("a", arrow::int32()), arrow::field("tags", list), arrow::field("m", map)}),
      {ArrayOf(arrow::int32(), "[1]"), ArrayOf(list, "[[2]]"), ArrayOf(map, R"([[["k", 3]]])")});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteForeign(io, table), IsOk());
  const std::vector<Field> wanted = {
      MakeField(5, "x", Of(TypeId::kInt)), MakeField(6, "y", Type::ListOf(MakeField(7, "element", Of(TypeId::kInt)))),
      MakeField(8, "m",
                Type::MapOf(MakeField(9, "key", Of(TypeId::kString), true), MakeField(10, "value", Of(TypeId::kInt))))};

  ASSERT_OK_AND_ASSIGN(const auto unmapped, OpenParquet(io, kPath));
  EXPECT_FALSE(unmapped->has_field_ids());
  ASSERT_OK_AND_ASSIGN(const auto nothing, unmapped->Read(wanted));
  EXPECT_THAT(nothing->missing(), SizeIs(3));
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*nothing));

  ASSERT_OK_AND_ASSIGN(const auto mapped, OpenParquet(io, kPath,
                                                      {.name_mapping = {{"a", FieldId(5)},
                                                                        {"tags", FieldId(6)},
                                                                        {"tags.element", FieldId(7)},
                                                                        {"m", FieldId(8)},
                                                                        {"m.key", FieldId(9)},
                                                                        {"m.value", FieldId(10)}}}));
  ASSERT_OK_AND_ASSIGN(const auto read, ReadColumns(*mapped, wanted));
  ExpectColumn(*read, 0, "[1]");
  ExpectColumn(*read, 1, "[[2]]");
  ExpectColumn(*read, 2, R"([[["k", 3]]])");

  io::MemoryFileIO with_ids;
  const auto schema = MakeSchema({MakeField(1, "a", Of(TypeId::kInt))});
  ASSERT_THAT(WriteBatches(with_ids, kPath, schema, {BatchOf(*schema, {"[1]"})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto own, OpenParquet(with_ids, kPath, {.name_mapping = {{"a", FieldId(5)}}}));
  EXPECT_TRUE(own->HasField(FieldId(1)));
  EXPECT_FALSE(own->HasField(FieldId(5)));
}

// Reported faults C 2 and C 3: positions must count the rows of row groups that were skipped, whatever the batch size.
TEST(ParquetReader, CountsPositionsOverSkippedRowGroups) {
  const auto schema = MakeSchema({MakeField(1, "id", Of(TypeId::kInt))});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  arrow::Int32Builder ids;
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(ids.Append(i).ok());
  const auto all = arrow::RecordBatch::Make(*ToArrowSchema(*schema), 300, {*ids.Finish()});
  for (int i = 0; i < 3; ++i) batches.push_back(all->Slice(i * 100, 100));
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, schema, batches, {.properties = {{"write.parquet.row-group-size-bytes", "1"}}}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_THAT(reader->row_groups(), SizeIs(3));
  for (const std::vector<int>& groups : {std::vector<int>{0, 1, 2}, {1, 2}, {0, 2}, {0, 1}, {2}, {}}) {
    for (const int64_t batch_rows : {1, 7, 100, 10000}) {
      for (const bool has_columns : {true, false}) {
        const std::vector<Field> columns = has_columns ? schema->fields() : std::vector<Field>{};
        ASSERT_OK_AND_ASSIGN(const auto rows, reader->Read(columns, groups, batch_rows));
        std::vector<int64_t> positions;
        while (true) {
          ASSERT_OK_AND_ASSIGN(const auto batch, rows->Next());
          if (!batch) break;
          ASSERT_LE(batch->rows->num_rows(), batch_rows);
          ASSERT_LE(batch->first_row % 100 + batch->rows->num_rows(), 100);
          for (int64_t i = 0; i < batch->rows->num_rows(); ++i) {
            positions.push_back(batch->first_row + i);
            if (has_columns) {
              const auto& column = static_cast<const arrow::Int32Array&>(*batch->rows->column(0));
              ASSERT_EQ(column.Value(i), batch->first_row + i);
            }
          }
        }
        std::vector<int64_t> expected;
        for (const int group : groups) {
          for (int64_t i = 0; i < 100; ++i) expected.push_back(group * 100 + i);
        }
        ASSERT_EQ(positions, expected);
      }
    }
  }
  EXPECT_THAT(reader->Read(schema->fields(), {3}), IsError(ErrorCode::kInvalidArgument, "no such row group: 3"));

  ASSERT_OK_AND_ASSIGN(const spec::DataFile group, reader->RowGroupAsFile(1));
  EXPECT_EQ(group.record_count, 100);
  EXPECT_EQ(LoadLittle<int32_t>(group.lower_bounds.at(FieldId(1)).data()), 100);
  EXPECT_EQ(LoadLittle<int32_t>(group.upper_bounds.at(FieldId(1)).data()), 199);
}

TEST(ParquetReader, RefusesDamagedFilesWithTheirPath) {
  const auto schema = MakeSchema({MakeField(1, "l", Of(TypeId::kLong)), MakeField(2, "s", Of(TypeId::kString)),
                                  MakeField(3, "li", Type::ListOf(MakeField(4, "element", Of(TypeId::kInt))))});
  io::MemoryFileIO io;
  ASSERT_THAT(
      WriteBatches(io, kPath, schema, {BatchOf(*schema, {"[1, 2, 3]", R"(["a", "b", null])", "[[1], null, [2, 3]]"})}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const Bytes good, io.ReadFile(kPath));
  const auto read_all = [&](Bytes bytes) -> Status {
    io.Overwrite(kPath, std::move(bytes));
    FRAZIL_ASSIGN(const auto reader, OpenParquet(io, kPath));
    for (size_t i = 0; i < reader->row_groups().size(); ++i) {
      FRAZIL_TRY(reader->RowGroupAsFile(static_cast<int>(i)));
    }
    (void)reader->FileFields();
    FRAZIL_ASSIGN(const auto batches, reader->Read(schema->fields()));
    while (true) {
      FRAZIL_ASSIGN(const auto batch, batches->Next());
      if (!batch) return {};
    }
  };
  ASSERT_THAT(read_all(good), IsOk());
  for (size_t size = 0; size < good.size(); size += 7) {
    EXPECT_THAT(read_all(CopyBytes(ByteView(good).first(size))), IsError(ErrorCode::kCorruptData, kPath));
  }
  // Values carry no checksum, so a flipped byte may go unseen, but it must never crash or lose the path.
  int refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes damaged = good;
    damaged[i] ^= std::byte{0x55};
    const Status status = read_all(std::move(damaged));
    if (status) continue;
    ++refused;
    EXPECT_THAT(status.error().ToString(), testing::HasSubstr(kPath));
  }
  EXPECT_GT(refused, 100);
}

TEST(ParquetReader, KeepsTheErrorOfTheFileSystem) {
  const auto schema = MakeSchema({MakeField(1, "l", Of(TypeId::kLong))});
  auto inner = std::make_shared<io::MemoryFileIO>();
  ASSERT_THAT(WriteBatches(*inner, kPath, schema, {BatchOf(*schema, {"[1, 2, 3]"})}), IsOk());
  int reads = 0;
  int fail_at = 0;
  io::FaultInjectingFileIO io(inner, [&](std::string_view operation, const std::string& path) -> Status {
    if (operation != "read" || reads++ != fail_at) return {};
    return Fail(ErrorCode::kUnavailable, "store does not answer: {}", path);
  });
  for (fail_at = 0; fail_at < 2; ++fail_at) {
    reads = 0;
    const auto read = [&]() -> Status {
      FRAZIL_ASSIGN(const auto reader, OpenParquet(io, kPath));
      FRAZIL_TRY(ReadColumns(*reader, schema->fields()));
      return {};
    };
    EXPECT_THAT(read(), IsError(ErrorCode::kUnavailable, "store does not answer"));
  }
}

int64_t LargestBatchBytes(const ParquetReader& reader, const spec::Schema& schema, int64_t* num_rows) {
  const auto batches = reader.Read(schema.fields());
  EXPECT_THAT(batches, IsOk());
  int64_t largest = 0;
  for (*num_rows = 0;;) {
    const auto batch = (*batches)->Next();
    EXPECT_THAT(batch, IsOk());
    if (!batch || !*batch) return largest;
    EXPECT_EQ((*batch)->first_row, *num_rows);
    *num_rows += (*batch)->rows->num_rows();
    largest = std::max(largest, arrow::util::TotalBufferSize(*(*batch)->rows));
  }
}

std::shared_ptr<arrow::RecordBatch> Texts(const spec::Schema& schema, const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  for (const std::string& text : texts) EXPECT_TRUE(builder.Append(text).ok());
  return arrow::RecordBatch::Make(*ToArrowSchema(schema), static_cast<int64_t>(texts.size()), {*builder.Finish()});
}

// Counted in rows a batch of 8,192 rows of 200 KB would be 1.6 GB.
TEST(ParquetReader, BatchesOfWideRowsTakeFewBytes) {
  const auto schema = MakeSchema({MakeField(1, "s", Of(TypeId::kString))});
  std::vector<std::string> wide;
  for (int i = 0; i < 150; ++i) {
    wide.emplace_back(200'000, 'x');
    for (size_t at = 0; at < wide.back().size(); ++at) wide.back()[at] = static_cast<char>('a' + at * (i + 3) % 23);
  }
  std::vector<std::string> later_wide(20'000, "narrow");
  later_wide.insert(later_wide.end(), wide.begin(), wide.end());
  const std::vector<std::string> same(150, wide[0]);  // in a dictionary it is stored once
  for (const auto& texts : {wide, later_wide, same}) {
    io::MemoryFileIO io;
    ASSERT_THAT(WriteBatches(io, kPath, schema, {Texts(*schema, texts)}), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
    int64_t num_rows = 0;
    EXPECT_LE(LargestBatchBytes(*reader, *schema, &num_rows), 2 * kParquetBatchBytes);
    EXPECT_EQ(num_rows, static_cast<int64_t>(texts.size()));
    EXPECT_GE(reader->DecodedBytes(), 150 * 200'000);
  }
}

// Without size statistics nothing in the footer of such a file tells how wide its rows are.
TEST(ParquetReader, ADictionaryOfLongValuesDoesNotComeInOneBatch) {
  const auto schema = MakeSchema({MakeField(1, "s", Of(TypeId::kString))});
  const auto table =
      arrow::Table::FromRecordBatches({Texts(*schema, std::vector<std::string>(3000, std::string(50'000, 'x')))});
  parquet::WriterProperties::Builder properties;
  properties.set_size_statistics_level(parquet::SizeStatisticsLevel::None);
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(const auto file, io.Create(kPath));
  ASSERT_TRUE(parquet::arrow::WriteTable(**table, arrow::default_memory_pool(), ToArrowStream(file.get()), 10'000,
                                         properties.build())
                  .ok());
  ASSERT_THAT(file->Close(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  int64_t num_rows = 0;
  EXPECT_LE(LargestBatchBytes(*reader, *schema, &num_rows), 256 * 50'100);
  EXPECT_EQ(num_rows, 3000);
}

}  // namespace
}  // namespace frazil::format
