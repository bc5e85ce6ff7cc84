// Parquet files in every encoding (spec section 7.1): each holds the rows of the PLAIN file of the same name.

#include <algorithm>
#include <filesystem>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_row_reader.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/golden.h"

namespace frazil::format {
namespace {

constexpr char kFolder[] = "iceberg-spec/parquet-encodings";

/// Rows by their position, spread over the file, are what a scan gave.
void ExpectSameByPosition(const std::shared_ptr<const ParquetReader>& reader, const std::vector<spec::Field>& fields,
                          const arrow::Table& table) {
  const ParquetRowReader by_position(reader, std::make_shared<ParquetPageCache>(int64_t{1} << 20));
  const auto nans_equal = arrow::EqualOptions::Defaults().nans_equal(true);
  for (int64_t i = 0; i < table.num_rows(); i += std::max<int64_t>(table.num_rows() / 10, 1)) {
    const auto row = by_position.ReadRows(fields, std::span(&i, 1), nullptr);
    ASSERT_THAT(row, IsOk());
    const auto found = arrow::Table::FromRecordBatches({*row}).ValueOrDie();
    ASSERT_TRUE(found->Equals(*table.Slice(i, 1), nans_equal)) << found->ToString() << table.Slice(i, 1)->ToString();
  }
}

/// All columns of a fixture. The files have no field ids; columns are numbered by `name_mapping`.
Result<std::shared_ptr<arrow::Table>> ReadFixture(const std::string& path) {
  io::MemoryFileIO io;
  io.Overwrite(path, test::GoldenBytes(path));
  const auto open = [&](ParquetReadOptions options) -> Result<std::shared_ptr<const ParquetReader>> {
    FRAZIL_ASSIGN(std::shared_ptr<const io::InputFile> file, io.Open(path));
    return ParquetReader::Open(std::move(file), std::move(options));
  };
  FRAZIL_ASSIGN(auto reader, open({}));
  FRAZIL_ASSIGN(std::vector<spec::Field> fields, reader->FileFields());
  if (!reader->has_field_ids()) {
    ParquetReadOptions options;
    for (size_t i = 0; i < fields.size(); ++i) {
      fields[i].id = spec::FieldId(static_cast<int32_t>(i) + 1);
      options.name_mapping[fields[i].name] = fields[i].id;
    }
    FRAZIL_ASSIGN(reader, open(options));
  }
  FRAZIL_ASSIGN(const auto batches, reader->Read(fields));
  EXPECT_TRUE(batches->missing().empty());
  arrow::RecordBatchVector rows;
  while (true) {
    FRAZIL_ASSIGN(const auto batch, batches->Next());
    if (!batch) break;
    EXPECT_TRUE(batch->rows->ValidateFull().ok());
    rows.push_back(batch->rows);
  }
  const auto table = arrow::Table::FromRecordBatches(batches->schema(), rows).ValueOrDie();
  ExpectSameByPosition(reader, fields, *table);
  return table;
}

TEST(ParquetEncodings, EveryFileHoldsTheRowsOfThePlainOne) {
  int compared = 0;
  for (const std::string& path : test::GoldenFiles(kFolder)) {
    const std::filesystem::path file = path;
    const std::string encoding = file.parent_path().filename();
    if (encoding == "PLAIN" || encoding == "parquet-encodings") continue;
    SCOPED_TRACE(path);
    const std::string plain = fmt::format("{}/PLAIN/{}", kFolder, file.filename().string());
    ASSERT_OK_AND_ASSIGN(const auto table, ReadFixture(path));
    ASSERT_OK_AND_ASSIGN(const auto expected, ReadFixture(plain));
    EXPECT_GT(table->num_rows(), 0);
    EXPECT_TRUE(table->Equals(*expected));
    ++compared;
  }
  EXPECT_EQ(compared, 30);
}

TEST(ParquetEncodings, ReadsAColumnThatTurnsFromDictionaryToPlain) {
  ASSERT_OK_AND_ASSIGN(const auto table,
                       ReadFixture(fmt::format("{}/decimal_dict_and_plain_encoding.parquet", kFolder)));
  EXPECT_GT(table->num_rows(), 0);
  EXPECT_EQ(table->column(0)->null_count(), 0);
}

}  // namespace
}  // namespace frazil::format
