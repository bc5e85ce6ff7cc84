// Maintenance under everything that others do meanwhile. A deterministic scheduler interleaves five actors over the real
// code, at every call of the catalog, every listing and every data file: a writer (appends, landing files, vectors,
// upserts), a compactor (data files with journal, vectors, position deletes, manifests), expiry, orphan removal (every other
// schedule on another machine, which knows no journal of the compactor's), and other
// engines (equality deletes and their conversion, copy-on-write, un-delete, rollback, a path that is removed and added
// again, an upgrade to v3, compaction, tags, an orphan removal that knows no journal). Replies of the catalog get lost. Time
// passes, up to an hour between any two turns, and days too: while the machine of a rewrite sleeps, or goes on telling by its
// lease that it is at work; while an expiry or an orphan removal is in the middle of it. Writers without a lease have a day.
//
// The oracle (tests/support/stored_rows.h) after each turn: a commit of maintenance changes no row, neither its values nor
// its (_row_id, _last_updated_sequence_number); a commit of the writer does what it was to do and nothing else; every file
// that any snapshot names is there. At the end the compactor ends what it left, orphan removal takes what is left over,
// and then no file is there that nobody needs.
//
// FRAZIL_SCHEDULES sets the number of schedules, FRAZIL_SEED the first seed. Without them it is a sample that takes some
// seconds (a tenth of a second a schedule under ASan); thousands take minutes in a release build.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/maintain/expire_snapshots.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/remove_orphan_files.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "tests/support/foreign_commit.h"
#include "tests/support/forwarding_catalog.h"
#include "tests/support/stored_rows.h"
#include "tests/support/table_changes.h"
#include "tests/support/timed_file_io.h"
#include "tests/support/turns.h"

namespace frazil::maintain {
namespace {

using test::StoredRow;
using test::TableChanges;
using test::Turns;

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kHourMs = 60 * kMinuteMs;
constexpr char kIdle[] = "idle";

int64_t FromEnvironment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

/// Reads each metadata file once: a schedule looks at the table some hundred times. For one table.
class ReadOnceCatalog : public test::ForwardingCatalog {
 public:
  using ForwardingCatalog::ForwardingCatalog;

  Result<catalog::LoadedTable> LoadTable(const catalog::TableName& name) const override {
    if (!newest_) {
      FRAZIL_ASSIGN(newest_, ForwardingCatalog::LoadTable(name));
    }
    return *newest_;
  }
  Result<catalog::LoadedTable> CommitTable(const catalog::TableName& name,
                                           const std::vector<spec::TableRequirement>& requirements,
                                           const std::vector<spec::TableUpdate>& updates) override {
    FRAZIL_ASSIGN(newest_, ForwardingCatalog::CommitTable(name, requirements, updates));
    return *newest_;
  }
  /// Of the newest metadata; null before any.
  const spec::TableMetadata* newest() const { return newest_ ? newest_->metadata.get() : nullptr; }

 private:
  mutable std::optional<catalog::LoadedTable> newest_;
};

/// Lets others in before and after each call that they could see or be seen by, and loses replies.
class YieldingCatalog : public test::ForwardingCatalog {
 public:
  YieldingCatalog(std::shared_ptr<catalog::Catalog> inner, std::function<bool()> loses_reply)
      : ForwardingCatalog(std::move(inner)), loses_reply_(std::move(loses_reply)) {}

  Result<catalog::LoadedTable> LoadTable(const catalog::TableName& name) const override {
    Turns::Yield("load");
    return ForwardingCatalog::LoadTable(name);
  }
  Result<catalog::LoadedTable> CommitTable(const catalog::TableName& name,
                                           const std::vector<spec::TableRequirement>& requirements,
                                           const std::vector<spec::TableUpdate>& updates) override {
    Turns::Yield("commit");
    auto committed = ForwardingCatalog::CommitTable(name, requirements, updates);
    Turns::Yield(committed ? "committed" : "lost the race");
    if (committed && loses_reply_()) return Fail(ErrorCode::kCommitUnknown, "the reply was lost");
    return committed;
  }

