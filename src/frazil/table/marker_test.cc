#include "frazil/table/marker.h"

#include <cstdlib>
#include <random>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using Proof = EffectiveMarker::Proof;

constexpr char kPipeline[] = "file:/in.json";
constexpr char kLogLength[] = "write.metadata.previous-versions-max";

Marker MarkerAt(int64_t next) {
  Marker marker;
  marker.pipelines[kPipeline].partitions[0].next = next;
  return marker;
}

int64_t NextIn(const Marker& marker) {
  const auto found = marker.pipelines.find(kPipeline);
  return found == marker.pipelines.end() ? -1 : found->second.partitions.at(0).next;
}

/// A commit as a pipeline makes it: files, marker in the summary, property.
class MarkedChange : public SnapshotChange {
 public:
  MarkedChange(FileChanges changes, int64_t next) : changes_(std::move(changes)), next_(next) {}
  Result<FileChanges> Prepare(const Table& base, spec::SnapshotId id) override {
    FileChanges changes = changes_;
    const Marker marker = MarkerAt(next_);
    changes.summary[kMarkerSummaryKey] = WriteMarkerJson(marker, id);
    changes.other_updates.push_back(spec::update::SetProperties{
        {{MarkerPropertyKey(spec::kMainBranch),
          WriteMarkerPropertyJson({.marker = marker, .table_uuid = base.metadata()->table_uuid, .head = id})}}});
    return changes;
  }

 private:
  FileChanges changes_;
  int64_t next_;
};

class MarkerTest : public ::testing::Test {
 protected:
  explicit MarkerTest(std::map<std::string, std::string> properties = {}) : test_(std::move(properties)) {}

  static spec::DataFile NewFile() { return DataFileOf("memory:/d/" + Uuid::Random().ToString() + ".parquet", 10); }

