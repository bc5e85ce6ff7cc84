#include "frazil/format/parquet_writer.h"

#include <cmath>
#include <random>

#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>

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
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

constexpr char kPath[] = "memory:/data/x.parquet";

Type Of(TypeId id) { return Type::Primitive(id); }

std::unique_ptr<parquet::ParquetFileReader> OpenRaw(const io::FileIO& io) {
  std::shared_ptr<const io::InputFile> file = std::move(*io.Open(kPath));
  return parquet::ParquetFileReader::Open(ToArrowFile(std::move(file)));
}

TEST(ParquetWriter, RoundTripsEveryTypeWithNullsAndNesting) {
  const auto schema = AllTypes();
  const auto batch = AllTypesBatch();
  for (const std::map<std::string, std::string>& properties : std::vector<std::map<std::string, std::string>>{
           {},
           {{"write.parquet.compression-codec", "snappy"}},
           {{"write.parquet.page-version", "v2"}, {"write.parquet.compression-codec", "GZIP"}},
           {{"frazil.write.parquet.delta-integers", "true"}},
           {{"write.parquet.compression-codec", "uncompressed"}}}) {
    io::MemoryFileIO io;
    ASSERT_OK_AND_ASSIGN(const auto result,
                         WriteBatches(io, kPath, schema, {batch, batch}, {.properties = properties}));
    EXPECT_EQ(result.metrics.record_count, 6);
    ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
    EXPECT_EQ(reader->num_rows(), 6);
    EXPECT_TRUE(reader->has_field_ids());
    ASSERT_OK_AND_ASSIGN(const auto table, ReadColumns(*reader, schema->fields()));
    const auto expected = arrow::Table::FromRecordBatches({batch, batch}).ValueOrDie();
    EXPECT_TRUE(table->Equals(*expected)) << table->ToString() << expected->ToString();
    EXPECT_TRUE(table->schema()->Equals(*expected->schema(), /*check_metadata=*/true));
    EXPECT_EQ(*reader->FileFields(), schema->fields());
  }
}