 private:
  const std::function<bool()> loses_reply_;
};

/// One schedule: a table, what happened to it, and what must be so.
class Schedule {
 public:
  Schedule(uint64_t seed, const std::string& folder)
      : random_(seed),
        orphans_elsewhere_(seed % 2 == 1),
        io_(std::make_shared<test::TimedFileIO>(clock_, YieldAtFiles)),
        catalog_(
            std::make_shared<ReadOnceCatalog>(catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_, clock_))),
        yielding_(std::make_shared<YieldingCatalog>(catalog_, [this] { return losses_ && Pick(12) == 0; })),
        table_(*index::CreateTestTable(catalog_, kName, Partitioning::kByPart,
                                       {{"format-version", Pick(5) == 0 ? "2" : "3"},
                                        // Half an hour, or ten days: machines sleep between two attempts.
                                        {"commit.retry.total-timeout-ms", Pick(2) == 0 ? "1800000" : "864000000"}})),
        changes_(random_, clock_, *test::AddLandingSpec(table_, clock_)) {
    context_.catalogs["test"] = yielding_;
    context_.default_catalog = "test";
    context_.default_namespace = {"db"};
    context_.clock = &clock_;
    context_.state_directory = folder;
    context_.temp_directory = folder;
    context_.on_progress = [this](const table::ProcedureProgress& progress) {
      phase_ = progress.phase;
      Turns::Yield(progress.phase);
    };
  }

  /// False when an expectation failed.
  bool Run() {
    EXPECT_THAT(changes_.Insert(table_), IsOk());
    for (int i = Pick(4); i > 0; --i) Try(changes_, AnyOf(TableChanges::OfWriter()), table_);
    if (Pick(3) == 0) {
      EXPECT_THAT(LeaveFileBehind(table_), IsOk());
      clock_.Advance(80 * kHourMs);
    }
    Check();
    losses_ = true;
    Turns turns;
    AddActor(turns, "writer", 1 + Pick(3),
             [this](table::Table& own) { return Try(changes_, AnyOf(TableChanges::OfWriter()), own); });
    AddActor(turns, "others", Pick(4), [this](table::Table& own) {
      if (Pick(8) == 0) return RemoveUnknownFiles();
      if (Pick(6) == 0) return LeaveFileBehind(own);
      return Try(changes_, AnyOf(TableChanges::OfOthers()), own);
    });
    AddActor(turns, "compactor", 1 + Pick(2), [this](table::Table& own) { return Compact(own); });
    AddActor(turns, "expiry", Pick(2), [this](table::Table& own) { return Expire(own); });
    AddActor(turns, "orphans", Pick(2), [this](table::Table& own) { return RemoveOrphans(own); });
    turns.Add("time", [this, num_moves = Pick(9)] {
      for (int i = 0; i < num_moves; ++i) {
        Turns::Yield(kIdle);
        PassTime();
      }
    });
    turns.Run(
        [this](const std::vector<size_t>& waiting) {
          const size_t next = waiting[static_cast<size_t>(Pick(static_cast<int>(waiting.size())))];
          return next;
        },
        [this](const std::string& actor, const std::string& where) { AfterTurn(actor, where); });
    losses_ = false;
    if (!::testing::Test::HasFailure()) End();
    return !::testing::Test::HasFailure();
  }

  const std::string& trace() const { return trace_; }
  int64_t num_turns = 0;
  int64_t num_committed = 0;
  int64_t num_dropped = 0;
  int64_t num_expired = 0;
  int64_t num_orphans = 0;
  int64_t num_long_moves = 0;  ///< of time, in the middle of something or not

 private:
  using Work = std::function<Status(table::Table& own)>;

  static void YieldAtFiles(const char* operation, const std::string& path) {
    // The catalog writes metadata files under its lock.
    if (path.find("/metadata/") == std::string::npos) Turns::Yield(operation);
  }

  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  void Note(const std::string& what) { trace_ += what + "\n"; }
  const TableChanges::Named& AnyOf(const std::vector<TableChanges::Named>& all) {
    return all[static_cast<size_t>(Pick(static_cast<int>(all.size())))];
  }

