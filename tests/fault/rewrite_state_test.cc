// Conflict-free rewrites under every kind of change that others make meanwhile. A deterministic scheduler interleaves five
// actors over the real code: a writer (appends, landing files, vectors, upserts), a compactor (plan and rewrite, commit
// later, from its journal or not), expiry with deletion of what it frees, and two foreign engines (equality deletes and
// their conversion, copy-on-write, un-delete, rollback, a path that is removed and added again, an upgrade to v3).
//
// The oracle after each commit of ours: the multiset of (_row_id, _last_updated_sequence_number, values) is what it was
// before, and no file that the table names is missing. FRAZIL_SCHEDULES sets the number of schedules, FRAZIL_SEED the
// first seed.

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/format/puffin.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/scan/deleted_rows.h"
#include "frazil/scan/file_reader.h"
#include "frazil/write/position_delete_file.h"
#include "tests/support/foreign_commit.h"

namespace frazil::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int64_t FromEnvironment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

/// Files that any snapshot of the table, or the state of its head, names.
std::set<std::string> Reachable(const table::Table& table) {
  std::set<std::string> paths;
  for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
    auto live = table::LoadLiveFiles(table, &snapshot);
    EXPECT_THAT(live, IsOk());
    for (const table::LiveDataFile& file : live->data_files) paths.insert(file.file.file_path);
    for (const table::LiveDelete& file : live->delete_files) paths.insert(file.file.file_path);
  }
  return paths;
}

/// One schedule: a table, what happened to it, and what must be so.
class Schedule {
 public:
  explicit Schedule(uint64_t seed)
      : random_(seed), table_(Partitioning::kByPart, {{"format-version", StartVersion()}}) {}

  /// False when an expectation failed.
  bool Run() {
    landing_ = *test::AddLandingSpec(table_.table, table_.clock);
    EXPECT_THAT(Insert(), IsOk());
    for (int i = Pick(4); i > 0; --i) Step();
    const int rewrites = 1 + Pick(2);
    for (int i = 0; i < rewrites && !::testing::Test::HasFailure(); ++i) Rewrite();
    return !::testing::Test::HasFailure();
  }

  const std::string& trace() const { return trace_; }
  int num_committed = 0;
  int num_dropped = 0;

 private:
  std::string StartVersion() { return Pick(5) == 0 ? "2" : "3"; }
  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool IsV3() const { return table_.table.metadata()->format_version >= 3; }
  void Note(const std::string& what) { trace_ += what + "\n"; }

  void Rewrite() {
    RewriteOptions options = AllFiles();
    options.max_file_group_input_files = 1 + Pick(3);
    options.use_starting_sequence_number = Pick(6) != 0;
    const auto paused = PausedRewrite::Start(table_.table, options);
    if (!paused) {
      // Files with and without ids side by side: the run itself assigns ids first.
      EXPECT_THAT(paused.error().message(), HasSubstr("have row ids"));
      return;
    }
    Note(fmt::format("PLAN {} groups at {}", paused->groups.size(), table_.table.metadata()->last_sequence_number));
    for (int i = Pick(4); i > 0; --i) Step();
    EXPECT_THAT(table_.table.Refresh(), IsOk());
    const std::vector<std::string> before = RowsOf(table_.table);
    const auto head = table_.table.metadata()->current_snapshot_id;
    // The first snapshot of an upgraded table assigns ids to whatever lies there, ours not less than others'.
    const bool assigns_ids = IsV3() && table_.table.metadata()->current_snapshot() != nullptr &&
                             !table_.table.metadata()->current_snapshot()->first_row_id;
    const auto outcome = paused->Commit(table_.table, table_.clock,
                                        {.use_starting_sequence_number = options.use_starting_sequence_number});
    ASSERT_THAT(outcome, IsOk());
    for (size_t i = 0; i < paused->groups.size(); ++i) {
      Note(outcome->is_committed[i] ? "COMMIT" : "DROP " + outcome->drop_reasons[i]);
      ++(outcome->is_committed[i] ? num_committed : num_dropped);
    }
    EXPECT_TRUE(outcome->snapshot_id || table_.table.metadata()->current_snapshot_id == head);
    if (!assigns_ids) {
      EXPECT_EQ(RowsOf(table_.table), before);
    }
    EXPECT_EQ(IdsOf(table_.table).size(), before.size());
    for (const std::string& path : Reachable(table_.table)) EXPECT_TRUE(*table_.io->Exists(path)) << path;
  }

