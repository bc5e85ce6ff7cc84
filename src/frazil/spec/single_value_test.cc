#include "frazil/spec/single_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <random>

#include "frazil/base/test_support.h"
#include "frazil/spec/schema_json.h"

namespace frazil::spec {
namespace {

Type TypeOf(const std::string& text) { return Type::ParsePrimitive(text).value(); }
Bytes FromHex(const char* hex) { return std::get<Bytes>(ParseValue(TypeOf("binary"), hex).value()); }

/// Random values of a type, extremes among them.
class ValueSource {
 public:
  explicit ValueSource(uint64_t seed) : random_(seed) {}

  Value Next(const Type& type) {
    switch (type.id()) {
      case TypeId::kBoolean: return Bits() % 2 == 0;
      case TypeId::kInt:
      case TypeId::kDate: return Integer<int32_t>();
      case TypeId::kTime: return static_cast<int64_t>(Bits() % 86'400'000'000ULL);
      case TypeId::kFloat: return Floating<float, uint32_t>();
      case TypeId::kDouble: return Floating<double, uint64_t>();
      case TypeId::kDecimal: return RandomDecimal(type.precision());
      case TypeId::kString: {
        const Bytes bytes = RandomBytes(Bits() % 20);
        std::string text;
        for (const std::byte b : bytes) text += static_cast<char>(std::to_integer<int>(b) % 128);
        return text + "\xe2\x82\xac";
      }
      case TypeId::kUuid: {
        std::array<std::byte, 16> raw{};
        for (std::byte& b : raw) b = static_cast<std::byte>(Bits());
        return Uuid(raw);
      }
      case TypeId::kFixed: return RandomBytes(static_cast<size_t>(type.length()));
      case TypeId::kBinary: return RandomBytes(Bits() % 20);
      default: return Integer<int64_t>();
    }
  }

 private:
  uint64_t Bits() { return random_(); }

  template <typename T>
  T Integer() {
    switch (Bits() % 8) {
      case 0: return std::numeric_limits<T>::min();
      case 1: return std::numeric_limits<T>::max();
      case 2: return static_cast<T>(static_cast<int>(Bits() % 5) - 2);
      default:  // all magnitudes
        return static_cast<T>(static_cast<int64_t>(Bits()) >> (64 - sizeof(T) * 8 + Bits() % (sizeof(T) * 8)));
    }
  }
  template <typename T, typename U>
  T Floating() {
    const T value = std::bit_cast<T>(static_cast<U>(Bits()));
    return std::isfinite(value) ? value : T(-0.0);
  }
  Decimal RandomDecimal(int precision) {
    Int128 unscaled = 0;
    const int num_digits =
        Bits() % 4 == 0 ? precision : static_cast<int>(Bits() % static_cast<uint64_t>(precision + 1));
    for (int i = 0; i < num_digits; ++i) unscaled = unscaled * 10 + static_cast<int>(Bits() % 4 == 0 ? 9 : Bits() % 10);
    return {Bits() % 2 == 0 ? unscaled : -unscaled};
  }
  Bytes RandomBytes(size_t size) {
    Bytes bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(Bits());
    return bytes;
  }

  std::mt19937_64 random_;
};

class RandomValues : public testing::TestWithParam<const char*> {
 protected:
  void ForEach(const std::function<void(const Type&, const Value&)>& check) {
    const uint64_t seed = std::random_device()();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::cout << "seed " << seed << "\n";
    ValueSource source(seed);
    const Type type = TypeOf(GetParam());
    for (int i = 0; i < 300 && !HasFailure(); ++i) check(type, source.Next(type));
  }
};

TEST_P(RandomValues, ReadBackFromTheirText) {
  ForEach([](const Type& type, const Value& value) {
    EXPECT_THAT(ParseValue(type, FormatValue(type, value)), IsOkAnd(value)) << FormatValue(type, value);
  });
}

TEST_P(RandomValues, ReadBackFromTheirBytes) {
  ForEach([](const Type& type, const Value& value) {
    EXPECT_THAT(DecodeSingleValue(type, EncodeSingleValue(type, value)), IsOkAnd(value)) << FormatValue(type, value);
  });
}

TEST_P(RandomValues, ReadBackFromTheirJson) {
  ForEach([](const Type& type, const Value& value) {
    EXPECT_THAT(ParseValueJson(type, WriteValueJson(type, value)), IsOkAnd(value)) << WriteValueJson(type, value);
  });
}

INSTANTIATE_TEST_SUITE_P(EveryType, RandomValues,
                         testing::Values("boolean", "int", "long", "float", "double", "decimal(1, 0)", "decimal(9, 2)",
                                         "decimal(18, 18)", "decimal(38, 10)", "decimal(38, 38)", "date", "time",
                                         "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "string", "uuid",
                                         "fixed[0]", "fixed[7]", "binary"));

TEST(SingleValue, PromotedColumnsReadTheirOldBounds) {
  EXPECT_THAT(DecodeSingleValue(TypeOf("long"), FromHex("d2040000")), IsOkAnd(Value(int64_t{1234})));
  EXPECT_THAT(DecodeSingleValue(TypeOf("long"), FromHex("ffffffff")), IsOkAnd(Value(int64_t{-1})));
  EXPECT_THAT(DecodeSingleValue(TypeOf("double"), FromHex("0000c03f")), IsOkAnd(Value(1.5)));
  EXPECT_THAT(DecodeSingleValue(TypeOf("timestamp"), FromHex("01000000")), IsOkAnd(Value(int64_t{86'400'000'000})));
  EXPECT_THAT(DecodeSingleValue(TypeOf("timestamp_ns"), FromHex("ffffffff")),
              IsOkAnd(Value(int64_t{-86'400'000'000'000})));
  EXPECT_THAT(DecodeSingleValue(TypeOf("decimal(38, 2)"), FromHex("058c")), IsOkAnd(Value(Decimal{1420})));
  EXPECT_THAT(DecodeSingleValue(TypeOf("timestamp_ns"), FromHex("ffffff7f")),
              IsError(ErrorCode::kCorruptData, "out of range"));
}

TEST(SingleValue, RefusesEveryOtherLength) {
  const std::pair<const char*, std::vector<size_t>> fitting[] = {{"boolean", {1}},        {"int", {4}},
                                                                 {"long", {4, 8}},        {"float", {4}},
                                                                 {"double", {4, 8}},      {"date", {4}},
                                                                 {"time", {8}},           {"timestamp", {4, 8}},
                                                                 {"timestamptz", {8}},    {"timestamp_ns", {4, 8}},
                                                                 {"timestamptz_ns", {8}}, {"uuid", {16}},
                                                                 {"fixed[3]", {3}},       {"geometry", {16, 24, 32}}};
  for (const auto& [name, lengths] : fitting) {
    for (size_t length = 0; length <= 40; ++length) {
      const bool fits = std::find(lengths.begin(), lengths.end(), length) != lengths.end();
      const auto decoded = DecodeSingleValue(TypeOf(name), Bytes(length));
      if (fits) {
        EXPECT_THAT(decoded, IsOk()) << name << " " << length;
      } else {
        EXPECT_THAT(decoded, IsError(ErrorCode::kCorruptData, name)) << name << " " << length;
      }
    }
  }
  EXPECT_THAT(DecodeSingleValue(Type(), Bytes(4)), IsError(ErrorCode::kNotSupported, "unknown"));
  EXPECT_THAT(DecodeSingleValue(TypeOf("variant"), Bytes(4)), IsError(ErrorCode::kNotSupported, "variant"));
}

TEST(SingleValue, DecimalsTakeSurplusSignBytesOnly) {
  const Type type = TypeOf("decimal(38, 0)");
  Bytes minus_one(40, std::byte{0xff});
  EXPECT_THAT(DecodeSingleValue(type, minus_one), IsOkAnd(Value(Decimal{-1})));
  EXPECT_THAT(DecodeSingleValue(type, Bytes(17, std::byte{0})), IsOkAnd(Value(Decimal{0})));
  EXPECT_THAT(DecodeSingleValue(type, Bytes(17, std::byte{1})), IsError(ErrorCode::kCorruptData, "17 bytes"));
  EXPECT_THAT(DecodeSingleValue(type, Bytes{}), IsError(ErrorCode::kCorruptData, "0 bytes"));
  Bytes too_large(17, std::byte{0xff});  // 2^128 - 1 in 17 bytes
  too_large[0] = std::byte{0};
  EXPECT_THAT(DecodeSingleValue(type, too_large), IsError(ErrorCode::kCorruptData, ""));
}

TEST(FormatValue, ReadsWellInSql) {
  EXPECT_EQ(FormatValue(TypeOf("timestamptz"), int64_t{1'510'871'468'500'000}), "2017-11-16 22:31:08.5+00:00");
  EXPECT_EQ(FormatValue(TypeOf("timestamp"), int64_t{-1}), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(FormatValue(TypeOf("time"), int64_t{0}), "00:00:00");
  EXPECT_EQ(FormatValue(TypeOf("date"), std::get<int32_t>(ParseValue(TypeOf("date"), "-0044-03-15").value())),
            "-0044-03-15");
  EXPECT_EQ(FormatValue(TypeOf("date"), int32_t{2'932'897}), "+10000-01-01");
  EXPECT_EQ(FormatValue(TypeOf("decimal(9, 2)"), Decimal{150}), "1.50");
  EXPECT_EQ(FormatValue(TypeOf("double"), 1.0), "1.0");
  EXPECT_EQ(FormatValue(TypeOf("float"), 0.1F), "0.1");
  EXPECT_EQ(FormatValue(TypeOf("double"), std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(FormatValue(TypeOf("binary"), FromHex("00ff")), "00ff");
  EXPECT_EQ(FormatValue(TypeOf("int"), Value()), "null");
}

TEST(ParseValue, AcceptsTheFormsPeopleWrite) {
  const Value noon = int64_t{1'510'833'600'000'000};
  for (const char* text : {"2017-11-16 12:00:00", "2017-11-16T12:00", "2017-11-16T12:00:00.000000000"}) {
    EXPECT_THAT(ParseValue(TypeOf("timestamp"), text), IsOkAnd(noon)) << text;
  }
  for (const char* text : {"2017-11-16 12:00:00", "2017-11-16T12:00:00Z", "2017-11-16 04:00:00-08:00",
                           "2017-11-16 17:30+0530", "2017-11-16 14:00:00+02"}) {
    EXPECT_THAT(ParseValue(TypeOf("timestamptz"), text), IsOkAnd(noon)) << text;
  }
  EXPECT_THAT(ParseValue(TypeOf("timestamp"), "2017-11-16"), IsOkAnd(Value(int64_t{1'510'790'400'000'000})));
  EXPECT_THAT(ParseValue(TypeOf("decimal(9, 2)"), "7"), IsOkAnd(Value(Decimal{700})));
  EXPECT_THAT(ParseValue(TypeOf("decimal(9, 2)"), "-.5"), IsOkAnd(Value(Decimal{-50})));
  EXPECT_THAT(ParseValue(TypeOf("boolean"), "TRUE"), IsOkAnd(Value(true)));
}

TEST(ParseValue, RefusesWhatIsNotAValue) {
  const std::pair<const char*, const char*> wrong[] = {
      {"int", "2147483648"},
      {"int", ""},
      {"int", "1x"},
      {"int", " 1"},
      {"int", "1.0"},
      {"long", "9223372036854775808"},
      {"boolean", "yes"},
      {"double", "1,5"},
      {"float", "1e50"},
      {"decimal(9, 2)", "1.234"},
      {"decimal(3, 2)", "10"},
      {"decimal(9, 2)", "1e2"},
      {"decimal(9, 2)", ""},
      {"decimal(9, 2)", "."},
      {"decimal(9, 2)", "1."},
      {"decimal(9, 2)", "--1"},
      {"decimal(38, 0)", "999999999999999999999999999999999999999999999999"},
      {"date", "2017-02-29"},
      {"date", "2017-13-01"},
      {"date", "17-01-01"},
      {"date", "2017-1-1"},
      {"date", "9999999-01-01"},
      {"time", "24:00:00"},
      {"time", "10:60"},
      {"time", "10:00:00.1234567"},
      {"time", "10:00:00."},
      {"timestamp", "2017-11-16 12:00:00+00:00"},
      {"timestamp", "2017-11-16T"},
      {"timestamp", "999999-01-01"},
      {"timestamptz", "2017-11-16 12:00:00+99"},
      {"timestamptz", "2017-11-16 12:00:00 UTC"},
      {"timestamp_ns", "2300-01-01"},
      {"uuid", "f79c3e09"},
      {"fixed[2]", "00"},
      {"binary", "0"},
      {"binary", "zz"},
      {"variant", "1"}};
  for (const auto& [type, text] : wrong) {
    EXPECT_THAT(ParseValue(TypeOf(type), text), IsError(ErrorCode::kInvalidArgument, TypeOf(type).ToString())) << text;
  }
}

}  // namespace
}  // namespace frazil::spec
