#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/rewrite_test_support.h"

namespace frazil::maintain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// 30 rows of two texts, in parts a and b; three are deleted, one of which is the only one of its value.
class ComputeTableStats : public ::testing::Test {
 protected:
  ComputeTableStats() {
    for (const std::string part : {"a", "b"}) {
      std::vector<TestRow> rows;
      const int64_t first = part == "a" ? 0 : 15;
      for (int64_t id = first; id < first + 15; ++id) rows.push_back({id, id % 2 == 0 ? "even" : "odd", part});
      if (part == "b") rows.back().value = "once";
      EXPECT_THAT(index::ForeignInsert(memory_.table, rows, memory_.clock), IsOk());
    }
    EXPECT_THAT(index::ForeignDelete(memory_.table, {3, 4, 29}, memory_.clock), IsOk());
    context_.catalogs["test"] = memory_.catalog;
    context_.default_catalog = "test";
    context_.default_namespace = {"db"};
    context_.clock = &memory_.clock;
  }

  Result<std::vector<table::ProcedureRow>> Compute(table::ProcedureArguments arguments = {}) {
    arguments["table"] = std::string("t");
    return Call("compute_table_stats", context_, arguments);
  }
  /// The distinct values by field that the newest metadata tells.
  std::map<int32_t, std::string> Told() {
    std::map<int32_t, std::string> told;
    const table::Table now = memory_.Other();
    EXPECT_THAT(now.metadata()->statistics, SizeIs(1));
    if (now.metadata()->statistics.empty()) return told;
    const spec::StatisticsFile& file = now.metadata()->statistics.front();
    EXPECT_EQ(file.snapshot_id, now.metadata()->current_snapshot_id);
    EXPECT_THAT(memory_.io->Exists(file.statistics_path), IsOkAnd(true));
    for (const auto& blob : file.blob_metadata) {
      EXPECT_THAT(blob.fields, SizeIs(1));
      told[blob.fields.at(0).value()] = blob.properties.at("ndv");
    }
    return told;
  }
  std::set<std::string> StatisticsFiles() const {
    std::set<std::string> paths;
    const auto files = memory_.io->List("memory:/warehouse");
    EXPECT_THAT(files, IsOk());
    for (const io::FileInfo& file : *files) {
      if (file.path.ends_with(".stats")) paths.insert(file.path);
    }
    return paths;
  }

  MemoryTable memory_{Partitioning::kByPart, {{"format-version", "3"}, {"commit.retry.num-retries", "0"}}};
  table::ProcedureContext context_;
};

TEST_F(ComputeTableStats, CountsTheValuesOfLiveRows) {
  const auto rows = Compute();
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ(std::get<std::string>(rows->at(0).at(0)), memory_.Other().metadata()->statistics.at(0).statistics_path);
  EXPECT_THAT(Told(), UnorderedElementsAre(Pair(1, "27"), Pair(2, "2"), Pair(3, "2")));
}

TEST_F(ComputeTableStats, OfSomeColumnsInAnyCaseEachOnce) {
  ASSERT_THAT(Compute({{"columns", std::vector<std::string>{"VALUE", "id", "value"}}}), IsOk());
  EXPECT_THAT(Told(), UnorderedElementsAre(Pair(1, "27"), Pair(2, "2")));
  ASSERT_THAT(Compute({{"columns", std::vector<std::string>{"part"}}}), IsOk());
  EXPECT_THAT(Told(), UnorderedElementsAre(Pair(3, "2"))) << "in the place of the earlier ones";
}

TEST_F(ComputeTableStats, OfASnapshotThatIsNotTheHead) {
  const spec::TableMetadataPtr metadata = memory_.Other().metadata();
  const spec::Snapshot& first = metadata->snapshots.at(0);
  ASSERT_THAT(Compute({{"snapshot_id", first.id.value()}}), IsOk());
  const table::Table now = memory_.Other();
  ASSERT_THAT(now.metadata()->statistics, SizeIs(1));
  EXPECT_EQ(now.metadata()->statistics[0].snapshot_id, first.id);
  EXPECT_EQ(now.metadata()->statistics[0].blob_metadata.at(0).properties.at("ndv"), "15");
}

TEST_F(ComputeTableStats, WhatIsNotThereIsSaid) {
  EXPECT_THAT(Compute({{"columns", std::vector<std::string>{"valeu"}}}),
              IsError(ErrorCode::kInvalidArgument, "Can't find column: valeu"));
  EXPECT_THAT(Compute({{"snapshot_id", int64_t{7}}}), IsError(ErrorCode::kInvalidArgument, "Snapshot not found: 7"));
  EXPECT_THAT(StatisticsFiles(), IsEmpty());
}

TEST_F(ComputeTableStats, OfATableWithoutSnapshotsThereAreNone) {
  MemoryTable empty;
  context_.catalogs["test"] = empty.catalog;
  const auto rows = Compute();
  ASSERT_THAT(rows, IsOk());
  EXPECT_THAT(*rows, ElementsAre(table::ProcedureRow{table::ProcedureValue()}));
}

// The metadata may name the file still, when the request arrives late (rule 1).
TEST_F(ComputeTableStats, TheFileGoesWhenItIsRefusedAndStaysWhenNobodyAnswers) {
  for (const ErrorCode code : {ErrorCode::kCommitConflict, ErrorCode::kUnavailable}) {
    context_.catalogs["test"] = catalog::MakeFaultInjectingCatalog(
        memory_.catalog, [code](std::string_view operation, const catalog::TableName&) -> Status {
          return operation == "commit.before" ? Fail(code, "a fault") : Status();
        });
    EXPECT_THAT(Compute(), IsError(code, "a fault"));
    EXPECT_THAT(StatisticsFiles(), SizeIs(code == ErrorCode::kUnavailable ? 1 : 0));
  }
}

}  // namespace
}  // namespace frazil::maintain
