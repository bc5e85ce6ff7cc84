// Everything at once, from a seed: records, restarts, second copies of the pipeline, requests and replies that get lost,
// files that cannot be written, rollbacks, expiry, and others who change the table between look-up and commit. After every
// step the table keeps its invariants; when the dust settles it holds the last value of every key of the topic.
//
// FRAZIL_TEST_SEED replays one seed, FRAZIL_CHAOS_ROUNDS runs more of them.

#include <random>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "tests/support/pipeline_world.h"

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
        calm_, [this](std::string_view operation, const catalog::TableName&) { return OnCatalog(operation); });
    world_->topic->set_max_poll(1 + Below(20));
  }

  void Step() {
    switch (Below(10)) {
      case 0: Say("rollback"); return Rollback();
      case 1: Say("foreign"); return Foreign();
      case 2: Say("expire"); return Expire();
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
  }

  const std::string& story() const { return story_; }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  void Say(const std::string& what) { story_ += "\n  " + what; }

  void Append() {
    const auto id = static_cast<int64_t>(Below(kNumKeys));
    if (Below(5) == 0) {
      world_->Append({{id, std::nullopt, ""}});
    } else {
      world_->Append({{id, fmt::format("v{}", num_appended_++), Below(2) == 0 ? "x" : "y"}});
    }
  }

  void Run(bool with_faults) {
    ingest::PipelineOptions options = world_->BoundedOptions();
    options.commit_max_records = static_cast<int64_t>(1 + Below(25));
    options.landing = landing_;
    faults_left_ = with_faults ? static_cast<int>(Below(6)) : 0;
    const auto pipeline = world_->NewPipeline(options, stormy_);
    is_disturbed_ = with_faults;
    const Status done = pipeline->Run();
    is_disturbed_ = false;
    faults_left_ = 0;
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
    switch (Below(4)) {
      case 0:
        Say("  foreign insert");
        EXPECT_THAT(index::ForeignInsert(table, {{next_foreign_id_++, "f", "x"}}, *world_->clock), IsOk());
        return;
      case 1:
        Say(fmt::format("  foreign delete {}", id));
        EXPECT_THAT(index::ForeignDelete(table, {id, id + 1}, *world_->clock), IsOk());
        return;
      case 2: {
        if (world_->Rows().contains(id)) return;
        Say(fmt::format("  foreign insert of key {}", id));
        EXPECT_THAT(index::ForeignInsert(table, {{id, "theirs", "y"}}, *world_->clock), IsOk());
        return;
      }
      default:
        Say("  foreign rewrite");
        EXPECT_THAT(index::ForeignRewrite(
                        table, [](const std::string&) { return true; }, *world_->clock),
                    IsOk());
    }
  }

  /// To a snapshot in which the pipeline has a marker; before that one it would rightly refuse.
  void Rollback() {
    table::Table table = world_->Table();
    std::vector<spec::SnapshotId> candidates;
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      if (snapshot.summary.contains(table::kMarkerSummaryKey)) candidates.push_back(snapshot.id);
    }
    if (candidates.empty()) return;
    EXPECT_THAT(index::SetHead(table, candidates[Below(candidates.size())], *world_->clock), IsOk());
  }

  void Expire() {
    table::Table table = world_->Table();
    // What keeps our marker stays provable: the log still has the rest.
    EXPECT_THAT(index::ExpireAllButHead(table, *world_->clock), IsOk());
  }

  TempDir dir_;
  std::mt19937_64 random_;
  std::string story_;
  std::shared_ptr<catalog::Catalog> calm_;
  std::shared_ptr<catalog::Catalog> stormy_;
  std::optional<PipelineWorld> world_;
  ingest::LandingMode landing_ = ingest::LandingMode::kNever;
  int faults_left_ = 0;
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
