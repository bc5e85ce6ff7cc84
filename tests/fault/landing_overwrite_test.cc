// Other engines that think in partitions, on a table with landing files: a dynamic overwrite leaves the rows of landing files
// that lie in the partitions it replaces, an equality delete does not reach them. And what becomes of landing files then.

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/ingest/landing.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "tests/support/foreign_commit.h"
#include "tests/support/foreign_writer.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::LandingMode;
using ingest::PipelineOptions;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Rows = std::map<int64_t, std::string>;

class LandingOverwriteTest : public ::testing::Test {
 protected:
  LandingOverwriteTest()
      : world_({.num_partitions = 1,
                .partitioning = index::Partitioning::kByPart,
                .properties = {{ingest::kOnReplacePartitionsProperty, "apply"}},
                .catalog = nullptr,
                .create_table = true}) {}

  PipelineOptions Options(LandingMode mode) {
    PipelineOptions options = world_.BoundedOptions();
    options.landing = mode;
    return options;
  }
  void Run(LandingMode mode = LandingMode::kAlways) {
    ASSERT_THAT(world_.Run(Options(mode)), IsOk());
    Check();
  }
  /// The equality deletes of others may be there.
  void Check() {
    std::vector<std::string> found = Violations(world_.Table());
    std::erase_if(found, [](const std::string& line) { return line.find("/equality-") != std::string::npos; });
    EXPECT_THAT(found, IsEmpty());
  }
  /// As Spark does it with partitionOverwriteMode = dynamic: the files of the partitions that get rows go, and no others.
  void Overwrite(const std::vector<index::TestRow>& rows) {
    table::Table table = world_.Table();
    ASSERT_THAT(index::CommitForeign(
                    table,
                    [&](const table::Table& base) -> Result<table::FileChanges> {
                      table::FileChanges changes;
                      FRAZIL_ASSIGN(changes.added_data_files, index::WriteFiles(base, index::NewRows(rows), false));
                      FRAZIL_ASSIGN(const table::LiveFiles live,
                                    table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
                      for (const table::LiveDataFile& file : live.data_files) {
                        for (const table::AddedDataFile& added : changes.added_data_files) {
                          if (added.file.spec_id == file.file.spec_id && added.file.partition == file.file.partition) {
                            changes.removed_data_files.push_back(file.file.file_path);
                            break;
                          }
                        }
                      }
                      changes.summary = {{"replace-partitions", "true"}};
                      return changes;
                    },
                    *world_.clock),
                IsOk());
  }
  /// Flink's upsert: the key is gone from the partition.
  void DeleteByKey(int64_t id, const std::string& part) {
    table::Table table = world_.Table();
    ASSERT_THAT(CommitFiles(
                    table,
                    [&](table::LiveFiles& live) -> Status {
                      FRAZIL_ASSIGN(spec::DataFile file,
                                    WriteEqualityDelete(table, {id}, table.metadata()->default_spec().id(), {part}));
                      live.delete_files.push_back({std::move(file), spec::SequenceNumber{0}});
                      return {};
                    },
                    *world_.clock),
                IsOk());
  }
  size_t NumLanded() {
    const table::Table table = world_.Table();
    const auto live = table::LoadLiveFiles(table, table.metadata()->current_snapshot());
    EXPECT_THAT(live, IsOk());
    size_t count = 0;
    for (const table::LiveDataFile& file : live->data_files) {
      count += table.metadata()->FindSpec(file.file.spec_id)->fields().empty();
    }
    return count;
  }
  /// CALL system.drain_landing.
  static Result<int64_t> Drain(table::Table table, Clock& clock) {
    maintain::RewriteOptions options;
    options.landing_only = true;
    table::ProcedureContext context;
    context.clock = &clock;
    FRAZIL_ASSIGN(const maintain::RewriteResult result, maintain::RewriteDataFiles(table, options, context));
    return result.rewritten_data_files;
  }
  std::shared_ptr<catalog::Catalog> BeforeCommit(int number, std::function<void()> act) {
    return catalog::MakeFaultInjectingCatalog(
        world_.catalog,
        [number, act = std::move(act), commits = 0](std::string_view operation, const catalog::TableName&) mutable {
          if (operation == "commit.before" && ++commits == number) act();
          return Status();
        });
  }
  void Insert(const std::vector<index::TestRow>& rows) {
    table::Table table = world_.Table();
    ASSERT_THAT(index::ForeignInsert(table, rows, *world_.clock), IsOk());
  }
  /// Of everything but the head, files included.
  void Expire() {
    table::Table table = world_.Table();
    ASSERT_THAT(ForeignExpiry(table, *world_.clock), IsOk());
    ASSERT_EQ(world_.NumSnapshots(), 1u);
    ASSERT_FALSE(world_.Table().metadata()->current_snapshot()->summary.contains("replace-partitions"));
  }
  void RemoveProperty() {
    table::Table table = world_.Table();
    ASSERT_THAT(table::CommitUpdates(
                    table,
                    [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{
                          spec::update::RemoveProperties{{ingest::kOnReplacePartitionsProperty}}};
                    },
                    *world_.clock),
                IsOk());
  }
  void SetHead(spec::SnapshotId id) {
    table::Table table = world_.Table();
    ASSERT_THAT(index::SetHead(table, id, *world_.clock), IsOk());
  }
  spec::SnapshotId Head() { return *world_.Table().metadata()->current_snapshot_id; }

  PipelineWorld world_;
};

TEST_F(LandingOverwriteTest, TheNextCommitDeletesTheRowsOfReplacedPartitions) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}, {3, "c", "x"}});
  Run();
  world_.Append({{4, "d", "x"}, {5, "e", "y"}});
  Run();
  world_.Append({{6, "in its partition", "x"}});
  Run(LandingMode::kNever);
  EXPECT_EQ(NumLanded(), 2u);
  Overwrite({{900, "theirs", "x"}});
  EXPECT_EQ(world_.Rows(), (Rows{{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}, {5, "e"}, {900, "theirs"}}));
  const int64_t replaced_id = world_.RowIds().at(3);
  world_.Append({{7, "new", "x"}, {3, "came again", "x"}});
  Run();
  EXPECT_NE(world_.RowIds().at(3), replaced_id);
  const Rows expected = {{2, "b"}, {3, "came again"}, {5, "e"}, {7, "new"}, {900, "theirs"}};
  EXPECT_EQ(world_.Rows(), expected);
  EXPECT_THAT(world_.notices, Contains(HasSubstr("rows of landing files, which others had deleted or replaced")));
  // A new process looks at the overwrite again and finds nothing more; what came since is newer than it.
  world_.Append({{8, "newer", "x"}});
  world_.notices.clear();
  Run();
  EXPECT_EQ(world_.Rows().size(), expected.size() + 1);
  EXPECT_THAT(world_.notices, Not(Contains(HasSubstr("had deleted or replaced"))));
}