  void AddActor(Turns& turns, const std::string& name, int num_works, Work work) {
    wheres_[name] = kIdle;
    turns.Add(name, [this, name, num_works, work = std::move(work)] {
      auto own = table::Table::Load(yielding_, kName);
      for (int i = 0; i < num_works && own; ++i) {
        Turns::Yield(kIdle);
        const Status done = work(*own);
        if (!done) Expected(name, done.error());
      }
    });
  }

  Status Try(TableChanges& changes, const TableChanges::Named& change, table::Table& own) {
    Note(std::string("  begins: ") + change.first);
    FRAZIL_TRY(own.Refresh());
    return (changes.*change.second)(own);
  }

  /// What may become of an operation that others get in the way of.
  void Expected(const std::string& actor, const Error& error) {
    Note("  fails: " + error.ToString());
    const ErrorCode code = error.code();
    // Nor can another engine's commit or rollback know what expired, or was upgraded, right before it.
    const bool is_foreign = actor == "others" && code == ErrorCode::kInvalidArgument;
    EXPECT_TRUE(is_foreign || code == ErrorCode::kCommitConflict || code == ErrorCode::kCommitUnknown ||
                code == ErrorCode::kNotFound)
        << actor << ": " << error.ToString();
  }

  /// In the middle of what others do.
  void PassTime() {
    static constexpr int64_t kMinutes[] = {1, 11, 60};
    static constexpr int64_t kHours[] = {13, 25, 96};
    const bool is_long = MayPassDays() && Pick(4) != 0;
    const int64_t ms = is_long ? kHours[Pick(3)] * kHourMs : kMinutes[Pick(3)] * kMinuteMs;
    // The heartbeats of a machine that sleeps stop.
    const bool is_awake = Pick(2) == 0;
    num_long_moves += is_long ? 1 : 0;
    Note(fmt::format("  {} min pass{}", ms / kMinuteMs, is_awake ? "" : ", the compactor sleeps"));
    clock_.Advance(ms);
    if (is_awake) io_->Touch("/_frazil/leases/");
  }

  /// Nobody holds back files without a lease, and none is named by a commit that is under way: that can look at nothing any more.
  bool MayPassDays() const {
    if (wheres_.at("writer") != kIdle || wheres_.at("others") != kIdle) return false;
    const std::string& at = wheres_.at("compactor");
    if (at == kIdle) return true;
    if (!is_rewriting_data_ || at == "commit") return false;
    return phase_ != "committing" || at == "load" || at == "lost the race" || at == "committed";
  }

  Status Compact(table::Table& own) {
    phase_.clear();
    is_rewriting_data_ = false;
    static constexpr const char* kOthers[] = {"rewrite_manifests", "rewrite_deletion_vectors",
                                              "rewrite_position_delete_files"};
    if (Pick(4) == 0) {
      const std::string name = kOthers[Pick(3)];
      Note("  begins: " + name);
      FRAZIL_TRY(Call(name, context_, {{"table", std::string("db.t")}}));
      return {};
    }
    RewriteOptions options = AllFiles();
    options.max_file_group_input_files = 1 + Pick(3);
    options.use_starting_sequence_number = Pick(6) != 0;
    options.partial_progress = Pick(2) == 0;
    options.partial_progress_max_commits = 1 + Pick(2);
    options.remove_dangling_deletes = Pick(4) == 0;
    Note("  begins: rewrite_data_files");
    is_rewriting_data_ = true;
    FRAZIL_ASSIGN(const RewriteResult result, RewriteDataFiles(own, options, context_));
    num_committed += result.groups;
    num_dropped += result.dropped_groups;
    for (const std::string& reason : result.dropped_reasons) Note("  dropped: " + reason);
    return {};
  }

