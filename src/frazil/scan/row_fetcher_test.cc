#include "frazil/scan/row_fetcher.h"

#include <cmath>
#include <functional>
#include <random>

#include <arrow/api.h>

#include "frazil/base/request_counters.h"
#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/expr/column_range.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/io/counting_file_io.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::scan {
namespace {

using expr::Expression;
using expr::ExpressionPtr;
using expr::Op;
using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using spec::Value;
using ::testing::ElementsAre;
using ::testing::Optional;

Field MakeField(int id, std::string name, Type type) {
  return {.id = FieldId{id}, .name = std::move(name), .type = std::move(type)};
}

const Field kNumber = MakeField(1, "number", Type::Primitive(TypeId::kLong));
const Field kNarrow = MakeField(2, "narrow", Type::Primitive(TypeId::kInt));
const Field kReal = MakeField(3, "real", Type::Primitive(TypeId::kFloat));
const Field kText = MakeField(4, "text", Type::Primitive(TypeId::kString));
const Field kPrice = MakeField(5, "price", Type::DecimalOf(9, 2));
const Field kDay = MakeField(6, "day", Type::Primitive(TypeId::kDate));
const Field kFlag = MakeField(7, "flag", Type::Primitive(TypeId::kBoolean));
const std::vector<Field> kFields = {kNumber, kNarrow, kReal, kText, kPrice, kDay, kFlag};

/// The columns as the table has them today, in files that were written before: promoted, and one that files lack.
std::vector<Field> TodaysFields() {
  std::vector<Field> fields = kFields;
  fields[1].type = Type::Primitive(TypeId::kLong);
  fields[2].type = Type::Primitive(TypeId::kDouble);
  fields[4].type = Type::DecimalOf(18, 2);
  Field added = MakeField(8, "added", Type::Primitive(TypeId::kLong));
  added.initial_default = int64_t{3};
  added.write_default = int64_t{3};
  fields.push_back(std::move(added));
  return fields;
}

/// One data file, read by a plan that names it.
class RowFetcherTest : public ::testing::Test {
 protected:
  /// `rows`: values by column, of the types of kFields; pages of ten rows, row groups of `group_rows`.
  void Write(const std::vector<std::vector<Value>>& rows, int64_t group_rows = 1'000) {
    auto schema = spec::Schema::Make(spec::SchemaId{0}, TodaysFields());
    ASSERT_THAT(schema, IsOk());
    spec::CreateTableRequest request;
    request.schema = *schema;
    ASSERT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto loaded, catalog_->CreateTable({{"db"}, "t"}, std::move(request)));
    plan_.metadata = loaded.metadata;
    plan_.schema = loaded.metadata->schema();
    plan_.deletes = std::make_shared<const table::DeleteIndex>(*table::DeleteIndex::Make({}, *plan_.metadata));
    task_.data_file.file.file_path = "memory:/warehouse/db/t/data/f.parquet";
    task_.data_file.file.first_row_id = spec::RowId(1000);

