#include "frazil/expr/evaluate.h"

#include <cmath>
#include <limits>
#include <random>

#include "frazil/base/test_support.h"
#include "frazil/expr/column_range.h"
#include "frazil/spec/single_value.h"

namespace frazil::expr {
namespace {

using spec::Type;
using spec::TypeId;
using spec::Value;

constexpr spec::FieldId kX{1};
constexpr spec::FieldId kPart{1000};
const double kNan = std::numeric_limits<double>::quiet_NaN();

spec::SchemaPtr SchemaOf(Type type, Value initial_default = {}) {
  spec::Field x;
  x.id = kX;
  x.name = "x";
  x.type = std::move(type);
  x.initial_default = std::move(initial_default);
  return *spec::Schema::Make(spec::SchemaId{0}, {x});
}

/// Metrics as a careful writer makes them for these values.
spec::DataFile FileOf(const Type& type, const std::vector<Value>& values) {
  spec::DataFile file;
  file.file_path = "memory:/data/f.parquet";
  file.record_count = static_cast<int64_t>(values.size());
  file.value_counts[kX] = file.record_count;
  int64_t nulls = 0;
  int64_t nans = 0;
  std::optional<Value> lower;
  std::optional<Value> upper;
  for (const Value& value : values) {
    if (spec::IsNull(value)) {
      ++nulls;
    } else if (const auto* number = std::get_if<double>(&value); number && std::isnan(*number)) {
      ++nans;
    } else {
      if (!lower || spec::CompareValues(value, *lower) < 0) lower = value;
      if (!upper || spec::CompareValues(value, *upper) > 0) upper = value;
    }
  }
  file.null_value_counts[kX] = nulls;
  if (type.id() == TypeId::kDouble) file.nan_value_counts[kX] = nans;
  if (lower) file.lower_bounds[kX] = spec::EncodeSingleValue(type, *lower);
  if (upper) file.upper_bounds[kX] = spec::EncodeSingleValue(type, *upper);
  return file;
}

const Type kInt = Type::Primitive(TypeId::kInt);
const Type kLong = Type::Primitive(TypeId::kLong);
const Type kDouble = Type::Primitive(TypeId::kDouble);
const Type kText = Type::Primitive(TypeId::kString);

ExpressionPtr Compare(Op op, const Type& type, Value value) {
  return Expression::Compare(op, kX, type, std::move(value));
}

TEST(FileMayMatch, PrunesByBoundsAndCounts) {
  const auto schema = SchemaOf(kInt);
  const auto file = FileOf(kInt, {10, 20});
  EXPECT_FALSE(FileMayMatch(Compare(Op::kLt, kInt, 10), file, *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kLtEq, kInt, 10), file, *schema));
  EXPECT_FALSE(FileMayMatch(Compare(Op::kGt, kInt, 20), file, *schema));
  EXPECT_FALSE(FileMayMatch(Compare(Op::kEq, kInt, 21), file, *schema));
  EXPECT_FALSE(FileMayMatch(Expression::Set(Op::kIn, kX, kInt, {1, 30}), file, *schema));
  EXPECT_TRUE(FileMayMatch(Expression::Set(Op::kIn, kX, kInt, {1, 15}), file, *schema));
  EXPECT_FALSE(FileMayMatch(Expression::Unary(Op::kIsNull, kX, kInt), file, *schema));
  EXPECT_FALSE(FileMayMatch(Expression::Unary(Op::kNotNull, kX, kInt), FileOf(kInt, {Value(), Value()}), *schema));
  EXPECT_FALSE(FileMayMatch(Expression::Not(Compare(Op::kLtEq, kInt, 20)), file, *schema));
}

TEST(FileMayMatch, MissingMetricsNeverHideARow) {
  const auto schema = SchemaOf(kInt, Value(7));
  spec::DataFile file;
  file.record_count = 3;
  for (const Op op : {Op::kLt, Op::kGt, Op::kEq, Op::kNotEq}) {
    EXPECT_TRUE(FileMayMatch(Compare(op, kInt, 7), file, *schema));
  }
  EXPECT_TRUE(FileMayMatch(Expression::Unary(Op::kIsNull, kX, kInt), file, *schema));
  EXPECT_TRUE(FileMayMatch(Expression::Unary(Op::kNotNull, kX, kInt), file, *schema));
}

TEST(FileMayMatch, AColumnAddedWithADefaultIsNotPrunedInOldFiles) {
  const auto schema = SchemaOf(kInt, Value(7));
  auto file = FileOf(kInt, {});
  file.record_count = 3;  // value count 0: the file lacks the column
  file.null_value_counts[kX] = 0;
  EXPECT_TRUE(FileMayMatch(Compare(Op::kEq, kInt, 7), file, *schema));
}

TEST(FileMayMatch, BoundsOfPromotedColumnsAreDecodedByLength) {
  const auto schema = SchemaOf(kLong);
  const auto file = FileOf(kInt, {10, 20});  // written when the column was an int
  EXPECT_FALSE(FileMayMatch(Compare(Op::kGt, kLong, int64_t{20}), file, *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kEq, kLong, int64_t{15}), file, *schema));
}

