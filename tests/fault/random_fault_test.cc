// Any operation on files and catalog may fail at any time, others write in between; once the dust settles the table holds
// the last value of every key. Replay a failure with FRAZIL_TEST_SEED.

#include <fstream>
#include <random>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/ingest/file_ingest.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/marker.h"
#include "tests/support/scenario.h"

namespace frazil::test {
namespace {

using index::Partitioning;
using ::testing::IsEmpty;

constexpr int kNumRecords = 40;

/// One table, one input file, and a fault every now and then.
class Storm {
 public:
  explicit Storm(uint64_t seed) : random_(seed) {
    const auto partitioning = Below(2) == 0 ? Partitioning::kNone : Partitioning::kByPart;
    EXPECT_THAT(index::CreateTestTable(calm_, name_, partitioning), IsOk());
    fault_every_ = 20 + Below(200);
    std::ofstream input(dir_.Join("in.json"));
    for (int i = 0; i < kNumRecords; ++i) {
      const int64_t id = static_cast<int64_t>(Below(12));
      Change change{id, std::nullopt, ""};
      if (Below(5) != 0) change = {id, fmt::format("v{}", i), Below(2) == 0 ? "x" : "y"};
      input << JsonLine(change);
      if (change.value) {
        last_[id] = *change.value;
      } else {
        last_.erase(id);
      }
    }
  }

  /// Runs the ingest again and again, as a supervisor would, with others writing in between. How often it failed.
  int Ride() {
    int num_failures = 0;
    for (int run = 0; run < 300; ++run) {
      is_stormy_ = run < 250;
      const Status done = Ingest();
      is_stormy_ = false;
      if (done) return num_failures;
      ++num_failures;
      const ErrorCode code = done.error().code();
      EXPECT_TRUE(code == ErrorCode::kIo || code == ErrorCode::kUnavailable || code == ErrorCode::kCommitUnknown ||
                  code == ErrorCode::kCommitConflict)
          << done.error().ToString();
      if (num_failures > 5 && num_failures % 5 != 0) {
        Disturb();
        continue;
      }
      const auto missing = MissingFiles(Calm());
      EXPECT_THAT(missing, IsOkAnd(IsEmpty())) << "after " << done.error().ToString();
      if (::testing::Test::HasFailure()) return num_failures;
      Disturb();
    }
    ADD_FAILURE() << "never done";
    return num_failures;
  }

  void ExpectTheLastValues() {
    const table::Table table = Calm();
    EXPECT_THAT(Violations(table), IsEmpty());
    EXPECT_THAT(MissingFiles(table), IsOkAnd(IsEmpty()));
    std::map<int64_t, std::string> found;
    auto rows = index::ReadLiveRows(table);
    ASSERT_THAT(rows, IsOk());
    for (const index::LiveRow& row : *rows) {
      if (row.row.id < 1000) found[row.row.id] = row.row.value;
    }
    EXPECT_EQ(found, last_);
    const auto marker = table::FindEffectiveMarker(table, spec::kMainBranch);
    ASSERT_THAT(marker, IsOk());
    ASSERT_EQ(marker->marker.pipelines.size(), 1u);
    EXPECT_EQ(marker->marker.pipelines.begin()->second.partitions.at(0).next, kNumRecords);
    // Exactly once: offsets never go back and no batch is there twice.
    int64_t last_next = 0;
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      const auto text = snapshot.summary.find(table::kMarkerSummaryKey);
      if (text == snapshot.summary.end()) continue;
      const auto parsed = table::ParseMarkerJson(text->second, snapshot.id);
      ASSERT_THAT(parsed, IsOk());
      const int64_t next = (*parsed)->pipelines.begin()->second.partitions.at(0).next;
      EXPECT_GT(next, last_next);
      last_next = next;
    }
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  table::Table Calm() { return *table::Table::Load(calm_, name_); }

  Status Maybe(std::string_view operation, const std::string& what) {
    if (!is_stormy_ || Below(fault_every_) != 0) return {};
    return Fail(ErrorCode::kIo, "injected at {} of {}", operation, what);
  }
  Status MaybeInCatalog(std::string_view operation) {
    if (!is_stormy_ || Below(12) != 0) return {};
    const bool may_be_applied = operation == "commit.after";
    const ErrorCode code = Below(2) == 0 ? ErrorCode::kUnavailable : ErrorCode::kCommitUnknown;
    return Fail(may_be_applied || operation == "commit.before" ? code : ErrorCode::kUnavailable, "injected at {}",
                operation);
  }

  Status Ingest() {
    FRAZIL_ASSIGN(table::Table table, table::Table::Load(faulty_, name_));
    FRAZIL_ASSIGN(const auto source, ingest::FileSource::Open(dir_.Join("in.json")));
    ingest::FileIngestOptions options;
    options.decoder.op_column = kOpColumn;
    options.commit_every = 2 + static_cast<int64_t>(Below(12));
    options.clock = &clock_;
    FRAZIL_TRY(ingest::IngestFile(table, *source, options));
    return {};
  }

  /// Others: they touch rows of their own, or where the rows lie.
  void Disturb() {
    table::Table other = Calm();
    switch (Below(4)) {
      case 0: EXPECT_THAT(index::ForeignInsert(other, {{foreign_id_++, "f", "x"}}, clock_), IsOk()); break;
      case 1:
        EXPECT_THAT(index::ForeignRewrite(
                        other, [](const std::string&) { return true; }, clock_),
                    IsOk());
        break;
      case 2: EXPECT_THAT(index::ForeignDelete(other, {foreign_id_ - 1}, clock_), IsOk()); break;
      default: break;
    }
  }

  std::mt19937_64 random_;
  TempDir dir_;
  ManualClock clock_{1'700'000'000'000};
  catalog::TableName name_{{"db"}, "t"};
  bool is_stormy_ = false;
  uint64_t fault_every_ = 100;
  int64_t foreign_id_ = 1000;
  std::map<int64_t, std::string> last_;
  std::shared_ptr<io::FileIO> calm_io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<io::FileIO> faulty_io_ = std::make_shared<io::FaultInjectingFileIO>(
      calm_io_, [this](std::string_view operation, const std::string& path) { return Maybe(operation, path); });
  std::shared_ptr<catalog::Catalog> calm_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", faulty_io_, clock_);
  std::shared_ptr<catalog::Catalog> faulty_ = catalog::MakeFaultInjectingCatalog(
      calm_, [this](std::string_view operation, const catalog::TableName&) { return MaybeInCatalog(operation); });
};

TEST(RandomFaults, EndInTheLastValueOfEveryKey) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const uint64_t first = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  int num_failures = 0;
  for (uint64_t seed = first; seed < first + (given == nullptr ? 10u : 1u); ++seed) {
    SCOPED_TRACE(fmt::format("FRAZIL_TEST_SEED={}", seed));
    Storm storm(seed);
    num_failures += storm.Ride();
    storm.ExpectTheLastValues();
    if (::testing::Test::HasFailure()) return;
  }
  fmt::print("{} runs failed on the way\n", num_failures);
  if (given == nullptr) {
    EXPECT_GT(num_failures, 5);
  }
}

}  // namespace
}  // namespace frazil::test
