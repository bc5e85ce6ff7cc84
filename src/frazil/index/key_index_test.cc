#include <algorithm>
#include <cstdlib>
#include <random>

#include "frazil/base/test_support.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/index/row_table_test_support.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kSeed = 42;

/// What an index says about one row, in a form that can be compared.
struct Location {
  int64_t id;
  std::string path;
  int64_t position;
  std::optional<int64_t> row_id;
  auto operator<=>(const Location&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Location& at) {
  return out << at.id << " in " << at.path << " at " << at.position << " _row_id " << at.row_id.value_or(-1);
}

Hash96 HashOfId(int64_t id) {
  auto key = CanonicalKey::Make(*TestSchema(), kSeed);
  EXPECT_THAT(key, IsOk());
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.Append(id).ok());
  auto hashes = key->HashRows({*builder.Finish()});
  EXPECT_THAT(hashes, IsOk());
  return hashes->front();
}

std::unique_ptr<KeyIndex> NewIndex() {
  auto index = OpenKeyIndex({.schema = TestSchema(), .seed = kSeed});
  EXPECT_THAT(index, IsOk());
  return *std::move(index);
}

Status Follow(KeyIndex& index, const table::Table& table) {
  return index.FollowTo(table, table.metadata()->current_snapshot(), {});
}

KeyHits LookUpIds(KeyIndex& index, const std::set<int64_t>& ids) {
  std::vector<Hash96> hashes;
  for (const int64_t id : ids) hashes.push_back(HashOfId(id));
  std::sort(hashes.begin(), hashes.end());
  auto hits = index.LookUp(hashes);
  EXPECT_THAT(hits, IsOk());
  return *hits;
}

std::vector<Location> LocationsIn(KeyIndex& index, const std::set<int64_t>& ids) {
  std::map<Hash96, int64_t> id_of;
  std::vector<Hash96> hashes;
  for (const int64_t id : ids) {
    hashes.push_back(HashOfId(id));
    id_of[hashes.back()] = id;
  }
  std::sort(hashes.begin(), hashes.end());
  auto hits = index.LookUp(hashes);
  EXPECT_THAT(hits, IsOk());
  std::vector<Location> found;
  for (const KeyHit& hit : hits->hits) {
    found.push_back({id_of[hashes[hit.key]], hit.file_path(), hit.position.value(),
                     hit.row_id ? std::optional(hit.row_id->value()) : std::nullopt});
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Location> LocationsByScan(const table::Table& table) {
  auto rows = ReadLiveRows(table);
  EXPECT_THAT(rows, IsOk());
  std::vector<Location> found;
  for (const LiveRow& row : *rows) found.push_back({row.row.id, row.path, row.position, row.row_id});
  std::sort(found.begin(), found.end());
  return found;
}

TEST(KeyIndex, IsEmptyForATableWithoutSnapshot) {
  MemoryTable test;
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  EXPECT_EQ(index->snapshot_id(), std::nullopt);
  EXPECT_THAT(LookUpIds(*index, {1, 2}).hits, IsEmpty());
}

TEST(KeyIndex, FindsRowsThatOthersWrote) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}}, test.clock), IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  EXPECT_EQ(LocationsIn(*index, {1, 2, 3}), LocationsByScan(test.table));
  EXPECT_EQ(index->snapshot_id(), test.table.metadata()->current_snapshot_id);
}

TEST(KeyIndex, GivesTheNewestRowOfADoubledKeyFirst) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "old"}}, test.clock), IsOk());
  ASSERT_THAT(ForeignInsert(test.table, {{1, "new"}, {1, "newest"}}, test.clock), IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  const auto [view, hits] = LookUpIds(*index, {1});
  ASSERT_THAT(hits, SizeIs(3));
  EXPECT_EQ(hits[0].sequence_number(), spec::SequenceNumber(2));
  EXPECT_EQ(hits[0].position, spec::RowPosition(1));
  EXPECT_EQ(hits[1].position, spec::RowPosition(0));
  EXPECT_EQ(hits[2].sequence_number(), spec::SequenceNumber(1));
}