TEST(ParquetWriter, GivesEveryNodeTheIdAndTypeOfTheSpec) {
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, AllTypes(), {AllTypesBatch()}), IsOk());
  const auto raw = OpenRaw(io);
  const std::string text = raw->metadata()->schema()->ToString();
  for (const std::string line : {
           "optional boolean field_id=1 bo;",
           "required int32 field_id=2 i;",
           "optional int64 field_id=3 l;",
           "optional int32 field_id=6 dec9 (Decimal(precision=9, scale=2));",
           "optional int64 field_id=7 dec18 (Decimal(precision=18, scale=3));",
           "optional fixed_len_byte_array(16) field_id=8 dec38 (Decimal(precision=38, scale=10));",
           "optional int32 field_id=9 date (Date);",
           "optional int64 field_id=10 time (Time(isAdjustedToUTC=false, timeUnit=microseconds));",
           "optional binary field_id=15 s (String);",
           "optional fixed_len_byte_array(16) field_id=16 u (UUID);",
           "optional fixed_len_byte_array(3) field_id=17 fx;",
           "optional binary field_id=18 bin;",
           "optional group field_id=20 st {",
           "optional group field_id=30 li (List) {",
           "repeated group field_id=-1 list {",
           "optional int64 field_id=31 element;",
           "optional group field_id=32 m (Map) {",
           "repeated group field_id=-1 key_value {",
           "required binary field_id=33 key (String);",
           "optional double field_id=34 value;",
           "required binary field_id=39 element (String);",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const auto timestamp = [&](int column) -> const parquet::TimestampLogicalType& {
    return static_cast<const parquet::TimestampLogicalType&>(
        *raw->metadata()->schema()->Column(column)->logical_type());
  };
  for (const auto& [column, is_utc, unit] : {std::tuple(10, false, parquet::LogicalType::TimeUnit::MICROS),
                                             std::tuple(11, true, parquet::LogicalType::TimeUnit::MICROS),
                                             std::tuple(12, false, parquet::LogicalType::TimeUnit::NANOS),
                                             std::tuple(13, true, parquet::LogicalType::TimeUnit::NANOS)}) {
    EXPECT_EQ(timestamp(column).is_adjusted_to_utc(), is_utc) << column;
    EXPECT_EQ(timestamp(column).time_unit(), unit) << column;
  }
  EXPECT_THAT(raw->metadata()->created_by(), HasSubstr("frazil version "));
  EXPECT_THAT(raw->metadata()->key_value_metadata()->Get("iceberg.schema").ValueOr(""), HasSubstr("\"tstzns\""));
}

TEST(ParquetWriter, MeasuresEveryType) {
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(const auto result, WriteBatches(io, kPath, AllTypes(), {AllTypesBatch()}));
  ASSERT_OK_AND_ASSIGN(const auto file, io.Open(kPath));
  EXPECT_EQ(result.file_size_bytes, file->size_bytes());
  EXPECT_THAT(result.split_offsets, ElementsAre(4));
  const ParquetMetrics& metrics = result.metrics;
  const auto lower = [&](int id) { return metrics.lower_bounds.at(FieldId(id)); };
  const auto upper = [&](int id) { return metrics.upper_bounds.at(FieldId(id)); };
  const auto decimal = [](spec::Int128 unscaled) { return Value(spec::Decimal{unscaled}); };
  EXPECT_EQ(lower(1), Value(false));
  EXPECT_EQ(upper(1), Value(true));
  EXPECT_EQ(lower(2), Value(int32_t{-2147483647 - 1}));
  EXPECT_EQ(upper(2), Value(int32_t{2147483647}));
  EXPECT_EQ(upper(3), Value(int64_t{1}));
  EXPECT_EQ(lower(4), Value(-2.25F));
  EXPECT_EQ(upper(5), Value(1.5));
  EXPECT_EQ(lower(6), decimal(-999999999));
  EXPECT_EQ(upper(7), decimal(1250));
  spec::Int128 nines = 1;
  for (int i = 0; i < 38; ++i) nines *= 10;
  EXPECT_EQ(lower(8), decimal(-(nines - 1)));
  EXPECT_EQ(upper(8), decimal(12500000000));
  EXPECT_EQ(lower(9), Value(int32_t{-1}));
  EXPECT_EQ(upper(10), Value(int64_t{86399999999}));
  EXPECT_EQ(lower(11), Value(int64_t{-1}));
  EXPECT_EQ(upper(14), Value(int64_t{1356998400000000000}));
  EXPECT_EQ(upper(15), Value("grüße"));
  EXPECT_EQ(lower(16), Value(*Uuid::Parse("30313233-3435-3637-3839-616263646566")));
  EXPECT_EQ(upper(17), Value(CopyBytes(AsBytes("xyz"))));
  EXPECT_EQ(lower(18), Value(Bytes()));
  EXPECT_EQ(upper(22), Value("z"));
  for (int id : {31, 33, 34, 37, 39}) {
    EXPECT_FALSE(metrics.lower_bounds.contains(FieldId(id))) << id;
    EXPECT_FALSE(metrics.value_counts.contains(FieldId(id))) << id;
    EXPECT_TRUE(metrics.column_sizes.contains(FieldId(id))) << id;
  }
  EXPECT_EQ(metrics.value_counts.at(FieldId(21)), 3);
  EXPECT_EQ(metrics.null_value_counts.at(FieldId(21)), 2);
  EXPECT_EQ(metrics.null_value_counts.at(FieldId(2)), 0);
  EXPECT_EQ(metrics.null_value_counts.at(FieldId(15)), 1);
  EXPECT_THAT(metrics.nan_value_counts, ElementsAre(Pair(FieldId(4), 0), Pair(FieldId(5), 0)));
}

TEST(ParquetWriter, KeepsNansAndZerosOutOfBounds) {
  const auto schema =
      MakeSchema({MakeField(1, "mixed", Of(TypeId::kDouble)), MakeField(2, "all_nan", Of(TypeId::kFloat)),
                  MakeField(3, "zero", Of(TypeId::kDouble)), MakeField(4, "nulls", Of(TypeId::kInt)),
                  MakeField(5, "st", Type::StructOf({MakeField(6, "x", Of(TypeId::kDouble))}))});
  const auto nan = std::nan("");
  arrow::DoubleBuilder mixed, zero;
  arrow::FloatBuilder all_nan;
  ASSERT_TRUE(mixed.AppendValues({3.0, nan, 1.0}).ok());
  ASSERT_TRUE(all_nan.AppendValues({NAN, NAN, NAN}).ok());
  ASSERT_TRUE(zero.AppendValues({0.0, 0.0, 0.0}).ok());
  auto batch = BatchOf(*schema, {"[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", "[null, null, null]", "[[1], null, [2]]"});
  batch = batch->SetColumn(0, batch->schema()->field(0), *mixed.Finish()).ValueOrDie();
  batch = batch->SetColumn(1, batch->schema()->field(1), *all_nan.Finish()).ValueOrDie();
  batch = batch->SetColumn(2, batch->schema()->field(2), *zero.Finish()).ValueOrDie();
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(const auto result, WriteBatches(io, kPath, schema, {batch}));
  const ParquetMetrics& metrics = result.metrics;
  EXPECT_THAT(metrics.nan_value_counts,
              ElementsAre(Pair(FieldId(1), 1), Pair(FieldId(2), 3), Pair(FieldId(3), 0), Pair(FieldId(6), 0)));
  EXPECT_EQ(metrics.lower_bounds.at(FieldId(1)), Value(1.0));
  EXPECT_EQ(metrics.upper_bounds.at(FieldId(1)), Value(3.0));
  EXPECT_FALSE(metrics.lower_bounds.contains(FieldId(2)));
  EXPECT_FALSE(metrics.lower_bounds.contains(FieldId(4)));
  EXPECT_TRUE(std::signbit(std::get<double>(metrics.lower_bounds.at(FieldId(3)))));
  EXPECT_FALSE(std::signbit(std::get<double>(metrics.upper_bounds.at(FieldId(3)))));
  EXPECT_EQ(metrics.null_value_counts.at(FieldId(4)), 3);
}

TEST(ParquetWriter, LeavesOutBoundsOfTextTooLongForStatistics) {
  const auto schema = MakeSchema({MakeField(1, "s", Of(TypeId::kString))});
  const auto short_text = BatchOf(*schema, {R"(["a", "b"])"});
  const auto long_text = BatchOf(*schema, {"[\"" + std::string(5000, 'z') + "\"]"});
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(const auto result, WriteBatches(io, kPath, schema, {short_text, long_text}));
  EXPECT_FALSE(result.metrics.lower_bounds.contains(FieldId(1)));
  EXPECT_FALSE(result.metrics.upper_bounds.contains(FieldId(1)));
  EXPECT_EQ(result.metrics.null_value_counts.at(FieldId(1)), 0);
}

TEST(ParquetWriter, BeginsRowGroupsBySize) {
  const auto schema = MakeSchema({MakeField(1, "l", Of(TypeId::kLong)), MakeField(2, "s", Of(TypeId::kString))});
  std::mt19937_64 random(1);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int b = 0; b < 8; ++b) {
    arrow::Int64Builder longs;
    arrow::StringBuilder texts;
    for (int i = 0; i < 20000; ++i) {
      ASSERT_TRUE(longs.Append(static_cast<int64_t>(random())).ok());
      ASSERT_TRUE(texts.Append(fmt::format("{:x}{:x}", random(), random())).ok());
    }
    batches.push_back(arrow::RecordBatch::Make(*ToArrowSchema(*schema), 20000, {*longs.Finish(), *texts.Finish()}));
  }
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(auto file, io.Create(kPath));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       ParquetWriter::Make(std::move(file), schema,
                                           {.properties = {{"write.parquet.row-group-size-bytes", "1000000"}}}));
  for (const auto& batch : batches) ASSERT_THAT(writer->Write(*batch), IsOk());
  const int64_t estimate = writer->bytes_so_far();
  ASSERT_OK_AND_ASSIGN(const ParquetFileResult result, writer->Finish());
  EXPECT_NEAR(static_cast<double>(estimate), static_cast<double>(result.file_size_bytes), 0.1 * estimate);
  EXPECT_THAT(result.split_offsets, SizeIs(testing::AllOf(testing::Ge(3u), testing::Le(8u))));
  EXPECT_TRUE(std::is_sorted(result.split_offsets.begin(), result.split_offsets.end()));

  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_THAT(reader->row_groups(), SizeIs(result.split_offsets.size()));
  int64_t row = 0;
  for (size_t i = 0; i < reader->row_groups().size(); ++i) {
    EXPECT_EQ(reader->row_groups()[i].first_row, row);
    EXPECT_EQ(reader->row_groups()[i].start_offset, result.split_offsets[i]);
    row += reader->row_groups()[i].num_rows;
  }
  EXPECT_EQ(row, 160000);
}