    const auto written = *spec::Schema::Make(spec::SchemaId{0}, kFields);
    const auto writer =
        *format::ParquetWriter::Make(*io_->Create(task_.data_file.file.file_path), written,
                                     {.properties = {{"write.parquet.page-row-limit", "10"}}, .footer_metadata = {}});
    arrow::Int64Builder numbers;
    arrow::Int32Builder narrow;
    arrow::FloatBuilder reals;
    arrow::StringBuilder texts;
    arrow::Decimal128Builder prices(arrow::decimal128(9, 2));
    arrow::Date32Builder days;
    arrow::BooleanBuilder flags;
    const auto append = [](auto& builder, const Value& value, const auto& get) {
      ASSERT_TRUE((spec::IsNull(value) ? builder.AppendNull() : builder.Append(get(value))).ok());
    };
    for (const std::vector<Value>& row : rows) {
      append(numbers, row[0], [](const Value& value) { return std::get<int64_t>(value); });
      append(narrow, row[1], [](const Value& value) { return std::get<int32_t>(value); });
      append(reals, row[2], [](const Value& value) { return std::get<float>(value); });
      append(texts, row[3], [](const Value& value) { return std::get<std::string>(value); });
      append(prices, row[4], [](const Value& value) {
        return arrow::Decimal128(static_cast<int64_t>(std::get<spec::Decimal>(value).unscaled));
      });
      append(days, row[5], [](const Value& value) { return std::get<int32_t>(value); });
      append(flags, row[6], [](const Value& value) { return std::get<bool>(value); });
    }
    const auto batch = arrow::RecordBatch::Make(writer->arrow_schema(), static_cast<int64_t>(rows.size()),
                                                {*numbers.Finish(), *narrow.Finish(), *reals.Finish(), *texts.Finish(),
                                                 *prices.Finish(), *days.Finish(), *flags.Finish()});
    for (int64_t begin = 0; begin < batch->num_rows(); begin += group_rows) {
      ASSERT_THAT(writer->Write(*batch->Slice(begin, group_rows)), IsOk());
      ASSERT_THAT(writer->CloseRowGroup(), IsOk());
    }
    ASSERT_OK_AND_ASSIGN(const auto result, writer->Finish());
    task_.data_file.file.record_count = result.metrics.record_count;
    task_.data_file.file.file_size_in_bytes = result.file_size_bytes;
  }

  std::optional<std::vector<int64_t>> Locate(ExpressionPtr filter, double largest_share = 1) {
    plan_.filter = std::move(filter);
    auto located = fetcher_.Locate(plan_, task_, largest_share);
    EXPECT_THAT(located, IsOk());
    if (!located || !*located) return std::nullopt;
    EXPECT_GT((*located)->bytes_per_row, 0);
    return (*located)->positions;
  }
  /// Columns of the table today, then `_pos`.
  std::shared_ptr<arrow::RecordBatch> Fetch(const std::vector<int64_t>& positions) {
    ReadColumns columns = ReadColumns::All(*plan_.schema);
    columns.position = true;
    auto rows = fetcher_.Fetch(plan_, task_, positions, columns, nullptr);
    EXPECT_THAT(rows, IsOk());
    return *rows;
  }

  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<catalog::Catalog> catalog_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_);
  table::ScanPlan plan_;
  table::FileScanTask task_;
  std::shared_ptr<RequestCounters> counters_ = std::make_shared<RequestCounters>();
  RowFetcher fetcher_{std::make_shared<io::CountingFileIO>(io_, counters_), int64_t{1} << 20};
};

std::vector<Value> RowOf(int64_t number) {
  return {number,
          static_cast<int32_t>(number),
          static_cast<float>(number),
          fmt::format("{:04}", number),
          spec::Decimal{number},
          static_cast<int32_t>(number),
          number % 2 == 0};
}

std::vector<int64_t> Positions(int64_t begin, int64_t end) {
  std::vector<int64_t> positions;
  for (int64_t i = begin; i < end; ++i) positions.push_back(i);
  return positions;
}