  spec::SnapshotId Ours(int64_t next) {
    MarkedChange change(Adding({NewFile()}), next);
    EXPECT_THAT(CommitSnapshot(test_.table, change, {.allow_empty = true}, test_.clock), IsOk());
    return test_.head().id;
  }
  spec::SnapshotId Foreign(std::map<std::string, std::string> summary = {}) {
    FileChanges changes = Adding({NewFile()});
    changes.summary = std::move(summary);
    EXPECT_THAT(Commit(test_, std::move(changes)), IsOk());
    return test_.head().id;
  }
  spec::SnapshotId Compact(const std::function<bool()>& is_picked) {
    FileChanges changes = Adding({NewFile()});
    for (const LiveDataFile& file : test_.Live().data_files) {
      if (is_picked()) changes.removed_data_files.push_back(file.file.file_path);
    }
    EXPECT_THAT(Commit(test_, std::move(changes)), IsOk());
    return test_.head().id;
  }
  void Update(std::vector<spec::TableUpdate> updates) {
    EXPECT_THAT(
        CommitUpdates(
            test_.table, [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> { return updates; },
            test_.clock),
        IsOk());
  }
  void SetHead(spec::SnapshotId id) {
    Update({spec::update::SetSnapshotRef{spec::kMainBranch, {.snapshot_id = id, .type = spec::RefType::kBranch}}});
  }
  void ExpireAllButHead() {
    std::vector<spec::SnapshotId> ids;
    for (const spec::Snapshot& snapshot : test_.metadata().snapshots) {
      if (snapshot.id != test_.metadata().current_snapshot_id) ids.push_back(snapshot.id);
    }
    if (!ids.empty()) Update({spec::update::RemoveSnapshots{ids}});
  }
  void ShortenLog(const std::string& length) { Update({spec::update::SetProperties{{{kLogLength, length}}}}); }
  /// One more metadata file, so that a log of one forgets the one before.
  void Touch() { Update({spec::update::SetProperties{{{"touched", Uuid::Random().ToString()}}}}); }
  EffectiveMarker Find() {
    auto marker = FindEffectiveMarker(test_.table, spec::kMainBranch);
    EXPECT_THAT(marker, IsOk());
    return *marker;
  }

  TestTable test_;
};

TEST_F(MarkerTest, IsCompleteAndEmptyForATableWithoutSnapshot) {
  const EffectiveMarker found = Find();
  EXPECT_EQ(found.proof, Proof::kComplete);
  EXPECT_TRUE(found.marker.pipelines.empty());
  EXPECT_FALSE(found.property);
}

TEST_F(MarkerTest, IsCompleteWhereOnlyOthersWrote) {
  Foreign();
  Foreign();
  EXPECT_EQ(Find().proof, Proof::kComplete);
}

TEST_F(MarkerTest, IsFoundBelowForeignCommits) {
  const spec::SnapshotId carrier = Ours(7);
  Foreign();
  Foreign();
  const EffectiveMarker found = Find();
  EXPECT_EQ(found.proof, Proof::kFound);
  EXPECT_EQ(found.carrier, carrier);
  EXPECT_EQ(found.marker, MarkerAt(7));
  EXPECT_EQ(found.property->head, carrier);
}

TEST_F(MarkerTest, GoesBackWithARollback) {
  const spec::SnapshotId first = Ours(7);
  Ours(20);
  SetHead(first);
  const EffectiveMarker found = Find();
  EXPECT_EQ(found.proof, Proof::kFound);
  EXPECT_EQ(NextIn(found.marker), 7);
  EXPECT_EQ(NextIn(found.property->marker), 20);  // the evidence for "rolled back"
}

// Engines that copy summaries (cherry-pick, some compactions) copy the marker with them.
TEST_F(MarkerTest, IgnoresACopyInAnotherSnapshot) {
  const spec::SnapshotId first = Ours(7);
  Ours(20);
  SetHead(first);
  Foreign({{kMarkerSummaryKey, WriteMarkerJson(MarkerAt(20), spec::SnapshotId(12345))}});
  EXPECT_EQ(NextIn(Find().marker), 7);
}

TEST_F(MarkerTest, RefusesAMalformedOneNamingIt) {
  Foreign({{kMarkerSummaryKey, "{\"self\": \"x\"}"}});
  EXPECT_THAT(FindEffectiveMarker(test_.table, spec::kMainBranch), IsError(ErrorCode::kInvalidTable, "marker"));
}

TEST_F(MarkerTest, IsFoundInTheMetadataLogAfterExpiry) {
  Ours(7);
  for (int i = 0; i < 50; ++i) Foreign();
  ExpireAllButHead();
  ASSERT_EQ(test_.metadata().snapshots.size(), 1u);
  const EffectiveMarker found = Find();
  EXPECT_EQ(found.proof, Proof::kFound);
  EXPECT_EQ(NextIn(found.marker), 7);
}

// A store that does not answer must not look like a history that is lost.
TEST_F(MarkerTest, OnlyAnOldMetadataFileThatIsGoneIsPassedOver) {
  Ours(7);
  Foreign();
  ExpireAllButHead();
  std::optional<ErrorCode> failure;
  const auto io = std::make_shared<io::FaultInjectingFileIO>(
      test_.io, [&](std::string_view operation, const std::string& path) -> Status {
        if (!failure || operation != "open" || !path.ends_with(".metadata.json")) return {};
        return Fail(*failure, "injected: {}", path);
      });
  const auto catalog = catalog::MakeMemoryCatalog("test", "memory:/other", io, test_.clock);
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const catalog::LoadedTable loaded,
                       catalog->RegisterTable(test_.name, test_.table.metadata_location()));
  const Table table(catalog, test_.name, loaded);
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kIo}) {
    failure = code;
    EXPECT_THAT(FindEffectiveMarker(table, spec::kMainBranch), IsError(code, "injected"));
  }
  failure = ErrorCode::kNotFound;
  ASSERT_OK_AND_ASSIGN(const EffectiveMarker found, FindEffectiveMarker(table, spec::kMainBranch));
  EXPECT_EQ(found.proof, Proof::kTrusted);
  failure.reset();
  ASSERT_OK_AND_ASSIGN(const EffectiveMarker whole, FindEffectiveMarker(table, spec::kMainBranch));
  EXPECT_EQ(whole.proof, Proof::kFound);
}

