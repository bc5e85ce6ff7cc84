// Everything at once, from a seed: records, restarts, second copies of the pipeline, requests and replies that get lost,
// stale answers of the catalog, a broker that goes away, retention, files that cannot be written, rollbacks, expiry with
// clean-up, compaction, and others who insert, update, delete and merge keys of the batch between look-up and commit. After
// every step the table keeps its invariants, no row got another id, and the index that is kept from run to run equals the
// table; when the dust settles the table holds the last value of every key of the topic.
//
// FRAZIL_TEST_SEED replays one seed, FRAZIL_CHAOS_ROUNDS runs more of them.

#include <random>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/ingest/start_index.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "tests/support/foreign_writer.h"
#include "tests/support/pipeline_world.h"
#include "tests/support/stale_catalog.h"

namespace frazil::test {
namespace {

constexpr uint64_t kDefaultRounds = 3;
constexpr int kSteps = 12;
constexpr int64_t kNumKeys = 24;
constexpr int64_t kFirstForeignId = 1'000;

class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed) {
    auto io = std::make_shared<io::FaultInjectingFileIO>(
        io::MakeLocalFileIO(), [this](std::string_view operation, const std::string&) { return OnFile(operation); });
    auto opened = catalog::OpenSqliteCatalog(
        {.name = "local", .file = dir_.Join("catalog.db"), .warehouse = "file://" + dir_.Join("warehouse")}, io);
    EXPECT_THAT(opened, IsOk());
    calm_ = *opened;
    world_.emplace(
        PipelineWorld::Options{.num_partitions = static_cast<int32_t>(1 + Below(3)),
                               .partitioning = std::array{index::Partitioning::kNone, index::Partitioning::kByPart,
                                                          index::Partitioning::kByBucket}[Below(3)],
                               .properties = {{"frazil.write.dv.max-blobs-per-puffin", std::to_string(1 + Below(4))},
                                              {"write.target-file-size-bytes", Below(4) == 0 ? "1" : "1000000"},
                                              {"commit.retry.num-retries", "3"}},
                               .catalog = calm_,
                               .create_table = true});
    landing_ = Below(2) == 0 ? ingest::LandingMode::kAlways : ingest::LandingMode::kNever;
    stormy_ = catalog::MakeFaultInjectingCatalog(
        std::make_shared<StaleCatalog>(calm_, [this] { return AgeOfAnswer(); }),
        [this](std::string_view operation, const catalog::TableName&) { return OnCatalog(operation); });
    world_->topic->set_max_poll(1 + Below(20));
    world_->topic->set_fault([this](std::string_view operation) { return OnBroker(operation); });
  }

  void Step() {
    switch (Below(12)) {
      case 0: Say("rollback"); return Rollback();
      case 1: Say("foreign"); return Foreign();
      case 2: Say("expire"); return Expire();
      case 3: Say("retention"); return Truncate();
      default: break;
    }
    for (uint64_t i = Below(30); i > 0; --i) Append();
    Say("run");
    Run(true);
  }

  /// Every key once more, without disturbance.
  void Settle() {
    Say("settle");
    for (int64_t id = 0; id < kNumKeys; ++id) {
      if (id % 5 == 4) Touch(id);
      world_->Append({id % 5 == 4 ? Change{id, std::nullopt, ""} : Change{id, fmt::format("last {}", id), "x"}});
    }
    Run(false);
    std::map<int32_t, table::PartitionOffset> next;
    for (int32_t i = 0; i < world_->topic->num_partitions(); ++i) next[i].next = world_->topic->end(i);
    std::map<int64_t, std::string> expected;
    for (const auto& [id, change] : world_->topic->Expected(next)) expected[id] = *change.value;
    std::map<int64_t, std::string> found = world_->Rows();
    std::erase_if(found, [](const auto& row) { return row.first >= kFirstForeignId; });
    EXPECT_EQ(found, expected);
    for (const auto& [partition, offset] : world_->Committed()) EXPECT_EQ(offset, next[partition].next);
  }

  void Check() {
    const table::Table table = world_->Table();
    EXPECT_THAT(Violations(table), ::testing::IsEmpty());
    EXPECT_THAT(MissingFiles(table), IsOkAnd(::testing::IsEmpty()));
    CheckRowIds();
    CheckIndex(table);
  }

  const std::string& story() const { return story_; }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  void Say(const std::string& what) { story_ += "\n  " + what; }
  /// From now on nobody can say which row of the key it is, until the pipeline has taken all that the topic has.
  void Touch(int64_t id) { touched_.insert(id); }
  void TouchAll() {
    for (int64_t id = 0; id <= kNumKeys; ++id) Touch(id);
  }