TEST_F(RowFetcherTest, LocatesThePagesOfAFilter) {
  std::vector<std::vector<Value>> rows;
  for (int64_t i = 0; i < 100; ++i) rows.push_back(RowOf(i));
  for (int64_t i = 50; i < 60; ++i) rows[static_cast<size_t>(i)][0] = Value();  // a page of nulls
  Write(rows);
  const auto number = [](Op op, int64_t value) { return Expression::Compare(op, FieldId{1}, kNumber.type, value); };
  const auto narrow = [](Op op, int64_t value) {
    return Expression::Compare(op, FieldId{2}, Type::Primitive(TypeId::kLong), value);
  };
  EXPECT_THAT(Locate(number(Op::kEq, 34)), Optional(Positions(30, 40)));
  EXPECT_THAT(Locate(number(Op::kEq, 1000)), Optional(Positions(0, 0)));
  EXPECT_THAT(Locate(Expression::Unary(Op::kIsNull, FieldId{1}, kNumber.type)), Optional(Positions(50, 60)));
  EXPECT_THAT(Locate(Expression::And(number(Op::kGt, 44), number(Op::kLt, 62))),
              Optional(ElementsAre(40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69)));
  EXPECT_THAT(Locate(narrow(Op::kGtEq, 90)), Optional(Positions(90, 100)));  // an int in the file
  EXPECT_THAT(Locate(Expression::Or(narrow(Op::kEq, 5), number(Op::kEq, 12))), Optional(Positions(0, 20)));
  EXPECT_THAT(Locate(Expression::Not(narrow(Op::kGtEq, 10))), Optional(Positions(0, 10)));
  // More than is wanted, or nothing is known.
  EXPECT_THAT(Locate(number(Op::kEq, 34), 0.1), Optional(Positions(30, 40)));
  EXPECT_EQ(Locate(number(Op::kEq, 34), 0.09), std::nullopt);
  EXPECT_EQ(Locate(Expression::True()), std::nullopt);
  EXPECT_EQ(Locate(Expression::Compare(Op::kEq, FieldId{8}, Type::Primitive(TypeId::kLong), int64_t{5})), std::nullopt);
  // A column that the file lacks hides nothing, and does not hinder others.
  const auto added = Expression::Compare(Op::kEq, FieldId{8}, Type::Primitive(TypeId::kLong), int64_t{3});
  EXPECT_THAT(Locate(Expression::And(added, number(Op::kEq, 34))), Optional(Positions(30, 40)));
  const auto fetched = Fetch(Positions(30, 40));
  ASSERT_EQ(fetched->num_rows(), 10);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*fetched->column(1)).Value(4), 34);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*fetched->column(7)).Value(4), 3);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*fetched->column(8)).Value(4), 34);
}

TEST_F(RowFetcherTest, ReadsNoPageIndexesOfRowGroupsThatTheFooterRulesOut) {
  std::vector<std::vector<Value>> rows;
  for (int64_t i = 0; i < 100; ++i) rows.push_back(RowOf(i));
  Write(rows, 25);
  const auto reads_of = [&](const ExpressionPtr& filter, const std::vector<int64_t>& expected) {
    const int64_t before = counters_->Read()["read"].ok;
    EXPECT_THAT(Locate(filter), Optional(expected)) << filter->ToString();
    return counters_->Read()["read"].ok - before;
  };
  const auto is = [](int64_t value) { return Expression::Compare(Op::kEq, FieldId{1}, kNumber.type, value); };
  EXPECT_GT(reads_of(is(1000), {}), 0);  // the footer
  EXPECT_EQ(reads_of(is(1000), {}), 0);
  EXPECT_EQ(reads_of(Expression::And(is(3), is(90)), {}), 0);
  const int64_t of_one = reads_of(is(34), Positions(25, 35));
  EXPECT_GT(of_one, 0);
  EXPECT_EQ(reads_of(is(99), Positions(95, 100)), of_one);
  std::vector<int64_t> of_two = Positions(0, 10);
  for (const int64_t position : Positions(25, 35)) of_two.push_back(position);
  EXPECT_EQ(reads_of(Expression::Or(is(3), is(34)), of_two), 2 * of_one);
}

/// Whether a row satisfies a filter without kNot.
bool Matches(const Expression& filter, const std::function<Value(FieldId)>& value_of) {
  switch (filter.op()) {
    case Op::kTrue: return true;
    case Op::kFalse: return false;
    case Op::kAnd: return Matches(*filter.children()[0], value_of) && Matches(*filter.children()[1], value_of);
    case Op::kOr: return Matches(*filter.children()[0], value_of) || Matches(*filter.children()[1], value_of);
    default: return expr::Matches(filter, value_of(filter.field()));
  }
}

