#include "frazil/sql/table_renderer.h"

#include "frazil/base/test_support.h"
#include "frazil/sql/made_up_result.h"

namespace frazil::sql {
namespace {

MadeUpTable Numbers(int count) {
  MadeUpTable table;
  table.columns = {{spec::FieldId(0), "id", false, spec::Type::Primitive(spec::TypeId::kLong)},
                   {spec::FieldId(0), "word", false, spec::Type::Primitive(spec::TypeId::kString)}};
  for (int i = 0; i < count; ++i)
    table.rows.push_back({LongDatum(i), i == 1 ? Datum() : TextDatum("w" + std::to_string(i))});
  return table;
}

std::string Render(const MadeUpTable& table, int max_rows, int max_width) {
  auto result = TableResult(table);
  EXPECT_THAT(result, IsOk());
  auto text = RenderBox(**result, max_rows, max_width);
  EXPECT_THAT(text, IsOk());
  return *text;
}

TEST(RenderBox, DrawsNamesTypesAndRows) {
  EXPECT_EQ(Render(Numbers(2), 10, 0),
            "┌────────┬─────────┐\n"
            "│   id   │  word   │\n"
            "│ bigint │ varchar │\n"
            "├────────┼─────────┤\n"
            "│      0 │ w0      │\n"
            "│      1 │ NULL    │\n"
            "├────────┴─────────┤\n"
            "│ 2 rows           │\n"
            "└──────────────────┘\n");
}

TEST(RenderBox, LeavesOutTheMiddleAndSaysSo) {
  std::string text = Render(Numbers(100), 4, 0);
  EXPECT_THAT(text, testing::HasSubstr("100 rows (4 shown)"));
  for (const char* shown : {"w0 ", "NULL", "w98", "w99"}) EXPECT_THAT(text, testing::HasSubstr(shown));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("w50")));
}

TEST(RenderBox, FitsTheTerminal) {
  MadeUpTable table = Numbers(3);
  table.rows[0][1] = TextDatum(std::string(500, 'x') + "\nsecond");
  std::string text = Render(table, 10, 40);
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    size_t width = 0;
    for (size_t i = at; i < end; ++i) width += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    EXPECT_LE(width, 40u) << text;
  }
  EXPECT_THAT(text, testing::HasSubstr("…"));
}

TEST(RenderBox, PrintsOneTextOfSeveralLinesAsItIs) {
  MadeUpTable table = Numbers(1);
  table.rows[0][1] = TextDatum("CREATE TABLE t (\n  id bigint)");
  EXPECT_EQ(Render(table, 10, 20), "CREATE TABLE t (\n  id bigint)\n");
}

TEST(RenderBox, CutsPathsInFrontAndNumbersNever) {
  MadeUpTable table = Numbers(2);
  table.columns[1].name = "file_path";
  for (size_t i = 0; i < 3; ++i) table.columns.push_back(table.columns[0]);
  for (auto& row : table.rows) {
    row[1] = TextDatum("s3://bucket/a/long/way/down/to/the/table/data/00000-0-abc-00001.parquet");
    row.insert(row.end(), 3, LongDatum(1234567890123));
  }
  const std::string text = Render(table, 10, 110);
  EXPECT_THAT(text, testing::HasSubstr("table/data/00000-0-abc-00001.parquet │"));
  EXPECT_THAT(text, testing::HasSubstr("│ …"));
  EXPECT_THAT(text, testing::HasSubstr("│ 1234567890123 │ 1234567890123 │ 1234567890123 │"));
}

TEST(RenderBox, LeavesColumnsOutBeforeNoneCanBeRead) {
  MadeUpTable table = Numbers(1);
  for (size_t i = 0; i < 10; ++i) {
    table.columns.push_back(table.columns[1]);
    table.rows[0].push_back(TextDatum(std::string(40, 'x')));
  }
  const std::string text = Render(table, 10, 80);
  EXPECT_THAT(text, testing::HasSubstr("12 columns (6 shown)"));
  EXPECT_THAT(text, testing::HasSubstr(" xxxxxxxxxx… │"));
}

TEST(RenderBox, CountsWideCharacters) {
  MadeUpTable table = Numbers(1);
  table.rows[0][1] = TextDatum("東京");
  EXPECT_THAT(Render(table, 10, 0), testing::HasSubstr("│      0 │ 東京    │"));
}

}  // namespace
}  // namespace frazil::sql
