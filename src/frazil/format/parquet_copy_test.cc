#include "frazil/format/parquet_copy.h"

#include <limits>
#include <random>

#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>

#include "frazil/format/parquet_file.h"
#include "frazil/format/parquet_test_support.h"

namespace frazil::format {
namespace {

using spec::Field;
using spec::Type;
using spec::TypeId;
using spec::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kIn[] = "memory:/in.parquet";
constexpr char kOut[] = "memory:/out.parquet";
using Properties = std::map<std::string, std::string>;
using Plan = std::shared_ptr<const ParquetCopyPlan>;

Type Of(TypeId id) { return Type::Primitive(id); }

/// All rows of a row group, or those that `mask` says.
ParquetCopiedRows RowsOf(const Plan& plan, int row_group, ParquetKeptRows kept) {
  ParquetCopiedRows rows{.plan = plan, .row_group = row_group, .kept = std::move(kept)};
  rows.num_rows = std::count(rows.kept.begin(), rows.kept.end(), 1);
  return rows;
}
ParquetCopiedRows AllRowsOf(const Plan& plan, int row_group = 0) {
  const ParquetRowGroup& group = plan->source().file->row_groups()[static_cast<size_t>(row_group)];
  return RowsOf(plan, row_group, ParquetKeptRows(static_cast<size_t>(group.num_rows), 1));
}

Result<Plan> PlanOf(const io::FileIO& io, const spec::Schema& schema, ParquetCopySource source = {}) {
  FRAZIL_ASSIGN(source.file, OpenParquet(io, kIn));
  return ParquetCopyPlan::Make(schema, std::move(source));
}

/// Every element of `groups` becomes a row group of kOut.
Result<ParquetFileResult> CopyTo(io::FileIO& io, const spec::SchemaPtr& schema,
                                 const std::vector<std::vector<ParquetCopiedRows>>& groups,
                                 const Properties& properties = {}) {
  FRAZIL_ASSIGN(auto file, io.Create(kOut));
  FRAZIL_ASSIGN(const auto writer, ParquetWriter::Make(std::move(file), schema, {.properties = properties}));
  for (const auto& group : groups) FRAZIL_TRY(writer->WriteRowGroup(group));
  return writer->Finish();
}

std::shared_ptr<arrow::Table> Filtered(const arrow::Table& table, const ParquetKeptRows& kept) {
  std::vector<std::shared_ptr<arrow::Table>> runs = {table.Slice(0, 0)};
  for (size_t begin = 0, end = 0; begin < kept.size(); begin = end) {
    for (end = begin; end < kept.size() && kept[end] == kept[begin];) ++end;
    if (kept[begin] != 0) runs.push_back(table.Slice(static_cast<int64_t>(begin), static_cast<int64_t>(end - begin)));
  }
  return arrow::ConcatenateTables(runs).ValueOrDie();
}

void ExpectTable(const io::FileIO& io, const spec::Schema& schema, const arrow::Table& expected) {
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kOut));
  ASSERT_OK_AND_ASSIGN(const auto table, ReadColumns(*reader, schema.fields()));
  EXPECT_TRUE(table->Equals(expected, arrow::EqualOptions::Defaults().nans_equal(true)))
      << table->ToString() << expected.ToString();
  EXPECT_EQ(*reader->FileFields(), schema.fields());
}

TEST(ParquetCopy, TakesEveryTypeWithNullsAndNestingWhateverTheCodec) {
  const auto schema = AllTypes();
  const auto batch = AllTypesBatch();
  const std::vector<std::pair<Properties, ParquetKeptRows>> cases = {
      {{}, {1, 1, 1, 1, 1, 1}},
      {{{"write.parquet.compression-codec", "snappy"}}, {0, 1, 1, 0, 0, 1}},
      {{{"write.parquet.page-version", "v2"}, {"write.parquet.compression-codec", "gzip"}}, {1, 0, 0, 1, 0, 0}},
      {{{"frazil.write.parquet.delta-integers", "true"}}, {0, 0, 0, 0, 1}},
      {{{"write.parquet.compression-codec", "uncompressed"}, {"write.parquet.page-row-limit", "1"}},
       {0, 1, 0, 1, 0, 1}},
  };
  for (const auto& [properties, kept] : cases) {
    io::MemoryFileIO io;
    ASSERT_THAT(WriteBatches(io, kIn, schema, {batch, batch}, {.properties = properties}), IsOk());
    ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema));
    ASSERT_NE(plan, nullptr);
    ASSERT_OK_AND_ASSIGN(const auto result, CopyTo(io, schema, {{RowsOf(plan, 0, kept)}}, properties));
    EXPECT_EQ(result.metrics.record_count, std::count(kept.begin(), kept.end(), 1));
    ExpectTable(io, *schema, *Filtered(*arrow::Table::FromRecordBatches({batch, batch}).ValueOrDie(), kept));
  }
}

