#include "frazil/maintain/rewrite_data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/maintain/rewrite_journal.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/table/marker.h"
#include "frazil/table/row_map.h"

namespace frazil::maintain {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, std::string> kV3 = {{"format-version", "3"}};

/// A table of `files` files with `rows` rows each.
void Fill(MemoryTable& table, int files, int rows, const std::string& part = "a") {
  for (int i = 0; i < files; ++i) {
    ASSERT_THAT(index::ForeignInsert(table.table, Rows(i * rows, (i + 1) * rows, part), table.clock), IsOk());
  }
}

TEST(RewriteDataFiles, PacksSmallFilesAndKeepsEveryRowsLineage) {
  MemoryTable table(Partitioning::kNone, kV3);
  Fill(table, 6, 10);
  ASSERT_THAT(index::ForeignDelete(table.table, {3, 14, 15, 59}, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);

  const auto result = RewriteDataFiles(table.table, {}, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 6);
  EXPECT_EQ(result->added_data_files, 1);
  EXPECT_EQ(result->removed_delete_files, 3);
  EXPECT_EQ(result->rows_carried, 56);
  EXPECT_EQ(RowsOf(table.table), before);
  const table::LiveFiles live = LiveOf(table.table);
  EXPECT_THAT(live.data_files, SizeIs(1));
  EXPECT_THAT(live.delete_files, IsEmpty());
  const spec::Snapshot& head = *table.table.metadata()->current_snapshot();
  EXPECT_EQ(head.operation, spec::Operation::kReplace);
  EXPECT_EQ(head.summary.at("added-records"), "56");
  EXPECT_EQ(head.summary.at("deleted-records"), "60");
}

TEST(RewriteDataFiles, NamesARowMapThatSaysWhereEveryRowWent) {
  MemoryTable table(Partitioning::kNone, kV3);
  Fill(table, 5, 10);
  ASSERT_THAT(index::ForeignDelete(table.table, {12}, table.clock), IsOk());
  const auto before = *index::ReadLiveRows(table.table);
  ASSERT_THAT(RewriteDataFiles(table.table, {}, {.clock = &table.clock}), IsOk());
  const std::string path = table.table.metadata()->current_snapshot()->summary.at(table::kRowMapSummaryKey);
  EXPECT_TRUE(path.starts_with(table.table.metadata()->location + "/_frazil/rowmaps/")) << path;
  const auto map = table::RowMap::Read(*table.io, path);
  ASSERT_THAT(map, IsOk());
  const auto after = *index::ReadLiveRows(table.table);
  for (const LiveRow& row : before) {
    const auto target = (*map)->Find(*(*map)->FindSource(row.path), spec::RowPosition(row.position));
    ASSERT_TRUE(target) << row.row.id;
    const auto found = std::find_if(after.begin(), after.end(), [&](const LiveRow& now) { return now.row == row.row; });
    EXPECT_EQ(found->path, (*map)->outputs()[target->output].path);
    EXPECT_EQ(found->position, target->position.value());
  }
}

TEST(RewriteDataFiles, LeavesALoneSmallFileAlone) {
  MemoryTable table(Partitioning::kNone, kV3);
  Fill(table, 1, 10);
  const auto head = table.table.metadata()->current_snapshot_id;
  const auto result = RewriteDataFiles(table.table, {}, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 0);
  EXPECT_EQ(table.table.metadata()->current_snapshot_id, head);
}

TEST(RewriteDataFiles, RewritesALoneFileWithManyDeletedRows) {
  MemoryTable table(Partitioning::kNone, kV3);
  Fill(table, 1, 10);
  ASSERT_THAT(index::ForeignDelete(table.table, {1, 2, 3}, table.clock), IsOk());
  const auto result = RewriteDataFiles(table.table, {}, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 1);
  EXPECT_THAT(LiveOf(table.table).delete_files, IsEmpty());
  EXPECT_THAT(IdsOf(table.table), ElementsAre(0, 4, 5, 6, 7, 8, 9));
}

TEST(RewriteDataFiles, KeepsPartitionsApart) {
  MemoryTable table(Partitioning::kByPart, kV3);
  for (int i = 0; i < 5; ++i) {
    std::vector<TestRow> rows = Rows(i * 10, i * 10 + 5, "a");
    for (const TestRow& row : Rows(i * 10 + 5, i * 10 + 10, "b")) rows.push_back(row);
    ASSERT_THAT(index::ForeignInsert(table.table, rows, table.clock), IsOk());
  }
  const std::vector<std::string> before = RowsOf(table.table);
  const auto result = RewriteDataFiles(table.table, {}, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 2);
  EXPECT_EQ(result->rewritten_data_files, 10);
  EXPECT_EQ(result->added_data_files, 2);
  EXPECT_EQ(result->commits, 1);
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(RewriteResult, SaysWhyItMustBeRunAgain) {
  RewriteResult result;
  EXPECT_FALSE(result.Failure()) << "nothing to do";
  result.groups = 2;
  result.dropped_groups = 1;
  result.dropped_reasons = {"a: changed meanwhile"};
  EXPECT_FALSE(result.Failure()) << "given up as designed";
  result.groups = 0;
  EXPECT_EQ(result.Failure()->code(), ErrorCode::kCommitConflict);
  EXPECT_THAT(result.Failure()->ToString(), HasSubstr("a: changed meanwhile"));
  result.failed_groups = 2;
  result.first_error = Error(ErrorCode::kIo, "too many open files");
  EXPECT_EQ(result.Failure()->code(), ErrorCode::kIo);
  EXPECT_THAT(result.Failure()->ToString(), HasSubstr("too many open files"));
  EXPECT_THAT(result.Failure()->ToString(), HasSubstr("2 of 3 file groups failed"));
}

// Of two partitions one cannot be read.
TEST(RewriteDataFiles, AGroupThatFailsHoldsUpNoOtherAndIsSaid) {
  MemoryTable table(Partitioning::kByPart, kV3);
  for (const std::string part : {"a", "b"}) Fill(table, 5, 2, part);
  const std::string gone = LiveOf(table.table).data_files[0].file.file_path;
  ASSERT_THAT(table.io->Delete({gone}), IsOk());
  RewriteOptions options;
  options.partial_progress = true;
  const auto result = RewriteDataFiles(table.table, options, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 1);
  EXPECT_EQ(result->failed_groups, 1);
  EXPECT_EQ(result->failed_data_files, 5);
  ASSERT_TRUE(result->Failure());
  EXPECT_EQ(result->Failure()->code(), ErrorCode::kNotFound);
  EXPECT_THAT(result->Failure()->ToString(), testing::AllOf(HasSubstr(gone), HasSubstr("1 of 2 file groups failed")));
}

TEST(RewriteDataFiles, PartialProgressCommitsInParts) {
  MemoryTable table(Partitioning::kByPart, kV3);
  for (const std::string part : {"a", "b", "c"}) Fill(table, 5, 2, part);
  RewriteOptions options;
  options.partial_progress = true;
  options.partial_progress_max_commits = 2;
  const auto result = RewriteDataFiles(table.table, options, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 3);
  EXPECT_EQ(result->commits, 2);
}

TEST(RewriteDataFiles, MoreFailedCommitsThanAreAllowedEndTheRun) {
  for (const int max_failed : {0, 1, 3}) {
    SCOPED_TRACE(max_failed);
    std::map<std::string, std::string> properties = kV3;
    properties["commit.retry.num-retries"] = "0";
    MemoryTable memory(Partitioning::kByPart, properties);
    for (const std::string part : {"a", "b", "c"}) Fill(memory, 5, 2, part);
    const std::vector<std::string> before = RowsOf(memory.table);
    int num_commits = 0;
    const auto faulty = catalog::MakeFaultInjectingCatalog(
        memory.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
          if (operation != "commit.before") return {};
          ++num_commits;
          return Fail(ErrorCode::kCommitConflict, "somebody was faster");
        });
    table::Table table = *table::Table::Load(faulty, memory.name);
    RewriteOptions options;
    options.partial_progress = true;
    options.partial_progress_max_commits = 3;
    options.partial_progress_max_failed_commits = max_failed;
    const auto result = RewriteDataFiles(table, options, {.clock = &memory.clock});
    EXPECT_EQ(num_commits, std::min(max_failed + 1, 3));
    if (max_failed < 3) {
      EXPECT_THAT(result, IsError(ErrorCode::kCommitConflict,
                                  fmt::format("{} commits failed, partial-progress.max-failed-commits is {}",
                                              max_failed + 1, max_failed)));
    } else {
      ASSERT_THAT(result, IsOk());
      EXPECT_EQ(result->failed_groups, 3);
      EXPECT_EQ(result->failed_data_files, 15);
      EXPECT_EQ(result->commits, 0);
    }
    EXPECT_EQ(RowsOf(memory.Other()), before);
  }
}

TEST(RewriteDataFiles, ProgressMovesInsideAGroup) {
  for (const auto strategy : {RewriteOptions::Strategy::kBinPack, RewriteOptions::Strategy::kSort}) {
    MemoryTable table(Partitioning::kNone, kV3);
    Fill(table, 4, 100);
    ASSERT_THAT(index::ForeignDelete(table.table, {3, 14, 15, 259}, table.clock), IsOk());
    RewriteOptions options = AllFiles();
    options.strategy = strategy;
    options.sort_order = spec::SortOrder{.id = spec::SortOrderId{0}, .fields = {{.source_id = spec::FieldId{1}}}};
    std::vector<table::ProcedureProgress> seen;
    ASSERT_THAT(RewriteDataFiles(table.table, options,
                                 {.clock = &table.clock,
                                  .on_progress = [&](const table::ProcedureProgress& now) { seen.push_back(now); }}),
                IsOk());
    int inside = 0;
    for (const table::ProcedureProgress& now : seen) {
      EXPECT_LE(now.bytes_done, now.bytes);
      inside += now.groups_done == 0 && now.bytes_done > 0 && now.bytes_done < now.bytes ? 1 : 0;
    }
    EXPECT_GE(inside, 3);
    EXPECT_EQ(seen.back().bytes_done, seen.back().bytes);
    EXPECT_EQ(seen.back().rows_done, 396);
    EXPECT_EQ(seen.back().groups_done, 1);
  }
}

// How much files expand is in their footers; by their compressed size such a table was let in with a tenth of its need.
TEST(RewriteDataFiles, MemoryIsEstimatedFromWhatRowsTakeDecoded) {
  MemoryTable table(Partitioning::kNone, kV3);
  std::vector<TestRow> rows = Rows(0, 200);
  for (TestRow& row : rows) row.value = std::string(20'000, 'x');
  ASSERT_THAT(index::ForeignInsert(table.table, rows, table.clock), IsOk());
  RewriteOptions options = AllFiles();
  options.strategy = RewriteOptions::Strategy::kSort;
  options.sort_order = spec::SortOrder{.id = spec::SortOrderId{0}, .fields = {{.source_id = spec::FieldId{1}}}};
  const auto plan = PlanRewrite(table.table, options);
  ASSERT_THAT(plan, IsOk());
  ASSERT_THAT(plan->groups, SizeIs(1));
  const double expansion = ExpansionOf(*table.io, *plan, plan->groups[0]);
  const auto decoded = static_cast<int64_t>(expansion * static_cast<double>(plan->groups[0].live_bytes));
  EXPECT_GE(decoded, 200 * 20'000);
  EXPECT_LE(decoded, 200 * 21'000);
  EXPECT_GE(EstimateMemory(*plan, plan->groups[0], expansion), 2 * decoded);
}

TEST(RewriteDataFiles, SortsInRunsOnDiskAndMergesThem) {
  MemoryTable table(Partitioning::kByPart, kV3);
  for (int i = 0; i < 3; ++i) {
    std::vector<TestRow> rows;
    for (int64_t n = 0; n < 1000; ++n) rows.push_back({i * 1000 + n * 7919 % 1000, "v", n % 2 == 0 ? "a" : "b"});
    ASSERT_THAT(index::ForeignInsert(table.table, rows, table.clock), IsOk());
  }
  ASSERT_THAT(index::ForeignDelete(table.table, {5, 1500}, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  const RewriteOptions options = SortedBy(spec::FieldId{1}, spec::SortDirection::kDescending);
  ASSERT_THAT(RewriteDataFiles(table.table, options, {.clock = &table.clock}), IsOk());
  EXPECT_EQ(RowsOf(table.table), before);
  std::map<std::string, int64_t> last;
  const auto after = *index::ReadLiveRows(table.table);
  for (const LiveRow& row : after) {
    const auto [found, is_new] = last.try_emplace(row.path, row.row.id);
    EXPECT_TRUE(is_new || row.row.id < found->second);
    found->second = row.row.id;
  }
  EXPECT_THAT(last, SizeIs(2));
}

// Where rows went is in memory from the group to the commit, and out of the limit.
TEST(RewriteDataFiles, ASortReservesWhereRowsWentUntilItsCommit) {
  MemoryTable table(Partitioning::kByPart, kV3);
  for (const std::string part : {"a", "b"}) {
    std::vector<TestRow> rows;
    for (int64_t n = 0; n < 1000; ++n) rows.push_back({n * 7919 % 1000, "v", part});
    ASSERT_THAT(index::ForeignInsert(table.table, rows, table.clock), IsOk());
  }
  const std::vector<std::string> before = RowsOf(table.table);
  MemoryBudget budget(int64_t{64} << 20);
  int64_t used_at_commit = 0;
  table::ProcedureContext context{.budget = &budget, .clock = &table.clock};
  context.on_progress = [&](const table::ProcedureProgress& progress) {
    if (progress.phase == "committing") used_at_commit = budget.used_bytes();
  };
  ASSERT_THAT(RewriteDataFiles(table.table, SortedBy(spec::FieldId{1}), context), IsOk());
  EXPECT_EQ(used_at_commit, 2 * 1000 * 8);
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_LE(budget.peak_bytes(), budget.limit_bytes());
  EXPECT_GT(budget.peak_bytes(), 0);
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(RewriteDataFiles, MovesFilesOfAnOldSpecToTheirPartitions) {
  MemoryTable table(Partitioning::kNone, kV3);
  for (int i = 0; i < 5; ++i) {
    std::vector<TestRow> rows;
    for (int64_t n = 0; n < 10; ++n) rows.push_back({i * 10 + n, "v", n % 3 == 0 ? "a" : "b"});
    ASSERT_THAT(index::ForeignInsert(table.table, rows, table.clock), IsOk());
  }
  ASSERT_THAT(
      table::CommitUpdates(
          table.table,
          [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
            return std::vector<spec::TableUpdate>{
                spec::update::AddPartitionSpec{spec::PartitionSpec(
                    spec::SpecId{1}, {{spec::FieldId{3}, spec::FieldId{1000}, "part", spec::Transform::Identity()}})},
                spec::update::SetDefaultSpec{spec::SpecId{-1}}};
          },
          table.clock),
      IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  const auto report = ExplainRewrite(table.table, {}, {});
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->partitions, SizeIs(1));
  EXPECT_EQ(report->partitions[0].partition, "landing");

  const auto result = RewriteDataFiles(table.table, {}, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 5);
  EXPECT_EQ(result->added_data_files, 2);
  EXPECT_EQ(RowsOf(table.table), before);
  for (const table::LiveDataFile& file : LiveOf(table.table).data_files) {
    EXPECT_EQ(file.file.spec_id, table.table.metadata()->default_spec_id);
    EXPECT_EQ(file.sequence_number.value(), 5);
  }
}

TEST(RewriteDataFiles, OutputsGetTheSpecThatIsAskedFor) {
  for (const int32_t spec : {0, 1}) {
    SCOPED_TRACE(spec);
    MemoryTable table(Partitioning::kNone, kV3);
    Fill(table, 5, 10);
    const spec::PartitionSpec by_part(spec::SpecId{1},
                                      {{spec::FieldId{3}, spec::FieldId{1000}, "part", spec::Transform::Identity()}});
    ASSERT_THAT(table::CommitUpdates(
                    table.table,
                    [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{spec::update::AddPartitionSpec{by_part},
                                                            spec::update::SetDefaultSpec{spec::SpecId{-1}}};
                    },
                    table.clock),
                IsOk());
    const std::vector<std::string> before = RowsOf(table.table);
    const auto options = RewriteOptions::Parse({{"output-spec-id", std::to_string(spec)}});
    ASSERT_THAT(options, IsOk());
    const auto result = RewriteDataFiles(table.table, *options, {.clock = &table.clock});
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->rewritten_data_files, 5);
    EXPECT_EQ(RowsOf(table.table), before);
    const auto files = LiveOf(table.table).data_files;
    ASSERT_THAT(files, SizeIs(1));
    EXPECT_EQ(files[0].file.spec_id, spec::SpecId{spec});
    EXPECT_THAT(RewriteDataFiles(table.table, *RewriteOptions::Parse({{"output-spec-id", "7"}}), {}),
                IsError(ErrorCode::kInvalidArgument, "output-spec-id is no partition spec of the table: 7"));
  }
}

TEST(RewriteDataFiles, SaysWhyAPartitionIsLeftAlone) {
  MemoryTable table(Partitioning::kByPart, kV3);
  Fill(table, 2, 10);
  const auto report = ExplainRewrite(table.table, {}, {});
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->partitions, SizeIs(1));
  EXPECT_FALSE(report->partitions[0].is_chosen);
  EXPECT_EQ(report->partitions[0].partition, "part=a");
  EXPECT_THAT(report->partitions[0].reason, HasSubstr("min-input-files = 5"));
}

TEST(RewriteDataFiles, ATableWithoutPartitionsHasOneWithAName) {
  MemoryTable table(Partitioning::kNone, kV3);
  Fill(table, 2, 10);
  const auto report = ExplainRewrite(table.table, {}, {});
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->partitions, SizeIs(1));
  EXPECT_EQ(report->partitions[0].partition, "unpartitioned");
  const auto paused = PausedRewrite::Start(table.table, AllFiles(), &table.clock);
  ASSERT_THAT(paused, IsOk());
  EXPECT_EQ(paused->groups.at(0).partition, "unpartitioned") << "reasons for dropping it begin with that";
}

TEST(RewriteDataFiles, CopiesTheMarkersOfPipelines) {
  MemoryTable table(Partitioning::kNone, kV3);
  table::Marker marker;
  marker.pipelines["p"].writer = "w";
  marker.pipelines["p"].partitions[0].next = 17;
  class MarkedChange : public table::SnapshotChange {
   public:
    explicit MarkedChange(const table::Marker& marker) : marker_(marker) {}
    Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId id) override {
      table::FileChanges changes;
      FRAZIL_ASSIGN(changes.added_data_files, index::WriteFiles(base, index::NewRows(Rows(0, 3)), false));
      changes.summary[table::kMarkerSummaryKey] = table::WriteMarkerJson(marker_, id);
      return changes;
    }

   private:
    const table::Marker& marker_;
  } marked(marker);
  ASSERT_THAT(table::CommitSnapshot(table.table, marked, {}, table.clock), IsOk());
  ASSERT_THAT(RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock}), IsOk());
  const spec::Snapshot& head = *table.table.metadata()->current_snapshot();
  EXPECT_EQ(head.operation, spec::Operation::kReplace);
  const auto copied = table::ParseMarkerJson(head.summary.at(table::kMarkerSummaryKey), head.id);
  ASSERT_THAT(copied, IsOk());
  ASSERT_TRUE(*copied);
  EXPECT_EQ(**copied, marker);
}

TEST(RewriteOptions, RefusesAnUnknownKeyAndNamesTheNearest) {
  const auto options = RewriteOptions::Parse({{"target-file-size-byte", "1"}});
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().ToString(), HasSubstr("did you mean target-file-size-bytes?"));
  EXPECT_THAT(RewriteOptions::Parse({{"rewrite-all", "yes"}}), IsError(ErrorCode::kInvalidArgument, ""));
  const auto good = RewriteOptions::Parse({{"min-input-files", "2"}, {"rewrite-job-order", "bytes-desc"}});
  ASSERT_THAT(good, IsOk());
  EXPECT_EQ(good->min_input_files, 2);
  EXPECT_EQ(good->job_order, RewriteJobOrder::kBytesDescending);
}

/// A branch of five files beside a main that went on.
void Branch(MemoryTable& table, const std::string& name) {
  Fill(table, 5, 10);
  ASSERT_THAT(BranchOff(table, name), IsOk());
  ASSERT_THAT(index::ForeignDelete(table.table, {3, 4}, table.clock), IsOk());
}

TEST(RewriteDataFiles, RewritesABranchAndLeavesMainAlone) {
  MemoryTable table(Partitioning::kNone, kV3);
  Branch(table, "audit");
  const std::vector<std::string> main = RowsOf(table.table);
  const auto main_head = table.table.metadata()->current_snapshot_id;
  const std::vector<std::string> audit = RowsOf(table.table, "audit");
  EXPECT_THAT(audit, SizeIs(50));
  RewriteOptions options;
  options.branch = "audit";
  options.remove_dangling_deletes = true;
  const auto result = RewriteDataFiles(table.table, options, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 5);
  EXPECT_EQ(RowsOf(table.table, "audit"), audit);
  EXPECT_THAT(LiveOf(table.table, "audit").data_files, SizeIs(1));
  EXPECT_EQ(table.table.metadata()->current_snapshot_id, main_head);
  EXPECT_EQ(RowsOf(table.table), main);
  options.branch = "audits";
  EXPECT_THAT(RewriteDataFiles(table.table, options, {.clock = &table.clock}),
              IsError(ErrorCode::kNotFound, "no branch of this name to rewrite: audits"));
}

TEST(RewriteDataFiles, AGroupThatWasFinishedForABranchIsCommittedThere) {
  MemoryTable table(Partitioning::kNone, kV3);
  Branch(table, "audit");
  const std::vector<std::string> main = RowsOf(table.table);
  const std::vector<std::string> audit = RowsOf(table.table, "audit");
  const TempDir state;
  RewriteOptions options = AllFiles();
  options.branch = "audit";
  const auto interrupted = PausedRewrite::Start(table.table, options, &table.clock);
  ASSERT_THAT(interrupted, IsOk());
  RewriteJournal journal(state.path(), table.table);
  for (const RewrittenGroup& group : interrupted->groups) ASSERT_THAT(journal.Add(table.table, group), IsOk());
  // The next run is one of main.
  ASSERT_THAT(RewriteDataFiles(table.table, {}, {.clock = &table.clock, .state_directory = state.path()}), IsOk());
  EXPECT_EQ(RowsOf(table.table), main);
  EXPECT_EQ(RowsOf(table.table, "audit"), audit);
  const table::LiveFiles live = LiveOf(table.table, "audit");
  ASSERT_THAT(live.data_files, SizeIs(1));
  EXPECT_EQ(live.data_files[0].file.file_path, interrupted->groups[0].outputs[0].file_path);
}

// What a pipeline into the branch commits meanwhile: rows of it die, and its progress is the newest.
TEST(RewriteDataFiles, WhatComesToABranchMeanwhileStays) {
  MemoryTable table(Partitioning::kNone, kV3);
  Branch(table, "audit");
  RewriteOptions options = AllFiles();
  options.branch = "audit";
  const auto paused = PausedRewrite::Start(table.table, options, &table.clock);
  ASSERT_THAT(paused, IsOk());
  table::Marker marker;
  marker.pipelines["p"].writer = "w";
  marker.pipelines["p"].partitions[0].next = 17;
  class Upserts : public table::SnapshotChange {
   public:
    explicit Upserts(const table::Marker& marker) : marker_(marker) {}
    Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId id) override {
      FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->FindRef("audit")));
      table::OwnDeletes deletes;
      for (const table::LiveDataFile& file : live.data_files) {
        FRAZIL_TRY(deletes[file.file.file_path].Add(spec::RowPosition(7)));
      }
      FRAZIL_ASSIGN(table::MergedDeletes merged, table::MergeDeletes(base, deletes, live, nullptr));
      table::FileChanges changes;
      changes.added_delete_files = std::move(merged.added_delete_files);
      FRAZIL_ASSIGN(changes.added_data_files, index::WriteFiles(base, index::NewRows(Rows(100, 105)), false));
      changes.summary[table::kMarkerSummaryKey] = table::WriteMarkerJson(marker_, id);
      return changes;
    }

   private:
    const table::Marker& marker_;
  } upserts(marker);
  ASSERT_THAT(table::CommitSnapshot(table.table, upserts, {.branch = "audit"}, table.clock), IsOk());
  const std::vector<std::string> main = RowsOf(table.table);
  const std::vector<std::string> audit = RowsOf(table.table, "audit");
  EXPECT_THAT(audit, SizeIs(50));

  const auto outcome = paused->Commit(table.table, table.clock, {.branch = "audit"});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(outcome->is_committed, ElementsAre(true));
  EXPECT_EQ(RowsOf(table.table, "audit"), audit);
  EXPECT_EQ(RowsOf(table.table), main);
  const spec::Snapshot& head = *table.table.metadata()->FindRef("audit");
  EXPECT_EQ(head.operation, spec::Operation::kReplace);
  const auto copied = table::ParseMarkerJson(head.summary.at(table::kMarkerSummaryKey), head.id);
  ASSERT_THAT(copied, IsOk());
  ASSERT_TRUE(*copied);
  EXPECT_EQ(**copied, marker);
}