  void Step() {
    using Action = Status (Schedule::*)();
    static constexpr std::pair<const char*, Action> kActions[] = {{"insert", &Schedule::Insert},
                                                                  {"landing", &Schedule::InsertLanding},
                                                                  {"delete", &Schedule::Delete},
                                                                  {"delete", &Schedule::Delete},
                                                                  {"upsert", &Schedule::Upsert},
                                                                  {"equality delete", &Schedule::EqualityDelete},
                                                                  {"equality delete", &Schedule::EqualityDelete},
                                                                  {"convert", &Schedule::ConvertEqualityDelete},
                                                                  {"copy on write", &Schedule::CopyOnWrite},
                                                                  {"undelete", &Schedule::Undelete},
                                                                  {"rollback", &Schedule::Rollback},
                                                                  {"add again", &Schedule::AddAgain},
                                                                  {"expire", &Schedule::Expire},
                                                                  {"upgrade", &Schedule::Upgrade},
                                                                  {"foreign rewrite", &Schedule::ForeignRewrite}};
    const auto& [name, action] = kActions[static_cast<size_t>(Pick(std::size(kActions)))];
    Note(name);
    EXPECT_THAT(table_.table.Refresh(), IsOk());
    EXPECT_THAT((this->*action)(), IsOk()) << name;
  }

  std::vector<LiveRow> Fresh(int count) {
    std::vector<TestRow> rows;
    for (int i = 0; i < count; ++i) {
      const int64_t id = Pick(6);
      rows.push_back({id, "v" + std::to_string(next_value_++), id % 2 == 0 ? "a" : "b"});
    }
    return index::NewRows(rows);
  }

  Status Add(const std::vector<LiveRow>& rows, spec::SpecId spec_id, const std::set<int64_t>& replaced = {}) {
    return index::CommitForeign(
        table_.table,
        [&](const table::Table& base) -> Result<table::FileChanges> {
          table::FileChanges changes;
          FRAZIL_ASSIGN(const std::vector<spec::DataFile> files, test::WriteRows(base, rows, false, spec_id));
          for (const spec::DataFile& file : files) changes.added_data_files.push_back({.file = file});
          FRAZIL_ASSIGN(const table::OwnDeletes own,
                        index::PositionsOf(base, [&](const LiveRow& row) { return replaced.contains(row.row.id); }));
          FRAZIL_TRY(Merge(base, own, changes));
          return changes;
        },
        table_.clock);
  }

  Status Merge(const table::Table& base, const table::OwnDeletes& own, table::FileChanges& changes) {
    FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
    FRAZIL_ASSIGN(
        table::MergedDeletes merged,
        table::MergeDeletes(base, own, live, scan::ReadPositionDeletes(base.io()), write::WritePositionDeletes(base)));
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    changes.removed_data_files = std::move(merged.removed_data_files);
    return {};
  }

  Status Insert() { return Add(Fresh(1 + Pick(3)), spec::SpecId{0}); }
  Status InsertLanding() { return Add(Fresh(2), landing_); }
  Status Upsert() {
    const std::vector<LiveRow> rows = Fresh(1);
    return Add(rows, Pick(2) == 0 ? spec::SpecId{0} : landing_, {rows[0].row.id});
  }

  Status Delete() {
    return index::CommitForeign(
        table_.table,
        [&](const table::Table& base) -> Result<table::FileChanges> {
          FRAZIL_ASSIGN(const std::vector<LiveRow> rows, index::ReadLiveRows(base));
          table::FileChanges changes;
          if (rows.empty()) return changes;
          const LiveRow& row = rows[static_cast<size_t>(Pick(static_cast<int>(rows.size())))];
          table::OwnDeletes own;
          FRAZIL_TRY(own[row.path].Add(spec::RowPosition(row.position)));
          FRAZIL_TRY(Merge(base, own, changes));
          return changes;
        },
        table_.clock);
  }

  Status EqualityDelete() {
    const int64_t id = Pick(6);
    const bool is_global = Pick(3) == 0;
    const spec::PartitionTuple partition =
        is_global ? spec::PartitionTuple() : spec::PartitionTuple{std::string(id % 2 == 0 ? "a" : "b")};
    return test::CommitFiles(
        table_.table,
        [&](table::LiveFiles& live) -> Status {
          FRAZIL_ASSIGN(
              spec::DataFile file,
              test::WriteEqualityDelete(table_.table, {id}, is_global ? landing_ : spec::SpecId{0}, partition));
          live.delete_files.push_back({std::move(file), spec::SequenceNumber{0}});
          return {};
        },
        table_.clock);
  }

  /// Equality deletes become vectors, and are gone.
  Status ConvertEqualityDelete() {
    if (!IsV3()) return {};
    FRAZIL_ASSIGN(const table::ScanPlan plan,
                  table::PlanScan(table_.table, table_.table.metadata()->current_snapshot(), nullptr));
    table::OwnDeletes own;
    scan::EqualityDeletes equality(table_.io);
    for (const table::FileScanTask& task : plan.tasks) {
      if (task.deletes.equality_deletes.empty()) continue;
      FRAZIL_ASSIGN(own[task.data_file.file.file_path], scan::DeletedRows(table_.io, plan, task, equality));
    }
    FRAZIL_TRY(index::CommitForeign(
        table_.table,
        [&](const table::Table& base) -> Result<table::FileChanges> {
          table::FileChanges changes;
          FRAZIL_TRY(Merge(base, own, changes));
          return changes;
        },
        table_.clock));
    return test::CommitFiles(
        table_.table,
        [](table::LiveFiles& live) -> Status {
          std::erase_if(live.delete_files, [](const table::LiveDelete& file) {
            return file.file.content == spec::FileContent::kEqualityDeletes;
          });
          return {};
        },
        table_.clock, spec::Operation::kReplace);
  }

