// Values of every type, drawn at random: order and transforms keep their promises to each other, bounds of written files
// bracket every row. The listed vectors of the spec are in transforms_test and single_values_test; that pruning hides no
// row is in reading_faults_test (Filters) and in src/frazil/expr.

#include <cmath>
#include <limits>
#include <random>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/single_value.h"
#include "frazil/spec/transform.h"
#include "frazil/write/row_writer.h"

namespace frazil {
namespace {

using spec::CompareValues;
using spec::FieldId;
using spec::Transform;
using spec::Type;
using spec::TypeId;
using spec::Value;

const std::vector<Type>& Types() {
  static const std::vector<Type> types = {Type::Primitive(TypeId::kBoolean),
                                          Type::Primitive(TypeId::kInt),
                                          Type::Primitive(TypeId::kLong),
                                          Type::Primitive(TypeId::kFloat),
                                          Type::Primitive(TypeId::kDouble),
                                          Type::DecimalOf(9, 2),
                                          Type::DecimalOf(18, 4),
                                          Type::DecimalOf(38, 10),
                                          Type::Primitive(TypeId::kDate),
                                          Type::Primitive(TypeId::kTime),
                                          Type::Primitive(TypeId::kTimestamp),
                                          Type::Primitive(TypeId::kTimestampTz),
                                          Type::Primitive(TypeId::kTimestampNs),
                                          Type::Primitive(TypeId::kTimestampTzNs),
                                          Type::Primitive(TypeId::kString),
                                          Type::Primitive(TypeId::kUuid),
                                          Type::FixedOf(5),
                                          Type::Primitive(TypeId::kBinary)};
  return types;
}

/// Draws values: near zero, near the ends of the type, and anything.
class Draw {
 public:
  Draw() : seed_(std::random_device{}()), random_(seed_) { std::printf("seed %u\n", seed_); }

  uint64_t Below(uint64_t bound) { return random_() % bound; }

  int64_t Number(int64_t least, int64_t largest) {
    switch (Below(4)) {
      case 0: return std::clamp<int64_t>(static_cast<int64_t>(Below(21)) - 10, least, largest);
      case 1: return least + static_cast<int64_t>(Below(3));
      case 2: return largest - static_cast<int64_t>(Below(3));
      default: {
        const auto width = static_cast<uint64_t>(largest) - static_cast<uint64_t>(least);
        const uint64_t offset = width == std::numeric_limits<uint64_t>::max() ? random_() : Below(width + 1);
        return static_cast<int64_t>(static_cast<uint64_t>(least) + offset);
      }
    }
  }