TEST_F(RowFetcherTest, PagePruningNeverHidesARow) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto pick = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<unsigned>(bound)); };
  // Values drift, so that pages differ; some pages are all null, some all NaN, and some go back.
  std::vector<std::vector<Value>> rows;
  for (int64_t i = 0; i < 300; ++i) {
    std::vector<Value> row = RowOf(i / 3 + pick(5) - (i / 10 % 4 == 0 ? 20 : 0));
    row[3] = std::string(static_cast<size_t>(pick(3)), 'a') + std::string(1, static_cast<char>('b' + i / 13)) +
             (pick(4) == 0 ? std::string(40, '\xc3') : "");
    if (pick(6) == 0 || i / 10 % 7 == 3) row[2] = std::nanf("");
    if (pick(9) == 0) row[2] = pick(2) == 0 ? -0.0F : 0.0F;
    for (size_t column = 0; column < row.size(); ++column) {
      if (pick(8) == 0 || i / 10 % 11 == static_cast<int64_t>(column)) row[column] = Value();
    }
    rows.push_back(std::move(row));
  }
  Write(rows, 40 + pick(261));
  const auto all = Fetch(Positions(0, 300));
  const std::vector<Field> fields = TodaysFields();
  const auto value_at = [&](FieldId id, int64_t row) {
    const auto column = static_cast<size_t>(id.value()) - 1;
    return *format::ValueAt(*all->column(static_cast<int>(column)), fields[column].type, row);
  };
  const Op comparisons[] = {Op::kLt, Op::kLtEq, Op::kGt, Op::kGtEq, Op::kEq, Op::kNotEq};
  const std::function<ExpressionPtr(int)> any_filter = [&](int depth) -> ExpressionPtr {
    if (depth > 0) {
      switch (pick(4)) {
        case 0: return Expression::And(any_filter(depth - 1), any_filter(depth - 1));
        case 1: return Expression::Or(any_filter(depth - 1), any_filter(depth - 1));
        case 2: return Expression::Not(any_filter(depth - 1));
        default: break;
      }
    }
    const Field& field = fields[static_cast<size_t>(pick(8))];
    const bool is_real = field.type.id() == TypeId::kDouble;
    Value value = value_at(field.id, pick(300));
    const int64_t kind = pick(8);
    if (spec::IsNull(value) || kind == 0) {
      return Expression::Unary(pick(2) == 0 ? Op::kIsNull : Op::kNotNull, field.id, field.type);
    }
    if (is_real && kind == 1) return Expression::Unary(pick(2) == 0 ? Op::kIsNan : Op::kNotNan, field.id, field.type);
    if (kind == 2) {
      return Expression::Set(pick(2) == 0 ? Op::kIn : Op::kNotIn, field.id, field.type, {std::move(value)});
    }
    if (field.type.id() == TypeId::kString && kind == 3) {
      return Expression::Compare(pick(2) == 0 ? Op::kStartsWith : Op::kNotStartsWith, field.id, field.type,
                                 std::get<std::string>(value).substr(0, 2));
    }
    return Expression::Compare(comparisons[pick(6)], field.id, field.type, std::move(value));
  };
  int num_pruned = 0;
  for (int round = 0; round < 2'000; ++round) {
    const ExpressionPtr filter = any_filter(static_cast<int>(pick(4)));
    const auto located = Locate(filter);
    if (!located) continue;
    num_pruned += located->size() < 300;
    const ExpressionPtr plain = Expression::RewriteNot(filter);
    for (int64_t row = 0; row < 300; ++row) {
      if (!Matches(*plain, [&](FieldId id) { return value_at(id, row); })) continue;
      ASSERT_TRUE(std::ranges::binary_search(*located, row)) << row << ": " << filter->ToString();
    }
  }
  EXPECT_GT(num_pruned, 200);
}

}  // namespace
}  // namespace frazil::scan