TEST_F(MarkerTest, IsTrustedFromThePropertyWhileAFileOfItsHeadLives) {
  Ours(7);
  ShortenLog("1");
  for (int i = 0; i < 5; ++i) Foreign();
  ExpireAllButHead();
  Foreign();
  ExpireAllButHead();
  const EffectiveMarker found = Find();
  EXPECT_EQ(found.proof, Proof::kTrusted);
  EXPECT_EQ(NextIn(found.marker), 7);
  EXPECT_FALSE(found.carrier);
}

TEST_F(MarkerTest, IsTrustedWhereHistoryIsCutAtTheHeadOfTheProperty) {
  Ours(7);
  ShortenLog("1");
  Compact([] { return true; });
  ExpireAllButHead();
  Touch();
  EXPECT_EQ(Find().proof, Proof::kTrusted);
}

TEST_F(MarkerTest, IsUnprovenWhenNothingOfItIsLeft) {
  Ours(7);
  ShortenLog("1");
  Compact([] { return true; });
  Compact([] { return true; });
  ExpireAllButHead();
  Foreign();
  ExpireAllButHead();
  const EffectiveMarker found = Find();
  EXPECT_EQ(found.proof, Proof::kUnproven);
  EXPECT_TRUE(found.marker.pipelines.empty());
  EXPECT_EQ(NextIn(found.property->marker), 7);
}

TEST_F(MarkerTest, DoesNotBelieveThePropertyAfterARollbackAndExpiry) {
  const spec::SnapshotId first = Foreign();
  Foreign();
  const spec::SnapshotId second = test_.head().id;
  ShortenLog("1");
  Ours(20);
  SetHead(second);
  Foreign();
  Update({spec::update::RemoveSnapshots{{first, second}}});
  ExpireAllButHead();
  Touch();
  EXPECT_EQ(Find().proof, Proof::kUnproven);
}

TEST_F(MarkerTest, DoesNotBelieveThePropertyOfAnotherTable) {
  Ours(7);
  ShortenLog("1");
  Update({spec::update::SetProperties{
      {{MarkerPropertyKey(spec::kMainBranch),
        WriteMarkerPropertyJson({.marker = MarkerAt(7), .table_uuid = Uuid::Random(), .head = test_.head().id})}}}});
  Foreign();
  Foreign();
  ExpireAllButHead();
  Touch();
  EXPECT_EQ(Find().proof, Proof::kUnproven);
}