TEST_F(LandingOverwriteTest, EachOverwriteTakesWhatWasThereBeforeIt) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}, {3, "c", "z"}});
  Run();
  Overwrite({{900, "first", "x"}});
  world_.Append({{4, "between", "x"}, {5, "between", "y"}});
  Run();
  Overwrite({{901, "second", "y"}, {902, "second", "z"}});
  Overwrite({{903, "third", "w"}});
  world_.Append({{6, "after", "y"}});
  Run();
  EXPECT_EQ(world_.Rows(),
            (Rows{{4, "between"}, {6, "after"}, {900, "first"}, {901, "second"}, {902, "second"}, {903, "third"}}));
}

TEST_F(LandingOverwriteTest, RowsThatWereMovedSinceAreFoundByTheirIds) {
  for (const bool by_us : {true, false}) {
    SCOPED_TRACE(by_us);
    const int64_t first = by_us ? 100 : 200;
    world_.Append({{first, "a", "x"}, {first + 1, "b", "y"}, {first + 2, "c", "x"}});
    Run();
    Overwrite({{first + 50, "theirs", "x"}});
    if (by_us) {
      ASSERT_THAT(Drain(world_.Table(), *world_.clock), IsOk());
    } else {
      table::Table table = world_.Table();
      ASSERT_THAT(index::ForeignRewrite(
                      table, [](const std::string&) { return true; }, *world_.clock),
                  IsOk());
    }
    EXPECT_EQ(NumLanded(), 0u);
    EXPECT_TRUE(world_.Rows().contains(first));
    world_.Append({{first + 2, "written since", "x"}});
    Run();
    const Rows rows = world_.Rows();
    EXPECT_FALSE(rows.contains(first));
    EXPECT_EQ(rows.at(first + 1), "b");
    EXPECT_EQ(rows.at(first + 2), "written since");
    EXPECT_EQ(rows.at(first + 50), "theirs");
  }
}