  std::optional<std::string> AnyPath() {
    const table::LiveFiles live = LiveOf(table_.table);
    if (live.data_files.empty()) return std::nullopt;
    return live.data_files[static_cast<size_t>(Pick(static_cast<int>(live.data_files.size())))].file.file_path;
  }

  static void DropDeletesOf(table::LiveFiles& live, const std::string& path) {
    std::erase_if(live.delete_files,
                  [&](const table::LiveDelete& file) { return file.file.referenced_data_file == path; });
  }

  Status Replace(const std::set<std::string>& paths, spec::Operation operation) {
    FRAZIL_ASSIGN(std::vector<LiveRow> rows, index::ReadLiveRows(table_.table));
    std::erase_if(rows, [&](const LiveRow& row) { return !paths.contains(row.path); });
    return test::CommitFiles(
        table_.table,
        [&](table::LiveFiles& live) -> Status {
          for (const std::string& path : paths) DropDeletesOf(live, path);
          std::erase_if(live.data_files,
                        [&](const table::LiveDataFile& file) { return paths.contains(file.file.file_path); });
          FRAZIL_ASSIGN(const std::vector<spec::DataFile> files,
                        test::WriteRows(table_.table, rows, IsV3(), spec::SpecId{0}));
          for (const spec::DataFile& file : files) live.data_files.push_back({.file = file});
          return {};
        },
        table_.clock, operation);
  }

  Status CopyOnWrite() {
    const std::optional<std::string> path = AnyPath();
    return path ? Replace({*path}, spec::Operation::kOverwrite) : Status();
  }
  Status ForeignRewrite() {
    const std::optional<std::string> first = AnyPath();
    const std::optional<std::string> second = AnyPath();
    return first ? Replace({*first, *second}, spec::Operation::kReplace) : Status();
  }

  /// A vector or position delete file goes: its rows live again.
  Status Undelete() {
    const std::optional<std::string> path = AnyPath();
    if (!path) return {};
    return test::CommitFiles(
        table_.table,
        [&](table::LiveFiles& live) -> Status {
          DropDeletesOf(live, *path);
          return {};
        },
        table_.clock);
  }

  Status Rollback() {
    const auto& snapshots = table_.table.metadata()->snapshots;
    const spec::SnapshotId id = snapshots[static_cast<size_t>(Pick(static_cast<int>(snapshots.size())))].id;
    return index::SetHead(table_.table, id, table_.clock);
  }

  /// A file is removed and the same path added again, with all its rows.
  Status AddAgain() {
    const std::optional<std::string> path = AnyPath();
    if (!path) return {};
    return test::CommitFiles(
        table_.table,
        [&](table::LiveFiles& live) -> Status {
          DropDeletesOf(live, *path);
          for (table::LiveDataFile& file : live.data_files) {
            if (file.file.file_path != *path) continue;
            file.sequence_number = spec::SequenceNumber{0};
            file.file_sequence_number = spec::SequenceNumber{0};
            file.file.first_row_id.reset();
          }
          return {};
        },
        table_.clock);
  }

  Status Expire() {
    const std::set<std::string> before = Reachable(table_.table);
    FRAZIL_TRY(index::ExpireAllButHead(table_.table, table_.clock));
    const std::set<std::string> after = Reachable(table_.table);
    std::vector<std::string> freed;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(freed));
    return table_.io->Delete(freed);
  }

  Status Upgrade() {
    if (IsV3()) return {};
    return table::CommitUpdates(
        table_.table,
        [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
          return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
        },
        table_.clock);
  }

  std::mt19937_64 random_;
  MemoryTable table_;
  spec::SpecId landing_{0};
  int next_value_ = 0;
  std::string trace_;
};

TEST(RewriteState, NoScheduleChangesARow) {
  const int64_t count = FromEnvironment("FRAZIL_SCHEDULES", 400);
  const int64_t first = FromEnvironment("FRAZIL_SEED", 1);
  int64_t num_committed = 0;
  int64_t num_dropped = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    Schedule schedule(static_cast<uint64_t>(seed));
    if (!schedule.Run()) {
      FAIL() << "FRAZIL_SEED=" << seed << " FRAZIL_SCHEDULES=1\n" << schedule.trace();
    }
    num_committed += schedule.num_committed;
    num_dropped += schedule.num_dropped;
  }
  std::printf("%lld schedules from seed %lld: %lld groups committed, %lld dropped\n", static_cast<long long>(count),
              static_cast<long long>(first), static_cast<long long>(num_committed),
              static_cast<long long>(num_dropped));
  EXPECT_GT(num_committed, count / 4);
  EXPECT_GT(num_dropped, 0);
}

}  // namespace
}  // namespace frazil::maintain
