#include "frazil/ingest/column_buffer.h"

#include "frazil/ingest/avro_test_support.h"
#include "frazil/ingest/column_array.h"
#include "frazil/ingest/column_text.h"

namespace frazil::ingest {
namespace {

using spec::Type;
using spec::TypeId;

std::unique_ptr<ColumnBuffer> Make(const spec::Field& field) {
  auto column = ColumnBuffer::Make(field);
  EXPECT_THAT(column, IsOk());
  return *std::move(column);
}

std::string TextOf(ColumnBuffer& column) {
  auto array = TakeArray(column);
  EXPECT_THAT(array, IsOk());
  const arrow::Status valid = (*array)->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  std::string text;
  for (int64_t i = 0; i < (*array)->length(); ++i) {
    text += (i == 0 ? "" : " ") + (*array)->GetScalar(i).ValueOrDie()->ToString();
  }
  return text;
}

TEST(ColumnBuffer, KeepsNullsApartFromValues) {
  const auto column = Make(Column(1, "n", TypeId::kLong));
  for (int64_t i = 0; i < 20; ++i) {
    if (i % 9 == 8) {
      column->AppendNull();
    } else {
      column->Append(i);
    }
  }
  EXPECT_EQ(column->null_count(), 2);
  EXPECT_EQ(TextOf(*column), "0 1 2 3 4 5 6 7 null 9 10 11 12 13 14 15 16 null 18 19");
  column->Append(int64_t{5});
  EXPECT_EQ(TextOf(*column), "5");
}

TEST(ColumnBuffer, CutsRowsAndHalfRowsOff) {
  const auto column =
      Make(Column(1, "s",
                  Type::StructOf({Column(2, "t", TypeId::kString), Column(3, "b", TypeId::kBoolean, true),
                                  Column(4, "l", Type::ListOf(Column(5, "element", TypeId::kInt)))})));
  const auto fill = [&](std::string_view text) {
    column->child(0).AppendBytes(AsBytes(text));
    column->child(1).AppendBoolean(true);
    column->child(2).child(0).Append(int32_t{7});
    column->child(2).child(0).AppendNull();
    column->child(2).CloseList();
    column->CloseStruct();
  };
  fill("first");
  column->AppendNull();
  fill("gone");
  column->child(0).AppendBytes(AsBytes("half"));
  column->child(2).child(0).Append(int32_t{8});
  column->CutTo(2);
  column->CutTo(1);
  EXPECT_EQ(column->null_count(), 0);
  column->AppendNull();
  fill("last");
  EXPECT_EQ(TextOf(*column),
            "{t:string = first, b:bool = true, l:list<element: int32> = list<element: int32>[7, null]} null "
            "{t:string = last, b:bool = true, l:list<element: int32> = list<element: int32>[7, null]}");
}

TEST(ColumnBuffer, FillsRequiredSlotsOfEveryType) {
  const Type nested = Type::StructOf(
      {Column(20, "a", TypeId::kLong, true),
       Column(21, "m", Type::MapOf(Column(22, "key", TypeId::kString, true), Column(23, "value", TypeId::kUuid)),
              true)});
  for (const Type& type :
       {Type::Primitive(TypeId::kBoolean), Type::Primitive(TypeId::kInt), Type::Primitive(TypeId::kLong),
        Type::Primitive(TypeId::kFloat), Type::Primitive(TypeId::kDouble), Type::DecimalOf(38, 2),
        Type::Primitive(TypeId::kDate), Type::Primitive(TypeId::kTime), Type::Primitive(TypeId::kTimestamp),
        Type::Primitive(TypeId::kTimestampTzNs), Type::Primitive(TypeId::kString), Type::Primitive(TypeId::kUuid),
        Type::FixedOf(3), Type::FixedOf(0), Type::Primitive(TypeId::kBinary), nested,
        Type::ListOf(Column(24, "element", TypeId::kInt))}) {
    for (const bool required : {true, false}) {
      const auto column = Make(Column(1, "c", type, required));
      for (int i = 0; i < 3; ++i) column->AppendFiller();
      column->CutTo(2);
      ASSERT_OK_AND_ASSIGN(const auto array, TakeArray(*column));
      EXPECT_TRUE(array->ValidateFull().ok()) << type.ToString();
      EXPECT_EQ(array->length(), 2);
      EXPECT_EQ(array->null_count(), required ? 0 : 2) << type.ToString();
    }
  }
  EXPECT_THAT(ColumnBuffer::Make(Column(1, "v", TypeId::kVariant)),
              IsError(ErrorCode::kNotSupported, "ingest into column 'v' of type variant"));
}

TEST(ColumnText, TakesWellFormedUtf8Only) {
  for (const std::string_view good :
       {"", "plain ascii text, longer than eight", "größe", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
        "a\xc3\xa4"
        "bcdefghijkl"}) {
    EXPECT_TRUE(IsUtf8(AsBytes(good))) << good;
  }
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x8e", "12345678\xff", "\xc3(", "\xe2(\xa1"}) {
    EXPECT_FALSE(IsUtf8(AsBytes(bad))) << bad;
  }
}

}  // namespace
}  // namespace frazil::ingest
