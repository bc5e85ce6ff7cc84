#include "frazil/scan/file_reader.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::scan {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Field MakeField(int id, std::string name, TypeId type, bool required = false) {
  return {.id = FieldId{id}, .name = std::move(name), .required = required, .type = Type::Primitive(type)};
}

class FileReaderTest : public ::testing::Test {
 protected:
  void Create(std::vector<Field> fields, std::vector<spec::PartitionField> partition_fields = {},
              std::map<std::string, std::string> properties = {}) {
    spec::CreateTableRequest request;
    auto schema = spec::Schema::Make(spec::SchemaId{0}, std::move(fields));
    ASSERT_THAT(schema, IsOk());
    request.schema = *schema;
    request.partition_spec = spec::PartitionSpec(spec::SpecId{0}, std::move(partition_fields));
    request.properties = std::move(properties);
    ASSERT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_THAT(catalog_->CreateTable({{"db"}, "t"}, std::move(request)), IsOk());
    auto table = table::Table::Load(catalog_, {{"db"}, "t"});
    ASSERT_THAT(table, IsOk());
    table_.emplace(*std::move(table));
  }

  /// Writes a Parquet file of `fields` from one JSON list a column.
  spec::DataFile Write(std::vector<Field> fields, const std::vector<std::string>& columns,
                       std::map<std::string, std::string> properties = {}) {
    auto schema = spec::Schema::Make(spec::SchemaId{0}, std::move(fields));
    EXPECT_THAT(schema, IsOk());
    spec::DataFile file;
    file.file_path = fmt::format("memory:/warehouse/db/t/data/{}.parquet", num_files_++);
    auto writer = format::ParquetWriter::Make(*io_->Create(file.file_path), *schema,
                                              {.properties = std::move(properties), .footer_metadata = {}});
    EXPECT_THAT(writer, IsOk());
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < columns.size(); ++i) {
      arrays.push_back(
          *arrow::json::ArrayFromJSONString((*writer)->arrow_schema()->field(static_cast<int>(i))->type(), columns[i]));
    }
    EXPECT_THAT((*writer)->Write(*arrow::RecordBatch::Make((*writer)->arrow_schema(), arrays[0]->length(), arrays)),
                IsOk());
    auto result = (*writer)->Finish();
    EXPECT_THAT(result, IsOk());
    file.file_size_in_bytes = result->file_size_bytes;
    file.record_count = result->metrics.record_count;
    return file;
  }

  void Commit(table::FileChanges changes) {
    class Change : public table::SnapshotChange {
     public:
      explicit Change(table::FileChanges changes) : changes_(std::move(changes)) {}
      Result<table::FileChanges> Prepare(const table::Table&, spec::SnapshotId) override { return changes_; }

     private:
      table::FileChanges changes_;
    } change(std::move(changes));
    ASSERT_THAT(table::CommitSnapshot(*table_, change, {}, clock_), IsOk());
  }
  void Append(const std::vector<spec::DataFile>& files) {
    table::FileChanges changes;
    for (const spec::DataFile& file : files) changes.added_data_files.push_back({.file = file, .sequence_number = {}});
    Commit(std::move(changes));
  }
  void Delete(const std::string& path, const std::vector<int64_t>& positions) {
    table::OwnDeletes own;
    ASSERT_THAT(own[path].AddAll(positions), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto live, table::LoadLiveFiles(*table_, table_->metadata()->current_snapshot()));
    ASSERT_OK_AND_ASSIGN(auto merged, table::MergeDeletes(*table_, own, live, nullptr));
    table::FileChanges changes;
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    changes.removed_data_files = std::move(merged.removed_data_files);
    Commit(std::move(changes));
  }

  Result<std::vector<std::string>> TryRead(const ReadColumns& columns) {
    std::vector<std::string> rows;
    FRAZIL_ASSIGN(const auto plan, table::PlanScan(*table_, table_->metadata()->current_snapshot(), nullptr));
    for (const table::FileScanTask& task : plan.tasks) {
      FRAZIL_ASSIGN(const auto reader, FileReader::Open(io_, plan, task, columns));
      for (;;) {
        FRAZIL_ASSIGN(const auto batch, reader->Next());
        if (batch == nullptr) break;
        EXPECT_TRUE(batch->schema()->Equals(*reader->schema()));
        EXPECT_GT(batch->num_rows(), 0);
        const arrow::Status valid = batch->ValidateFull();
        EXPECT_TRUE(valid.ok()) << valid.ToString();
        for (int64_t i = 0; i < batch->num_rows(); ++i) {
          std::string text;
          for (const auto& column : batch->columns())
            text += (text.empty() ? "" : "|") + column->GetScalar(i).ValueOrDie()->ToString();
          rows.push_back(text);
        }
      }
    }
    return rows;
  }
  std::vector<std::string> Read(const ReadColumns& columns) {
    auto rows = TryRead(columns);
    EXPECT_THAT(rows, IsOk());
    return rows.value_or(std::vector<std::string>{});
  }
  ReadColumns Everything() {
    ReadColumns columns = ReadColumns::All(*table_->metadata()->schema());
    columns.row_lineage = true;
    columns.position = true;
    return columns;
  }
  void Evolve(std::vector<Field> fields) {
    auto schema = spec::Schema::Make(spec::SchemaId{1}, std::move(fields));
    ASSERT_THAT(schema, IsOk());
    ASSERT_THAT(table::CommitUpdates(
                    *table_,
                    [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{spec::update::AddSchema{*schema},
                                                            spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
                    },
                    clock_),
                IsOk());
  }

  ManualClock clock_{1'700'000'000'000};
  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<catalog::Catalog> catalog_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_, clock_);
  std::optional<table::Table> table_;
  int num_files_ = 0;
};