TEST(ParquetWriter, ARowGroupThatIsClosedEarlyGivesItsMemoryBack) {
  const auto schema = MakeSchema({MakeField(1, "l", Of(TypeId::kLong)), MakeField(2, "s", Of(TypeId::kString))});
  std::mt19937_64 random(1);
  const auto batch = [&](int num_rows) {
    arrow::Int64Builder longs;
    arrow::StringBuilder texts;
    for (int i = 0; i < num_rows; ++i) {
      EXPECT_TRUE(longs.Append(static_cast<int64_t>(random())).ok());
      EXPECT_TRUE(texts.Append(fmt::format("{:x}{:x}", random(), random())).ok());
    }
    return arrow::RecordBatch::Make(*ToArrowSchema(*schema), num_rows, {*longs.Finish(), *texts.Finish()});
  };
  const std::vector<std::shared_ptr<arrow::RecordBatch>> batches = {batch(10'000), batch(1), batch(5'000)};
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(auto file, io.Create(kPath));
  ASSERT_OK_AND_ASSIGN(const auto writer, ParquetWriter::Make(std::move(file), schema));
  ASSERT_THAT(writer->CloseRowGroup(), IsOk());  // there is none
  EXPECT_EQ(writer->row_group_memory_bytes(), 0);
  for (const auto& rows : batches) {
    ASSERT_THAT(writer->Write(*rows), IsOk());
    if (rows->num_rows() > 1) {
      EXPECT_GT(writer->row_group_memory_bytes(), 16 * rows->num_rows());
    }
    ASSERT_THAT(writer->CloseRowGroup(), IsOk());
    EXPECT_EQ(writer->row_group_memory_bytes(), 0);
    ASSERT_THAT(writer->CloseRowGroup(), IsOk());  // no empty row group
  }
  EXPECT_EQ(writer->num_rows(), 15'001);
  ASSERT_OK_AND_ASSIGN(const ParquetFileResult result, writer->Finish());
  EXPECT_THAT(result.split_offsets, SizeIs(3));
  EXPECT_EQ(result.metrics.record_count, 15'001);
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_OK_AND_ASSIGN(const auto table, ReadColumns(*reader, schema->fields()));
  const auto expected = arrow::Table::FromRecordBatches(batches).ValueOrDie();
  EXPECT_TRUE(table->CombineChunks().ValueOrDie()->Equals(*expected->CombineChunks().ValueOrDie()));
}

TEST(ParquetWriter, UsesDictionariesWhereValuesRepeat) {
  const auto schema = MakeSchema({MakeField(1, "unique", Of(TypeId::kLong)), MakeField(2, "few", Of(TypeId::kString)),
                                  MakeField(3, "forced", Of(TypeId::kLong))});
  arrow::Int64Builder unique;
  arrow::StringBuilder few;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(unique.Append(int64_t{i} * 1000003).ok());
    ASSERT_TRUE(few.Append(std::to_string(i % 7)).ok());
  }
  const auto longs = *unique.Finish();
  const auto batch = arrow::RecordBatch::Make(*ToArrowSchema(*schema), 5000, {longs, *few.Finish(), longs});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, schema, {batch},
                           {.properties = {{"write.parquet.dict-encoding-enabled.column.forced", "true"},
                                           {"frazil.write.parquet.delta-integers", "true"}}}),
              IsOk());
  const auto raw = OpenRaw(io);
  const auto row_group = raw->metadata()->RowGroup(0);
  EXPECT_FALSE(row_group->ColumnChunk(0)->has_dictionary_page());
  EXPECT_THAT(row_group->ColumnChunk(0)->encodings(), testing::Contains(parquet::Encoding::DELTA_BINARY_PACKED));
  EXPECT_EQ(row_group->ColumnChunk(0)->compression(), parquet::Compression::UNCOMPRESSED);
  EXPECT_TRUE(row_group->ColumnChunk(1)->has_dictionary_page());
  EXPECT_EQ(row_group->ColumnChunk(1)->compression(), parquet::Compression::ZSTD);
  EXPECT_TRUE(row_group->ColumnChunk(2)->has_dictionary_page());
}

