// Others on the same table between a batch's look-up and its commit: foreign writers that take its keys away or bring them,
// and a second copy of the pipeline itself.

#include <random>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/scenario.h"

namespace frazil::test {
namespace {

using index::LiveRow;
using index::Partitioning;
using ::testing::IsEmpty;

/// A table, a pipeline on it, and a hook that runs when its next commit is about to be sent.
class Race {
 public:
  explicit Race(Partitioning partitioning = Partitioning::kNone) {
    EXPECT_THAT(index::CreateTestTable(inner, name, partitioning), IsOk());
    pipeline = NewPipeline(faulty);
    other = std::make_unique<table::Table>(Now());
  }
  std::unique_ptr<Pipeline> NewPipeline(const std::shared_ptr<catalog::Catalog>& catalog) {
    auto made = std::make_unique<Pipeline>(*table::Table::Load(catalog, name), clock);
    EXPECT_THAT(made->Restart(), IsOk());
    return made;
  }
  table::Table Now() { return *table::Table::Load(inner, name); }
  std::map<int64_t, LiveRow> Rows() {
    std::map<int64_t, LiveRow> rows;
    auto live = index::ReadLiveRows(Now());
    EXPECT_THAT(live, IsOk());
    for (const LiveRow& row : *live) EXPECT_TRUE(rows.emplace(row.row.id, row).second) << "doubled key " << row.row.id;
    return rows;
  }
  void BeforeNextCommit(std::function<void()> what) { before_commit_ = std::move(what); }
  void ExpectSound() {
    EXPECT_THAT(Violations(Now()), IsEmpty());
    EXPECT_THAT(MissingFiles(Now()), IsOkAnd(IsEmpty()));
  }

  ManualClock clock{1'700'000'000'000};
  catalog::TableName name{{"db"}, "t"};
  std::shared_ptr<catalog::Catalog> inner =
      catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::MemoryFileIO>(), clock);
  std::unique_ptr<Pipeline> pipeline;
  std::unique_ptr<table::Table> other;

 private:
  std::function<void()> before_commit_;

 public:
  std::shared_ptr<catalog::Catalog> faulty = catalog::MakeFaultInjectingCatalog(
      inner, [this](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation == "commit.before" && before_commit_) std::exchange(before_commit_, nullptr)();
        return {};
      });
};

TEST(Race, ResolvesAgainWhenARowOfTheBatchIsDeleted) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}, {2, "b", ""}}), IsOk());
  race.BeforeNextCommit([&] { EXPECT_THAT(index::ForeignDelete(*race.other, {1}, race.clock), IsOk()); });
  ASSERT_THAT(race.pipeline->Commit({{1, "x", ""}, {2, "y", ""}}), IsOk());
  EXPECT_EQ(race.Rows()[1].row.value, "x");
  EXPECT_GT(race.Rows()[1].row_id, 1);  // the old row was gone: a new one
  EXPECT_EQ(race.Rows()[2].row_id, 1);
  race.ExpectSound();
  EXPECT_THAT(OrphanFiles(race.Now()), IsOkAnd(IsEmpty()));
}

TEST(Race, ResolvesAgainWhenAKeyOfTheBatchIsInserted) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}}), IsOk());
  race.BeforeNextCommit([&] {
    EXPECT_THAT(index::ForeignInsert(*race.other, {{2, "f", ""}, {3, "f", ""}}, race.clock), IsOk());
  });
  ASSERT_THAT(race.pipeline->Commit({{2, "x", ""}, {3, std::nullopt, ""}}), IsOk());
  EXPECT_EQ(race.Rows().size(), 2u);
  EXPECT_EQ(race.Rows()[2].row.value, "x");
  EXPECT_EQ(race.Rows()[2].row_id, 1);  // the foreign row's identity
  race.ExpectSound();
}

TEST(Race, ResolvesAgainWhenAFileOfTheBatchIsRewritten) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}}), IsOk());
  ASSERT_THAT(race.pipeline->Commit({{1, "d", ""}}), IsOk());
  race.BeforeNextCommit([&] {
    EXPECT_THAT(index::ForeignRewrite(
                    *race.other, [](const std::string&) { return true; }, race.clock),
                IsOk());
  });
  ASSERT_THAT(race.pipeline->Commit({{1, "x", ""}, {2, std::nullopt, ""}}), IsOk());
  EXPECT_EQ(race.Rows().size(), 2u);
  EXPECT_EQ(race.Rows()[1].row_id, 0);
  race.ExpectSound();
}