const Field kId = MakeField(1, "id", TypeId::kLong);
const Field kName = MakeField(2, "name", TypeId::kString);
const Field kStoredRowId = {
    .id = spec::kRowIdColumnId, .name = spec::kRowIdColumn, .type = Type::Primitive(TypeId::kLong)};
const Field kStoredSequence = {.id = spec::kLastUpdatedSequenceNumberColumnId,
                               .name = spec::kLastUpdatedSequenceNumberColumn,
                               .type = Type::Primitive(TypeId::kLong)};

TEST_F(FileReaderTest, ReadsColumnsInTheAskedOrder) {
  Create({kId, kName});
  Append({Write({kId, kName}, {"[1, 2]", R"(["a", null])"})});
  EXPECT_THAT(Read({.fields = {FieldId{2}, FieldId{1}}}), ElementsAre("a|1", "null|2"));
  EXPECT_THAT(Read({.fields = {FieldId{1}}, .row_lineage = false, .position = true}), ElementsAre("1|0", "2|1"));
}

TEST_F(FileReaderTest, CountsRowsWithoutAnyColumn) {
  Create({kId, kName});
  const spec::DataFile file = Write({kId, kName}, {"[1, 2, 3]", R"(["a", "b", "c"])"});
  Append({file});
  Delete(file.file_path, {1});
  EXPECT_EQ(Read({}).size(), 2u);
  EXPECT_THAT(Read({.fields = {}, .row_lineage = false, .position = true}), ElementsAre("0", "2"));
}

TEST_F(FileReaderTest, LeavesOutWhatAVectorDeletes) {
  Create({kId});
  const spec::DataFile file = Write({kId}, {"[10, 11, 12, 13, 14]"});
  Append({file});
  for (const auto& [deleted, left] : std::vector<std::pair<std::vector<int64_t>, std::vector<std::string>>>{
           {{0}, {"11", "12", "13", "14"}}, {{4}, {"11", "12", "13"}}, {{2, 3}, {"11"}}}) {
    Delete(file.file_path, deleted);
    EXPECT_EQ(Read({.fields = {FieldId{1}}}), left);
  }
}