/// Flat and nested columns of which batches of levels, pages and row groups end anywhere.
spec::SchemaPtr MixedColumns() {
  return MakeSchema({MakeField(1, "id", Of(TypeId::kLong), true), MakeField(2, "word", Of(TypeId::kString)),
                     MakeField(3, "text", Of(TypeId::kString), true), MakeField(4, "d", Of(TypeId::kDouble)),
                     MakeField(5, "flag", Of(TypeId::kBoolean)),
                     MakeField(6, "tags", Type::ListOf(MakeField(7, "element", Of(TypeId::kString)))),
                     MakeField(8, "amount", Type::DecimalOf(30, 2))});
}

std::shared_ptr<arrow::RecordBatch> RandomRows(std::mt19937_64& random, int64_t num_rows) {
  arrow::Int64Builder id;
  arrow::StringBuilder word;
  arrow::StringBuilder text;
  arrow::DoubleBuilder d;
  arrow::BooleanBuilder flag;
  const auto tag_values = std::make_shared<arrow::StringBuilder>();
  const auto schema = *ToArrowSchema(*MixedColumns());
  arrow::ListBuilder tags(arrow::default_memory_pool(), tag_values, schema->field(5)->type());
  arrow::Decimal128Builder amount(arrow::decimal128(30, 2));
  arrow::Status status;
  const auto is_null = [&] { return random() % 5 == 0; };
  for (int64_t i = 0; i < num_rows; ++i) {
    status &= id.Append(static_cast<int64_t>(random()));
    status &= is_null() ? word.AppendNull() : word.Append("word " + std::to_string(random() % 50));
    status &= text.Append(std::string(random() % 40, 'x') + std::to_string(random()));
    const double number =
        random() % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random() % 1000);
    status &= is_null() ? d.AppendNull() : d.Append(number);
    status &= is_null() ? flag.AppendNull() : flag.Append(random() % 2 == 0);
    status &=
        is_null() ? amount.AppendNull() : amount.Append(arrow::Decimal128(static_cast<int64_t>(random() % 100'000)));
    if (is_null()) {
      status &= tags.AppendNull();
      continue;
    }
    status &= tags.Append();
    for (uint64_t n = random() % 4; n > 0; --n) {
      status &= is_null() ? tag_values->AppendNull() : tag_values->Append("t" + std::to_string(random() % 9));
    }
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  return arrow::RecordBatch::Make(
      schema, num_rows,
      {*id.Finish(), *word.Finish(), *text.Finish(), *d.Finish(), *flag.Finish(), *tags.Finish(), *amount.Finish()});
}

/// Metrics but for sizes.
void ExpectSameMetrics(const ParquetMetrics& copied, const ParquetMetrics& written) {
  EXPECT_EQ(copied.record_count, written.record_count);
  EXPECT_EQ(copied.value_counts, written.value_counts);
  EXPECT_EQ(copied.null_value_counts, written.null_value_counts);
  EXPECT_EQ(copied.nan_value_counts, written.nan_value_counts);
  EXPECT_EQ(copied.lower_bounds, written.lower_bounds);
  EXPECT_EQ(copied.upper_bounds, written.upper_bounds);
}

TEST(ParquetCopy, TakesAnyRowsOfAnyRowGroupsWithTheMetricsOfWrittenOnes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto schema = MixedColumns();
  for (const std::string dictionary_bytes : {"2097152", "300"}) {  // the second gives dictionaries up on the way
    io::MemoryFileIO io;
    const Properties properties = {{"write.parquet.row-group-size-bytes", "200000"},
                                   {"write.parquet.page-row-limit", "3000"},
                                   {"write.parquet.dict-size-bytes", dictionary_bytes}};
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (int i = 0; i < 3; ++i) batches.push_back(RandomRows(random, 9'000));
    ASSERT_THAT(WriteBatches(io, kIn, schema, batches, {.properties = properties}), IsOk());
    const auto table = arrow::Table::FromRecordBatches(batches).ValueOrDie();
    ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema));
    ASSERT_NE(plan, nullptr);
    const auto& row_groups = plan->source().file->row_groups();
    ASSERT_GT(row_groups.size(), 1u);
    // Two row groups are made of one, the next of two.
    std::vector<std::vector<ParquetCopiedRows>> groups(1);
    ParquetKeptRows all;
    for (size_t i = 0; i < row_groups.size(); ++i) {
      ParquetKeptRows kept(static_cast<size_t>(row_groups[i].num_rows));
      const uint64_t share = i == 0 ? 1 : 1 + random() % 4;
      bool is_kept = true;
      for (uint8_t& row : kept) {
        if (i != 1 || random() % 500 == 0) is_kept = random() % share == 0;  // in long runs in the second
        row = is_kept;
      }
      all.insert(all.end(), kept.begin(), kept.end());
      ParquetKeptRows first(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(kept.size() / 3));
      ParquetKeptRows second = kept;
      std::fill_n(second.begin(), first.size(), uint8_t{0});
      groups.back().push_back(RowsOf(plan, static_cast<int>(i), first));
      groups.emplace_back().push_back(RowsOf(plan, static_cast<int>(i), second));
    }
    ASSERT_OK_AND_ASSIGN(const auto copied, CopyTo(io, schema, groups, properties));
    const auto expected = Filtered(*table, all);
    ExpectTable(io, *schema, *expected);
    ASSERT_OK_AND_ASSIGN(const auto written,
                         WriteBatches(io, "memory:/written.parquet", schema, {*expected->CombineChunksToBatch()}));
    ExpectSameMetrics(copied.metrics, written.metrics);
    EXPECT_EQ(copied.file_size_bytes, (*io.Open(kOut))->size_bytes());
    EXPECT_EQ(copied.split_offsets.size(), groups.size());
  }
}

TEST(ParquetCopy, KeepsDictionariesWhereTheFileHasThem) {
  io::MemoryFileIO io;
  std::mt19937_64 random(1);
  const auto schema = MixedColumns();
  ASSERT_THAT(WriteBatches(io, kIn, schema, {RandomRows(random, 5'000)}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema));
  ASSERT_NE(plan, nullptr);
  ASSERT_THAT(CopyTo(io, schema, {{AllRowsOf(plan)}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto out, OpenParquet(io, kOut));
  const auto row_group = out->file().metadata()->RowGroup(0);
  EXPECT_FALSE(row_group->ColumnChunk(0)->has_dictionary_page()) << "id";
  EXPECT_TRUE(row_group->ColumnChunk(1)->has_dictionary_page()) << "word";
  EXPECT_FALSE(row_group->ColumnChunk(2)->has_dictionary_page()) << "text";
  EXPECT_TRUE(row_group->ColumnChunk(1)->GetColumnIndexLocation().has_value());
}

TEST(ParquetCopy, RowsMayBeWrittenBehindCopiedOnesAndNotBefore) {
  io::MemoryFileIO io;
  const auto schema = AllTypes();
  const auto batch = AllTypesBatch();
  ASSERT_THAT(WriteBatches(io, kIn, schema, {batch}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema));
  const std::vector<ParquetCopiedRows> rows = {RowsOf(plan, 0, {0, 1, 1})};
  ASSERT_OK_AND_ASSIGN(auto file, io.Create(kOut));
  ASSERT_OK_AND_ASSIGN(const auto writer, ParquetWriter::Make(std::move(file), schema));
  ASSERT_THAT(writer->WriteRowGroup(rows), IsOk());
  ASSERT_THAT(writer->WriteRowGroup(std::vector{RowsOf(plan, 0, {0, 0})}), IsOk()) << "nothing is no row group";
  ASSERT_THAT(writer->Write(*batch), IsOk());
  EXPECT_EQ(writer->num_rows(), 5);
  ASSERT_OK_AND_ASSIGN(const auto result, writer->Finish());
  EXPECT_EQ(result.split_offsets.size(), 2u);
  ExpectTable(io, *schema, *arrow::Table::FromRecordBatches({batch->Slice(1), batch}).ValueOrDie());

  ASSERT_OK_AND_ASSIGN(file, io.Create("memory:/other.parquet"));
  ASSERT_OK_AND_ASSIGN(const auto other, ParquetWriter::Make(std::move(file), schema));
  ASSERT_THAT(other->Write(*batch), IsOk());
  EXPECT_THAT(other->WriteRowGroup(rows), IsError(ErrorCode::kInternal, "behind"));
}

spec::SchemaPtr WithLineage(std::vector<Field> fields) {
  fields.push_back({.id = spec::kRowIdColumnId, .name = spec::kRowIdColumn, .type = Of(TypeId::kLong)});
  fields.push_back({.id = spec::kLastUpdatedSequenceNumberColumnId,
                    .name = spec::kLastUpdatedSequenceNumberColumn,
                    .type = Of(TypeId::kLong)});
  return MakeSchema(std::move(fields));
}

TEST(ParquetCopy, LineageIsStoredAsItIsAndMadeWhereItIsNot) {
  const Field id = MakeField(1, "id", Of(TypeId::kLong), true);
  const auto schema = WithLineage({id});
  io::MemoryFileIO io;
  const auto stored = BatchOf(*schema, {"[1, 2, 3, 4]", "[70, null, 72, null]", "[5, null, null, 6]"});
  ASSERT_THAT(WriteBatches(io, kIn, schema, {stored}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Plan with, PlanOf(io, *schema, {.first_row_id = 100, .sequence_number = 9}));
  ASSERT_NE(with, nullptr);
  io::MemoryFileIO plain;
  ASSERT_THAT(WriteBatches(plain, kIn, MakeSchema({id}), {BatchOf(*MakeSchema({id}), {"[10, 11, 12]"})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Plan without, PlanOf(plain, *schema, {.first_row_id = 200, .sequence_number = 3}));
  ASSERT_NE(without, nullptr);
  ASSERT_THAT(CopyTo(io, schema, {{RowsOf(with, 0, {0, 1, 1, 1}), RowsOf(without, 0, {1, 0, 1})}}), IsOk());
  const auto expected = BatchOf(*schema, {"[2, 3, 4, 10, 12]", "[101, 72, 103, 200, 202]", "[9, 9, 6, 3, 3]"});
  ExpectTable(io, *schema, *arrow::Table::FromRecordBatches({expected}).ValueOrDie());
}

TEST(ParquetCopy, PositionsOfRowIdsCountOverAllRowGroups) {
  const Field id = MakeField(1, "id", Of(TypeId::kString), true);
  const auto narrow = MakeSchema({id});
  io::MemoryFileIO io;
  const auto batch = BatchOf(*narrow, {R"(["a", "b", "c"])"});
  ASSERT_THAT(
      WriteBatches(io, kIn, narrow, {batch, batch}, {.properties = {{"write.parquet.row-group-size-bytes", "1"}}}),
      IsOk());
  const auto schema = WithLineage({id});
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema, {.first_row_id = 50, .sequence_number = 1}));
  ASSERT_EQ(plan->source().file->row_groups().size(), 2u);
  ASSERT_THAT(CopyTo(io, schema, {{RowsOf(plan, 1, {0, 1, 1})}}), IsOk());
  ExpectTable(
      io, *schema,
      *arrow::Table::FromRecordBatches({BatchOf(*schema, {R"(["b", "c"])", "[54, 55]", "[1, 1]"})}).ValueOrDie());
}

TEST(ParquetCopy, ColumnsThatTheFileLacksAreConstants) {
  const Field id = MakeField(1, "id", Of(TypeId::kLong), true);
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, kIn, MakeSchema({id}), {BatchOf(*MakeSchema({id}), {"[1, 2, 3]"})}), IsOk());
  const auto schema =
      MakeSchema({MakeField(2, "added", Of(TypeId::kString)), id, MakeField(3, "stars", Of(TypeId::kInt), true),
                  MakeField(4, "price", Type::DecimalOf(9, 2)), MakeField(5, "at", Of(TypeId::kTimestampTz)),
                  MakeField(6, "u", Of(TypeId::kUuid)), MakeField(7, "d", Of(TypeId::kDouble))});
  const Uuid uuid = *Uuid::Parse("00010203-0405-0607-0809-0a0b0c0d0e0f");
  ParquetCopySource source;
  source.constants = {{spec::FieldId(2), Value()},
                      {spec::FieldId(3), Value(int32_t{5})},
                      {spec::FieldId(4), Value(spec::Decimal{125})},
                      {spec::FieldId(5), Value(int64_t{1'000'000})},
                      {spec::FieldId(6), Value(uuid)},
                      {spec::FieldId(7), Value(std::numeric_limits<double>::quiet_NaN())}};
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema, source));
  ASSERT_NE(plan, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto result, CopyTo(io, schema, {{RowsOf(plan, 0, {1, 0, 1})}}));
  EXPECT_THAT(result.metrics.nan_value_counts, UnorderedElementsAre(Pair(spec::FieldId(7), 2)));
  EXPECT_EQ(result.metrics.null_value_counts.at(spec::FieldId(2)), 2);
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io, kOut));
  ASSERT_OK_AND_ASSIGN(const auto table, ReadColumns(*reader, schema->fields()));
  const auto rows = *table->CombineChunksToBatch();
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(rows->column(0)->IsNull(i));
    EXPECT_EQ(rows->column(2)->GetScalar(i).ValueOrDie()->ToString(), "5");
    EXPECT_EQ(rows->column(3)->GetScalar(i).ValueOrDie()->ToString(), "1.25");
    EXPECT_EQ(static_cast<const arrow::TimestampArray&>(*rows->column(4)).Value(i), 1'000'000);
    EXPECT_TRUE(std::isnan(static_cast<const arrow::DoubleArray&>(*rows->column(6)).Value(i)));
  }
  EXPECT_EQ(reader->RowGroupMetrics(0)->lower_bounds.at(spec::FieldId(6)), Value(uuid));

  source.constants[spec::FieldId(3)] = Value();
  EXPECT_THAT(PlanOf(io, *schema, source), IsOkAnd(Plan())) << "null in a required column";
  source.constants.erase(spec::FieldId(3));
  EXPECT_THAT(PlanOf(io, *schema, source), IsOkAnd(Plan())) << "no constant";
}

TEST(ParquetCopy, AColumnMayBecomeOptionalOrGetANewNameOrPlace) {
  io::MemoryFileIO io;
  const auto old = MakeSchema({MakeField(1, "a", Of(TypeId::kLong), true), MakeField(2, "dropped", Of(TypeId::kInt)),
                               MakeField(3, "c", Of(TypeId::kString), true)});
  ASSERT_THAT(WriteBatches(io, kIn, old, {BatchOf(*old, {"[1, 2]", "[7, 8]", R"(["x", "y"])"})}), IsOk());
  const auto schema = MakeSchema({MakeField(3, "renamed", Of(TypeId::kString)), MakeField(1, "a", Of(TypeId::kLong))});
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanOf(io, *schema));
  ASSERT_NE(plan, nullptr);
  ASSERT_THAT(CopyTo(io, schema, {{AllRowsOf(plan)}}), IsOk());
  ExpectTable(io, *schema,
              *arrow::Table::FromRecordBatches({BatchOf(*schema, {R"(["x", "y"])", "[1, 2]"})}).ValueOrDie());
}

/// A file of Arrow columns as other writers may leave it.
void WriteForeign(io::FileIO& io, const arrow::Table& table, bool int96 = false) {
  const auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (int96) arrow_properties.enable_deprecated_int96_timestamps();
  const auto status = parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, 1 << 20,
                                                 parquet::default_writer_properties(), arrow_properties.build());
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::string bytes = sink->Finish().ValueOrDie()->ToString();
  ASSERT_THAT(io.WriteFile(kIn, AsBytes(bytes)), IsOk());
}

std::shared_ptr<arrow::Table> OneColumn(const Field& field, const std::string& json) {
  const auto schema = *ToArrowSchema({field});
  return arrow::Table::Make(schema, {ArrayOf(schema->field(0)->type(), json)});
}

TEST(ParquetCopy, WhatIsStoredOtherwiseIsNotCopied) {
  const auto is_copied = [](const Field& stored, const std::string& json, const Field& wanted, bool int96 = false) {
    io::MemoryFileIO io;
    WriteForeign(io, *OneColumn(stored, json), int96);
    const auto plan = PlanOf(io, *MakeSchema({wanted}));
    EXPECT_THAT(plan, IsOk());
    return *plan != nullptr;
  };
  const Field as_int = MakeField(1, "a", Of(TypeId::kInt));
  EXPECT_TRUE(is_copied(as_int, "[1]", as_int));
  EXPECT_FALSE(is_copied(as_int, "[1]", MakeField(1, "a", Of(TypeId::kLong)))) << "promoted";
  EXPECT_FALSE(is_copied(as_int, "[1]", MakeField(1, "a", Of(TypeId::kInt), true))) << "became required";
  EXPECT_FALSE(is_copied(MakeField(1, "a", Of(TypeId::kFloat)), "[1]", MakeField(1, "a", Of(TypeId::kDouble))));
  const Field small = MakeField(1, "a", Type::DecimalOf(9, 2));
  EXPECT_FALSE(is_copied(small, R"(["1.25"])", small)) << "fixed bytes, ours are an integer";
  const Field large = MakeField(1, "a", Type::DecimalOf(38, 2));
  EXPECT_TRUE(is_copied(large, R"(["1.25"])", large));
  EXPECT_FALSE(is_copied(MakeField(1, "a", Type::DecimalOf(20, 2)), R"(["1.25"])", large)) << "wider precision";
  const Field moment = MakeField(1, "a", Of(TypeId::kTimestampTz));
  EXPECT_TRUE(is_copied(moment, "[1000]", moment));
  EXPECT_FALSE(is_copied(moment, "[1000]", moment, /*int96=*/true));
  EXPECT_FALSE(is_copied(MakeField(1, "a", Of(TypeId::kTimestamp)), "[1000]", moment)) << "another zone";
  const Field time = MakeField(1, "a", Of(TypeId::kTime));
  EXPECT_TRUE(is_copied(time, "[1000]", time));
  EXPECT_FALSE(is_copied(MakeField(1, "a", Of(TypeId::kBinary)), R"(["x"])", MakeField(1, "a", Of(TypeId::kString))));
  const Field x = MakeField(2, "x", Of(TypeId::kInt));
  const Field y = MakeField(3, "y", Of(TypeId::kInt));
  const Field both = MakeField(1, "a", Type::StructOf({x, y}));
  EXPECT_TRUE(is_copied(both, "[[1, 2]]", both));
  EXPECT_TRUE(is_copied(both, "[[1, 2]]", MakeField(1, "a", Type::StructOf({y})))) << "a dropped member";
  EXPECT_FALSE(is_copied(MakeField(1, "a", Type::StructOf({x})), "[[1]]", both)) << "an added member";
}

TEST(ParquetCopy, DamagedFilesAreErrorsAndNeverMore) {
  io::MemoryFileIO good;
  std::mt19937_64 random(7);
  const auto schema = MixedColumns();
  ASSERT_THAT(WriteBatches(good, kIn, schema, {RandomRows(random, 40)},
                           {.properties = {{"write.parquet.compression-codec", "uncompressed"}}}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, good.ReadFile(kIn));
  int num_failed = 0;
  for (size_t at = 4; at < bytes.size(); at += 23) {
    Bytes damaged = bytes;
    damaged[at] ^= std::byte{0x5A};
    io::MemoryFileIO io;
    ASSERT_THAT(io.WriteFile(kIn, damaged), IsOk());
    const auto plan = PlanOf(io, *schema);
    if (!plan || *plan == nullptr) continue;
    if ((*plan)->source().file->row_groups().size() != 1) continue;
    const auto copied = CopyTo(io, schema, {{AllRowsOf(*plan)}});
    if (copied) continue;
    ++num_failed;
    EXPECT_THAT(copied.error().ToString(), HasSubstr(kIn)) << "byte " << at;
  }
  EXPECT_GT(num_failed, 5);
}

}  // namespace
}  // namespace frazil::format
