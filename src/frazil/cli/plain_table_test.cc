#include "frazil/cli/plain_table.h"

#include "frazil/base/test_support.h"

namespace frazil::cli {
namespace {

const std::vector<std::string> kHeader = {"name", "n"};
const std::vector<std::vector<std::string>> kRows = {{"a, \"b\"", "1"}, {"c\td", ""}};

TEST(PlainTable, IsReadByPrograms) {
  EXPECT_EQ(RowsText(kHeader, kRows, OutputFormat::kCsv), "name,n\n\"a, \"\"b\"\"\",1\nc\td,\n");
  EXPECT_EQ(RowsText(kHeader, kRows, OutputFormat::kTsv), "name\tn\na, \"b\"\t1\nc d\t\n");
  EXPECT_EQ(RowsText(kHeader, kRows, OutputFormat::kNone), "");
}

TEST(PlainTable, IsReadByPeople) {
  EXPECT_EQ(RowsText({"pipeline", "n"}, {{"p", "1"}, {"a long name", "2"}}, OutputFormat::kTable),
            "pipeline     n\np            1\na long name  2\n");
  EXPECT_EQ(RowsText({"pipeline", "n"}, {{"p", "1"}}, OutputFormat::kVertical),
            "-[ RECORD 1 ]------------------------------\npipeline | p\nn        | 1\n");
  EXPECT_EQ(FormatTime(1'700'000'000'000, 1'700'000'000'000), "2023-11-14 22:13:20 (0 s ago)");
  EXPECT_EQ(FormatTime(1'700'000'000'000, 1'700'000'600'000), "2023-11-14 22:13:20 (10 min ago)");
  EXPECT_EQ(FormatTime(1'700'000'000'000, 1'700'036'000'000), "2023-11-14 22:13:20 (10 h ago)");
  EXPECT_EQ(FormatTime(1'700'000'000'000, 1'700'864'000'000), "2023-11-14 22:13:20 (10 d ago)");
}

}  // namespace
}  // namespace frazil::cli