TEST_F(LandingOverwriteTest, ARollbackUnderTheProcessBringsRowsBackForOneCommitOnly) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}, {3, "c", "y"}});
  Run();
  Overwrite({{900, "theirs", "x"}});
  DeleteByKey(3, "y");
  const spec::SnapshotId before = Head();
  world_.Append({{4, "d", "z"}, {5, "e", "z"}});
  PipelineOptions options = Options(LandingMode::kAlways);
  options.commit_max_records = 1;
  world_.topic->set_max_poll(1);
  ASSERT_THAT(world_.Run(options, BeforeCommit(2, [&] { SetHead(before); })), IsOk());
  EXPECT_EQ(world_.status->starts, 2);
  EXPECT_EQ(world_.Rows(), (Rows{{2, "b"}, {4, "d"}, {5, "e"}, {900, "theirs"}}));
  Check();
}

TEST_F(LandingOverwriteTest, AnOverwriteThatWasRolledBackTakesNothing) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  const spec::SnapshotId before = Head();
  Overwrite({{900, "theirs", "x"}});
  SetHead(before);
  world_.Append({{3, "c", "y"}});
  Run();
  world_.ExpectComplete();
}

/// Others' nightly maintenance may come before our next commit: what was replaced is read off what is left.
TEST_F(LandingOverwriteTest, AnOverwriteCountsThoughItsSnapshotWasExpired) {
  enum class Moved { kNot, kByUs, kByOthers };
  for (const Moved moved : {Moved::kNot, Moved::kByUs, Moved::kByOthers}) {
    SCOPED_TRACE(static_cast<int>(moved));
    const int64_t first = 100 * (1 + static_cast<int64_t>(moved));
    world_.Append({{first, "a", "x"}, {first + 1, "b", "y"}, {first + 2, "c", "x"}});
    Run();
    Overwrite({{first + 50, "theirs", "x"}});
    if (moved == Moved::kByUs) {
      ASSERT_THAT(Drain(world_.Table(), *world_.clock), IsOk());
    } else if (moved == Moved::kByOthers) {
      table::Table table = world_.Table();
      ASSERT_THAT(index::ForeignRewrite(
                      table, [](const std::string&) { return true; }, *world_.clock),
                  IsOk());
    }
    Insert({{first + 51, "later", "x"}});
    Expire();
    world_.Append({{first + 2, "written since", "x"}, {first + 3, "new", "x"}});
    Run();
    const Rows rows = world_.Rows();
    EXPECT_FALSE(rows.contains(first));
    EXPECT_EQ(rows.at(first + 1), "b");
    EXPECT_EQ(rows.at(first + 2), "written since");
    EXPECT_EQ(rows.at(first + 3), "new");
    EXPECT_EQ(rows.at(first + 50), "theirs");
    EXPECT_EQ(rows.at(first + 51), "later");
  }
}