TEST(Race, ResolvesAgainWhenForeignCommitsAreRolledBack) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}, {2, "b", ""}}), IsOk());
  const spec::SnapshotId ours = *race.Now().metadata()->current_snapshot_id;
  ASSERT_THAT(index::ForeignDelete(*race.other, {1}, race.clock), IsOk());
  race.BeforeNextCommit([&] { EXPECT_THAT(index::SetHead(*race.other, ours, race.clock), IsOk()); });
  ASSERT_THAT(race.pipeline->Commit({{1, "x", ""}}), IsOk());
  EXPECT_EQ(race.Rows()[1].row_id, 0);
  EXPECT_EQ(race.Rows().size(), 2u);
  race.ExpectSound();
}

TEST(Race, DropsTheBatchWhenItsPredecessorIsRolledBack) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}}), IsOk());
  const spec::SnapshotId first = *race.Now().metadata()->current_snapshot_id;
  ASSERT_THAT(race.pipeline->Commit({{2, "b", ""}}), IsOk());
  race.BeforeNextCommit([&] { EXPECT_THAT(index::SetHead(*race.other, first, race.clock), IsOk()); });
  EXPECT_THAT(race.pipeline->Commit({{3, "c", ""}}), IsError(ErrorCode::kFenced, "stands at record 1"));
  EXPECT_EQ(race.Rows().size(), 1u);
  race.ExpectSound();
  ASSERT_THAT(race.pipeline->Restart(), IsOk());
  EXPECT_EQ(race.pipeline->next(), 1);
  ASSERT_THAT(race.pipeline->Commit({{2, "b", ""}, {3, "c", ""}}), IsOk());
  EXPECT_EQ(race.Rows().size(), 3u);
  race.ExpectSound();
}

TEST(Race, FencesASecondCopyOfThePipeline) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}}), IsOk());
  const auto second = race.NewPipeline(race.inner);
  ASSERT_THAT(second->Commit({{1, "b", ""}, {2, "c", ""}}), IsOk());
  EXPECT_THAT(race.pipeline->Commit({{1, "b", ""}, {2, "c", ""}}), IsError(ErrorCode::kFenced, "stands at record 3"));
  EXPECT_THAT(OrphanFiles(race.Now()), IsOkAnd(IsEmpty()));
  EXPECT_EQ(race.Now().metadata()->snapshots.size(), 2u);
  race.ExpectSound();
}

// It has polled, resolved, written, and slept; the other one took over and is further already.
TEST(Race, FencesACopyThatWakesUpLate) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}}), IsOk());
  const auto second = race.NewPipeline(race.inner);
  race.BeforeNextCommit([&] {
    EXPECT_THAT(second->Commit({{1, "b", ""}}), IsOk());
    EXPECT_THAT(second->Commit({{1, "c", ""}, {2, "d", ""}}), IsOk());
  });
  EXPECT_THAT(race.pipeline->Commit({{1, "b", ""}}), IsError(ErrorCode::kFenced, "stands at record 4"));
  EXPECT_EQ(race.Rows()[1].row.value, "c");
  EXPECT_EQ(race.Rows()[1].row_id, 0);
  EXPECT_THAT(OrphanFiles(race.Now()), IsOkAnd(IsEmpty()));
  race.ExpectSound();
}

TEST(Race, LetsPipelinesOfOtherSourcesBy) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}}), IsOk());
  Pipeline others(race.Now(), race.clock, "another");
  race.BeforeNextCommit([&] { EXPECT_THAT(others.Commit({{1, "theirs", ""}, {5, "e", ""}}), IsOk()); });
  ASSERT_THAT(race.pipeline->Commit({{1, "ours", ""}}), IsOk());
  EXPECT_EQ(race.Rows()[1].row.value, "ours");
  EXPECT_EQ(race.Rows()[1].row_id, 0);
  ASSERT_THAT(others.Restart(), IsOk());
  EXPECT_EQ(others.next(), 2);
  ASSERT_THAT(race.pipeline->Restart(), IsOk());
  EXPECT_EQ(race.pipeline->next(), 2);
  race.ExpectSound();
}

