#include "frazil/spec/single_value.h"

#include <cctype>
#include <limits>

#include "frazil/base/test_support.h"
#include "frazil/spec/schema_json.h"
#include "tests/support/golden.h"

namespace frazil::spec {
namespace {

using test::GoldenCsv;

Bytes FromHex(const std::string& hex) {
  return std::get<Bytes>(ParseValue(Type::Primitive(TypeId::kBinary), hex).value());
}

Type TypeOf(std::string name) {
  if (name.starts_with("fixed(")) {
    name[5] = '[';
    name.back() = ']';
  }
  return Type::ParsePrimitive(name).value();
}

// "x=1 y=2 m=4 (no z)" -> {1, 2, NaN, 4}
std::vector<double> PointOf(const std::string& text) {
  std::vector<double> point{std::stod(text.substr(text.find("x=") + 2)), std::stod(text.substr(text.find("y=") + 2))};
  if (const size_t m = text.find("m="); m != std::string::npos) {
    point.push_back(std::numeric_limits<double>::quiet_NaN());
    point.push_back(std::stod(text.substr(m + 2)));
  }
  return point;
}

void ExpectPoint(const Type& type, const std::string& text, const Bytes& bytes) {
  ASSERT_OK_AND_ASSIGN(const Value decoded, DecodeSingleValue(type, bytes));
  EXPECT_EQ(EncodeSingleValue(type, decoded), bytes);
  const Bytes& raw = std::get<Bytes>(decoded);
  const std::vector<double> point = PointOf(text);
  ASSERT_EQ(raw.size(), point.size() * sizeof(double));
  for (size_t i = 0; i < point.size(); ++i) {
    EXPECT_THAT(LoadLittle<double>(raw.data() + i * sizeof(double)), testing::NanSensitiveDoubleEq(point[i]));
  }
}

TEST(SingleValueVectors, AllHaveTheListedBytesAndJson) {
  int num_checked = 0;
  for (const auto& row : GoldenCsv("iceberg-spec/vectors/single-value-binary.csv")) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    ASSERT_EQ(row.size(), 4U);
    const Bytes bytes = FromHex(row[2]);
    ++num_checked;
    if (row[0] == "geometry bound") {
      ExpectPoint(Type::Geometry(""), row[1], bytes);
      ExpectPoint(Type::Geography("", ""), row[1], bytes);
      continue;
    }
    const Type type = TypeOf(row[0]);
    ASSERT_OK_AND_ASSIGN(const Value value, ParseValue(type, row[1]));
    EXPECT_EQ(ToHex(EncodeSingleValue(type, value)), row[2]);
    EXPECT_THAT(DecodeSingleValue(type, bytes), IsOkAnd(value));
    EXPECT_THAT(ParseValueJson(type, row[3]), IsOkAnd(value));
    std::string json = row[3];
    if (type.id() == TypeId::kFixed || type.id() == TypeId::kBinary) {
      for (char& c : json) c = static_cast<char>(std::toupper(c));  // as the reference library writes it
    }
    EXPECT_EQ(WriteValueJson(type, value), json);
  }
  EXPECT_EQ(num_checked, 19);
}

}  // namespace
}  // namespace frazil::spec
