#include <random>

#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>

#include "frazil/format/parquet_test_support.h"
#include "frazil/format/parquet_value.h"
#include "frazil/spec/single_value.h"

namespace frazil::format {
namespace {

using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPath[] = "memory:/t.parquet";
const Type kLong = Type::Primitive(TypeId::kLong);
const Type kDouble = Type::Primitive(TypeId::kDouble);
const Type kString = Type::Primitive(TypeId::kString);

class ParquetRowRangesTest : public ::testing::Test {
 protected:
  /// A file of one column, id 1, in pages of three rows.
  std::shared_ptr<const ParquetReader> Write(const Type& type, const std::string& json,
                                             std::map<std::string, std::string> properties = {}) {
    properties["write.parquet.page-row-limit"] = "3";
    EXPECT_THAT(io_.Delete({kPath}), IsOk());
    const auto schema = MakeSchema({MakeField(1, "x", type)});
    EXPECT_THAT(WriteBatches(io_, kPath, schema, {BatchOf(*schema, {json})},
                             {.properties = std::move(properties), .footer_metadata = {}}),
                IsOk());
    auto reader = OpenParquet(io_, kPath);
    EXPECT_THAT(reader, IsOk());
    return *reader;
  }

  io::MemoryFileIO io_;
};

TEST_F(ParquetRowRangesTest, AreThePagesWithWhatTheirIndexSays) {
  const auto reader = Write(kLong, "[5, 1, 3, null, 7, 7, null, null, null, 4]");
  ASSERT_OK_AND_ASSIGN(const auto ranges, reader->RowRanges(0, {{FieldId{1}, kLong}}));
  ASSERT_THAT(ranges, SizeIs(4));
  const auto bound = [](const std::map<FieldId, Bytes>& bounds) {
    return LoadLittle<int64_t>(bounds.at(FieldId{1}).data());
  };
  EXPECT_EQ(ranges[0].first_row, 0);
  EXPECT_EQ(ranges[0].num_rows, 3);
  EXPECT_EQ(bound(ranges[0].metrics.lower_bounds), 1);
  EXPECT_EQ(bound(ranges[0].metrics.upper_bounds), 5);
  EXPECT_EQ(ranges[0].metrics.null_value_counts.at(FieldId{1}), 0);
  EXPECT_EQ(bound(ranges[1].metrics.lower_bounds), 7);
  EXPECT_FALSE(ranges[1].metrics.null_value_counts.contains(FieldId{1}));  // some of the page's, not of each part of it
  EXPECT_EQ(ranges[2].metrics.null_value_counts.at(FieldId{1}), 3);
  EXPECT_THAT(ranges[2].metrics.lower_bounds, IsEmpty());
  EXPECT_EQ(ranges[3].first_row, 9);
  EXPECT_EQ(ranges[3].num_rows, 1);
  EXPECT_EQ(ranges[3].metrics.record_count, 1);
}

TEST_F(ParquetRowRangesTest, PagesOfSeveralColumnsAreCutWhereAnyOfThemEnds) {
  // A page ends with the write that makes it large enough, and texts get there before numbers do.
  const auto schema = MakeSchema({MakeField(1, "x", kLong), MakeField(2, "s", kString)});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  std::mt19937 random(7);
  for (int64_t row = 0; row < 20'000; ++row) {
    ASSERT_TRUE(numbers.Append(row).ok());
    ASSERT_TRUE(texts.Append(fmt::format("{:06}{}", row, std::string(random() % 100, 'x'))).ok());
  }
  batches.push_back(arrow::RecordBatch::Make(*ToArrowSchema(*schema), 20'000, {*numbers.Finish(), *texts.Finish()}));
  ASSERT_THAT(WriteBatches(io_, kPath, schema, batches,
                           {.properties = {{"write.parquet.page-size-bytes", "30000"}}, .footer_metadata = {}}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io_, kPath));
  ASSERT_OK_AND_ASSIGN(const auto of_x, reader->RowRanges(0, {{FieldId{1}, kLong}}));
  ASSERT_OK_AND_ASSIGN(const auto of_s, reader->RowRanges(0, {{FieldId{2}, kString}}));
  ASSERT_OK_AND_ASSIGN(const auto ranges, reader->RowRanges(0, {{FieldId{1}, kLong}, {FieldId{2}, kString}}));
  ASSERT_GT(of_x.size(), 1u);
  ASSERT_NE(of_x.size(), of_s.size());
  EXPECT_GE(ranges.size(), std::max(of_x.size(), of_s.size()));
  int64_t next_row = 0;
  for (const ParquetRowRange& range : ranges) {
    ASSERT_EQ(range.first_row, next_row);
    next_row += range.num_rows;
    ASSERT_LE(LoadLittle<int64_t>(range.metrics.lower_bounds.at(FieldId{1}).data()), range.first_row);
    ASSERT_GE(LoadLittle<int64_t>(range.metrics.upper_bounds.at(FieldId{1}).data()), next_row - 1);
    ASSERT_LE(AsText(range.metrics.lower_bounds.at(FieldId{2})), fmt::format("{:06}", range.first_row) + "z");
    ASSERT_GE(AsText(range.metrics.upper_bounds.at(FieldId{2})), fmt::format("{:06}", next_row - 1));
  }
  EXPECT_EQ(next_row, 20'000);
}

TEST_F(ParquetRowRangesTest, SayNothingOfColumnsThatTheyDoNotKnow) {
  const auto reader = Write(kString, R"(["a", "b", "c", "d"])");
  EXPECT_THAT(*reader->RowRanges(0, {{FieldId{2}, kString}}), IsEmpty());
  EXPECT_THAT(*reader->RowRanges(0, {{FieldId{1}, kLong}}), IsEmpty());
  EXPECT_THAT(*reader->RowRanges(0, {}), IsEmpty());
  EXPECT_THAT(*reader->RowRanges(0, {{FieldId{1}, kString}, {FieldId{2}, kLong}}), SizeIs(2));
  const auto lists = Write(Type::ListOf(MakeField(2, "element", kLong)), "[[1, 2], [3], [], [4, 5]]");
  EXPECT_THAT(*lists->RowRanges(0, {{FieldId{2}, kLong}}), IsEmpty());
  const auto silent = Write(kLong, "[1, 2, 3, 4]", {{"write.parquet.stats-enabled.column.x", "false"}});
  EXPECT_THAT(*silent->RowRanges(0, {{FieldId{1}, kLong}}), IsEmpty());
}

TEST_F(ParquetRowRangesTest, NumbersOfAnotherMeaningAreNotCompared) {
  const Type nanos = Type::Primitive(TypeId::kTimestampNs);
  const auto reader = Write(nanos, "[1000, 2000, 3000, 4000]");
  EXPECT_THAT(*reader->RowRanges(0, {{FieldId{1}, nanos}}), SizeIs(2));
  EXPECT_THAT(*reader->RowRanges(0, {{FieldId{1}, Type::Primitive(TypeId::kTimestamp)}}), IsEmpty());
  const auto decimals = Write(Type::DecimalOf(9, 2), R"(["1.25", "2.00", null, "-3.00"])");
  EXPECT_THAT(*decimals->RowRanges(0, {{FieldId{1}, Type::DecimalOf(20, 2)}}), SizeIs(2));
  EXPECT_THAT(*decimals->RowRanges(0, {{FieldId{1}, Type::DecimalOf(9, 3)}}), IsEmpty());
}

TEST_F(ParquetRowRangesTest, APageWithNaNsHasTheBoundsOfItsNumbers) {
  arrow::DoubleBuilder numbers;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {1.0, nan, 2.0, nan, 4.0, nan, 5.0}) ASSERT_TRUE(numbers.Append(value).ok());
  const auto schema = MakeSchema({MakeField(1, "x", kDouble)});
  ASSERT_THAT(
      WriteBatches(io_, kPath, schema, {arrow::RecordBatch::Make(*ToArrowSchema(*schema), 7, {*numbers.Finish()})},
                   {.properties = {{"write.parquet.page-row-limit", "3"}}, .footer_metadata = {}}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io_, kPath));
  ASSERT_OK_AND_ASSIGN(const auto ranges, reader->RowRanges(0, {{FieldId{1}, kDouble}}));
  ASSERT_THAT(ranges, SizeIs(3));
  for (const ParquetRowRange& range : ranges) EXPECT_THAT(range.metrics.nan_value_counts, IsEmpty());  // may have some
  EXPECT_EQ(ranges[1].metrics.lower_bounds, ranges[1].metrics.upper_bounds) << "4, and nothing else";
  EXPECT_NE(ranges[1].metrics.lower_bounds, ranges[0].metrics.lower_bounds);
}

/// A file that Arrow wrote, with or without page indexes.
Bytes WrittenByArrow(bool has_index, int num_rows) {
  arrow::Int64Builder numbers;
  for (int64_t i = 0; i < num_rows; ++i) EXPECT_TRUE(numbers.Append(i * 7919 % 1000).ok());
  const auto field =
      arrow::field("x", arrow::int64(), true, arrow::KeyValueMetadata::Make({"PARQUET:field_id"}, {"1"}));
  const auto table = arrow::Table::Make(arrow::schema({field}), {*numbers.Finish()});
  parquet::WriterProperties::Builder properties;
  properties.disable_dictionary()->data_pagesize(1024)->write_batch_size(64);
  has_index ? properties.enable_write_page_index() : properties.disable_write_page_index();
  const auto out = *arrow::io::BufferOutputStream::Create();
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, num_rows, properties.build()).ok());
  const std::shared_ptr<arrow::Buffer> buffer = *out->Finish();
  return CopyBytes({reinterpret_cast<const std::byte*>(buffer->data()), static_cast<size_t>(buffer->size())});
}

TEST_F(ParquetRowRangesTest, AreThereForFilesOfOtherWritersToo) {
  for (const bool has_index : {false, true}) {
    io_.Overwrite(kPath, WrittenByArrow(has_index, 1000));
    ASSERT_OK_AND_ASSIGN(const auto reader, OpenParquet(io_, kPath));
    ASSERT_OK_AND_ASSIGN(const auto ranges, reader->RowRanges(0, {{FieldId{1}, kLong}}));
    EXPECT_EQ(ranges.size() > 1, has_index);
  }
}

TEST_F(ParquetRowRangesTest, DamagedIndexesDoNotBreakTheFile) {
  const Bytes good = WrittenByArrow(true, 1000);
  const size_t data_end = good.size() / 2;  // pages are most of it; what is behind them is indexes and the footer
  for (size_t i = data_end; i < good.size(); ++i) {
    Bytes damaged = good;
    damaged[i] ^= std::byte{0x55};
    io_.Overwrite(kPath, std::move(damaged));
    const auto reader = OpenParquet(io_, kPath);
    if (!reader || (*reader)->row_groups().size() != 1) continue;
    const auto ranges = (*reader)->RowRanges(0, {{FieldId{1}, kLong}});
    if (!ranges) {
      EXPECT_THAT(ranges, IsError(ErrorCode::kCorruptData, kPath));
      continue;
    }
    int64_t next_row = 0;
    for (const ParquetRowRange& range : *ranges) {
      EXPECT_EQ(range.first_row, next_row);
      EXPECT_GT(range.num_rows, 0);
      next_row += range.num_rows;
    }
    if (ranges->empty()) continue;
    EXPECT_EQ(next_row, (*reader)->row_groups()[0].num_rows) << i;
  }
}

}  // namespace
}  // namespace frazil::format