TEST_F(FileReaderTest, CountsPositionsOverAllRowGroupsAndBatches) {
  Create({kId});
  std::string ids = "[0";
  for (int i = 1; i < 30'000; ++i) ids += "," + std::to_string(i);
  const spec::DataFile file = Write({kId}, {ids + "]"}, {{"write.parquet.row-group-size-bytes", "20000"}});
  Append({file});
  std::vector<int64_t> deleted;
  for (int64_t p = 0; p < 30'000; ++p) {
    if (p % 3 == 1 || (p >= 8'000 && p < 18'000)) deleted.push_back(p);  // whole batches are gone
  }
  Delete(file.file_path, deleted);
  const std::vector<std::string> rows = Read(Everything());
  ASSERT_EQ(rows.size(), 30'000 - deleted.size());
  std::set<int64_t> gone(deleted.begin(), deleted.end());
  size_t at = 0;
  for (int64_t p = 0; p < 30'000; ++p) {
    if (gone.contains(p)) continue;
    ASSERT_EQ(rows[at++], fmt::format("{0}|{0}|1|{0}", p));  // id, _row_id, sequence, _pos
  }
}

TEST_F(FileReaderTest, DerivesLineageAndLetsStoredValuesWin) {
  Create({kId});
  Append({Write({kId}, {"[1, 2]"})});
  Append({Write({kId, kStoredRowId, kStoredSequence}, {"[3, 4, 5]", "[0, null, 1]", "[1, null, null]"})});
  EXPECT_THAT(Read(Everything()), testing::UnorderedElementsAre("1|0|1|0", "2|1|1|1", "3|0|1|0", "4|3|2|1", "5|1|2|2"));
}

TEST_F(FileReaderTest, HasNoLineageOnATableOfVersion2) {
  Create({kId}, {}, {{"format-version", "2"}});
  Append({Write({kId, kStoredRowId, kStoredSequence}, {"[1]", "[7]", "[1]"})});
  EXPECT_THAT(Read(Everything()), ElementsAre("1|null|null|0"));
}

TEST_F(FileReaderTest, FillsColumnsThatTheFileLacks) {
  Create({kId});
  Append({Write({kId}, {"[1]"})});
  Field with_default = MakeField(3, "n", TypeId::kInt);
  with_default.initial_default = int32_t{42};
  Field required = MakeField(4, "r", TypeId::kString, true);
  required.initial_default = std::string("x");
  required.write_default = std::string("y");
  Evolve({kId, kName, with_default, required});
  Append({Write({kId, kName, with_default, required}, {"[2]", R"(["b"])", "[null]", R"(["z"])"})});
  EXPECT_THAT(Read(ReadColumns::All(*table_->metadata()->schema())),
              testing::UnorderedElementsAre("1|null|42|x", "2|b|null|z"));
}

TEST_F(FileReaderTest, FindsRenamedAndPromotedColumnsById) {
  Create({MakeField(1, "id", TypeId::kInt), MakeField(2, "f", TypeId::kFloat)});
  Append({Write({MakeField(1, "id", TypeId::kInt), MakeField(2, "f", TypeId::kFloat)}, {"[7]", "[1.5]"})});
  Evolve({MakeField(2, "g", TypeId::kDouble), MakeField(1, "key", TypeId::kLong)});
  EXPECT_THAT(Read(ReadColumns::All(*table_->metadata()->schema())), ElementsAre("1.5|7"));
}

TEST_F(FileReaderTest, TakesAnIdentityPartitionValueWhereTheFileLacksTheColumn) {
  Create({kId, kName}, {{FieldId{2}, FieldId{1000}, "name", spec::Transform::Identity()}});
  spec::DataFile without = Write({kId}, {"[1]"});
  without.partition = {spec::Value(std::string("p"))};
  spec::DataFile with = Write({kId, kName}, {"[2]", R"(["from file"])"});
  with.partition = {spec::Value(std::string("p"))};
  Append({without, with});
  EXPECT_THAT(Read(ReadColumns::All(*table_->metadata()->schema())),
              testing::UnorderedElementsAre("1|p", "2|from file"));
}

TEST_F(FileReaderTest, RefusesARequiredColumnThatIsMissing) {
  Create({kId, MakeField(2, "name", TypeId::kString, true)});
  const spec::DataFile file = Write({kId}, {"[1]"});
  Append({file});
  EXPECT_THAT(TryRead(ReadColumns::All(*table_->metadata()->schema())),
              IsError(ErrorCode::kInvalidTable, file.file_path));
}

TEST_F(FileReaderTest, RefusesAFileWithOtherRowsThanTheManifestSays) {
  Create({kId});
  spec::DataFile file = Write({kId}, {"[1, 2]"});
  file.record_count = 3;
  Append({file});
  EXPECT_THAT(TryRead(Everything()), IsError(ErrorCode::kInvalidTable, "manifest says 3 rows, the file has 2"));
}

TEST_F(FileReaderTest, NamesFilesItCannotRead) {
  Create({kId});
  spec::DataFile file = Write({kId}, {"[1]"});
  file.file_format = spec::FileFormat::kOrc;
  Append({file});
  EXPECT_THAT(TryRead(Everything()), IsError(ErrorCode::kNotSupported, file.file_path));
  io_->Overwrite(file.file_path, CopyBytes(AsBytes("PAR1 no")));
}

TEST_F(FileReaderTest, ReportsBrokenBytesWithThePath) {
  Create({kId});
  const spec::DataFile file = Write({kId}, {"[1, 2, 3]"});
  Append({file});
  io_->Overwrite(file.file_path, CopyBytes(AsBytes("PAR1 this is no Parquet file PAR1")));
  EXPECT_THAT(TryRead(Everything()), IsError(ErrorCode::kCorruptData, file.file_path));
}

TEST_F(FileReaderTest, ReadsNothingOfAnEmptyTable) {
  Create({kId});
  EXPECT_THAT(Read(Everything()), IsEmpty());
}

}  // namespace
}  // namespace frazil::scan
