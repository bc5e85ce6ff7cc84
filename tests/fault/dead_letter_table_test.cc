// Dead letters as rows of a table: a commit a flush, nothing lost when the catalog or the store is away.

#include "frazil/ingest/dead_letter_table.h"

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/scan_planner.h"
#include "tests/support/pipeline_world.h"

#include <arrow/api.h>

namespace frazil::test {
namespace {

using ingest::SourceRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const catalog::TableName kLetters{{"db"}, "letters"};

class DeadLetterTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(world_.catalog->CreateTable(kLetters, ingest::DeadLetterTableRequest()), IsOk());
    catalog_ = catalog::MakeFaultInjectingCatalog(
        world_.catalog, [this](std::string_view operation, const catalog::TableName&) -> Status {
          return fault_ ? fault_(operation) : Status();
        });
  }

  std::unique_ptr<ingest::DeadLetters> Open() {
    auto letters = ingest::MakeDeadLetterTable(*table::Table::Load(catalog_, kLetters),
                                               {.pipeline_id = "p", .source_topic = "t"}, *world_.clock);
    EXPECT_THAT(letters, IsOk());
    return *std::move(letters);
  }

  /// Rows as Arrow prints them, in order of offset.
  std::vector<std::string> Letters() {
    const auto table = table::Table::Load(world_.catalog, kLetters);
    const auto plan = table::PlanScan(*table, table->metadata()->current_snapshot(), expr::Expression::True());
    EXPECT_THAT(plan, IsOk());
    std::vector<std::string> rows;
    for (const table::FileScanTask& task : plan->tasks) {
      const auto reader = scan::FileReader::Open(table->io(), *plan, task, scan::ReadColumns::All(*plan->schema));
      EXPECT_THAT(reader, IsOk());
      for (;;) {
        const auto batch = *(*reader)->Next();
        if (!batch) break;
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          std::string text;
          for (const auto& column : batch->columns()) {
            text += (text.empty() ? "" : "|") + (*column->GetScalar(row))->ToString();
          }
          rows.push_back(text);
        }
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  PipelineWorld world_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::function<Status(std::string_view)> fault_;
};

SourceRecord RecordAt(int64_t offset) {
  SourceRecord record;
  record.partition = 3;
  record.offset = offset;
  return record;
}

TEST_F(DeadLetterTableTest, KeepsTheRecordAndSaysWhereItCameFromAndWhy) {
  const auto letters = Open();
  const std::vector<std::pair<std::string_view, std::string_view>> headers = {{"h", "x"}, {"h", {}}};
  SourceRecord record = RecordAt(1);
  record.timestamp_ms = 1'700'000'000'000;
  record.key = "k";
  record.value = std::string_view("a\0b", 3);
  record.headers = headers;
  ASSERT_THAT(letters->Add(record, "no frame"), IsOk());
  ASSERT_THAT(letters->Add(RecordAt(2), "a tombstone without a key"), IsOk());
  EXPECT_THAT(Letters(), IsEmpty());
  ASSERT_THAT(letters->Flush(), IsOk());
  ASSERT_THAT(letters->Flush(), IsOk());  // nothing more to do
  const std::vector<std::string> rows = Letters();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0], AllOf(HasSubstr("p|t|3|1|"), HasSubstr("2023-11-14 22:13:20"), HasSubstr("no frame")));
  EXPECT_THAT(rows[1], HasSubstr("p|t|3|2|null|null|null|"));
  EXPECT_EQ(table::Table::Load(world_.catalog, kLetters)->metadata()->snapshots.size(), 1u);
}

TEST_F(DeadLetterTableTest, ALostRaceIsRepeatedAndAnAbsentCatalogIsWaitedForByTheCaller) {
  const auto letters = Open();
  ASSERT_THAT(letters->Add(RecordAt(1), "why"), IsOk());
  fault_ = [](std::string_view operation) -> Status {
    return operation == "commit.before" ? Fail(ErrorCode::kUnavailable, "away") : Status();
  };
  EXPECT_THAT(letters->Flush(), IsError(ErrorCode::kUnavailable, "away"));
  fault_ = nullptr;
  const auto other = Open();
  ASSERT_THAT(other->Add(RecordAt(2), "why"), IsOk());
  ASSERT_THAT(other->Flush(), IsOk());
  ASSERT_THAT(letters->Add(RecordAt(3), "why"), IsOk());
  ASSERT_THAT(letters->Flush(), IsOk());
  EXPECT_EQ(Letters().size(), 3u);
  const table::Table table = *table::Table::Load(world_.catalog, kLetters);
  EXPECT_THAT(MissingFiles(table), IsOkAnd(IsEmpty()));
}

TEST_F(DeadLetterTableTest, NothingIsLostWhenTheReplyIs) {
  const auto letters = Open();
  ASSERT_THAT(letters->Add(RecordAt(1), "why"), IsOk());
  fault_ = [](std::string_view operation) -> Status {
    return operation == "commit.after" ? Fail(ErrorCode::kCommitUnknown, "lost reply") : Status();
  };
  while (!letters->Flush()) fault_ = nullptr;
  EXPECT_THAT(Letters(), ::testing::Each(HasSubstr("p|t|3|1|")));
  EXPECT_GE(Letters().size(), 1u);
  EXPECT_THAT(MissingFiles(*table::Table::Load(world_.catalog, kLetters)), IsOkAnd(IsEmpty()));
}

TEST_F(DeadLetterTableTest, AnotherTableIsRefused) {
  EXPECT_THAT(ingest::MakeDeadLetterTable(world_.Table(), {.pipeline_id = "p", .source_topic = "t"}, *world_.clock),
              IsError(ErrorCode::kInvalidTable, "not a table of dead letters"));
}

}  // namespace
}  // namespace frazil::test