TEST(ParquetWriter, BloomFiltersKnowEveryValueAndFewOthers) {
  const auto schema =
      MakeSchema({MakeField(1, "key", Of(TypeId::kString)), MakeField(2, "id", Of(TypeId::kLong)),
                  MakeField(3, "s", Type::StructOf({MakeField(4, "part", Of(TypeId::kInt))})),
                  MakeField(5, "truth", Of(TypeId::kBoolean)), MakeField(6, "plain", Of(TypeId::kLong))});
  constexpr int kRows = 20000;
  arrow::StringBuilder keys;
  arrow::Int64Builder ids;
  arrow::Int32Builder parts;
  arrow::BooleanBuilder truths;
  for (int i = 0; i < kRows; ++i) {
    ASSERT_TRUE((i % 10 == 9 ? keys.AppendNull() : keys.Append(fmt::format("key-{}", i))).ok());
    ASSERT_TRUE(ids.Append(int64_t{i} * 1000003).ok());
    ASSERT_TRUE(parts.Append(i % 50).ok());  // goes through a dictionary
    ASSERT_TRUE(truths.Append(i % 2 == 0).ok());
  }
  const auto arrow_schema = *ToArrowSchema(*schema);
  const auto longs = *ids.Finish();
  const auto structs = *arrow::StructArray::Make({*parts.Finish()}, arrow_schema->field(2)->type()->fields());
  const auto batch =
      arrow::RecordBatch::Make(arrow_schema, kRows, {*keys.Finish(), longs, structs, *truths.Finish(), longs});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, schema, {batch},
                           {.properties = {{"write.parquet.bloom-filter-enabled.column.key", "true"},
                                           {"write.parquet.bloom-filter-fpp.column.key", "0.001"},
                                           {"write.parquet.bloom-filter-enabled.column.id", "true"},
                                           {"write.parquet.bloom-filter-ndv.column.id", "1000000"},
                                           {"write.parquet.bloom-filter-max-bytes", "65536"},
                                           {"write.parquet.bloom-filter-enabled.column.s.part", "true"},
                                           {"write.parquet.bloom-filter-enabled.column.truth", "true"},
                                           {"write.parquet.bloom-filter-enabled.column.plain", "false"}}}),
              IsOk());
  const auto raw = OpenRaw(io);
  auto& filters = raw->GetBloomFilterReader();
  const auto row_group = filters.RowGroup(0);
  const auto by_key = row_group->GetColumnBloomFilter(0);
  const auto by_id = row_group->GetColumnBloomFilter(1);
  const auto by_part = row_group->GetColumnBloomFilter(2);
  ASSERT_TRUE(by_key && by_id && by_part);
  EXPECT_FALSE(row_group->GetColumnBloomFilter(3));
  EXPECT_FALSE(row_group->GetColumnBloomFilter(4));
  EXPECT_LE(by_key->GetBitsetSize(), 65536u);
  EXPECT_LE(by_id->GetBitsetSize(), 65536u);
  EXPECT_LT(by_part->GetBitsetSize(), 1024u) << "folded to what fifty values need";
  int false_keys = 0;
  for (int i = 0; i < kRows; ++i) {
    const std::string key = fmt::format("key-{}", i);
    const parquet::ByteArray bytes{std::string_view(key)};
    if (i % 10 != 9) {
      EXPECT_TRUE(by_key->FindHash(by_key->Hash(&bytes))) << key;
    } else {
      false_keys += by_key->FindHash(by_key->Hash(&bytes));
    }
    EXPECT_TRUE(by_id->FindHash(by_id->Hash(int64_t{i} * 1000003)));
    EXPECT_EQ(by_part->FindHash(by_part->Hash(int32_t{i % 50})), true);
  }
  EXPECT_LT(false_keys, 100) << "of 2,000";
}