/// An overwrite does not reach files of other partition specs, so that once all was moved nobody can tell their rows from landed
/// ones: none are taken.
TEST_F(LandingOverwriteTest, RowsFromBeforeThePartitionSpecChangedAreNeverTakenForLandedOnes) {
  for (const bool is_moved : {false, true}) {
    SCOPED_TRACE(is_moved);
    const int64_t first = is_moved ? 200 : 100;
    if (!is_moved) {
      world_.Append({{first, "older partitions", "x"}});
      Run(LandingMode::kNever);
      table::Table table = world_.Table();
      const auto by_prefix = [](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{
            spec::update::AddPartitionSpec{spec::PartitionSpec(
                ingest::NextSpecId(metadata),
                {{spec::FieldId{3}, spec::FieldId{1001}, "part_prefix", spec::Transform::Truncate(1)}})},
            spec::update::SetDefaultSpec{spec::SpecId{-1}}};
      };
      ASSERT_THAT(table::CommitUpdates(table, by_prefix, *world_.clock), IsOk());
    }
    world_.Append({{first + 1, "landed", "x"}});
    Run();
    Overwrite({{first + 50, "theirs", "x"}});
    if (is_moved) {
      table::Table table = world_.Table();
      ASSERT_THAT(index::ForeignRewrite(
                      table, [](const std::string&) { return true; }, *world_.clock),
                  IsOk());
    }
    Insert({{first + 51, "later", "y"}});
    Expire();
    world_.Append({{first + 2, "new", "x"}});
    Run();
    const Rows rows = world_.Rows();
    EXPECT_EQ(rows.at(100), "older partitions");
    EXPECT_EQ(rows.contains(first + 1), is_moved);
    EXPECT_EQ(rows.at(first + 2), "new");
  }
}

TEST_F(LandingOverwriteTest, AnOverwriteThatComesAndIsExpiredDuringACommitCounts) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  world_.Append({{3, "c", "z"}, {4, "d", "z"}, {5, "e", "x"}});
  PipelineOptions options = Options(LandingMode::kAlways);
  options.commit_max_records = 1;
  world_.topic->set_max_poll(1);
  ASSERT_THAT(world_.Run(options, BeforeCommit(2,
                                               [&] {
                                                 Overwrite({{900, "theirs", "x"}});
                                                 Insert({{901, "later", "y"}});
                                                 Expire();
                                               })),
              IsOk());
  EXPECT_EQ(world_.status->starts, 1);
  EXPECT_EQ(world_.Rows(), (Rows{{2, "b"}, {3, "c"}, {4, "d"}, {5, "e"}, {900, "theirs"}, {901, "later"}}));
  Check();
}

/// In this world every run builds its index from nothing.
TEST_F(LandingOverwriteTest, KeysThatLiveTwiceByPartitionAreNoReasonToRefuseAStart) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}, {3, "c", "y"}});
  Run();
  Overwrite({{1, "theirs", "x"}});
  DeleteByKey(2, "y");  // Flink's upsert: an equality delete in the partition, and the row
  Insert({{2, "upserted", "y"}});
  const std::map<int32_t, int64_t> committed = world_.Committed();
  world_.notices.clear();
  Run();  // nothing to ingest
  EXPECT_EQ(world_.Rows(), (Rows{{1, "theirs"}, {2, "upserted"}, {3, "c"}}));
  EXPECT_EQ(world_.Committed(), committed);
  EXPECT_THAT(world_.notices, Contains(HasSubstr("2 rows of landing files, which others had deleted or replaced")));
  world_.notices.clear();
  world_.Append({{1, "ours", "x"}, {4, "d", "y"}});
  Run();
  EXPECT_EQ(world_.Rows(), (Rows{{1, "ours"}, {2, "upserted"}, {3, "c"}, {4, "d"}}));
  EXPECT_THAT(world_.notices, Not(Contains(HasSubstr("had deleted or replaced"))));
}

