#include "frazil/write/row_writer.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <random>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/single_value.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::write {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct TestRow {
  std::optional<int64_t> id;
  std::optional<std::string> part;
  std::optional<int64_t> row_id;
};

spec::SchemaPtr Columns() {
  return *spec::Schema::Make(
      spec::SchemaId{0}, {{.id = FieldId{1}, .name = "id", .required = true, .type = Type::Primitive(TypeId::kLong)},
                          {.id = FieldId{2}, .name = "part", .type = Type::Primitive(TypeId::kString)}});
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<TestRow>& rows, bool with_row_ids = false) {
  arrow::Int64Builder ids;
  arrow::StringBuilder parts;
  arrow::Int64Builder row_ids;
  for (const TestRow& row : rows) {
    EXPECT_TRUE((row.id ? ids.Append(*row.id) : ids.AppendNull()).ok());
    EXPECT_TRUE((row.part ? parts.Append(*row.part) : parts.AppendNull()).ok());
    EXPECT_TRUE((row.row_id ? row_ids.Append(*row.row_id) : row_ids.AppendNull()).ok());
  }
  arrow::FieldVector fields = (*format::ToArrowSchema(*Columns()))->fields();
  arrow::ArrayVector columns = {*ids.Finish(), *parts.Finish()};
  if (with_row_ids) {
    fields.push_back(arrow::field(spec::kRowIdColumn, arrow::int64()));
    columns.push_back(*row_ids.Finish());
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(rows.size()), columns);
}

class RowWriterTest : public ::testing::Test {
 protected:
  void Create(spec::SchemaPtr schema, std::vector<spec::PartitionField> partition_fields = {},
              std::map<std::string, std::string> properties = {}) {
    spec::CreateTableRequest request;
    request.schema = std::move(schema);
    request.partition_spec = spec::PartitionSpec(spec::SpecId{0}, std::move(partition_fields));
    request.properties = std::move(properties);
    auto catalog = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_);
    ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto loaded, catalog->CreateTable({{"db"}, "t"}, std::move(request)));
    metadata_ = loaded.metadata;
  }
  std::unique_ptr<RowWriter> Writer(std::shared_ptr<io::FileIO> io = nullptr, Executor* executor = nullptr,
                                    RowWriterOptions options = {}) {
    auto writer = RowWriter::Make(io ? io : io_, metadata_, metadata_->schema(), executor, std::move(options));
    EXPECT_THAT(writer, IsOk());
    return *std::move(writer);
  }
  std::shared_ptr<const format::ParquetReader> Open(const spec::DataFile& file) {
    auto reader = format::ParquetReader::Open(*io_->Open(file.file_path));
    EXPECT_THAT(reader, IsOk());
    return *reader;
  }
  /// The ids of a file in its order.
  std::vector<int64_t> IdsOf(const spec::DataFile& file) {
    std::vector<int64_t> ids;
    auto batches = Open(file)->Read({metadata_->schema()->fields()[0]});
    EXPECT_THAT(batches, IsOk());
    for (;;) {
      auto batch = (*batches)->Next();
      EXPECT_THAT(batch, IsOk());
      if (!*batch) return ids;
      const auto& column = static_cast<const arrow::Int64Array&>(*(*batch)->rows->column(0));
      for (int64_t i = 0; i < column.length(); ++i) ids.push_back(column.Value(i));
    }
  }
  size_t NumDataFiles() { return io_->List("memory:/warehouse/db/t/data")->size(); }

  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  spec::TableMetadataPtr metadata_;
};

const spec::PartitionField kByPart{FieldId{2}, FieldId{1000}, "part", spec::Transform::Identity()};