TEST(FileMayMatch, NanRowsAreNotPrunedAway) {
  const auto schema = SchemaOf(kDouble);
  auto file = FileOf(kDouble, {3.0, kNan, 3.0});
  EXPECT_TRUE(FileMayMatch(Expression::Unary(Op::kIsNan, kX, kDouble), file, *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kGt, kDouble, 5.0), file, *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kEq, kDouble, kNan), file, *schema));
  EXPECT_FALSE(FileMayMatch(Compare(Op::kLt, kDouble, 3.0), file, *schema));
  EXPECT_FALSE(FileMayMatch(Compare(Op::kEq, kDouble, 5.0), file, *schema));

  file.nan_value_counts.clear();  // absent: NaNs are possible
  EXPECT_TRUE(FileMayMatch(Expression::Unary(Op::kIsNan, kX, kDouble), file, *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kGt, kDouble, 5.0), file, *schema));

  file.nan_value_counts[kX] = 0;
  EXPECT_FALSE(FileMayMatch(Expression::Unary(Op::kIsNan, kX, kDouble), file, *schema));
  EXPECT_FALSE(FileMayMatch(Compare(Op::kGt, kDouble, 5.0), file, *schema));
}

TEST(FileMayMatch, ZerosOfEitherSignAreEqual) {
  const auto schema = SchemaOf(kDouble);
  EXPECT_TRUE(FileMayMatch(Compare(Op::kEq, kDouble, -0.0), FileOf(kDouble, {0.0}), *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kGtEq, kDouble, 0.0), FileOf(kDouble, {-0.0}), *schema));
}

TEST(FileMayMatch, InvertedBoundsPruneNothing) {
  const auto schema = SchemaOf(kInt);
  auto file = FileOf(kInt, {10, 20});
  std::swap(file.lower_bounds[kX], file.upper_bounds[kX]);
  EXPECT_TRUE(FileMayMatch(Compare(Op::kEq, kInt, 15), file, *schema));
  EXPECT_TRUE(FileMayMatch(Compare(Op::kGt, kInt, 100), file, *schema));
  EXPECT_FALSE(FileMustMatch(Compare(Op::kLt, kInt, 100), file, *schema));
}

TEST(FileMayMatch, BoundsOfTheWrongLengthPruneNothing) {
  const auto schema = SchemaOf(kInt);
  auto file = FileOf(kInt, {10, 20});
  file.upper_bounds[kX].pop_back();
  EXPECT_TRUE(FileMayMatch(Compare(Op::kGt, kInt, 100), file, *schema));
}