  Status Expire(table::Table& own) {
    ExpireOptions options;
    options.older_than_ms = clock_.NowMs() - (Pick(2) == 0 ? 0 : kHourMs);
    options.retain_last = 1 + Pick(2);
    options.clean_expired_metadata = Pick(2) == 0;
    Note("  begins: expire_snapshots");
    FRAZIL_ASSIGN(const ExpireResult result, ExpireSnapshots(own, options, context_));
    num_expired += static_cast<int64_t>(result.expired.size());
    return {};
  }

  Status RemoveOrphans(table::Table& own) {
    OrphanOptions options;
    if (Pick(2) == 0) options.older_than_ms = clock_.NowMs() - 24 * kHourMs;
    Note(orphans_elsewhere_ ? "  begins: remove_orphan_files of another machine" : "  begins: remove_orphan_files");
    table::ProcedureContext context = context_;
    if (orphans_elsewhere_) context.state_directory += "/elsewhere";
    FRAZIL_ASSIGN(const OrphanResult result, RemoveOrphanFiles(own, options, context));
    num_orphans += static_cast<int64_t>(result.orphans.size());
    return {};
  }

  std::set<std::string> NeededFiles(const table::Table& table) {
    std::set<std::string> needed;
    const TakeFile take = [&](const std::string& path, FileKind) -> Status {
      needed.insert(path);
      return {};
    };
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      const std::set<std::string>& files = FilesOf(table, snapshot);
      needed.insert(files.begin(), files.end());
    }
    EXPECT_THAT(WalkMetadataFiles(*table.metadata(), table.metadata_location(), take), IsOk());
    return needed;
  }

  /// A job that dies before its commit.
  Status LeaveFileBehind(table::Table& own) {
    Note("  begins: a job that dies");
    FRAZIL_TRY(test::WriteRows(own, index::NewRows({{7, "never committed", "a"}}), false, spec::SpecId{0}));
    return {};
  }

  /// What an engine's orphan removal does that knows nothing of our journal, after three days.
  Status RemoveUnknownFiles() {
    Note("  begins: orphan removal of another engine");
    const auto listed = io_->List("memory:/warehouse");
    const table::Table now = *table::Table::Load(catalog_, kName);
    const std::set<std::string> needed = NeededFiles(now);
    std::vector<std::string> unknown;
    for (const io::FileInfo& file : *listed) {
      const bool is_hidden = file.path.find("/_frazil/") != std::string::npos;
      const bool is_old = file.modified_ms < clock_.NowMs() - 72 * kHourMs;
      if (is_old && !is_hidden && !needed.contains(file.path)) unknown.push_back(file.path);
    }
    return io_->Delete(unknown);
  }

  void AfterTurn(const std::string& actor, const std::string& where) {
    ++num_turns;
    Note(actor + (where.empty() ? " is done" : ": " + where));
    wheres_[actor] = where.empty() ? kIdle : where;
    clock_.Advance(1 + Pick(1000));
    const bool is_quiet =
        std::all_of(wheres_.begin(), wheres_.end(), [](const auto& at) { return at.second == kIdle; });
    if (is_quiet && Pick(4) == 0) {
      static constexpr int64_t kHours[] = {1, 13, 25, 80};
      const int64_t hours = kHours[Pick(4)];
      Note(fmt::format("{} hours pass", hours));
      clock_.Advance(hours * kHourMs);
    }
    Check();
  }

  const std::set<std::string>& FilesOf(const table::Table& table, const spec::Snapshot& snapshot) {
    const auto [found, is_new] = files_.try_emplace(snapshot.id);
    if (!is_new) return found->second;
    ReachableWalk walk(table);
    EXPECT_THAT(walk.Walk(*table.metadata(), snapshot,
                          [&](const std::string& path, FileKind kind) -> Status {
                            // A row map is a help, and old ones may go.
                            if (kind != FileKind::kRowMap) found->second.insert(path);
                            return {};
                          }),
                IsOk());
    return found->second;
  }