TEST(ParquetWriter, WritesAFileWithoutRows) {
  const auto schema = AllTypes();
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(const auto result, WriteBatches(io, kPath, schema, {}));
  EXPECT_EQ(result.metrics.record_count, 0);
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  ASSERT_OK_AND_ASSIGN(const auto table, ReadColumns(*reader, schema->fields()));
  EXPECT_EQ(table->num_rows(), 0);
}

TEST(ParquetWriter, RefusesPropertiesItCannotHonour) {
  const auto schema = MakeSchema({MakeField(1, "i", Of(TypeId::kInt))});
  const auto make = [&](const std::string& key, const std::string& value) -> Status {
    io::MemoryFileIO io;
    FRAZIL_ASSIGN(auto file, io.Create(kPath));
    FRAZIL_TRY(ParquetWriter::Make(std::move(file), schema, {.properties = {{key, value}}}));
    return {};
  };
  EXPECT_THAT(make("write.parquet.compression-codec", "lzo"), IsError(ErrorCode::kInvalidArgument, ": lzo"));
  EXPECT_THAT(make("write.parquet.compression-level", "99"), IsError(ErrorCode::kInvalidArgument, ": 99"));
  EXPECT_THAT(make("write.parquet.compression-level", "fast"), IsError(ErrorCode::kInvalidArgument, ": fast"));
  EXPECT_THAT(make("write.parquet.row-group-size-bytes", "0"), IsError(ErrorCode::kInvalidArgument, "positive"));
  EXPECT_THAT(make("write.parquet.page-size-bytes", "1MB"), IsError(ErrorCode::kInvalidArgument, "page-size-bytes"));
  EXPECT_THAT(make("write.parquet.page-version", "v3"), IsError(ErrorCode::kInvalidArgument, "v1 or v2"));
  EXPECT_THAT(make("write.parquet.some-later-property", "x"), IsOk());
  EXPECT_THAT(make("write.parquet.bloom-filter-fpp.column.i", "1"), IsError(ErrorCode::kInvalidArgument, "0 and 1"));
  EXPECT_THAT(make("write.parquet.bloom-filter-ndv.column.i", "-1"), IsError(ErrorCode::kInvalidArgument, "positive"));
  EXPECT_THAT(make("write.parquet.bloom-filter-enabled.column.i", "yes"),
              IsError(ErrorCode::kInvalidArgument, "true or false"));
}

