#include "frazil/catalog/table_name.h"

#include "frazil/base/test_support.h"

namespace frazil::catalog {
namespace {

TEST(TableName, ReadsLevelsAndName) {
  EXPECT_THAT(TableName::Parse("t"), IsOkAnd(TableName{{"default"}, "t"}));
  EXPECT_THAT(TableName::Parse("t", {"a", "b"}), IsOkAnd(TableName{{"a", "b"}, "t"}));
  EXPECT_THAT(TableName::Parse("a.b.t"), IsOkAnd(TableName{{"a", "b"}, "t"}));
}

TEST(TableName, QuotedPartsMayHoldDotsAndQuotes) {
  EXPECT_THAT(TableName::Parse("`a.b`.\"c.t\""), IsOkAnd(TableName{{"a.b"}, "c.t"}));
  EXPECT_THAT(TableName::Parse("a.`x``y`"), IsOkAnd(TableName{{"a"}, "x`y"}));
  EXPECT_THAT(TableName::Parse("a.\"x`\"\"y\""), IsOkAnd(TableName{{"a"}, "x`\"y"}));
}

TEST(TableName, RefusesWhatIsNoName) {
  for (const char* text : {"", ".", "a.", ".t", "a..t", "``", "a.``", "`a", "\"a`", "`a`b", "a`b`", "a`b"}) {
    EXPECT_THAT(TableName::Parse(text), IsError(ErrorCode::kInvalidArgument, "not a table name")) << text;
  }
  EXPECT_THAT(TableName::Parse("t", {}), IsError(ErrorCode::kInvalidArgument, "needs a namespace"));
}

TEST(TableName, ItsTextReadsBackAsTheSameName) {
  for (const TableName& name : {TableName{{"a", "b"}, "t"}, TableName{{"a.b"}, "c.t"}, TableName{{"`"}, "\"x``"},
                                TableName{{"naïve"}, "with space"}}) {
    EXPECT_THAT(TableName::Parse(name.ToString()), IsOkAnd(name)) << name.ToString();
  }
  EXPECT_EQ((TableName{{"a", "b"}, "t"}).ToString(), "a.b.t");
}

TEST(Namespace, TextAndLevels) {
  EXPECT_EQ(NamespaceText({"a", "b"}), "a.b");
  EXPECT_EQ(NamespaceFromText("a.b"), (Namespace{"a", "b"}));
  EXPECT_EQ(NamespaceFromText("a"), (Namespace{"a"}));
}

}  // namespace
}  // namespace frazil::catalog