TEST(RewriteDataFiles, AGroupOfABranchThatIsATagNowIsDroppedAndHoldsUpNothing) {
  MemoryTable table(Partitioning::kNone, kV3);
  Branch(table, "audit");
  const TempDir state;
  RewriteOptions options = AllFiles();
  options.branch = "audit";
  const auto interrupted = PausedRewrite::Start(table.table, options, &table.clock);
  ASSERT_THAT(interrupted, IsOk());
  RewriteJournal journal(state.path(), table.table);
  for (const RewrittenGroup& group : interrupted->groups) ASSERT_THAT(journal.Add(table.table, group), IsOk());
  const auto become_a_tag = [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    return std::vector<spec::TableUpdate>{
        spec::update::RemoveSnapshotRef{"audit"},
        spec::update::SetSnapshotRef{
            "audit", {.snapshot_id = metadata.refs.at("audit").snapshot_id, .type = spec::RefType::kTag}}};
  };
  ASSERT_THAT(table::CommitUpdates(table.table, become_a_tag, table.clock), IsOk());
  const auto result =
      RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock, .state_directory = state.path()});
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->dropped_reasons, ElementsAre(HasSubstr("the branch is gone: audit")));
  EXPECT_EQ(result->groups, 1);
  // Nobody finds it again.
  const auto again = RewriteDataFiles(table.table, {}, {.clock = &table.clock, .state_directory = state.path()});
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->dropped_groups, 0);
}