// A compaction puts rows of all ages into one file; then only the rows themselves know which is newer.
TEST(KeyIndex, GivesTheRowFirstThatWasUpdatedLastWhereSequenceNumbersTie) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "old"}}, test.clock), IsOk());
  ASSERT_THAT(ForeignInsert(test.table, {{1, "new"}}, test.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<LiveRow> rows, ReadLiveRows(test.table));
  ASSERT_THAT(rows, SizeIs(2));
  // The newer row gets the lower position.
  std::sort(rows.begin(), rows.end(),
            [](const LiveRow& left, const LiveRow& right) { return left.last_updated > right.last_updated; });
  ASSERT_THAT(CommitForeign(
                  test.table,
                  [&](const table::Table& base) -> Result<table::FileChanges> {
                    table::FileChanges changes;
                    changes.operation = spec::Operation::kReplace;
                    for (const LiveRow& row : rows) changes.removed_data_files.push_back(row.path);
                    FRAZIL_ASSIGN(changes.added_data_files, WriteFiles(base, rows, true));
                    return changes;
                  },
                  test.clock),
              IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  const auto [view, hits] = LookUpIds(*index, {1});
  ASSERT_THAT(hits, SizeIs(2));
  EXPECT_EQ(hits[0].position, spec::RowPosition(0));
  EXPECT_EQ(hits[0].row_id, spec::RowId(*rows[0].row_id));
  std::vector<spec::RowPosition> visited;
  ASSERT_THAT(index->View()->ForEachDuplicateKey([&](const Hash96& hash, const std::vector<KeyHit>& doubled) -> Status {
    EXPECT_EQ(hash, HashOfId(1));
    for (const KeyHit& hit : doubled) visited.push_back(hit.position);
    return {};
  }),
              IsOk());
  EXPECT_THAT(visited, ElementsAre(spec::RowPosition(0), spec::RowPosition(1)));
}

TEST(KeyIndex, NeedsNoWorkForDeletes) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}, {3, "c"}}, test.clock), IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  const int64_t entries = index->status().num_entries;
  ASSERT_THAT(ForeignDelete(test.table, {2}, test.clock), IsOk());
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  EXPECT_EQ(index->status().num_entries, entries);
  EXPECT_EQ(LocationsIn(*index, {1, 2, 3}), LocationsByScan(test.table));
}

TEST(KeyIndex, FindsRowsAgainWhoseDeletionWasRolledBack) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}, {3, "c"}}, test.clock), IsOk());
  const spec::SnapshotId before = *test.table.metadata()->current_snapshot_id;
  ASSERT_THAT(ForeignDelete(test.table, {2}, test.clock), IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());  // key 2 was never seen alive
  ASSERT_THAT(SetHead(test.table, before, test.clock), IsOk());
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  EXPECT_EQ(LocationsIn(*index, {1, 2, 3}), LocationsByScan(test.table));
  EXPECT_THAT(LookUpIds(*index, {2}).hits, SizeIs(1));
}

TEST(KeyIndex, ForgetsFilesThatARollbackTookAwayAndFindsThemWhenTheyReturn) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}}, test.clock), IsOk());
  const spec::SnapshotId first = *test.table.metadata()->current_snapshot_id;
  ASSERT_THAT(ForeignInsert(test.table, {{2, "b"}}, test.clock), IsOk());
  const spec::SnapshotId second = *test.table.metadata()->current_snapshot_id;
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(SetHead(test.table, first, test.clock), IsOk());
    ASSERT_THAT(Follow(*index, test.table), IsOk());
    EXPECT_EQ(LocationsIn(*index, {1, 2}), LocationsByScan(test.table));
    ASSERT_THAT(SetHead(test.table, second, test.clock), IsOk());
    ASSERT_THAT(Follow(*index, test.table), IsOk());
    EXPECT_EQ(LocationsIn(*index, {1, 2}), LocationsByScan(test.table));
  }
}

TEST(KeyIndex, KnowsRowIdsThatARewriteStored) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}}, test.clock), IsOk());
  ASSERT_THAT(ForeignInsert(test.table, {{3, "c"}}, test.clock), IsOk());
  ASSERT_THAT(ForeignDelete(test.table, {1}, test.clock), IsOk());
  ASSERT_THAT(ForeignRewrite(
                  test.table, [](const std::string&) { return true; }, test.clock),
              IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  EXPECT_EQ(LocationsIn(*index, {1, 2, 3}), LocationsByScan(test.table));
  ASSERT_THAT(LookUpIds(*index, {2}).hits, SizeIs(1));
  EXPECT_EQ(LookUpIds(*index, {2}).hits[0].row_id, spec::RowId(1));
  EXPECT_EQ(LookUpIds(*index, {3}).hits[0].row_id, spec::RowId(2));
}

// The file is first seen while the row is dead; its stored id must be learnt when the row comes back.
TEST(KeyIndex, KnowsTheStoredRowIdOfARowThatComesBack) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}}, test.clock), IsOk());
  ASSERT_THAT(ForeignRewrite(
                  test.table, [](const std::string&) { return true; }, test.clock),
              IsOk());
  const spec::SnapshotId rewritten = *test.table.metadata()->current_snapshot_id;
  ASSERT_THAT(ForeignDelete(test.table, {1}, test.clock), IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  ASSERT_THAT(SetHead(test.table, rewritten, test.clock), IsOk());
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  ASSERT_THAT(LookUpIds(*index, {1}).hits, SizeIs(1));
  EXPECT_EQ(LookUpIds(*index, {1}).hits[0].row_id, spec::RowId(0));
}