  Value Of(const Type& type) {
    constexpr int64_t kMicros = int64_t{9000} * 366 * 86400 * 1'000'000 / 10;  // a few hundred years each way
    switch (type.id()) {
      case TypeId::kBoolean: return Below(2) == 0;
      case TypeId::kInt: return static_cast<int32_t>(Number(INT32_MIN, INT32_MAX));
      case TypeId::kDate: return static_cast<int32_t>(Number(-719'162, 2'932'896));  // years 1 to 9999
      case TypeId::kLong: return Number(INT64_MIN, INT64_MAX);
      case TypeId::kTime: return Number(0, 86'399'999'999);
      case TypeId::kTimestamp:
      case TypeId::kTimestampTz: return Number(-kMicros, kMicros);
      case TypeId::kTimestampNs:
      case TypeId::kTimestampTzNs: return Number(INT64_MIN + 1'000'000'000, INT64_MAX);
      case TypeId::kFloat: return static_cast<float>(Double());
      case TypeId::kDouble: return Double();
      case TypeId::kDecimal: {
        spec::Int128 limit = 1;
        for (int i = 0; i < type.precision(); ++i) limit *= 10;
        spec::Int128 unscaled = Number(INT64_MIN, INT64_MAX);
        if (Below(2) == 0) unscaled = unscaled * 1'000'000'007 + static_cast<spec::Int128>(Below(1000));
        if (Below(5) == 0) unscaled = Below(2) == 0 ? limit - 1 : 1 - limit;
        return spec::Decimal{unscaled % limit};
      }
      case TypeId::kString: {
        static const std::vector<std::string> letters = {"a",
                                                         "z",
                                                         "\x7f",
                                                         "\xc3\xbf",
                                                         "\xed\x9f\xbf",
                                                         "\xee\x80\x80",
                                                         "\xef\xbf\xbf",
                                                         "\xf0\x9f\x98\x80",
                                                         "\xf4\x8f\xbf\xbf",
                                                         std::string("\0", 1)};
        std::string text;
        for (uint64_t n = Below(24); n > 0; --n) text += letters[Below(letters.size())];
        return text;
      }
      case TypeId::kUuid: {
        Bytes bytes = Random(16);
        std::string text = ToHex(bytes);
        for (const int at : {20, 16, 12, 8}) text.insert(static_cast<size_t>(at), "-");
        return Uuid::Parse(text).value();
      }
      case TypeId::kFixed: return Random(static_cast<size_t>(type.length()));
      default: return Random(Below(24));
    }
  }

 private:
  double Double() {
    const double numbers[] = {0.0, -0.0, 1.5, -1.5, INFINITY, -INFINITY, std::nan(""), 1e-40, 3.4e38, -3.4e38};
    return Below(2) == 0 ? numbers[Below(10)] : static_cast<double>(static_cast<int64_t>(random_())) / 1e7;
  }
  Bytes Random(size_t length) {
    Bytes bytes(length);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(Below(3) == 0 ? 0xff : Below(256));
    return bytes;
  }

  unsigned seed_;
  std::mt19937_64 random_;
};

TEST(RandomValues, ReadBackFromTheirBytesAndText) {
  Draw draw;
  for (const Type& type : Types()) {
    for (int i = 0; i < 200; ++i) {
      const Value value = draw.Of(type);
      SCOPED_TRACE(type.ToString() + " " + spec::FormatValue(type, value));
      EXPECT_TRUE(spec::SameValue(spec::DecodeSingleValue(type, spec::EncodeSingleValue(type, value)).value(), value));
      ASSERT_OK_AND_ASSIGN(const Value parsed, spec::ParseValue(type, spec::FormatValue(type, value)));
      EXPECT_TRUE(spec::SameValue(parsed, value));
    }
  }
}

TEST(RandomValues, TransformsThatPreserveOrderDo) {
  Draw draw;
  const Transform transforms[] = {Transform::Identity(),    Transform::Truncate(1),    Transform::Truncate(7),
                                  Transform::Parse("year"), Transform::Parse("month"), Transform::Parse("day"),
                                  Transform::Parse("hour")};
  int num_checked = 0;
  for (const Type& type : Types()) {
    for (const Transform& transform : transforms) {
      if (!transform.CanApplyTo(type)) continue;
      ASSERT_TRUE(transform.preserves_order());
      for (int i = 0; i < 100; ++i) {
        Value low = draw.Of(type), high = draw.Of(type);
        if (CompareValues(low, high) > 0) std::swap(low, high);
        auto of_low = transform.Apply(type, low), of_high = transform.Apply(type, high);
        if (!of_low || !of_high) continue;  // an hour beyond an int, a truncation below the least number
        SCOPED_TRACE(transform.ToString() + " of " + spec::FormatValue(type, low) + ", " +
                     spec::FormatValue(type, high));
        if (transform.kind() == Transform::Kind::kTruncate && CompareValues(*of_low, low) > 0) {
          // The least numbers have no multiple of the width below them: Java wraps, and so do we.
          continue;
        }
        EXPECT_TRUE(CompareValues(*of_low, *of_high) <= 0);
        ++num_checked;
      }
    }
  }
  EXPECT_GT(num_checked, 3000);
}

TEST(RandomValues, TruncationGivesTheLargestMultipleThatIsNotAbove) {
  Draw draw;
  for (const Type& type : Types()) {
    const Transform transform = Transform::Truncate(7);
    if (!transform.CanApplyTo(type)) continue;
    for (int i = 0; i < 200; ++i) {
      const Value value = draw.Of(type);
      ASSERT_OK_AND_ASSIGN(const Value cut, transform.Apply(type, value));
      if (CompareValues(cut, value) > 0) continue;  // wrapped, see above
      SCOPED_TRACE(type.ToString() + " " + spec::FormatValue(type, value));
      EXPECT_EQ(transform.Apply(type, cut).value(), cut);
      if (const auto* number = std::get_if<int64_t>(&value)) {
        EXPECT_EQ(std::get<int64_t>(cut) % 7, 0);
        EXPECT_LT(static_cast<uint64_t>(*number) - static_cast<uint64_t>(std::get<int64_t>(cut)), 7U);
      }
    }
  }
}

TEST(RandomValues, BucketsDependOnTheNumberAndNotOnItsType) {
  Draw draw;
  const Transform bucket = Transform::Bucket(16);
  const auto of = [&](TypeId id, const Value& value) { return bucket.Apply(Type::Primitive(id), value).value(); };
  for (int i = 0; i < 500; ++i) {
    const auto number = std::get<int32_t>(draw.Of(Type::Primitive(TypeId::kDate)));
    const Value expected = of(TypeId::kLong, int64_t{number});
    EXPECT_EQ(of(TypeId::kInt, number), expected) << number;
    EXPECT_EQ(of(TypeId::kDate, number), expected) << number << " as a date, which hashes as 8 bytes";
    const auto nanos = std::get<int64_t>(draw.Of(Type::Primitive(TypeId::kTimestampNs)));
    const int64_t micros = nanos / 1000 - (nanos % 1000 < 0 ? 1 : 0);
    EXPECT_EQ(of(TypeId::kTimestampNs, nanos), of(TypeId::kTimestamp, micros)) << nanos << " ns are floored";
    for (const Type& type : Types()) {
      if (!bucket.CanApplyTo(type)) continue;
      const auto result = std::get<int32_t>(bucket.Apply(type, draw.Of(type)).value());
      EXPECT_TRUE(result >= 0 && result < 16) << type.ToString();
    }
  }
}

bool IsNaN(const Value& value) {
  if (const auto* number = std::get_if<float>(&value)) return std::isnan(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::isnan(*number);
  return false;
}

TEST(RandomValues, BoundsBracketEveryRow) {
  Draw draw;
  std::vector<spec::Field> fields;
  for (const Type& type : Types()) {
    const auto id = static_cast<int>(fields.size()) + 1;
    fields.push_back({.id = FieldId{id}, .name = fmt::format("c{}", id), .type = type});
  }
  spec::CreateTableRequest request;
  request.schema = spec::Schema::Make(spec::SchemaId{0}, fields).value();
  const auto io = std::make_shared<io::MemoryFileIO>();
  const auto catalog = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io);
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto loaded, catalog->CreateTable({{"db"}, "t"}, request));
  const spec::SchemaPtr schema = loaded.metadata->schema();
  for (int round = 0; round < 25; ++round) {
    const auto num_rows = static_cast<int64_t>(1 + draw.Below(6));
    std::vector<std::vector<Value>> values;
    arrow::ArrayVector columns;
    for (const Type& type : Types()) {
      arrow::ArrayVector pieces;
      values.emplace_back();
      for (int64_t row = 0; row < num_rows; ++row) {
        values.back().push_back(draw.Below(6) == 0 ? Value() : draw.Of(type));
        ASSERT_OK_AND_ASSIGN(auto piece, format::MakeConstantArray(type, values.back().back(), 1));
        pieces.push_back(std::move(piece));
      }
      columns.push_back(arrow::Concatenate(pieces).ValueOrDie());
    }
    ASSERT_OK_AND_ASSIGN(const auto writer, write::RowWriter::Make(io, loaded.metadata, schema, nullptr));
    ASSERT_THAT(writer->Write(*arrow::RecordBatch::Make(*format::ToArrowSchema(*schema), num_rows, columns)), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
    ASSERT_EQ(files.size(), 1U);
    for (size_t i = 0; i < fields.size(); ++i) {
      const FieldId id = schema->fields()[i].id;
      const Type& type = Types()[i];
      int64_t num_nans = 0;
      for (const Value& value : values[i]) {
        if (spec::IsNull(value)) continue;
        if (IsNaN(value)) {
          ++num_nans;
          continue;
        }
        SCOPED_TRACE(type.ToString() + " " + spec::FormatValue(type, value));
        ASSERT_TRUE(files[0].lower_bounds.contains(id));
        ASSERT_OK_AND_ASSIGN(const Value lower, spec::DecodeSingleValue(type, files[0].lower_bounds.at(id)));
        EXPECT_TRUE(CompareValues(lower, value) <= 0) << "lower bound " << spec::FormatValue(type, lower);
        if (!files[0].upper_bounds.contains(id)) {
          EXPECT_TRUE(type.id() == TypeId::kString || type.id() == TypeId::kBinary || type.id() == TypeId::kFixed)
              << "only these can lack one";
          continue;
        }
        ASSERT_OK_AND_ASSIGN(const Value upper, spec::DecodeSingleValue(type, files[0].upper_bounds.at(id)));
        EXPECT_TRUE(CompareValues(upper, value) >= 0) << "upper bound " << spec::FormatValue(type, upper);
      }
      if (type.id() == TypeId::kFloat || type.id() == TypeId::kDouble) {
        EXPECT_EQ(files[0].nan_value_counts.at(id), num_nans);
      }
    }
  }
}

}  // namespace
}  // namespace frazil
