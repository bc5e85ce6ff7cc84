#include "frazil/ingest/file_ingest.h"

#include <fstream>

#include "frazil/base/test_support.h"
#include "frazil/index/row_table_test_support.h"
#include "frazil/ingest/identifier_fields.h"
#include "frazil/ingest/infer_columns.h"

namespace frazil::ingest {
namespace {

using index::Partitioning;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class FileIngestTest : public ::testing::Test {
 protected:
  FileIngestTest() {
    options_.clock = &test_.clock;
    options_.commit_every = 3;
    options_.on_notice = [this](const std::string& line) { notices_.push_back(line); };
  }

  void Write(const std::string& text, std::ios::openmode mode = std::ios::trunc) {
    std::ofstream(dir_.Join("in.json"), std::ios::binary | mode) << text;
  }

  Result<IngestProgress> Ingest() {
    notices_.clear();
    FRAZIL_ASSIGN(table::Table table, table::Table::Load(test_.catalog, test_.name));
    FRAZIL_ASSIGN(const auto source, FileSource::Open(dir_.Join("in.json")));
    return IngestFile(table, *source, options_);
  }

  /// id -> value of the head.
  std::map<int64_t, std::string> Rows() {
    std::map<int64_t, std::string> rows;
    auto live = index::ReadLiveRows(test_.Other());
    EXPECT_THAT(live, IsOk());
    for (const index::LiveRow& row : *live) {
      EXPECT_TRUE(rows.emplace(row.row.id, row.row.value).second) << "doubled key " << row.row.id;
    }
    return rows;
  }

  size_t NumSnapshots() { return test_.Other().metadata()->snapshots.size(); }

  TempDir dir_;
  index::MemoryTable test_;
  FileIngestOptions options_;
  std::vector<std::string> notices_;
};

std::string Line(int64_t id, const std::string& value) {
  return fmt::format("{{\"id\": {}, \"value\": \"{}\"}}\n", id, value);
}

TEST_F(FileIngestTest, UpsertsAndSaysWhatItDid) {
  Write(Line(1, "a") + Line(2, "b") + Line(1, "c") + "\n" + Line(2, "d") + Line(3, "e") + Line(4, "f"));
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "c"), Pair(2, "d"), Pair(3, "e"), Pair(4, "f")));
  EXPECT_EQ(done.records, 7);
  EXPECT_EQ(done.committed_records, 7);
  EXPECT_EQ(done.commits, 3);
  EXPECT_EQ(done.inserts, 4);
  EXPECT_EQ(done.updates, 1);
  EXPECT_EQ(done.deletes, 0);
}

/// Spec section 5.6: without a snapshot of version 3 before the first upsert the old row would have no id to keep.
TEST(UpgradedTable, KeepsTheIdsThatItsOldRowsGet) {
  TempDir dir;
  index::MemoryTable test(Partitioning::kNone, {{"format-version", "2"}});
  ASSERT_THAT(index::ForeignInsert(test.table, {{1, "a", ""}, {2, "b", ""}}, test.clock), IsOk());
  FileIngestOptions options;
  options.clock = &test.clock;
  std::ofstream(dir.Join("in.json")) << Line(2, "c");
  ASSERT_OK_AND_ASSIGN(const auto refused, FileSource::Open(dir.Join("in.json")));
  EXPECT_THAT(IngestFile(test.table, *refused, options), IsError(ErrorCode::kNotSupported, "format version 2"));

  ASSERT_THAT(table::CommitUpdates(
                  test.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
                  },
                  test.clock),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto source, FileSource::Open(dir.Join("in.json")));
  ASSERT_THAT(IngestFile(test.table, *source, options), IsOk());

  ASSERT_OK_AND_ASSIGN(const std::vector<index::LiveRow> rows, index::ReadLiveRows(test.Other()));
  std::map<std::string, std::optional<int64_t>> row_ids;
  for (const index::LiveRow& row : rows) row_ids[row.row.value] = row.row_id;
  EXPECT_THAT(row_ids, ElementsAre(Pair("a", 0), Pair("c", 1)));
}