TEST(ParquetWriter, RefusesBatchesOfAnotherShape) {
  const auto schema = MakeSchema({MakeField(1, "i", Of(TypeId::kInt), true), MakeField(2, "s", Of(TypeId::kString))});
  const auto write = [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    io::MemoryFileIO io;
    return WriteBatches(io, kPath, schema, {batch});
  };
  const auto ints = ArrayOf(arrow::int32(), "[1]");
  const auto text = ArrayOf(arrow::utf8(), R"(["a"])");
  const auto make = [&](arrow::ArrayVector columns) {
    arrow::FieldVector fields;
    for (const auto& column : columns) fields.push_back(arrow::field("c", column->type()));
    return arrow::RecordBatch::Make(arrow::schema(fields), 1, std::move(columns));
  };
  EXPECT_THAT(write(make({ints, text})), IsOk());
  EXPECT_THAT(write(make({ints})), IsError(ErrorCode::kInvalidArgument, "batch has 1 columns"));
  EXPECT_THAT(write(make({ArrayOf(arrow::int64(), "[1]"), text})), IsError(ErrorCode::kInvalidArgument, "column i"));
  EXPECT_THAT(write(make({ArrayOf(arrow::int32(), "[null]"), text})),
              IsError(ErrorCode::kInvalidArgument, "required column holds a null: i"));
}

