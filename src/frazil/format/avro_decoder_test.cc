#include "frazil/format/avro_decoder.h"

#include <limits>

#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/format/avro_value.h"

namespace frazil::format {
namespace {

AvroNodePtr Node(std::string_view json) {
  auto node = ParseAvroSchema(json);
  EXPECT_THAT(node, IsOk());
  return *node;
}

Bytes Raw(std::initializer_list<int> bytes) {
  Bytes out;
  for (int b : bytes) out.push_back(static_cast<std::byte>(b));
  return out;
}

TEST(AvroDecoder, NumbersComeBackAsWritten) {
  const int64_t values[] = {0,
                            -1,
                            1,
                            63,
                            64,
                            -64,
                            -65,
                            300,
                            std::numeric_limits<int32_t>::max(),
                            std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()};
  Bytes bytes;
  AvroEncoder encoder(bytes);
  for (int64_t value : values) encoder.Long(value);
  AvroDecoder decoder(bytes);
  for (int64_t value : values) EXPECT_EQ(decoder.ReadLong(), value);
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(decoder.remaining(), 0u);
}

TEST(AvroDecoder, FirstFailureSticksAndLaterReadsAreZero) {
  Bytes bytes = Raw({0x05, 0x00});  // bytes of length -3
  AvroDecoder decoder(bytes);
  EXPECT_TRUE(decoder.ReadBytes().empty());
  EXPECT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.ReadLong(), 0);
  EXPECT_EQ(decoder.error_text(), "Avro bytes of negative length: -3 (at byte 1 of the block)");
}

TEST(AvroDecoder, RefusesNumbersThatAreTooLong) {
  Bytes eleven(11, std::byte{0x80});
  AvroDecoder long_number(eleven);
  long_number.ReadLong();
  EXPECT_FALSE(long_number.ok());
  Bytes overflow(9, std::byte{0xFF});
  overflow.push_back(std::byte{0x02});
  AvroDecoder bit_65(overflow);
  bit_65.ReadLong();
  EXPECT_FALSE(bit_65.ok());
  Bytes wide;
  AvroEncoder(wide).Long(int64_t{1} << 31);
  AvroDecoder narrow(wide);
  narrow.ReadInt();
  EXPECT_FALSE(narrow.ok());
}

TEST(AvroDecoder, RefusesLengthsPastTheEnd) {
  Bytes bytes;
  AvroEncoder(bytes).Long(std::numeric_limits<int64_t>::max());
  AvroDecoder decoder(bytes);
  decoder.ReadBytes();
  EXPECT_FALSE(decoder.ok());
}

TEST(AvroDecoder, HugeItemCountsNeitherLoopNorAllocate) {
  for (const char* item : {R"("long")", R"("null")", R"({"type":"record","name":"empty","fields":[]})",
                           R"({"type":"fixed","name":"f","size":0})"}) {
    AvroNodePtr array = Node(fmt::format(R"({{"type":"array","items":{}}})", item));
    for (int64_t count : {int64_t{1} << 40, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
      Bytes bytes;
      AvroEncoder encoder(bytes);
      encoder.Long(count);
      encoder.Long(0);
      encoder.Long(0);
      AvroDecoder skipping(bytes);
      skipping.Skip(*array);
      AvroDecoder reading(bytes);
      int num_items = 0;
      reading.ReadArray(*array->children[0], [&] { ++num_items; });
      EXPECT_FALSE(reading.ok()) << item << " " << count;
      EXPECT_EQ(num_items, 0);
    }
  }
}

TEST(AvroDecoder, NegativeItemCountsCarryASize) {
  Bytes bytes;
  AvroEncoder encoder(bytes);
  encoder.Long(-2);
  encoder.Long(2);
  encoder.Long(7);
  encoder.Long(8);
  encoder.Long(0);
  AvroDecoder decoder(bytes);
  std::vector<int64_t> items;
  AvroNodePtr item = Node(R"("long")");
  decoder.ReadArray(*item, [&] { items.push_back(decoder.ReadLong()); });
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(items, (std::vector<int64_t>{7, 8}));
}

TEST(AvroDecoder, SkippingNestedEmptyRecordsTakesNoTime) {
  // Without a stop at records without bytes: 2^60 steps.
  std::string json = R"([{"type":"record","name":"r0","fields":[]})";
  for (int i = 1; i <= 60; ++i) {
    json += fmt::format(
        R"(,{{"type":"record","name":"r{0}","fields":[{{"name":"a","type":"r{1}"}},{{"name":"b","type":"r{1}"}}]}})", i,
        i - 1);
  }
  AvroNodePtr node = Node(json + "]");
  AvroDecoder decoder(ByteView{});
  decoder.Skip(*node->children.back());
  EXPECT_TRUE(decoder.ok());
}

TEST(AvroDecoder, SkipsEveryKind) {
  AvroNodePtr node = Node(R"({"type":"record","name":"r","fields":[
    {"name":"n","type":"null"},{"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"f","type":"float"},{"name":"d","type":"double"},
    {"name":"s","type":"string"},{"name":"x","type":{"type":"fixed","name":"fx","size":3}},{"name":"e","type":{"type":"enum","name":"en","symbols":["A"]}},
    {"name":"a","type":{"type":"array","items":["null","string"]}},{"name":"m","type":{"type":"map","values":"long"}}]})");
  Bytes bytes;
  AvroEncoder encoder(bytes);
  encoder.Boolean(true);
  encoder.Int(-5);
  encoder.Float(1);
  encoder.Double(2);
  encoder.String("text");
  encoder.Raw(Raw({1, 2, 3}));
  encoder.Int(0);
  encoder.Array(std::vector<int>{1, 2}, [&](int i) {
    if (i == 1) return encoder.Null();
    encoder.Present();
    encoder.String("item");
  });
  encoder.Array(std::vector<int>{1}, [&](int) {
    encoder.String("key");
    encoder.Long(9);
  });
  encoder.Long(4711);
  AvroDecoder decoder(bytes);
  decoder.Skip(*node);
  EXPECT_EQ(decoder.ReadLong(), 4711);
  EXPECT_TRUE(decoder.ok());
  for (size_t cut = 0; cut + 2 < bytes.size(); ++cut) {
    AvroDecoder truncated(ByteView(bytes).first(cut));
    truncated.Skip(*node);
    EXPECT_FALSE(truncated.ok()) << cut;
  }
}

TEST(AvroValue, PromotedColumnsTakeTheirNewForm) {
  using spec::Type;
  using spec::TypeId;
  EXPECT_EQ(ToFormOf(Type::Primitive(TypeId::kLong), int32_t{7}), spec::Value(int64_t{7}));
  EXPECT_EQ(ToFormOf(Type::Primitive(TypeId::kDouble), 1.5f), spec::Value(1.5));
  EXPECT_EQ(ToFormOf(Type::Primitive(TypeId::kDate), int64_t{7}), spec::Value(int32_t{7}));
  EXPECT_EQ(ToFormOf(Type::Primitive(TypeId::kInt), int64_t{1} << 40), spec::Value(int64_t{1} << 40));
  EXPECT_EQ(ToFormOf(Type::Primitive(TypeId::kString), int32_t{7}), spec::Value(int32_t{7}));
}

TEST(AvroValue, DecimalsKeepTheirSignInEveryLength) {
  using spec::Decimal;
  for (int precision : {1, 4, 9, 18, 38}) {
    for (spec::Int128 unscaled : {spec::Int128{0}, spec::Int128{-1}, spec::Int128{5}, spec::Int128{-9}}) {
      spec::Type type = spec::Type::DecimalOf(precision, 0);
      Bytes bytes;
      AvroEncoder encoder(bytes);
      ASSERT_THAT(EncodeAvroValue(type, Decimal{unscaled}, encoder), IsOk());
      AvroNode node;
      node.kind = AvroKind::kFixed;
      node.logical_type = "decimal";
      node.fixed_size = spec::DecimalFixedBytes(precision);
      ASSERT_OK_AND_ASSIGN(auto read, MakeAvroValueReader(node));
      AvroDecoder decoder(bytes);
      EXPECT_EQ(read(decoder), spec::Value(Decimal{unscaled})) << precision;
      EXPECT_EQ(decoder.remaining(), 0u);
    }
  }
}

TEST(AvroValue, ValuesOfAnotherKindAreRefused) {
  Bytes bytes;
  AvroEncoder encoder(bytes);
  EXPECT_THAT(EncodeAvroValue(spec::Type::Primitive(spec::TypeId::kLong), std::string("x"), encoder),
              IsError(ErrorCode::kInvalidArgument, "value does not fit its type: long"));
  EXPECT_THAT(EncodeAvroValue(spec::Type::FixedOf(3), Bytes(2), encoder),
              IsError(ErrorCode::kInvalidArgument, "fixed[3]"));
}

}  // namespace
}  // namespace frazil::format