TEST_F(FileIngestTest, DoesNothingForAnEmptyFile) {
  Write("");
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.commits, 0);
  EXPECT_EQ(NumSnapshots(), 0u);
}

TEST_F(FileIngestTest, DoesNothingTheSecondTime) {
  Write(Line(1, "a") + Line(2, "b"));
  ASSERT_THAT(Ingest(), IsOk());
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.records, 0);
  EXPECT_EQ(done.committed_records, 2);
  EXPECT_EQ(NumSnapshots(), 1u);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("after 2 committed records")));
}

TEST_F(FileIngestTest, GoesOnWhereAGrownFileGoesOn) {
  Write(Line(1, "a"));
  ASSERT_THAT(Ingest(), IsOk());
  Write(Line(1, "b") + Line(2, "c"), std::ios::app);
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.updates, 1);
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "b"), Pair(2, "c")));
}

TEST_F(FileIngestTest, RefusesAnotherFileUnderTheSameName) {
  Write(Line(1, "a"));
  ASSERT_THAT(Ingest(), IsOk());
  Write(Line(9, "other") + Line(1, "a"));
  EXPECT_THAT(Ingest(), IsError(ErrorCode::kInvalidArgument, "not the one"));
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "a")));
}

TEST_F(FileIngestTest, CommitsWhatComesBeforePoisonAndGoesOnAtTheMendedRecord) {
  Write(Line(1, "a") + Line(2, "b") + "{\"id\": \"x\"}\n" + Line(3, "c"));
  EXPECT_THAT(Ingest(), IsError(ErrorCode::kInvalidArgument, "record 2 (line 3)"));
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "a"), Pair(2, "b")));
  EXPECT_THAT(Ingest(), IsError(ErrorCode::kInvalidArgument, "record 2 (line 3)"));
  EXPECT_EQ(NumSnapshots(), 1u);
  options_.on_poison = PoisonPolicy::kSkip;
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.poison, 1);
  EXPECT_THAT(done.first_poison, HasSubstr("record 2"));
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "a"), Pair(2, "b"), Pair(3, "c")));
}

TEST_F(FileIngestTest, CommitsTheOffsetsOfBatchesThatHoldPoisonOnly) {
  options_.on_poison = PoisonPolicy::kSkip;
  Write("bad\nbad\nbad\nbad\n");
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.committed_records, 4);
  ASSERT_OK_AND_ASSIGN(const IngestProgress again, Ingest());
  EXPECT_EQ(again.records, 0);
}

TEST_F(FileIngestTest, StopsWhenAskedAndKeepsWhatItCommitted) {
  std::atomic<bool> stop{false};
  options_.stop = &stop;
  options_.on_progress = [&](const IngestProgress& progress) { stop = progress.commits >= 1; };
  Write(Line(1, "a") + Line(2, "b") + Line(3, "c") + Line(4, "d"));
  EXPECT_THAT(Ingest(), IsError(ErrorCode::kShuttingDown, "3 records"));
  EXPECT_EQ(Rows().size(), 3u);
  stop = false;
  options_.on_progress = nullptr;
  ASSERT_THAT(Ingest(), IsOk());
  EXPECT_EQ(Rows().size(), 4u);
}

TEST_F(FileIngestTest, CommitsInTheBackgroundToo) {
  Executor executor(2);
  options_.executor = &executor;
  std::string text;
  for (int i = 0; i < 40; ++i) text += Line(i % 7, std::to_string(i));
  Write(text);
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.commits, 14);
  EXPECT_EQ(Rows().size(), 7u);
  EXPECT_EQ(Rows()[4], "39");
}