/// Where the table does not say `apply`, nobody knows which row of a key is meant.
TEST_F(LandingOverwriteTest, KeysThatLiveTwiceAreRefusedAtAStartUnlessTheTableSaysApply) {
  RemoveProperty();
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  Overwrite({{1, "theirs", "x"}});
  world_.Append({{3, "c", "y"}});
  EXPECT_THAT(world_.Run(Options(LandingMode::kAlways)), IsError(ErrorCode::kInvalidTable, "have several live rows"));
  ASSERT_OK_AND_ASSIGN(const auto live, index::ReadLiveRows(world_.Table()));
  EXPECT_EQ(live.size(), 3u);  // 1 lives twice, and still does
  PipelineOptions options = Options(LandingMode::kAlways);
  options.dedupe = ingest::Dedupe::kNewest;
  ASSERT_THAT(world_.Run(options), IsOk());
  EXPECT_EQ(world_.Rows(), (Rows{{1, "theirs"}, {2, "b"}, {3, "c"}}));
}

TEST_F(LandingOverwriteTest, AnExpiredOverwriteIsSaid) {
  RemoveProperty();
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  Overwrite({{900, "theirs", "x"}});
  Insert({{901, "later", "y"}});
  Expire();
  world_.Append({{3, "c", "y"}});
  Run();
  EXPECT_EQ(std::count_if(world_.notices.begin(), world_.notices.end(),
                          [](const std::string& line) { return line.find("replaced whole partitions") != line.npos; }),
            1);
}

TEST_F(LandingOverwriteTest, IsOnlySaidUnlessTheTableSaysApply) {
  RemoveProperty();
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  Overwrite({{900, "theirs", "x"}});
  world_.Append({{3, "c", "y"}});
  Run();
  world_.ExpectComplete({{900, "theirs"}});
  EXPECT_THAT(world_.notices,
              Contains(HasSubstr("replaced whole partitions, but rows of them may be left in 1 older")));
}

TEST_F(LandingOverwriteTest, RefusesAnotherWord) {
  index::MemoryTable table(index::Partitioning::kByPart, {{ingest::kOnReplacePartitionsProperty, "ignore"}});
  EXPECT_THAT(ingest::FindOnReplacePartitions(*table.table.metadata()), IsError(ErrorCode::kInvalidTable, "ignore"));
}

TEST_F(LandingOverwriteTest, LandingFilesAreDrainedOnceOthersThinkInPartitions) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run(LandingMode::kAuto);
  EXPECT_EQ(NumLanded(), 1u);
  DeleteByKey(2, "y");
  table::Table table = world_.Table();
  ASSERT_THAT(index::CommitForeign(
                  table,
                  [&](const table::Table& base) -> Result<table::FileChanges> {
                    table::FileChanges changes;
                    FRAZIL_ASSIGN(changes.added_data_files,
                                  index::WriteFiles(base, index::NewRows({{900, "theirs", "x"}}), false));
                    changes.summary = {{"flink.job-id", "x"}};
                    return changes;
                  },
                  *world_.clock),
              IsOk());
  const std::map<int64_t, int64_t> ids = world_.RowIds();
  world_.Append({{3, "c", "x"}, {4, "d", "y"}});
  PipelineOptions options = Options(LandingMode::kAuto);
  int drained = 0;
  options.drain_landing = [&](const std::atomic<bool>&) {
    ++drained;
    return Drain(world_.Table(), *world_.clock);
  };
  ASSERT_THAT(world_.Run(options), IsOk());
  EXPECT_EQ(drained, 1);
  EXPECT_EQ(NumLanded(), 0u);
  EXPECT_EQ(world_.Rows(), (Rows{{1, "a"}, {3, "c"}, {4, "d"}, {900, "theirs"}}));
  EXPECT_EQ(world_.RowIds().at(1), ids.at(1));
  EXPECT_THAT(world_.notices, Contains(HasSubstr("no landing files are written any more: snapshot")));
  EXPECT_THAT(world_.notices, Contains(HasSubstr("rows of 1 landing files were moved into the partitions")));
}