  /// The oracle.
  void Check() {
    if (catalog_->newest() == table_.metadata().get() && io_->num_deletes() == checked_deletes_) return;
    EXPECT_THAT(table_.Refresh(), IsOk());
    const spec::TableMetadata& metadata = *table_.metadata();
    for (const spec::Snapshot& snapshot : metadata.snapshots) {
      if (!rows_.contains(snapshot.id)) CheckNew(snapshot);
      for (const std::string& path : FilesOf(table_, snapshot)) {
        EXPECT_TRUE(*io_->Exists(path)) << "snapshot " << snapshot.sequence_number.value() << " needs " << path;
      }
    }
    checked_deletes_ = io_->num_deletes();
  }

  void CheckNew(const spec::Snapshot& snapshot) {
    auto read = oracle_.Of(table_, &snapshot, &missed_[snapshot.id]);
    ASSERT_THAT(read, IsOk()) << "snapshot " << snapshot.sequence_number.value();
    const std::vector<StoredRow>& now = rows_[snapshot.id] = *std::move(read);
    static const std::vector<StoredRow> kNoRows;
    const auto parent = snapshot.parent_id ? rows_.find(*snapshot.parent_id) : rows_.end();
    const std::vector<StoredRow>& before = parent == rows_.end() ? kNoRows : parent->second;
    if (const TableChanges::Effect* effect = changes_.EffectOf(snapshot.id, snapshot.parent_id)) {
      std::multiset<StoredRow> wanted(before.begin(), before.end());
      for (const StoredRow& row : effect->removed) wanted.erase(wanted.find(row));
      std::set<std::string> added = effect->added_values;
      for (const StoredRow& row : now) {
        if (added.erase(row.row.value) == 0) Take(row, wanted);
      }
      EXPECT_TRUE(added.empty() && wanted.empty()) << "the writer's commit lost rows " << TextOf(before) << TextOf(now);
    } else if (snapshot.operation == spec::Operation::kReplace) {
      std::multiset<StoredRow> wanted(before.begin(), before.end());
      for (const StoredRow& row : now) Take(row, wanted);
      for (const StoredRow& row : parent == rows_.end() ? kNoRows : missed_[*snapshot.parent_id]) {
        if (const auto found = wanted.find(row); found != wanted.end()) wanted.erase(found);
      }
      EXPECT_TRUE(wanted.empty()) << "maintenance lost rows\n" << TextOf(before) << "became\n" << TextOf(now);
    }
  }

  /// Finds a row among those there were: it is the same, or, on an upgraded table, has got its lineage.
  void Take(const StoredRow& row, std::multiset<StoredRow>& wanted) {
    auto found = wanted.find(row);
    if (found == wanted.end()) {
      found = wanted.find({.row_id = std::nullopt, .last_updated = std::nullopt, .row = row.row});
    }
    if (found == wanted.end()) {
      ADD_FAILURE() << "a row that was not there: " << row.ToString();
    } else {
      wanted.erase(found);
    }
  }

  static std::string TextOf(const std::vector<StoredRow>& rows) {
    std::string text;
    for (const StoredRow& row : rows) text += row.ToString() + "\n";
    return text;
  }

  /// Everything that was begun is ended, everything that is left over goes.
  void End() {
    Note("the end");
    table::Table own = *table::Table::Load(catalog_, kName);
    context_.catalogs["test"] = catalog_;
    RewriteOptions nothing;
    EXPECT_THAT(RewriteDataFiles(own, nothing, context_), IsOk());
    Check();
    EXPECT_TRUE(std::filesystem::is_empty(Journal()) || OnlyTheLock(Journal()));
    clock_.Advance(100 * kHourMs);
    EXPECT_THAT(RemoveOrphanFiles(own, {.max_orphan_ratio = 1e9}, context_), IsOk());
    Check();
    const std::set<std::string> needed = NeededFiles(own);
    const auto listed = io_->List("memory:/warehouse");
    for (const io::FileInfo& file : *listed) {
      EXPECT_TRUE(needed.contains(file.path) || file.path.find("/_frazil/") != std::string::npos) << file.path;
    }
    // The reader that users have says the same as the oracle.
    std::vector<StoredRow> read;
    const auto rows = index::ReadLiveRows(own);
    ASSERT_THAT(rows, IsOk());
    for (const LiveRow& row : *rows) read.push_back({row.row_id, row.last_updated, row.row});
    std::sort(read.begin(), read.end());
    EXPECT_EQ(TextOf(read), TextOf(*oracle_.Of(own, own.metadata()->current_snapshot())));
  }

