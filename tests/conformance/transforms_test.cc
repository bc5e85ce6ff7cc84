#include "frazil/spec/transform.h"

#include "frazil/base/hash.h"
#include "frazil/base/test_support.h"
#include "frazil/spec/single_value.h"
#include "tests/support/golden.h"

namespace frazil::spec {
namespace {

using test::GoldenCsv;

Bytes FromHex(const std::string& hex) {
  return std::get<Bytes>(ParseValue(Type::Primitive(TypeId::kBinary), hex).value());
}

// "fixed(4)" of the vectors is fixed[4] in the spec's text.
Type TypeOf(std::string name) {
  if (name.starts_with("fixed(")) {
    name[5] = '[';
    name.back() = ']';
  }
  return Type::ParsePrimitive(name).value();
}

std::string TextOf(const std::string& cell) {
  if (cell == "(empty)") return "";
  if (cell == "U+1F600") return "\xf0\x9f\x98\x80";
  return cell;
}

void ExpectBuckets(const Type& type, const Value& value, const std::vector<std::string>& row) {
  const int expected[] = {std::stoi(row[4]), std::stoi(row[5]), std::stoi(row[6])};
  const int counts[] = {4, 16, 100};
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Transform::Bucket(counts[i]).Apply(type, value), IsOkAnd(Value(expected[i])))
        << row[0] << " " << row[1] << " into " << counts[i];
  }
}

TEST(BucketVectors, AllHashTheListedBytesIntoTheListedBuckets) {
  int num_checked = 0;
  for (const auto& row : GoldenCsv("iceberg-spec/vectors/bucket-hash.csv")) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    ASSERT_EQ(row.size(), 8U);
    EXPECT_EQ(static_cast<int32_t>(Murmur3(FromHex(row[2]))), std::stoi(row[3]));
    ++num_checked;
    if (row[0] == "float/double") {
      for (const TypeId id : {TypeId::kFloat, TypeId::kDouble}) {
        EXPECT_FALSE(Transform::Bucket(4).CanApplyTo(Type::Primitive(id)));
      }
    } else if (row[0] == "boolean") {
      EXPECT_FALSE(Transform::Bucket(4).CanApplyTo(TypeOf(row[0])));
    } else {
      const Type type = TypeOf(row[0]);
      ASSERT_OK_AND_ASSIGN(const Value value, ParseValue(type, TextOf(row[1])));
      ExpectBuckets(type, value, row);
    }
  }
  EXPECT_EQ(num_checked, 31);
}

TEST(DateTimeVectors, AllFloorAlsoBefore1970) {
  int num_checked = 0;
  const Transform transforms[] = {Transform::Parse("year"), Transform::Parse("month"), Transform::Parse("day"),
                                  Transform::Parse("hour")};
  for (const auto& row : GoldenCsv("iceberg-spec/vectors/datetime-transforms.csv")) {
    SCOPED_TRACE(row[0]);
    const int64_t micros = std::stoll(row[1]);
    for (const TypeId id : {TypeId::kTimestamp, TypeId::kTimestampTz}) {
      const Type type = Type::Primitive(id);
      EXPECT_THAT(ParseValue(type, row[0]), IsOkAnd(Value(micros)));
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_THAT(transforms[i].Apply(type, micros), IsOkAnd(Value(std::stoi(row[2 + i]))))
            << transforms[i].ToString();
      }
    }
    if (micros > -9'000'000'000'000'000) {  // nanoseconds reach back to 1677
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_THAT(transforms[i].Apply(Type::Primitive(TypeId::kTimestampNs), micros * 1000 + 999),
                    IsOkAnd(Value(std::stoi(row[2 + i]))))
            << transforms[i].ToString();
      }
    }
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_THAT(transforms[i].Apply(Type::Primitive(TypeId::kDate), std::stoi(row[4])),
                  IsOkAnd(Value(std::stoi(row[2 + i]))))
          << transforms[i].ToString();
    }
    ++num_checked;
  }
  EXPECT_EQ(num_checked, 7);
}

TEST(TruncateVectors, AllGiveTheListedOutput) {
  int num_checked = 0;
  for (const auto& row : GoldenCsv("iceberg-spec/vectors/truncate.csv")) {
    SCOPED_TRACE(row[0] + " " + row[2]);
    const Type type = TypeOf(row[0] == "binary(hex)" ? "binary" : row[0]);
    ASSERT_OK_AND_ASSIGN(const Value input, ParseValue(type, row[2]));
    ASSERT_OK_AND_ASSIGN(const Value output, Transform::Truncate(std::stoi(row[1])).Apply(type, input));
    EXPECT_EQ(FormatValue(type, output), row[3]);
    ++num_checked;
    if (type.id() != TypeId::kInt) continue;
    EXPECT_THAT(Transform::Truncate(std::stoi(row[1])).Apply(Type::Primitive(TypeId::kLong), std::stoll(row[2])),
                IsOkAnd(Value(int64_t{std::stoll(row[3])})));
  }
  EXPECT_EQ(num_checked, 18);
}

TEST(ObjectStoreVectors, HashOfNamesGivesTheListedDirectories) {
  int num_checked = 0;
  for (const auto& row : GoldenCsv("iceberg-spec/vectors/object-store-hash.csv")) {
    SCOPED_TRACE(row[0]);
    const uint32_t hash = Murmur3(AsBytes(row[0]));
    EXPECT_EQ(static_cast<int32_t>(hash), std::stoi(row[1]));
    // The layout takes the last 20 bits as directories of 4, 4, 4 and 8 binary digits.
    std::string bits;
    for (int i = 19; i >= 0; --i) bits += (hash >> i & 1) != 0 ? '1' : '0';
    EXPECT_EQ(bits.substr(0, 4) + "/" + bits.substr(4, 4) + "/" + bits.substr(8, 4) + "/" + bits.substr(12), row[2]);
    ++num_checked;
  }
  EXPECT_EQ(num_checked, 8);
}

}  // namespace
}  // namespace frazil::spec