TEST(Race, StopsWhenTheSchemaChangesUnderABatch) {
  Race race;
  ASSERT_THAT(race.pipeline->Commit({{1, "a", ""}}), IsOk());
  race.BeforeNextCommit([&] {
    EXPECT_THAT(table::CommitUpdates(
                    *race.other,
                    [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
                      std::vector<spec::Field> fields = base.schema()->fields();
                      fields.push_back(
                          {.id = spec::FieldId{4}, .name = "more", .type = spec::Type::Primitive(spec::TypeId::kInt)});
                      FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, fields,
                                                                    base.schema()->identifier_field_ids()));
                      return std::vector<spec::TableUpdate>{spec::update::AddSchema{schema},
                                                            spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
                    },
                    race.clock),
                IsOk());
  });
  const auto done = race.pipeline->Commit({{1, "b", ""}});
  if (!done) {
    EXPECT_EQ(done.error().code(), ErrorCode::kFenced);
  }
  race.ExpectSound();
}

// What comes out must be "the others first, then the batch", whatever the others do (ingest.md rule 8).
TEST(Race, EqualsTheOthersFirstThenTheBatchOverRandomRaces) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const uint64_t first = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  for (uint64_t seed = first; seed < first + (given == nullptr ? 60u : 1u); ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
    std::string story = fmt::format("FRAZIL_TEST_SEED={}", seed);
    Race race(below(2) == 0 ? Partitioning::kNone : Partitioning::kByPart);
    ASSERT_THAT(race.pipeline->Commit({{1, "a", "x"}, {2, "a", "y"}, {3, "a", "x"}}), IsOk());
    std::vector<spec::SnapshotId> states = {*race.Now().metadata()->current_snapshot_id};
    const auto foreign = [&] {
      std::map<int64_t, LiveRow> rows = race.Rows();
      switch (below(5)) {
        case 0: {
          const int64_t id = 1 + below(4);
          if (rows.contains(id)) return;
          story += fmt::format("\n  insert {}", id);
          EXPECT_THAT(index::ForeignInsert(*race.other, {{id, "f", "x"}}, race.clock), IsOk());
          break;
        }
        case 1: {
          const int64_t id = 1 + below(4);
          story += fmt::format("\n  delete {}", id);
          EXPECT_THAT(index::ForeignDelete(*race.other, {id}, race.clock), IsOk());
          break;
        }
        case 2:
          story += "\n  rewrite";
          EXPECT_THAT(index::ForeignRewrite(
                          *race.other, [](const std::string&) { return true; }, race.clock),
                      IsOk());
          break;
        case 3: {
          const size_t to = static_cast<size_t>(below(states.size()));
          story += fmt::format("\n  head to state {}", to);
          EXPECT_THAT(index::SetHead(*race.other, states[to], race.clock), IsOk());
          break;
        }
        default: return;
      }
      states.push_back(*race.Now().metadata()->current_snapshot_id);
    };
    for (int64_t i = below(3); i > 0; --i) foreign();
    std::vector<Change> batch;
    for (int64_t i = 1 + below(4); i > 0; --i) {
      const int64_t id = 1 + below(4);
      batch.push_back(below(4) == 0 ? Change{id, std::nullopt, ""} : Change{id, "N", below(2) == 0 ? "x" : "y"});
      story += fmt::format("\n  batch: {} {}", id, batch.back().value.value_or("tombstone"));
    }
    std::map<int64_t, LiveRow> before;
    race.BeforeNextCommit([&] {
      story += "\n  looked up";
      for (int64_t i = 1 + below(3); i > 0; --i) foreign();
      before = race.Rows();
    });
    ASSERT_THAT(race.pipeline->Commit(batch), IsOk()) << story;
    std::map<int64_t, std::optional<int64_t>> expected;  // id -> _row_id, none: a new one
    for (const auto& [id, row] : before) expected[id] = row.row_id;
    for (const Change& change : batch) {
      if (!change.value) {
        expected.erase(change.id);
      } else {
        expected.try_emplace(change.id, std::nullopt);
      }
    }
    const std::map<int64_t, LiveRow> after = race.Rows();
    ASSERT_EQ(after.size(), expected.size()) << story;
    for (const auto& [id, row] : after) {
      ASSERT_TRUE(expected.contains(id)) << id << story;
      if (expected[id]) {
        ASSERT_EQ(row.row_id, expected[id]) << id << " in " << story;
      } else {
        for (const auto& [other_id, other_row] : before) ASSERT_NE(row.row_id, other_row.row_id) << story;
      }
      const bool is_in_batch =
          std::any_of(batch.begin(), batch.end(), [&, key = id](const Change& change) { return change.id == key; });
      ASSERT_EQ(row.row.value, is_in_batch ? "N" : before.at(id).row.value) << id << story;
    }
    race.ExpectSound();
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << story;
      return;
    }
  }
}

}  // namespace
}  // namespace frazil::test