TEST_F(FileIngestTest, ReplaysWhatARollbackTookAway) {
  Write(Line(1, "a") + Line(2, "b") + Line(3, "c"));
  ASSERT_THAT(Ingest(), IsOk());
  table::Table table = test_.Other();
  const spec::SnapshotId first = *table.metadata()->current_snapshot_id;
  Write(Line(1, "d") + Line(4, "e"), std::ios::app);
  ASSERT_THAT(Ingest(), IsOk());
  ASSERT_THAT(index::SetHead(table, first, test_.clock), IsOk());
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "a"), Pair(2, "b"), Pair(3, "c")));
  ASSERT_THAT(Ingest(), IsOk());
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("rolled back: records 3 to 4"), HasSubstr("after 3")));
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "d"), Pair(2, "b"), Pair(3, "c"), Pair(4, "e")));
}

class ExpiredHistoryTest : public FileIngestTest {
 protected:
  /// Somebody who does not know our markers rewrites everything and expires the rest; even the log is short.
  void LoseHistory() {
    table::Table table = test_.Other();
    ASSERT_THAT(table::CommitUpdates(
                    table,
                    [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{
                          spec::update::SetProperties{{{"write.metadata.previous-versions-max", "1"}}}};
                    },
                    test_.clock),
                IsOk());
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(index::ForeignRewrite(
                      table, [](const std::string&) { return true; }, test_.clock),
                  IsOk());
    }
    ASSERT_THAT(index::ExpireAllButHead(table, test_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(table, {{100, "foreign", ""}}, test_.clock), IsOk());
    ASSERT_THAT(index::ExpireAllButHead(table, test_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(table, {{101, "foreign", ""}}, test_.clock), IsOk());
  }
};

TEST_F(ExpiredHistoryTest, StopsWithTheEvidence) {
  Write(Line(1, "a") + Line(2, "b"));
  ASSERT_THAT(Ingest(), IsOk());
  LoseHistory();
  EXPECT_THAT(Ingest(), IsError(ErrorCode::kFenced, "a table property says 2 records"));
}

TEST_F(ExpiredHistoryTest, GoesOnFromThePropertyWhenTold) {
  Write(Line(1, "a") + Line(2, "b"));
  ASSERT_THAT(Ingest(), IsOk());
  LoseHistory();
  Write(Line(2, "c"), std::ios::app);
  options_.reset_offsets = ResetOffsets::kProperty;
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.records, 1);
  EXPECT_EQ(Rows()[2], "c");
  options_.reset_offsets = ResetOffsets::kRefuse;
  ASSERT_OK_AND_ASSIGN(const IngestProgress again, Ingest());
  EXPECT_EQ(again.records, 0);
}

TEST_F(ExpiredHistoryTest, ReadsEverythingAgainWhenTold) {
  Write(Line(1, "a") + Line(2, "b"));
  ASSERT_THAT(Ingest(), IsOk());
  LoseHistory();
  options_.reset_offsets = ResetOffsets::kEarliest;
  ASSERT_OK_AND_ASSIGN(const IngestProgress done, Ingest());
  EXPECT_EQ(done.records, 2);
  EXPECT_EQ(done.updates, 2);
  EXPECT_THAT(Rows(), ElementsAre(Pair(1, "a"), Pair(2, "b"), Pair(100, "foreign"), Pair(101, "foreign")));
  options_.reset_offsets = ResetOffsets::kRefuse;
  ASSERT_THAT(Ingest(), IsOk());
}

TEST_F(FileIngestTest, RefusesTablesOfFormatVersion2) {
  ASSERT_OK_AND_ASSIGN(table::Table old, index::CreateTestTable(test_.catalog, {{"db"}, "old"}, Partitioning::kNone,
                                                                {{"format-version", "2"}}));
  Write(Line(1, "a"));
  ASSERT_OK_AND_ASSIGN(const auto source, FileSource::Open(dir_.Join("in.json")));
  EXPECT_THAT(IngestFile(old, *source, options_), IsError(ErrorCode::kNotSupported, "version 2: db.old"));
}