TEST(RewriteDataFiles, ABranchOlderThanAColumnIsSortedByIt) {
  MemoryTable table(Partitioning::kNone, kV3);
  Branch(table, "audit");
  const std::vector<std::string> audit = RowsOf(table.table, "audit");
  const auto add_column = [](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    std::vector<spec::Field> fields = metadata.schema()->fields();
    fields.push_back({.id = spec::FieldId{4}, .name = "extra", .type = spec::Type::Primitive(spec::TypeId::kLong)});
    FRAZIL_ASSIGN(spec::SchemaPtr schema, spec::Schema::Make(spec::SchemaId{1}, std::move(fields), {spec::FieldId{1}}));
    return std::vector<spec::TableUpdate>{spec::update::AddSchema{std::move(schema)},
                                          spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
  };
  ASSERT_THAT(table::CommitUpdates(table.table, add_column, table.clock), IsOk());
  RewriteOptions options = AllFiles();
  options.branch = "audit";
  options.strategy = RewriteOptions::Strategy::kSort;
  options.sort_order =
      spec::SortOrder{.fields = {{.source_id = spec::FieldId{4}},
                                 {.source_id = spec::FieldId{1}, .direction = spec::SortDirection::kDescending}}};
  const auto result = RewriteDataFiles(table.table, options, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 5);
  EXPECT_EQ(RowsOf(table.table, "audit"), audit);
  const auto rows = index::ReadLiveRows(table.table, table.table.metadata()->FindRef("audit"));
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ(rows->front().row.id, 49);
}

}  // namespace
}  // namespace frazil::maintain
