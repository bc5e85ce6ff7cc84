#include "frazil/write/external_sorter.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <random>

#include <sys/stat.h>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_schema.h"

namespace frazil::write {
namespace {

using spec::FieldId;
using spec::Type;
using spec::TypeId;

struct Row {
  std::optional<double> number;
  std::optional<std::string> text;
  std::string part;
  uint32_t source = 0;
  int64_t ordinal = 0;
};

spec::SchemaPtr RowSchema() {
  return *spec::Schema::Make(spec::SchemaId{0},
                             {{.id = FieldId{1}, .name = "number", .type = Type::Primitive(TypeId::kDouble)},
                              {.id = FieldId{2}, .name = "text", .type = Type::Primitive(TypeId::kString)},
                              {.id = FieldId{3}, .name = "part", .type = Type::Primitive(TypeId::kString)}});
}

std::shared_ptr<arrow::RecordBatch> BatchOf(std::span<const Row> rows) {
  arrow::DoubleBuilder numbers;
  arrow::StringBuilder texts;
  arrow::StringBuilder parts;
  for (const Row& row : rows) {
    EXPECT_TRUE((row.number ? numbers.Append(*row.number) : numbers.AppendNull()).ok());
    EXPECT_TRUE((row.text ? texts.Append(*row.text) : texts.AppendNull()).ok());
    EXPECT_TRUE(parts.Append(row.part).ok());
  }
  return arrow::RecordBatch::Make(*format::ToArrowSchema(*RowSchema()), static_cast<int64_t>(rows.size()),
                                  {*numbers.Finish(), *texts.Finish(), *parts.Finish()});
}

/// By partition as they first came, then text descending with nulls last, then number ascending with nulls first.
bool IsBefore(const Row& left, const Row& right, const std::vector<std::string>& parts) {
  const auto rank = [&](const Row& row) { return std::find(parts.begin(), parts.end(), row.part) - parts.begin(); };
  if (rank(left) != rank(right)) return rank(left) < rank(right);
  if (left.text.has_value() != right.text.has_value()) return left.text.has_value();
  if (left.text != right.text) return *left.text > *right.text;
  if (left.number.has_value() != right.number.has_value()) return !left.number.has_value();
  return left.number && *left.number < *right.number;
}

class ExternalSorterTest : public ::testing::TestWithParam<int64_t> {};

// The parameter is the memory it may use: in memory, in some runs, in so many that they are merged twice.
TEST_P(ExternalSorterTest, SortsStablyAndKnowsWhereRowsCameFrom) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  ExternalSorter::Options options;
  options.schema = RowSchema();
  options.spec =
      spec::PartitionSpec(spec::SpecId{0}, {{FieldId{3}, FieldId{1000}, "part", spec::Transform::Identity()}});
  options.splits_by_partition = true;
  options.sort_order.fields = {
      {.source_id = FieldId{2}, .direction = spec::SortDirection::kDescending, .null_order = spec::NullOrder::kLast},
      {.source_id = FieldId{1}}};
  options.memory_bytes = GetParam();
  options.temp_directory = ::testing::TempDir();
  const auto sorter = ExternalSorter::Make(options);
  ASSERT_THAT(sorter, IsOk());
  std::vector<Row> all;
  std::vector<std::string> parts;
  for (uint32_t source = 0; source < 3; ++source) {
    for (int batch = 0; batch < 40; ++batch) {
      std::vector<Row> rows(1 + random() % 50);
      for (Row& row : rows) {
        if (random() % 5 != 0) row.number = static_cast<double>(static_cast<int>(random() % 7) - 3) / 2;
        if (random() % 5 != 0) row.text = std::string(random() % 4, static_cast<char>(random() % 3));
        row.part = std::string(1, static_cast<char>('a' + random() % 3));
        row.source = source;
        row.ordinal = (*sorter)->num_rows(source) + (&row - rows.data());
        if (std::find(parts.begin(), parts.end(), row.part) == parts.end()) parts.push_back(row.part);
      }
      ASSERT_THAT((*sorter)->Add(source, *BatchOf(rows)), IsOk());
      all.insert(all.end(), rows.begin(), rows.end());
    }
  }
  // Partitions are numbered in the order of a batch's split, which is that of their first rows.
  std::stable_sort(all.begin(), all.end(),
                   [&](const Row& left, const Row& right) { return IsBefore(left, right, parts); });
  ASSERT_THAT((*sorter)->Sort(), IsOk());
  size_t next = 0;
  for (;;) {
    const auto sorted = (*sorter)->Next();
    ASSERT_THAT(sorted, IsOk());
    if (!*sorted) break;
    const ExternalSorter::SortedRows& rows = **sorted;
    ASSERT_EQ(static_cast<int64_t>(rows.origins.size()), rows.rows->num_rows());
    const auto& texts = static_cast<const arrow::StringArray&>(*rows.rows->column(1));
    for (int64_t i = 0; i < rows.rows->num_rows(); ++i, ++next) {
      ASSERT_LT(next, all.size());
      EXPECT_EQ(std::get<std::string>(rows.partition[0]), all[next].part);
      EXPECT_EQ(rows.origins[static_cast<size_t>(i)].source, all[next].source);
      EXPECT_EQ(rows.origins[static_cast<size_t>(i)].ordinal, all[next].ordinal);
      EXPECT_EQ(texts.IsNull(i) ? std::nullopt : std::optional(std::string(texts.GetView(i))), all[next].text);
    }
  }
  EXPECT_EQ(next, all.size());
  EXPECT_EQ((*sorter)->num_spilled_runs() > 0, GetParam() < int64_t{1} << 20);
}

INSTANTIATE_TEST_SUITE_P(Memory, ExternalSorterTest,
                         ::testing::Values(int64_t{64} << 20, int64_t{100} << 10, int64_t{1}));

TEST(ExternalSorter, AStopIsHeardWhileRowsGoToDisk) {
  std::atomic<bool> stop = false;
  ExternalSorter::Options options;
  options.schema = RowSchema();
  options.sort_order.fields = {{.source_id = FieldId{1}}};
  options.memory_bytes = 1;
  options.temp_directory = ::testing::TempDir();
  options.stop = &stop;
  const auto sorter = ExternalSorter::Make(options);
  ASSERT_THAT(sorter, IsOk());
  const Row row{.number = 1, .text = "x", .part = "p"};
  for (int i = 0; i < 4; ++i) ASSERT_THAT((*sorter)->Add(0, *BatchOf({&row, 1})), IsOk());
  ASSERT_EQ((*sorter)->num_spilled_runs(), 4);
  stop = true;
  EXPECT_THAT((*sorter)->Sort(), IsError(ErrorCode::kShuttingDown, "sorting of rows was asked to stop"));
  EXPECT_THAT((*sorter)->Add(0, *BatchOf({&row, 1})), IsError(ErrorCode::kShuttingDown, ""));
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Counted in rows, a merge of a few dozen runs of such rows held all of them, three times.
TEST(ExternalSorter, WideRowsInManyRunsTakeLittleMemoryAndTwoDescriptors) {
  constexpr int kRows = 600;
  constexpr int64_t kMemory = int64_t{4} << 20;
  ExternalSorter::Options options;
  options.schema = RowSchema();
  options.sort_order.fields = {{.source_id = FieldId{1}}};
  options.memory_bytes = kMemory;
  options.temp_directory = ::testing::TempDir();
  const auto sorter = ExternalSorter::Make(options);
  ASSERT_THAT(sorter, IsOk());
  arrow::MemoryPool* const pool = arrow::default_memory_pool();
  const int64_t before = pool->bytes_allocated();
  const int64_t peak_before = pool->max_memory();
  const size_t descriptors_before = OpenDescriptors();
  for (int i = 0; i < kRows; ++i) {
    const Row row{.number = i * 7919 % kRows, .text = std::string(50'000, 'x'), .part = "p"};
    ASSERT_THAT((*sorter)->Add(0, *BatchOf({&row, 1})), IsOk());
  }
  EXPECT_GT((*sorter)->num_spilled_runs(), 10);
  EXPECT_LE(OpenDescriptors(), descriptors_before + 2);
  ASSERT_THAT((*sorter)->Sort(), IsOk());
  int num_rows = 0;
  for (;;) {
    const auto sorted = (*sorter)->Next();
    ASSERT_THAT(sorted, IsOk());
    if (!*sorted) break;
    const auto& numbers = static_cast<const arrow::DoubleArray&>(*(*sorted)->rows->column(0));
    for (int64_t i = 0; i < numbers.length(); ++i) ASSERT_EQ(numbers.Value(i), num_rows++);
  }
  EXPECT_EQ(num_rows, kRows);
  EXPECT_LE(pool->max_memory(), std::max(peak_before, before + kMemory + kMemory / 4));
}

/// Of the files without a name that this process has open.
int64_t UnnamedBytes() {
  std::map<ino_t, int64_t> sizes;  // two descriptors of one file count once
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat file {};
    if (::fstat(std::stoi(entry.path().filename()), &file) != 0) continue;
    if (S_ISREG(file.st_mode) && file.st_nlink == 0) sizes[file.st_ino] = file.st_size;
  }
  int64_t bytes = 0;
  for (const auto& [inode, size] : sizes) bytes += size;
  return bytes;
}

TEST(ExternalSorter, SpilledRowsTakeLessDiskThanMemory) {
  constexpr int kRows = 200;
  constexpr int64_t kRowBytes = 50'000;
  ExternalSorter::Options options;
  options.schema = RowSchema();
  options.sort_order.fields = {{.source_id = FieldId{1}}};
  options.memory_bytes = int64_t{1} << 20;
  options.temp_directory = ::testing::TempDir();
  const auto sorter = ExternalSorter::Make(options);
  ASSERT_THAT(sorter, IsOk());
  const int64_t before = UnnamedBytes();
  for (int i = 0; i < kRows; ++i) {
    const Row row{.number = kRows - i, .text = std::string(kRowBytes, static_cast<char>('a' + i % 26)), .part = "p"};
    ASSERT_THAT((*sorter)->Add(0, *BatchOf({&row, 1})), IsOk());
  }
  ASSERT_GT((*sorter)->num_spilled_runs(), 1);
  EXPECT_GT(UnnamedBytes(), before);
  EXPECT_LT(UnnamedBytes(), before + kRows * kRowBytes / 10);
  ASSERT_THAT((*sorter)->Sort(), IsOk());
  int num_rows = 0;
  for (;;) {
    const auto sorted = (*sorter)->Next();
    ASSERT_THAT(sorted, IsOk());
    if (!*sorted) break;
    const auto& texts = static_cast<const arrow::StringArray&>(*(*sorted)->rows->column(1));
    for (int64_t i = 0; i < texts.length(); ++i) {
      const int added = kRows - 1 - num_rows++;
      ASSERT_EQ(texts.GetView(i), std::string(kRowBytes, static_cast<char>('a' + added % 26)));
    }
  }
  EXPECT_EQ(num_rows, kRows);
}

}  // namespace
}  // namespace frazil::write