// Several writers cut the upper bound without rounding it up, or inside a character.
TEST(FileMayMatch, UpperBoundsCutWithoutRoundingUpHideNoRow) {
  const auto schema = SchemaOf(kText);
  const std::string value = "sixteen letters, and then some";
  for (size_t length = 1; length <= value.size(); ++length) {
    auto file = FileOf(kText, {value});
    file.lower_bounds[kX].resize(length);
    file.upper_bounds[kX].resize(length);
    EXPECT_TRUE(FileMayMatch(Compare(Op::kEq, kText, value), file, *schema)) << length;
    EXPECT_TRUE(FileMayMatch(Compare(Op::kGtEq, kText, value), file, *schema)) << length;
    EXPECT_TRUE(FileMayMatch(Compare(Op::kStartsWith, kText, value), file, *schema)) << length;
    EXPECT_FALSE(FileMayMatch(Compare(Op::kEq, kText, std::string("t")), file, *schema)) << length;
    EXPECT_FALSE(FileMustMatch(Compare(Op::kLt, kText, value), file, *schema)) << length;
    EXPECT_FALSE(FileMustMatch(Compare(Op::kEq, kText, value.substr(0, length)), file, *schema)) << length;
  }
  auto file = FileOf(kText, {std::string("zo\xC3\xAB")});
  file.upper_bounds[kX].pop_back();
  EXPECT_TRUE(FileMayMatch(Compare(Op::kGt, kText, std::string("zz")), file, *schema));
}

TEST(FileMustMatch, NeedsProofForEveryRow) {
  const auto schema = SchemaOf(kInt);
  const auto file = FileOf(kInt, {10, 20});
  EXPECT_TRUE(FileMustMatch(Compare(Op::kLt, kInt, 21), file, *schema));
  EXPECT_FALSE(FileMustMatch(Compare(Op::kLt, kInt, 20), file, *schema));
  EXPECT_TRUE(FileMustMatch(Compare(Op::kNotEq, kInt, 9), file, *schema));
  EXPECT_TRUE(FileMustMatch(Expression::Unary(Op::kNotNull, kX, kInt), file, *schema));
  EXPECT_TRUE(FileMustMatch(Compare(Op::kEq, kInt, 5), FileOf(kInt, {5, 5}), *schema));
  EXPECT_FALSE(FileMustMatch(Compare(Op::kEq, kInt, 5), FileOf(kInt, {5, Value()}), *schema));
  EXPECT_FALSE(FileMustMatch(Compare(Op::kLt, kDouble, 5.0), FileOf(kDouble, {1.0, kNan}), *SchemaOf(kDouble)));
  spec::DataFile unknown;
  unknown.record_count = 1;
  EXPECT_FALSE(FileMustMatch(Expression::Unary(Op::kNotNull, kX, kInt), unknown, *schema));
}