/// Rows of s struct<a int NOT NULL, deep struct<b int NOT NULL> NOT NULL>: 1, null with nulls in it, 3; and, in l, a list of
/// all three. `nulls` says which structs are null.
std::shared_ptr<arrow::RecordBatch> NestedRequired(const spec::Schema& schema, const char* nulls, bool in_list) {
  const auto arrow_schema = *ToArrowSchema(schema);
  const auto numbers = ArrayOf(arrow::int32(), "[1, null, 3]");
  const auto type = in_list ? arrow_schema->field(0)->type()->field(0)->type() : arrow_schema->field(0)->type();
  const auto deep = std::make_shared<arrow::StructArray>(type->field(1)->type(), 3, arrow::ArrayVector{numbers},
                                                         numbers->null_bitmap());
  const auto validity = ArrayOf(arrow::int32(), nulls)->null_bitmap();
  std::shared_ptr<arrow::Array> column =
      std::make_shared<arrow::StructArray>(type, 3, arrow::ArrayVector{numbers, deep}, validity);
  if (!in_list) return arrow::RecordBatch::Make(arrow_schema, 3, {column});
  const auto offsets = ArrayOf(arrow::int32(), "[0, 2, 3]");
  column = std::make_shared<arrow::ListArray>(arrow_schema->field(0)->type(), 2, offsets->data()->buffers[1], column);
  return arrow::RecordBatch::Make(arrow_schema, 2, {column});
}

TEST(ParquetWriter, RequiredMembersOfANullAreNotMissing) {
  const Type members =
      Type::StructOf({MakeField(11, "a", Of(TypeId::kInt), true),
                      MakeField(12, "deep", Type::StructOf({MakeField(13, "b", Of(TypeId::kInt), true)}), true)});
  for (const bool in_list : {false, true}) {
    const auto schema = MakeSchema(
        {in_list ? MakeField(1, "l", Type::ListOf(MakeField(10, "element", members))) : MakeField(1, "s", members)});
    const std::string path = in_list ? "l.element.a" : "s.a";
    const auto rows = NestedRequired(*schema, "[1, null, 3]", in_list);
    for (const auto& batch : {rows, rows->Slice(1), rows->Slice(1, 1)}) {
      io::MemoryFileIO io;
      ASSERT_THAT(WriteBatches(io, kPath, schema, {batch}), IsOk()) << path;
      ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
      ASSERT_OK_AND_ASSIGN(const auto table, ReadColumns(*reader, schema->fields()));
      EXPECT_EQ(table->num_rows(), batch->num_rows());
      std::string read = table->column(0)->chunk(0)->ToString();
      for (size_t at; (at = read.find("not null")) != std::string::npos;) read.erase(at, 8);
      const bool has_null = !in_list || batch->num_rows() == 2;
      EXPECT_EQ(read.find("null") != std::string::npos || read.find("false") != std::string::npos, has_null) << read;
    }
    io::MemoryFileIO io;
    EXPECT_THAT(WriteBatches(io, kPath, schema, {NestedRequired(*schema, "[1, 2, null]", in_list)}),
                IsError(ErrorCode::kInvalidArgument, "required column holds a null: " + path));
  }
}