  std::string Journal() const {
    return context_.state_directory + "/" + table_.metadata()->table_uuid.ToString() + "/journal";
  }
  static bool OnlyTheLock(const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename() != "lock") return false;
    }
    return true;
  }

  static inline const catalog::TableName kName{{"db"}, "t"};

  std::mt19937_64 random_;
  const bool orphans_elsewhere_;  ///< orphan removal runs where nobody has rewritten
  ManualClock clock_{1'700'000'000'000};
  std::shared_ptr<test::TimedFileIO> io_;
  std::shared_ptr<ReadOnceCatalog> catalog_;
  std::shared_ptr<catalog::Catalog> yielding_;
  bool losses_ = false;
  table::Table table_;  ///< the oracle's, past the scheduler
  TableChanges changes_;
  table::ProcedureContext context_;
  std::map<std::string, std::string> wheres_;
  std::string phase_;               ///< of the compactor
  bool is_rewriting_data_ = false;  ///< the compactor
  std::string trace_;

  test::StoredRows oracle_;
  std::map<spec::SnapshotId, std::vector<StoredRow>> rows_;
  std::map<spec::SnapshotId, std::vector<StoredRow>> missed_;  ///< of them, see StoredRows::Of()
  std::map<spec::SnapshotId, std::set<std::string>> files_;
  int64_t checked_deletes_ = -1;
};

/// Journals are files; in memory where the system has such a place.
std::string FolderForState() {
  std::error_code none;
  const std::string base = std::filesystem::is_directory("/dev/shm", none) ? "/dev/shm/" : ::testing::TempDir();
  std::string folder = base + "frazil-schedules-XXXXXX";
  return mkdtemp(folder.data()) == nullptr ? ::testing::TempDir() : folder;
}

TEST(RewriteState, NoScheduleChangesARow) {
  const int64_t count = FromEnvironment("FRAZIL_SCHEDULES", 80);
  const int64_t first = FromEnvironment("FRAZIL_SEED", 1);
  const std::string folder = FolderForState();
  int64_t num_turns = 0;
  int64_t num_committed = 0;
  int64_t num_dropped = 0;
  int64_t num_expired = 0;
  int64_t num_orphans = 0;
  int64_t num_long_moves = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const std::string own = folder + "/" + std::to_string(seed);
    Schedule schedule(static_cast<uint64_t>(seed), own);
    const bool holds = schedule.Run();
    std::filesystem::remove_all(own);
    if (!holds) {
      ADD_FAILURE() << "FRAZIL_SEED=" << seed << " FRAZIL_SCHEDULES=1\n" << schedule.trace();
      break;
    }
    num_turns += schedule.num_turns;
    num_committed += schedule.num_committed;
    num_dropped += schedule.num_dropped;
    num_expired += schedule.num_expired;
    num_orphans += schedule.num_orphans;
    num_long_moves += schedule.num_long_moves;
  }
  std::filesystem::remove_all(folder);
  std::printf(
      "%lld schedules from seed %lld, %lld turns: %lld groups committed, %lld dropped, %lld snapshots expired, %lld "
      "orphans removed, days passed %lld times\n",
      static_cast<long long>(count), static_cast<long long>(first), static_cast<long long>(num_turns),
      static_cast<long long>(num_committed), static_cast<long long>(num_dropped), static_cast<long long>(num_expired),
      static_cast<long long>(num_orphans), static_cast<long long>(num_long_moves));
  EXPECT_GT(num_committed, count / 4);
  if (count >= 80) {
    EXPECT_GT(num_dropped, 0);
    EXPECT_GT(num_expired, 0);
    EXPECT_GT(num_orphans, 0);
    EXPECT_GT(num_long_moves, count / 8);
  }
}

}  // namespace
}  // namespace frazil::maintain