  /// A key that was neither deleted nor rolled back is the same row as before.
  void CheckRowIds() {
    const std::map<int64_t, int64_t> ids = world_->RowIds();
    for (const auto& [id, row_id] : row_ids_) {
      if (touched_.contains(id) || id >= kFirstForeignId) continue;
      const auto now = ids.find(id);
      EXPECT_TRUE(now != ids.end() && now->second == row_id) << "key " << id << " is another row now";
    }
    const std::map<int32_t, int64_t> committed = world_->Committed();
    for (int32_t i = 0; i < world_->topic->num_partitions(); ++i) {
      const auto at = committed.find(i);
      if (at == committed.end() || at->second != world_->topic->end(i)) return;
    }
    row_ids_ = ids;
    touched_.clear();
  }

  /// What the last run kept, brought to the head, is what a rebuild would give.
  void CheckIndex(table::Table table) {
    ingest::StartIndexOptions options;
    options.directory = dir_.Join("index");
    auto started = ingest::OpenStartIndex(table, options, *world_->clock);
    ASSERT_THAT(started, IsOk());
    ASSERT_THAT(started->index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
    EXPECT_THAT(started->index->Verify(table, {}), IsOk());
  }

  void Append() {
    const auto id = static_cast<int64_t>(Below(kNumKeys));
    if (Below(5) == 0) {
      Touch(id);
      world_->Append({{id, std::nullopt, ""}});
    } else {
      world_->Append({{id, fmt::format("v{}", num_appended_++), Below(2) == 0 ? "x" : "y"}});
    }
  }

  void Run(bool with_faults) {
    ingest::PipelineOptions options = world_->BoundedOptions();
    options.commit_max_records = static_cast<int64_t>(1 + Below(25));
    options.landing = landing_;
    options.index_directory = dir_.Join("index");
    faults_left_ = with_faults ? static_cast<int>(Below(6)) : 0;
    const auto pipeline = world_->NewPipeline(options, stormy_);
    is_disturbed_ = with_faults;
    const Status done = pipeline->Run();
    is_disturbed_ = false;
    faults_left_ = 0;
    outage_left_ = 0;
    if (done) return;
    Say("  failed: " + done.error().ToString());
    // Only what waiting does not mend; and a table that was rolled back behind the pipeline's first commit is refused.
    EXPECT_TRUE(with_faults && (done.error().code() == ErrorCode::kIo || done.error().code() == ErrorCode::kFenced))
        << done.error().ToString();
  }

  Status OnCatalog(std::string_view operation) {
    if (!is_disturbed_) return {};
    if (operation == "commit.before" && Below(4) == 0) {
      is_disturbed_ = false;
      Say("  between look-up and commit:");
      Below(3) == 0 ? RunSecondCopy() : Foreign();
      is_disturbed_ = true;
    }
    if (faults_left_ == 0 || Below(4) != 0) return {};
    --faults_left_;
    Say(fmt::format("  lost at {}", operation));
    return Fail(Below(2) == 0 ? ErrorCode::kUnavailable : ErrorCode::kCommitUnknown, "injected at {}", operation);
  }

  /// Only what is being read: which answer a commit gets is the real catalog's business.
  size_t AgeOfAnswer() {
    if (!is_disturbed_ || faults_left_ == 0 || Below(4) != 0) return 0;
    --faults_left_;
    Say("  stale answer");
    return 1 + Below(3);
  }

  Status OnBroker(std::string_view operation) {
    if (outage_left_ > 0) {
      --outage_left_;
      return Fail(ErrorCode::kUnavailable, "the broker is away: {}", operation);
    }
    if (!is_disturbed_ || faults_left_ == 0 || Below(12) != 0) return {};
    --faults_left_;
    outage_left_ = Below(6);
    Say(fmt::format("  the broker goes away at {}", operation));
    return Fail(ErrorCode::kUnavailable, "the broker is away: {}", operation);
  }

  Status OnFile(std::string_view operation) {
    if (!is_disturbed_ || faults_left_ == 0 || Below(60) != 0) return {};
    --faults_left_;
    Say(fmt::format("  file fault at {}", operation));
    return Fail(Below(3) == 0 ? ErrorCode::kIo : ErrorCode::kUnavailable, "injected at {}", operation);
  }

  /// Another process on the same table, which gets through while ours sleeps.
  void RunSecondCopy() {
    Say("  second copy runs");
    ingest::PipelineOptions options = world_->BoundedOptions();
    options.landing = landing_;
    options.commit_max_records = static_cast<int64_t>(1 + Below(25));
    EXPECT_THAT(world_->NewPipeline(options)->Run(), IsOk());
  }

  void Foreign() {
    table::Table table = world_->Table();
    const auto id = static_cast<int64_t>(Below(kNumKeys));
    const std::map<int64_t, std::string> rows = world_->Rows();
    switch (Below(7)) {
      case 0:
        Say("  foreign insert");
        EXPECT_THAT(index::ForeignInsert(table, {{next_foreign_id_++, "f", "x"}}, *world_->clock), IsOk());
        return;
      case 1:
        Say(fmt::format("  foreign delete {}", id));
        Touch(id);
        Touch(id + 1);
        EXPECT_THAT(index::ForeignDelete(table, {id, id + 1}, *world_->clock), IsOk());
        return;
      case 2:
        if (rows.contains(id)) return;
        Say(fmt::format("  foreign insert of key {}", id));
        Touch(id);
        EXPECT_THAT(index::ForeignInsert(table, {{id, "theirs", "y"}}, *world_->clock), IsOk());
        return;
      case 3:
        if (!rows.contains(id)) return;
        Say(fmt::format("  foreign update {}", id));
        EXPECT_THAT(ForeignMerge(table, {{id, "changed by others"}}, {}, {}, *world_->clock), IsOk());
        return;
      case 4: {
        std::vector<index::TestRow> inserted;
        if (!rows.contains(id)) inserted = {{id, "merged", "y"}};
        Say(fmt::format("  foreign merge at {}", id));
        Touch(id);
        Touch(id + 2);
        EXPECT_THAT(ForeignMerge(table, {{id + 1, "merged"}}, {id + 2}, inserted, *world_->clock), IsOk());
        return;
      }
      case 5: Say("  foreign expiry"); return Expire();
      default: {
        const uint64_t salt = Below(3);  // some files, or all
        Say("  foreign rewrite");
        EXPECT_THAT(
            index::ForeignRewrite(
                table, [&](const std::string& path) { return salt == 0 || path.size() % 3 != salt; }, *world_->clock),
            IsOk());
      }
    }
  }

  /// To a snapshot in which the pipeline has a marker; before that one, or before what retention took, it would rightly
  /// refuse.
  void Rollback() {
    table::Table table = world_->Table();
    std::vector<spec::SnapshotId> candidates;
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      if (snapshot.summary.contains(table::kMarkerSummaryKey) && IsUseful(*table.metadata(), snapshot)) {
        candidates.push_back(snapshot.id);
      }
    }
    if (candidates.empty()) return;
    TouchAll();
    EXPECT_THAT(index::SetHead(table, candidates[Below(candidates.size())], *world_->clock), IsOk());
  }