/// People are told of it, and the next commits do not try it again at once.
TEST_F(LandingOverwriteTest, ADrainThatFailsIsSaidAndKeepsNothingBack) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  DeleteByKey(2, "y");
  table::Table table = world_.Table();
  ASSERT_THAT(index::CommitForeign(
                  table,
                  [](const table::Table& base) -> Result<table::FileChanges> {
                    table::FileChanges changes;
                    FRAZIL_ASSIGN(changes.added_data_files,
                                  index::WriteFiles(base, index::NewRows({{900, "theirs", "x"}}), false));
                    changes.summary = {{"flink.job-id", "x"}};
                    return changes;
                  },
                  *world_.clock),
              IsOk());
  world_.Append({{3, "c", "x"}, {4, "d", "y"}});
  PipelineOptions options = Options(LandingMode::kAuto);
  options.commit_max_records = 1;
  int drained = 0;
  options.drain_landing = [&](const std::atomic<bool>&) -> Result<int64_t> {
    ++drained;
    return Fail(ErrorCode::kUnavailable, "no store");
  };
  ASSERT_THAT(world_.Run(options), IsOk());
  EXPECT_EQ(drained, 1);
  EXPECT_EQ(NumLanded(), 1u);
  EXPECT_EQ(world_.Rows(), (Rows{{1, "a"}, {3, "c"}, {4, "d"}, {900, "theirs"}}));
  EXPECT_THAT(world_.notices, Contains(HasSubstr("did not work, a later commit tries again")));
  EXPECT_THAT(world_.notices, Not(Contains(HasSubstr("were moved into the partitions"))));
}

/// Whoever drains need not be the pipeline: what others deleted by partition stays deleted when the rows are moved, the
/// deletes that come while they are moved as well.
TEST_F(LandingOverwriteTest, DrainingStrikesOutWhatOthersDeletedByPartition) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}, {3, "c", "y"}, {4, "d", "x"}});
  Run();
  DeleteByKey(2, "y");
  const std::map<int64_t, int64_t> ids = world_.RowIds();
  EXPECT_EQ(world_.Rows().size(), 4u);  // no engine sees the row deleted
  const auto racing = BeforeCommit(1, [&] { DeleteByKey(4, "x"); });
  ASSERT_THAT(Drain(*table::Table::Load(racing, PipelineWorld::kName), *world_.clock), IsOk());
  EXPECT_EQ(NumLanded(), 0u);
  EXPECT_EQ(world_.Rows(), (Rows{{1, "a"}, {3, "c"}}));
  EXPECT_EQ(world_.RowIds().at(3), ids.at(3));
  Check();
  // And what comes afterwards reaches the rows where they are now.
  DeleteByKey(1, "x");
  EXPECT_EQ(world_.Rows(), (Rows{{3, "c"}}));
  world_.Append({{2, "again", "y"}});
  Run();
  EXPECT_EQ(world_.Rows(), (Rows{{2, "again"}, {3, "c"}}));
}

TEST_F(LandingOverwriteTest, AnEqualityDeleteThatLandingRowsMissedIsNotDangling) {
  world_.Append({{1, "a", "x"}, {2, "b", "y"}});
  Run();
  DeleteByKey(2, "y");
  maintain::RewriteOptions options;
  options.remove_dangling_deletes = true;
  options.min_input_files = 100;
  table::ProcedureContext context;
  context.clock = world_.clock.get();
  table::Table table = world_.Table();
  ASSERT_THAT(maintain::RewriteDataFiles(table, options, context), IsOk());
  ASSERT_THAT(Drain(world_.Table(), *world_.clock), IsOk());
  EXPECT_EQ(world_.Rows(), (Rows{{1, "a"}}));
}

}  // namespace
}  // namespace frazil::test