TEST(KeyIndex, TakesTheKeysOfAKnownFileWithoutReadingIt) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}}, test.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadLiveRows(test.table));
  const std::string path = rows[0].path;
  test.io->Overwrite(path, Bytes(4));  // reading it would fail
  const auto index = NewIndex();
  EXPECT_FALSE(Follow(*index, test.table));
  EXPECT_EQ(index->snapshot_id(), std::nullopt);
  std::map<std::string, KnownKeys> known;
  known[path] = {.hashes = {HashOfId(1), HashOfId(2)}, .stored_row_ids = {std::nullopt, spec::RowId(77)}};
  ASSERT_THAT(index->FollowTo(test.table, test.table.metadata()->current_snapshot(), known), IsOk());
  EXPECT_THAT(LocationsIn(*index, {1, 2}), ElementsAre(Location{1, path, 0, 0}, Location{2, path, 1, 77}));
}

TEST(KeyIndex, StaysAsItIsWhenFollowingFails) {
  MemoryTable test;
  ASSERT_THAT(ForeignInsert(test.table, {{1, "a"}, {2, "b"}}, test.clock), IsOk());
  const auto index = NewIndex();
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  const auto before = LocationsIn(*index, {1, 2, 3});
  const auto snapshot_before = index->snapshot_id();
  ASSERT_THAT(ForeignDelete(test.table, {1}, test.clock), IsOk());
  ASSERT_THAT(ForeignInsert(test.table, {{3, "c"}}, test.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadLiveRows(test.table));
  const auto added = std::find_if(rows.begin(), rows.end(), [](const LiveRow& row) { return row.row.id == 3; });
  ASSERT_OK_AND_ASSIGN(Bytes good, test.io->ReadFile(added->path));
  test.io->Overwrite(added->path, Bytes(good.begin(), good.begin() + 8));
  EXPECT_FALSE(Follow(*index, test.table));
  EXPECT_EQ(index->snapshot_id(), snapshot_before);
  EXPECT_EQ(LocationsIn(*index, {1, 2, 3}), before);
  test.io->Overwrite(added->path, good);
  ASSERT_THAT(Follow(*index, test.table), IsOk());
  EXPECT_EQ(LocationsIn(*index, {1, 2, 3}), LocationsByScan(test.table));
}

/// One random step of somebody's history.
class History {
 public:
  History(MemoryTable& test, std::mt19937_64& random) : test_(test), random_(random) {}

  std::string Step() {
    switch (Below(9)) {
      case 0:
      case 1:
      case 2: {
        std::vector<TestRow> rows;
        const uint64_t count = 1 + Below(4);
        for (uint64_t i = 0; i < count; ++i) rows.push_back({Id(), "v", Below(2) == 0 ? "x" : "y"});
        EXPECT_THAT(ForeignInsert(test_.table, rows, test_.clock), IsOk());
        return fmt::format("insert {} rows", count);
      }
      case 3:
      case 4: {
        const std::set<int64_t> ids = {Id(), Id()};
        EXPECT_THAT(ForeignDelete(test_.table, ids, test_.clock), IsOk());
        return fmt::format("delete {}", fmt::join(ids, ", "));
      }
      case 5: {
        std::map<std::string, bool> picked;  // by first sight: paths are random, their order is not
        const auto is_picked = [&](const std::string& path) {
          return picked.try_emplace(path, Below(2) == 0).first->second;
        };
        EXPECT_THAT(ForeignRewrite(test_.table, is_picked, test_.clock), IsOk());
        return "rewrite some files";
      }
      case 6:
      case 7: {
        const auto& snapshots = test_.table.metadata()->snapshots;
        if (snapshots.empty()) return "nothing";
        EXPECT_THAT(SetHead(test_.table, snapshots[Below(snapshots.size())].id, test_.clock), IsOk());
        return "move the head";
      }
      default:
        if (Below(3) != 0) return "nothing";
        EXPECT_THAT(ExpireAllButHead(test_.table, test_.clock), IsOk());
        return "expire";
    }
  }

  uint64_t Below(uint64_t bound) { return random_() % bound; }

 private:
  int64_t Id() { return static_cast<int64_t>(Below(6)); }

  MemoryTable& test_;
  std::mt19937_64& random_;
};

TEST(KeyIndex, FollowedEqualsRebuiltEqualsAScanOverRandomHistories) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const uint64_t first_seed = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  const std::set<int64_t> all_ids = {0, 1, 2, 3, 4, 5};
  const int num_histories = given == nullptr ? 30 : 1;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(num_histories); ++seed) {
    std::mt19937_64 random(seed);
    MemoryTable test(random() % 2 == 0 ? Partitioning::kNone : Partitioning::kByPart);
    History history(test, random);
    const auto followed = NewIndex();
    std::string story = fmt::format("FRAZIL_TEST_SEED={}", seed);
    for (int step = 0; step < 8; ++step) {
      story += "\n  " + history.Step();
      if (history.Below(3) == 0) continue;  // several commits are followed at once
      ASSERT_THAT(Follow(*followed, test.table), IsOk()) << story;
      const auto rebuilt = NewIndex();
      ASSERT_THAT(Follow(*rebuilt, test.table), IsOk()) << story;
      const auto by_scan = LocationsByScan(test.table);
      ASSERT_EQ(LocationsIn(*followed, all_ids), by_scan) << story;
      ASSERT_EQ(LocationsIn(*rebuilt, all_ids), by_scan) << story;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace frazil::index