  /// Whether it stands at or behind what retention left. Rollbacks make branches, so a higher number alone says nothing.
  bool IsUseful(const spec::TableMetadata& metadata, const spec::Snapshot& snapshot) const {
    if (!truncated_at_) return true;
    for (const spec::Snapshot* at = &snapshot; at != nullptr;) {
      if (at->id == *truncated_at_) return true;
      at = at->parent_id ? metadata.FindSnapshot(*at->parent_id) : nullptr;
    }
    return false;
  }

  /// What keeps our marker stays provable: the log still has the rest.
  void Expire() {
    table::Table table = world_->Table();
    EXPECT_THAT(ForeignExpiry(table, *world_->clock), IsOk());
  }

  /// Of what is in the table.
  void Truncate() {
    const std::map<int32_t, int64_t> committed = world_->Committed();
    for (const auto& [partition, next] : committed) {
      world_->topic->Truncate(partition, static_cast<int64_t>(Below(static_cast<uint64_t>(next) + 1)));
    }
    const table::Table table = world_->Table();
    if (const spec::Snapshot* head = table.metadata()->current_snapshot()) truncated_at_ = head->id;
  }

  TempDir dir_;
  std::mt19937_64 random_;
  std::string story_;
  std::shared_ptr<catalog::Catalog> calm_;
  std::shared_ptr<catalog::Catalog> stormy_;
  std::optional<PipelineWorld> world_;
  ingest::LandingMode landing_ = ingest::LandingMode::kNever;
  int faults_left_ = 0;
  uint64_t outage_left_ = 0;
  std::optional<spec::SnapshotId> truncated_at_;  ///< the head when retention last took records that it has
  std::map<int64_t, int64_t> row_ids_;            ///< by key, when the table last had all that the topic has
  std::set<int64_t> touched_;
  bool is_disturbed_ = false;
  int64_t num_appended_ = 0;
  int64_t next_foreign_id_ = kFirstForeignId;
};

TEST(PipelineChaos, EndsWithTheLastValueOfEveryKey) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const char* asked = std::getenv("FRAZIL_CHAOS_ROUNDS");
  const uint64_t first = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  const uint64_t rounds = given != nullptr ? 1 : asked != nullptr ? std::strtoull(asked, nullptr, 10) : kDefaultRounds;
  fmt::print("FRAZIL_TEST_SEED={} and the {} behind it\n", first, rounds - 1);
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    Chaos chaos(seed);
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      chaos.Step();
      chaos.Check();
    }
    if (!::testing::Test::HasFailure()) {
      chaos.Settle();
      chaos.Check();
    }
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "FRAZIL_TEST_SEED=" << seed << chaos.story();
      return;
    }
  }
}

}  // namespace
}  // namespace frazil::test
