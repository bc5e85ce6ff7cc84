#include "frazil/format/parquet_row_bytes.h"

#include <numeric>

#include "frazil/format/parquet_test_support.h"

namespace frazil::format {
namespace {

using spec::Type;
using spec::TypeId;
using testing::ElementsAre;

TEST(RowBytes, CountsWhatIsInTheRowWhateverItsType) {
  const Type text = Type::Primitive(TypeId::kString);
  const auto schema = MakeSchema({
      MakeField(1, "i", Type::Primitive(TypeId::kInt)),
      MakeField(2, "s", text),
      MakeField(3, "li", Type::ListOf(MakeField(4, "element", text))),
      MakeField(5, "st", Type::StructOf({MakeField(6, "l", Type::Primitive(TypeId::kLong)), MakeField(7, "t", text)})),
      MakeField(8, "m", Type::MapOf(MakeField(9, "key", text, true), MakeField(10, "value", text))),
  });
  const auto rows = BatchOf(*schema, {"[1, null, 3]", R"(["abc", "", null])", R"([["a", "bb"], [], null])",
                                      R"([[1, "four"], [2, null], null])", R"([[["k", "vv"]], [], null])"});
  const int64_t fixed = 4 + 4 + 4 + 8 + 4 + 4;  // with the offsets of texts and lists
  const std::vector<int64_t> expected = {fixed + 3 + (4 + 1) + (4 + 2) + 4 + (4 + 1) + (4 + 2), fixed, fixed};
  EXPECT_EQ(RowBytes(*rows), expected);
  EXPECT_THAT(RowBytes(*rows->Slice(1, 1)), ElementsAre(fixed)) << "of a slice only its own rows";
  EXPECT_EQ(RowBytes(*AllTypesBatch()).size(), 3U);
}

TEST(RowBytes, AreCutByBytesAndByRowsAndOneRowAlwaysGoes) {
  const std::vector<int64_t> bytes = {10, 10, 100, 1, 1, 1};
  EXPECT_EQ(EndOfRows(bytes, 0, 20, 100), 2);
  EXPECT_EQ(EndOfRows(bytes, 2, 20, 100), 3);
  EXPECT_EQ(EndOfRows(bytes, 3, 20, 2), 5);
  EXPECT_EQ(EndOfRows(bytes, 3, 20, 100), 6);
  EXPECT_EQ(EndOfRows(bytes, 0, INT64_MAX, INT64_MAX / 2), 6);
}

}  // namespace
}  // namespace frazil::format