TEST(FileMatch, AgreesWithTheRowsOnRandomFiles) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const auto make = [&](const Type& type) -> Value {
    if (type.id() == TypeId::kInt) return pick(9) - 4;
    if (type.id() == TypeId::kDouble) {
      const double numbers[] = {-INFINITY, -1.5, -0.0, 0.0, 2.0, INFINITY, kNan};
      return numbers[pick(7)];
    }
    std::string text;
    for (int i = pick(4); i > 0; --i) text += "a\xC3\xA9z"[pick(2) * 3];
    return text;
  };
  const Op ops[] = {Op::kLt,         Op::kLtEq,          Op::kGt, Op::kGtEq,  Op::kEq,     Op::kNotEq,
                    Op::kStartsWith, Op::kNotStartsWith, Op::kIn, Op::kNotIn, Op::kIsNull, Op::kNotNull,
                    Op::kIsNan,      Op::kNotNan};
  for (int round = 0; round < 20'000; ++round) {
    const Type& type = round % 3 == 0 ? kInt : round % 3 == 1 ? kDouble : kText;
    const Op op = ops[pick(14)];
    if ((op == Op::kStartsWith || op == Op::kNotStartsWith) && type.id() != TypeId::kString) continue;
    if ((op == Op::kIsNan || op == Op::kNotNan) && type.id() != TypeId::kDouble) continue;
    ExpressionPtr leaf;
    if (op == Op::kIn || op == Op::kNotIn) {
      leaf = Expression::Set(op, kX, type, {make(type), make(type)});
    } else if (op == Op::kIsNull || op == Op::kNotNull || op == Op::kIsNan || op == Op::kNotNan) {
      leaf = Expression::Unary(op, kX, type);
    } else {
      leaf = Compare(op, type, make(type));
    }
    std::vector<Value> rows;
    for (int i = 1 + pick(3); i > 0; --i) rows.push_back(pick(5) == 0 ? Value() : make(type));
    const auto matches = [&](const Value& row) { return Matches(*leaf, row); };
    const bool any = std::any_of(rows.begin(), rows.end(), matches);
    const bool all = std::all_of(rows.begin(), rows.end(), matches);
    const auto schema = SchemaOf(type);
    const auto file = FileOf(type, rows);
    if (any) {
      EXPECT_TRUE(FileMayMatch(leaf, file, *schema)) << leaf->ToString();
    }
    if (FileMustMatch(leaf, file, *schema)) {
      EXPECT_TRUE(all) << leaf->ToString();
    }
  }
}

spec::ManifestFile ManifestOf(bool contains_null, Value lower, Value upper) {
  spec::ManifestFile manifest;
  manifest.manifest_path = "memory:/metadata/m.avro";
  spec::PartitionFieldSummary summary;
  summary.contains_null = contains_null;
  summary.contains_nan = false;
  summary.lower_bound = spec::EncodeSingleValue(kInt, lower);
  summary.upper_bound = spec::EncodeSingleValue(kInt, upper);
  manifest.partitions.push_back(summary);
  return manifest;
}

TEST(ManifestMayMatch, PrunesBySummaries) {
  const auto schema = SchemaOf(kInt);
  const spec::PartitionSpec spec(spec::SpecId{0}, {{kX, kPart, "x", spec::Transform::Identity()}});
  const auto equals = [](int value) { return Expression::Compare(Op::kEq, kPart, kInt, value); };
  auto manifest = ManifestOf(false, 3, 5);
  EXPECT_TRUE(ManifestMayMatch(equals(4), manifest, spec, *schema));
  EXPECT_FALSE(ManifestMayMatch(equals(6), manifest, spec, *schema));
  EXPECT_FALSE(ManifestMayMatch(Expression::Unary(Op::kIsNull, kPart, kInt), manifest, spec, *schema));
  manifest.partitions[0].contains_null = true;
  EXPECT_TRUE(ManifestMayMatch(Expression::Unary(Op::kIsNull, kPart, kInt), manifest, spec, *schema));
  manifest.partitions.clear();
  EXPECT_TRUE(ManifestMayMatch(equals(6), manifest, spec, *schema));
}

TEST(ManifestMayMatch, InvertedSummariesPruneNothing) {
  const auto schema = SchemaOf(kInt);
  const spec::PartitionSpec spec(spec::SpecId{0}, {{kX, kPart, "x", spec::Transform::Identity()}});
  EXPECT_TRUE(ManifestMayMatch(Expression::Compare(Op::kEq, kPart, kInt, 4), ManifestOf(false, 5, 3), spec, *schema));
}

TEST(PartitionMatches, PromotesOldTuples) {
  const auto schema = SchemaOf(kLong);
  const spec::PartitionSpec spec(spec::SpecId{0}, {{kX, kPart, "x", spec::Transform::Identity()}});
  const auto equals = Expression::Compare(Op::kEq, kPart, kLong, int64_t{4});
  EXPECT_TRUE(PartitionMatches(equals, {Value(int32_t{4})}, spec, *schema));
  EXPECT_FALSE(PartitionMatches(equals, {Value()}, spec, *schema));
}

}  // namespace
}  // namespace frazil::expr