TEST_F(FileIngestTest, LeavesNoFileOfABatchThatChangedNothing) {
  options_.decoder.op_column = "op";
  Write("{\"op\": \"d\", \"id\": 5}\n");
  ASSERT_THAT(Ingest(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto files, test_.io->List(test_.Other().metadata()->location + "/data"));
  EXPECT_THAT(files, IsEmpty());
  EXPECT_EQ(NumSnapshots(), 1u);
}

TEST(InferColumns, SeesTypesInOrderOfAppearance) {
  TempDir dir;
  std::ofstream(dir.Join("a.json")) << R"({"a": 1, "b": "x", "c": null, "d": 1, "e": true})"
                                    << "\n"
                                    << R"({"a": 2, "d": 1.5, "c": null, "f": 18446744073709551615, "e": 1})"
                                    << "\n"
                                    << "not json\n";
  ASSERT_OK_AND_ASSIGN(const auto columns, InferColumns(dir.Join("a.json"), {}));
  std::string text;
  for (const InferredColumn& column : columns) text += column.name + " " + column.type + ", ";
  EXPECT_EQ(text, "a bigint, b string, c string, d double, e string, f double, ");
}

TEST(InferColumns, RefusesNestedAndEmptyInput) {
  TempDir dir;
  std::ofstream(dir.Join("nested.json")) << "{\"a\": {\"b\": 1}}\n";
  EXPECT_THAT(InferColumns(dir.Join("nested.json"), {}), IsError(ErrorCode::kNotSupported, "--columns"));
  std::ofstream(dir.Join("empty.json")) << "\n";
  EXPECT_THAT(InferColumns(dir.Join("empty.json"), {}), IsError(ErrorCode::kInvalidArgument, "empty.json"));
  EXPECT_THAT(InferColumns("-", {}), IsError(ErrorCode::kNotSupported, "standard input"));
}

class IdentifierFieldsTest : public ::testing::Test {
 protected:
  table::Table Create(std::vector<spec::FieldId> identifiers) {
    using spec::FieldId;
    spec::CreateTableRequest request;
    request.schema =
        *spec::Schema::Make(spec::SchemaId{0},
                            {{.id = FieldId{1}, .name = "id", .type = spec::Type::Primitive(spec::TypeId::kLong)},
                             {.id = FieldId{2},
                              .name = "customer",
                              .required = true,
                              .type = spec::Type::Primitive(spec::TypeId::kString)}},
                            std::move(identifiers));
    EXPECT_THAT(test_.catalog->CreateTable({{"db"}, "u"}, request), IsOk());
    return *table::Table::Load(test_.catalog, {{"db"}, "u"});
  }
  index::MemoryTable test_;
};

TEST_F(IdentifierFieldsTest, AreSetAndMadeRequiredOnATableWithoutData) {
  table::Table table = Create({});
  ASSERT_THAT(EnsureIdentifierFields(table, {"ID", "customer"}, test_.clock), IsOk());
  EXPECT_THAT(table.metadata()->schema()->identifier_field_ids(), ElementsAre(spec::FieldId{1}, spec::FieldId{2}));
  EXPECT_TRUE(table.metadata()->schema()->FindField("id")->required);
  const std::string location = table.metadata_location();
  ASSERT_THAT(EnsureIdentifierFields(table, {"customer", "id"}, test_.clock), IsOk());
  ASSERT_THAT(EnsureIdentifierFields(table, {}, test_.clock), IsOk());
  EXPECT_EQ(table.metadata_location(), location);
}

TEST_F(IdentifierFieldsTest, RefuseOthersThanTheTables) {
  table::Table table = Create({spec::FieldId{2}});
  EXPECT_THAT(EnsureIdentifierFields(table, {"id"}, test_.clock), IsError(ErrorCode::kInvalidArgument, "customer"));
}

TEST_F(IdentifierFieldsTest, NameTheNearestColumn) {
  table::Table table = Create({});
  EXPECT_THAT(EnsureIdentifierFields(table, {"custmer"}, test_.clock),
              IsError(ErrorCode::kInvalidArgument, "did you mean customer?"));
  EXPECT_THAT(EnsureIdentifierFields(table, {}, test_.clock),
              IsError(ErrorCode::kInvalidArgument, "--identifier-fields"));
}

}  // namespace
}  // namespace frazil::ingest