TEST(ParquetWriter, RefusesTypesThatAreNotThereYetNamingTheColumn) {
  for (const TypeId id : {TypeId::kVariant}) {
    io::MemoryFileIO io;
    ASSERT_OK_AND_ASSIGN(auto file, io.Create(kPath));
    EXPECT_THAT(ParquetWriter::Make(std::move(file), MakeSchema({MakeField(1, "strange", Of(id))})),
                IsError(ErrorCode::kNotSupported, "strange"));
  }
}

// Arrow looks at a page's size every 1,024 rows: of rows of 200 KB it would be a page of 200 MB, twice in memory.
TEST(ParquetWriter, PagesOfWideRowsStaySmall) {
  const auto schema = MakeSchema({MakeField(1, "s", Of(TypeId::kString))});
  arrow::StringBuilder builder;
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(builder.Append(fmt::format("{:050000}", i)).ok());
  const auto rows = arrow::RecordBatch::Make(*ToArrowSchema(*schema), 400, {*builder.Finish()});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, schema, {rows}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  const auto file = parquet::ParquetFileReader::Open(ToArrowFile(*io.Open(kPath)));
  const auto pages = file->GetPageIndexReader()->RowGroup(0)->GetOffsetIndex(0);
  EXPECT_GE(pages->page_locations().size(), 400U * 50'000 / (2 << 20));
}

TEST(ParquetWriter, LeavesUnknownColumnsOut) {
  const auto schema = MakeSchema({MakeField(1, "i", Of(TypeId::kInt)), MakeField(2, "later", Of(TypeId::kUnknown))});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kPath, schema, {BatchOf(*schema, {"[1, 2]"})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kPath));
  EXPECT_FALSE(reader->HasField(FieldId(2)));
  ASSERT_OK_AND_ASSIGN(const auto batches, reader->Read(schema->fields()));
  EXPECT_THAT(batches->missing(), ElementsAre(FieldId(2)));
}

TEST(ParquetWriter, LeavesNoFileWhenItIsDropped) {
  const auto schema = MakeSchema({MakeField(1, "i", Of(TypeId::kInt))});
  io::MemoryFileIO io;
  {
    ASSERT_OK_AND_ASSIGN(auto file, io.Create(kPath));
    ASSERT_OK_AND_ASSIGN(const auto writer, ParquetWriter::Make(std::move(file), schema));
    ASSERT_THAT(writer->Write(*BatchOf(*schema, {"[1, 2]"})), IsOk());
  }
  EXPECT_THAT(io.Exists(kPath), IsOkAnd(false));
}

TEST(ParquetWriter, KeepsTheErrorOfTheFileSystem) {
  const auto schema = MakeSchema({MakeField(1, "s", Of(TypeId::kString))});
  for (const std::string operation : {"append", "close.before"}) {
    io::FaultInjectingFileIO io(std::make_shared<io::MemoryFileIO>(),
                                [&](std::string_view done, const std::string& path) -> Status {
                                  if (done != operation) return {};
                                  return Fail(ErrorCode::kIo, "disk is full: {}", path);
                                });
    EXPECT_THAT(WriteBatches(io, kPath, schema, {BatchOf(*schema, {R"(["a"])"})}),
                IsError(ErrorCode::kIo, fmt::format("disk is full: {}", kPath)));
  }
}

}  // namespace
}  // namespace frazil::format