TEST_F(RowWriterTest, WritesNoFileForNoRow) {
  Create(Columns());
  const auto writer = Writer();
  ASSERT_THAT(writer->Write(*BatchOf({})), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  EXPECT_THAT(files, IsEmpty());
  EXPECT_EQ(NumDataFiles(), 0u);
}

TEST_F(RowWriterTest, SplitsRowsByPartitionAndSaysWhereTheyLie) {
  Create(Columns(), {kByPart});
  const auto writer = Writer();
  std::vector<RowLocation> locations;
  const std::vector<TestRow> rows = {{1, "b", {}},          {2, "a", {}}, {3, "b", {}},
                                     {4, std::nullopt, {}}, {5, "", {}},  {6, "a/b=c", {}}};
  ASSERT_THAT(writer->Write(*BatchOf(rows), &locations), IsOk());
  ASSERT_THAT(writer->Write(*BatchOf({{7, "a", {}}, {8, "b", {}}}), &locations), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  ASSERT_THAT(files, SizeIs(5));
  EXPECT_THAT(files[0].partition, ElementsAre(spec::Value(std::string("b"))));
  EXPECT_THAT(files[2].partition, ElementsAre(spec::Value()));
  EXPECT_THAT(IdsOf(files[0]), ElementsAre(1, 3, 8));
  EXPECT_THAT(IdsOf(files[1]), ElementsAre(2, 7));
  ASSERT_THAT(locations, SizeIs(8));
  for (size_t i = 0; i < locations.size(); ++i) {
    EXPECT_EQ(IdsOf(files[locations[i].file])[static_cast<size_t>(locations[i].position)], static_cast<int64_t>(i) + 1);
  }
  for (const spec::DataFile& file : files) {
    EXPECT_EQ(file.spec_id, metadata_->default_spec_id);
    EXPECT_EQ(file.file_size_in_bytes, (*io_->Open(file.file_path))->size_bytes());
    EXPECT_EQ(file.record_count, static_cast<int64_t>(IdsOf(file).size()));
    EXPECT_FALSE(file.split_offsets.empty());
    EXPECT_FALSE(file.first_row_id);
    EXPECT_FALSE(file.sort_order_id);
  }
}

TEST_F(RowWriterTest, LeavesLineageColumnsOutOfFilesOfNewRowsOnly) {
  Create(Columns(), {kByPart});
  const auto writer = Writer();
  ASSERT_THAT(writer->Write(*BatchOf({{1, "new", {}}, {2, "old", 77}, {3, "old", {}}}, true)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_FALSE(Open(files[0])->HasField(spec::kRowIdColumnId));
  EXPECT_TRUE(Open(files[1])->HasField(spec::kRowIdColumnId));
  EXPECT_FALSE(Open(files[1])->HasField(spec::kLastUpdatedSequenceNumberColumnId));
  EXPECT_FALSE(files[1].value_counts.contains(spec::kRowIdColumnId));
}

TEST_F(RowWriterTest, BeginsAnotherFileWhenOldRowsFollowNewOnes) {
  Create(Columns());
  const auto writer = Writer();
  std::vector<RowLocation> locations;
  ASSERT_THAT(writer->Write(*BatchOf({{1, "a", {}}}, true), &locations), IsOk());
  ASSERT_THAT(writer->Write(*BatchOf({{2, "a", 5}}, true), &locations), IsOk());
  ASSERT_THAT(writer->Write(*BatchOf({{3, "a", {}}}, true), &locations), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_THAT(IdsOf(files[0]), ElementsAre(1));
  EXPECT_THAT(IdsOf(files[1]), ElementsAre(2, 3));
  EXPECT_EQ(locations[2].file, 1u);
  EXPECT_EQ(locations[2].position, 1);
  EXPECT_FALSE(writer->Write(*BatchOf({{4, "a", {}}}, false)));
}

TEST_F(RowWriterTest, RollsFilesAtTheTargetSize) {
  Create(Columns(), {kByPart}, {{"write.target-file-size-bytes", "20000"}});
  const auto writer = Writer();
  std::vector<RowLocation> locations;
  std::mt19937_64 random(1);
  std::vector<int64_t> expected;
  for (int batch = 0; batch < 12; ++batch) {
    std::vector<TestRow> rows;
    for (int i = 0; i < 1000; ++i) {
      expected.push_back(static_cast<int64_t>(random()));
      rows.push_back({expected.back(), i % 2 == 0 ? "x" : "y", {}});
    }
    ASSERT_THAT(writer->Write(*BatchOf(rows), &locations), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  EXPECT_GE(files.size(), 4u);
  int64_t num_rows = 0;
  std::vector<std::vector<int64_t>> ids;
  for (const spec::DataFile& file : files) {
    ids.push_back(IdsOf(file));
    num_rows += file.record_count;
  }
  EXPECT_EQ(num_rows, 12'000);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(ids[locations[i].file][static_cast<size_t>(locations[i].position)], expected[i]) << i;
  }
}

TEST_F(RowWriterTest, WritesTheSameWithThreads) {
  Create(Columns(), {kByPart});
  Executor executor(3);
  const auto writer = Writer(nullptr, &executor);
  std::vector<TestRow> rows;
  for (int64_t i = 0; i < 300; ++i) rows.push_back({i, std::string(1, static_cast<char>('a' + i % 7)), {}});
  std::vector<RowLocation> locations;
  ASSERT_THAT(writer->Write(*BatchOf(rows), &locations), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  ASSERT_THAT(files, SizeIs(7));
  for (size_t i = 0; i < locations.size(); ++i) {
    EXPECT_EQ(IdsOf(files[locations[i].file])[static_cast<size_t>(locations[i].position)], static_cast<int64_t>(i));
  }
}

TEST_F(RowWriterTest, RowGroupsOfManyPartitionsStayWithinTheirMemory) {
  constexpr int64_t kMaxOpen = 2 << 20;
  Create(Columns(), {{FieldId{1}, FieldId{1000}, "id_bucket", spec::Transform::Bucket(64)}});
  Executor executor(3);
  const auto writer = Writer(nullptr, &executor, {.max_open_bytes = kMaxOpen});
  std::mt19937_64 random(11);
  std::vector<RowLocation> locations;
  std::vector<int64_t> expected;
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<TestRow> rows;
    for (int i = 0; i < 10'000; ++i) {
      expected.push_back(static_cast<int64_t>(random()));
      rows.push_back({expected.back(), fmt::format("{:x}{:x}", random(), random()), {}});
    }
    ASSERT_THAT(writer->Write(*BatchOf(rows), &locations), IsOk());
    EXPECT_LE(writer->open_bytes(), std::max(kMaxOpen, 64 * RowWriter::kMinRowGroupMemory));
  }
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  EXPECT_EQ(writer->open_bytes(), 0);
  ASSERT_THAT(files, SizeIs(64));  // row groups are closed, not files
  size_t num_row_groups = 0;
  std::vector<std::vector<int64_t>> ids;
  for (const spec::DataFile& file : files) {
    ids.push_back(IdsOf(file));
    EXPECT_EQ(static_cast<int64_t>(ids.back().size()), file.record_count);
    num_row_groups += file.split_offsets.size();
  }
  EXPECT_GT(num_row_groups, 64u);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(ids[locations[i].file][static_cast<size_t>(locations[i].position)], expected[i]) << i;
  }
}

/// Ids from `first_id` on, each row in any of the partitions.
std::vector<TestRow> RowsOfRandomParts(int64_t first_id, int num_rows, int num_parts, std::mt19937& random) {
  std::vector<TestRow> rows;
  for (int64_t id = first_id; id < first_id + num_rows; ++id) {
    rows.push_back({id, fmt::format("part {}", random() % static_cast<unsigned>(num_parts)), 1'000'000 + id});
  }
  return rows;
}

TEST_F(RowWriterTest, RowsOfMorePartitionsThanCanBeOpenWait) {
  constexpr int kParts = 3'500;
  constexpr int64_t kMaxOpenBytes = 4 << 20;  // room for 32 partitions
  Create(Columns(), {kByPart});
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  int num_open = 0;
  int most_open = 0;
  const auto counting =
      std::make_shared<io::FaultInjectingFileIO>(io_, [&](std::string_view operation, const std::string&) -> Status {
        num_open += operation == "create" ? 1 : operation == "close.after" ? -1 : 0;
        most_open = std::max(most_open, num_open);
        return {};
      });
  const auto writer = Writer(counting, nullptr, {.max_open_bytes = kMaxOpenBytes, .spill_directory = ""});
  std::map<std::string, std::vector<int64_t>> expected;
  for (int batch = 0; batch < 8; ++batch) {
    const std::vector<TestRow> rows = RowsOfRandomParts(batch * 5'000, 5'000, kParts, random);
    for (const TestRow& row : rows) expected[*row.part].push_back(*row.id);
    ASSERT_THAT(writer->Write(*BatchOf(rows, true)), IsOk());
    EXPECT_LE(writer->open_bytes(), kMaxOpenBytes);
  }
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  EXPECT_EQ(num_open, 0);
  EXPECT_EQ(most_open, 32);
  EXPECT_EQ(NumDataFiles(), files.size());
  ASSERT_EQ(files.size(), expected.size());  // one for each
  for (const spec::DataFile& file : files) {
    const std::string part = std::get<std::string>(file.partition.at(0));
    EXPECT_EQ(IdsOf(file), expected[part]) << part;
    EXPECT_EQ(file.record_count, static_cast<int64_t>(expected[part].size()));
    expected.erase(part);
  }
  EXPECT_THAT(expected, IsEmpty());
  const spec::Field row_id{
      .id = spec::kRowIdColumnId, .name = spec::kRowIdColumn, .type = Type::Primitive(TypeId::kLong)};
  for (const size_t i : {size_t{0}, files.size() - 1}) {
    ASSERT_OK_AND_ASSIGN(const auto batches, Open(files[i])->Read({row_id}));
    ASSERT_OK_AND_ASSIGN(const auto batch, batches->Next());
    EXPECT_EQ(static_cast<const arrow::Int64Array&>(*batch->rows->column(0)).Value(0),
              1'000'000 + IdsOf(files[i]).front());
  }
}

TEST_F(RowWriterTest, RowsWhosePlaceIsAskedForDoNotWait) {
  Create(Columns(), {kByPart});
  const auto writer = Writer(nullptr, nullptr, {.max_open_bytes = 1, .spill_directory = ""});
  std::vector<RowLocation> locations;
  ASSERT_THAT(writer->Write(*BatchOf({{1, "a", {}}, {2, "b", {}}, {3, "a", {}}}), &locations), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_EQ(IdsOf(files[locations.at(1).file]).at(static_cast<size_t>(locations[1].position)), 2);
}

TEST_F(RowWriterTest, LeavesNothingBehindWhenRowsWait) {
  Create(Columns(), {kByPart});
  int num_created = 0;
  const auto faulty = std::make_shared<io::FaultInjectingFileIO>(
      io_, [&](std::string_view operation, const std::string& path) -> Status {
        if (operation != "create" || ++num_created < 3) return {};
        return Fail(ErrorCode::kIo, "disk full: {}", path);
      });
  const std::vector<TestRow> rows = {{1, "a", {}}, {2, "b", {}}, {3, "c", {}}};
  for (const bool finishes : {false, true}) {
    const auto writer = Writer(faulty, nullptr, {.max_open_bytes = 1, .spill_directory = ""});
    num_created = 0;
    ASSERT_THAT(writer->Write(*BatchOf(rows)), IsOk());
    EXPECT_EQ(num_created, 1);
    if (!finishes) continue;
    EXPECT_THAT(writer->Finish(), IsError(ErrorCode::kIo, "disk full"));
  }
  EXPECT_EQ(NumDataFiles(), 0u);
}

TEST_F(RowWriterTest, AStopIsHeardBetweenFilesAndLeavesNone) {
  Create(Columns(), {kByPart});
  std::atomic<bool> stop = false;
  int stop_at = 0;
  int num_created = 0;
  const auto hooked =
      std::make_shared<io::FaultInjectingFileIO>(io_, [&](std::string_view operation, const std::string&) -> Status {
        if (operation == "create" && ++num_created == stop_at) stop = true;
        return {};
      });
  const std::vector<TestRow> rows = {{1, "a", {}}, {2, "b", {}}, {3, "c", {}}, {4, "d", {}}};
  for (stop_at = 1; stop_at <= 4; ++stop_at) {  // the first is open from the beginning, rows of the others wait
    stop = false;
    num_created = 0;
    const auto writer = Writer(hooked, nullptr, {.max_open_bytes = 1, .spill_directory = "", .stop = &stop});
    ASSERT_THAT(writer->Write(*BatchOf(rows)), IsOk());
    EXPECT_EQ(num_created, 1);
    EXPECT_THAT(writer->Finish(), IsError(ErrorCode::kShuttingDown, "writing of rows was asked to stop"));
    EXPECT_EQ(num_created, stop_at);
  }
  EXPECT_EQ(NumDataFiles(), 0u);
}

TEST_F(RowWriterTest, FindsThePartitionBehindAColumnThatIsNotStored) {
  std::vector<Field> fields = Columns()->fields();
  fields.insert(fields.begin(), {.id = FieldId{3}, .name = "nothing", .type = Type::Primitive(TypeId::kUnknown)});
  Create(*spec::Schema::Make(spec::SchemaId{0}, std::move(fields)), {kByPart});
  const auto writer = Writer();
  ASSERT_THAT(writer->Write(*BatchOf({{1, "a", {}}, {2, "b", {}}})), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_THAT(files[0].partition, ElementsAre(spec::Value(std::string("a"))));
}

TEST_F(RowWriterTest, AMemoryLimitThatOneRowGroupFillsMakesMoreOfThem) {
  Create(Columns());
  const auto unlimited = Writer();
  const auto limited = Writer(nullptr, nullptr, {.max_open_bytes = 1 << 20});
  std::mt19937_64 random(12);
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<TestRow> rows;
    for (int i = 0; i < 10'000; ++i)
      rows.push_back({static_cast<int64_t>(random()), fmt::format("{:x}", random()), {}});
    const auto rows_of_batch = BatchOf(rows);
    ASSERT_THAT(unlimited->Write(*rows_of_batch), IsOk());
    ASSERT_THAT(limited->Write(*rows_of_batch), IsOk());
    EXPECT_LE(limited->open_bytes(), 1 << 20);
  }
  EXPECT_GT(unlimited->open_bytes(), 1 << 20);
  ASSERT_OK_AND_ASSIGN(const auto one, unlimited->Finish());
  ASSERT_OK_AND_ASSIGN(const auto many, limited->Finish());
  ASSERT_THAT(one, SizeIs(1));
  ASSERT_THAT(many, SizeIs(1));
  EXPECT_THAT(one[0].split_offsets, SizeIs(1));
  EXPECT_GT(many[0].split_offsets.size(), 1u);
  EXPECT_EQ(IdsOf(one[0]), IdsOf(many[0]));
}

TEST_F(RowWriterTest, RefusesANullInARequiredColumn) {
  Create(Columns());
  EXPECT_THAT(Writer()->Write(*BatchOf({{1, "a", {}}, {std::nullopt, "b", {}}})),
              IsError(ErrorCode::kInvalidArgument, "id"));
}

TEST_F(RowWriterTest, RefusesFormatsAndTransformsItDoesNotKnow) {
  Create(Columns(), {}, {{"write.format.default", "orc"}});
  EXPECT_THAT(RowWriter::Make(io_, metadata_, metadata_->schema(), nullptr), IsError(ErrorCode::kNotSupported, "orc"));
  auto metadata = std::make_shared<spec::TableMetadata>(*metadata_);
  metadata->properties.clear();
  metadata->partition_specs = {spec::PartitionSpec(
      metadata->default_spec_id, {{FieldId{2}, FieldId{1000}, "p", spec::Transform::Unknown("zorder")}})};
  EXPECT_THAT(RowWriter::Make(io_, metadata, metadata_->schema(), nullptr),
              IsError(ErrorCode::kNotSupported, "zorder"));
}

TEST_F(RowWriterTest, LeavesNothingBehindWhenDropped) {
  Create(Columns(), {kByPart}, {{"write.target-file-size-bytes", "1"}});
  {
    const auto writer = Writer();
    ASSERT_THAT(writer->Write(*BatchOf({{1, "a", {}}})), IsOk());  // rolled: finished already
    EXPECT_EQ(NumDataFiles(), 1u);
    ASSERT_THAT(writer->Write(*BatchOf({{2, "b", {}}})), IsOk());
  }
  EXPECT_EQ(NumDataFiles(), 0u);
}

TEST_F(RowWriterTest, LeavesNothingBehindWhenTheStoreFails) {
  Create(Columns(), {kByPart});
  for (int fail_at = 0; fail_at < 12; ++fail_at) {
    int count = 0;
    const auto faulty = std::make_shared<io::FaultInjectingFileIO>(
        io_, [&](std::string_view operation, const std::string& path) -> Status {
          if (operation.starts_with("delete") || count++ != fail_at) return {};
          return Fail(ErrorCode::kIo, "disk full: {}", path);
        });
    {
      const auto writer = Writer(faulty);
      Status done = writer->Write(*BatchOf({{1, "a", {}}, {2, "b", {}}, {3, "c", {}}}));
      if (done) {
        auto files = writer->Finish();
        if (files) {
          ASSERT_GT(count, 0);
          ASSERT_THAT(io_->Delete({(*files)[0].file_path, (*files)[1].file_path, (*files)[2].file_path}), IsOk());
          continue;
        }
        done = tl::unexpected(files.error());
      }
      EXPECT_EQ(done.error().code(), ErrorCode::kIo);
    }
    EXPECT_EQ(NumDataFiles(), 0u) << "failed at operation " << fail_at;
  }
}

TEST_F(RowWriterTest, MeasuresFloatsWithoutNaNsAndWithBothZeros) {
  Create(*spec::Schema::Make(spec::SchemaId{0},
                             {{.id = FieldId{1}, .name = "d", .type = Type::Primitive(TypeId::kDouble)},
                              {.id = FieldId{2}, .name = "f", .type = Type::Primitive(TypeId::kFloat)}}));
  arrow::DoubleBuilder doubles;
  arrow::FloatBuilder floats;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, 0.0, 3.0, -0.0}) ASSERT_TRUE(doubles.Append(value).ok());
  ASSERT_TRUE(doubles.AppendNull().ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(floats.Append(static_cast<float>(nan)).ok());
  const auto batch =
      arrow::RecordBatch::Make(*format::ToArrowSchema(*metadata_->schema()), 5, {*doubles.Finish(), *floats.Finish()});
  const auto writer = Writer();
  ASSERT_THAT(writer->Write(*batch), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  const spec::DataFile& file = files[0];
  EXPECT_EQ(file.value_counts.at(FieldId{1}), 5);
  EXPECT_EQ(file.null_value_counts.at(FieldId{1}), 1);
  EXPECT_EQ(file.nan_value_counts.at(FieldId{1}), 1);
  EXPECT_EQ(ToHex(file.lower_bounds.at(FieldId{1})), "0000000000000080");  // -0.0
  EXPECT_EQ(ToHex(file.upper_bounds.at(FieldId{1})), "0000000000000840");  // 3.0
  EXPECT_EQ(file.nan_value_counts.at(FieldId{2}), 5);
  EXPECT_FALSE(file.lower_bounds.contains(FieldId{2}));
  EXPECT_FALSE(file.upper_bounds.contains(FieldId{2}));
}

TEST_F(RowWriterTest, KeepsNaNsAndZerosOfAnIdentityPartitionApart) {
  Create(*spec::Schema::Make(spec::SchemaId{0},
                             {{.id = FieldId{1}, .name = "d", .type = Type::Primitive(TypeId::kDouble)}}),
         {{FieldId{1}, FieldId{1000}, "d", spec::Transform::Identity()}});
  arrow::DoubleBuilder doubles;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, -nan, 0.0, -0.0, 0.0}) ASSERT_TRUE(doubles.Append(value).ok());
  const auto writer = Writer();
  ASSERT_THAT(
      writer->Write(*arrow::RecordBatch::Make(*format::ToArrowSchema(*metadata_->schema()), 5, {*doubles.Finish()})),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
  EXPECT_THAT(files, SizeIs(3));
  int64_t rows = 0;
  for (const spec::DataFile& file : files) rows += file.record_count;
  EXPECT_EQ(rows, 5);
}

TEST_F(RowWriterTest, BoundsHoldEveryRandomText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> letters = {"a",
                                            "z",
                                            "\xc3\xbf",
                                            "\xed\x9f\xbf",
                                            "\xef\xbf\xbf",
                                            "\xf0\x9f\x98\x80",
                                            "\xf4\x8f\xbf\xbf",
                                            std::string("\0", 1)};
  Create(Columns(), {}, {{"write.metadata.metrics.column.part", "truncate(2)"}});
  for (int round = 0; round < 60; ++round) {
    std::vector<TestRow> rows;
    const size_t count = 1 + random() % 5;
    for (size_t i = 0; i < count; ++i) {
      std::string text;
      for (unsigned n = random() % 5; n > 0; --n) text += letters[random() % letters.size()];
      rows.push_back({static_cast<int64_t>(i), text, {}});
    }
    const auto writer = Writer();
    ASSERT_THAT(writer->Write(*BatchOf(rows)), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto files, writer->Finish());
    for (const TestRow& row : rows) {
      ASSERT_TRUE(files[0].lower_bounds.contains(FieldId{2}));
      ASSERT_LE(AsText(files[0].lower_bounds.at(FieldId{2})), *row.part);
      if (files[0].upper_bounds.contains(FieldId{2})) {
        ASSERT_GE(AsText(files[0].upper_bounds.at(FieldId{2})), *row.part);
      }
    }
  }
}

}  // namespace
}  // namespace frazil::write