TEST(MarkerJson, SurvivesARoundTrip) {
  Marker marker = MarkerAt(1'234'567'890'123);
  PipelineMarker& pipeline = marker.pipelines["kafka:\"topic\"/\n"];
  pipeline.writer = "w";
  pipeline.source = {{"topic", "a"}, {"cluster", "b"}};
  pipeline.partitions[0] = {.next = 5, .leader_epoch = 3};
  pipeline.partitions[11] = {.next = 0, .leader_epoch = std::nullopt};
  pipeline.committed_at_ms = 17;
  pipeline.valid_through_ms = 18;
  pipeline.num_partitions = 12;
  pipeline.key_schema_ids = {7};
  pipeline.value_schema_ids = {8, 100'001};
  const spec::SnapshotId self(42);
  ASSERT_OK_AND_ASSIGN(const auto parsed, ParseMarkerJson(WriteMarkerJson(marker, self), self));
  EXPECT_EQ(parsed, marker);
  ASSERT_OK_AND_ASSIGN(const auto foreign, ParseMarkerJson(WriteMarkerJson(marker, self), spec::SnapshotId(43)));
  EXPECT_FALSE(foreign);
  const Uuid uuid = Uuid::Random();
  ASSERT_OK_AND_ASSIGN(
      const auto property,
      ParseMarkerPropertyJson(WriteMarkerPropertyJson({.marker = marker, .table_uuid = uuid, .head = self})));
  EXPECT_EQ(property.marker, marker);
  EXPECT_EQ(property.table_uuid, uuid);
  EXPECT_EQ(property.head, self);
}

// Markers of earlier versions know nothing of partition counts and schema ids.
TEST(MarkerJson, ReadsOneWithoutLaterFields) {
  constexpr char kText[] =
      R"({"self":1,"pipelines":{"p":{"writer":"w","source":{},"partitions":{"0":[5]},"committed-at":9}}})";
  ASSERT_OK_AND_ASSIGN(const auto marker, ParseMarkerJson(kText, spec::SnapshotId(1)));
  ASSERT_TRUE(marker.has_value());
  EXPECT_EQ(marker->pipelines.at("p").partitions.at(0).next, 5);
  EXPECT_FALSE(marker->pipelines.at("p").num_partitions);
  EXPECT_EQ(WriteMarkerJson(*marker, spec::SnapshotId(1)), kText);
}

TEST(MarkerJson, RefusesWhatIsNoMarker) {
  for (const char* text :
       {"", "[]", "{}", R"({"self": 1})", R"({"self": 1, "pipelines": []})", R"({"self": 1, "pipelines": {"p": {}}})",
        R"({"self":1,"pipelines":{"p":{"writer":"w","source":{},"committed-at":1,"partitions":{"x":[1]}}}})",
        R"({"self":1,"pipelines":{"p":{"writer":"w","source":{},"committed-at":1,"partitions":{"0":[]}}}})",
        R"({"self":1,"pipelines":{"p":{"writer":"w","source":{},"committed-at":1,"partitions":{"0":5}}}})",
        R"({"self":1,"pipelines":{"p":{"writer":"w","source":{},"committed-at":1,"partitions":{"0":[1.5]}}}})"}) {
    EXPECT_FALSE(ParseMarkerJson(text, spec::SnapshotId(1))) << text;
  }
}

// The answer is the truth or "I cannot prove it", whatever anybody does to the history.
class MarkerHistoryTest : public MarkerTest {
 protected:
  explicit MarkerHistoryTest(const std::string& log_length) : MarkerTest({{kLogLength, log_length}}) {}
  void TestBody() override {}

 public:
  static void Run(uint64_t seed, const std::string& log_length) {
    MarkerHistoryTest history(log_length);
    std::mt19937_64 random(seed);
    std::string story = fmt::format("FRAZIL_TEST_SEED={} log length {}", seed, log_length);
    std::map<spec::SnapshotId, int64_t> truth;  // -1: nothing of the pipeline
    int64_t next = 0;
    for (int step = 0; step < 9; ++step) {
      const bool has_head = history.test_.metadata().current_snapshot() != nullptr;
      const int64_t here = has_head ? truth.at(history.test_.head().id) : -1;
      switch (random() % 8) {
        case 0:
        case 1:
          next += 100;
          truth[history.Ours(next)] = next;
          story += fmt::format("\n  ours {}", next);
          break;
        case 2:
          truth[history.Foreign()] = here;
          story += "\n  foreign";
          break;
        case 3:
          truth[history.Compact([&] { return random() % 10 < 7; })] = here;
          story += "\n  compaction";
          break;
        case 4: {
          if (!has_head) break;
          const auto& snapshots = history.test_.metadata().snapshots;
          history.SetHead(snapshots[random() % snapshots.size()].id);
          story += fmt::format("\n  head to {}", truth.at(history.test_.head().id));
          break;
        }
        case 5:
        case 6:
          if (!has_head) break;
          history.ExpireAllButHead();
          story += "\n  expire";
          break;
        default:
          if (!has_head || random() % 3 != 0) break;
          history.Update({spec::update::RemoveSnapshotRef{spec::kMainBranch}});
          truth[history.Foreign()] = -1;
          story += "\n  replace";
          break;
      }
      if (history.test_.metadata().current_snapshot() == nullptr) continue;
      const EffectiveMarker found = history.Find();
      if (found.proof == Proof::kUnproven) continue;
      ASSERT_EQ(NextIn(found.marker), truth.at(history.test_.head().id))
          << story << "\n  proof " << static_cast<int>(found.proof);
    }
  }
};

TEST(MarkerHistory, NeverAnswersAnythingButTheTruth) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const uint64_t first = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  for (const char* log_length : {"1", "3", "100"}) {
    for (uint64_t i = 0; i < (given == nullptr ? 40u : 1u); ++i) {
      MarkerHistoryTest::Run(first + i, log_length);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace frazil::table
