#include "frazil/base/executor.h"
#include "frazil/index/key_index_disk_test_support.h"
#include "frazil/index/row_map_reading.h"

namespace frazil::index {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What a process that only reads may ask before it follows, and what look-ups take of the memory budget.
class KeyIndexReadingTest : public KeyIndexForwardingTest {
 protected:
  std::unique_ptr<KeyIndex> OpenForReading() {
    KeyIndexOptions options = Options();
    options.mode = KeyIndexOptions::Mode::kReadOnly;
    auto index = OpenKeyIndex(std::move(options));
    EXPECT_THAT(index, IsOk());
    return *std::move(index);
  }
  void KeepIndex() {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  Result<bool> FollowIf(KeyIndex& index, bool accepts) {
    const table::Table table = table_.Handle();
    return index.FollowToIf(table, table.metadata()->current_snapshot(), [&](const FollowCost& cost) {
      cost_ = cost;
      return accepts;
    });
  }
  FollowCost CostNow() {
    const auto index = OpenForReading();
    const std::optional<spec::SnapshotId> before = index->snapshot_id();
    EXPECT_THAT(FollowIf(*index, true), IsOkAnd(true));
    const FollowCost cost = cost_;
    const auto unwilling = OpenForReading();
    EXPECT_THAT(FollowIf(*unwilling, false), IsOkAnd(false));
    EXPECT_EQ(unwilling->snapshot_id(), before);
    EXPECT_EQ(Find(*index), table_.LiveRows());
    return cost;
  }

  FollowCost cost_;
};

TEST_F(KeyIndexReadingTest, NewFilesCostTheirRows) {
  Insert(Range(0, 20));
  KeepIndex();
  EXPECT_EQ(CostNow().InRows(), 0);
  Insert(Range(20, 30));
  Insert(Range(30, 35));
  EXPECT_EQ(CostNow().rows, 15);
  EXPECT_EQ(CostNow().files, 2);
  EXPECT_EQ(CostNow().live_rows, 35);
  EXPECT_EQ(CostNow().live_files, 3);
}

TEST_F(KeyIndexReadingTest, RowsThatARewriteMovedAndRowsThatWentCostNothing) {
  const std::string first = Insert(Range(0, 20));
  const std::string second = Insert(Range(20, 40));
  KeepIndex();
  table_.Kill(first, {1, 2, 3});
  table_.Commit();
  EXPECT_EQ(CostNow().rows, 0);
  EXPECT_EQ(CostNow().vectors, 1);
  Rewrite({first, second});
  EXPECT_EQ(CostNow().rows, 0);
  EXPECT_EQ(CostNow().files, 0);
}

TEST_F(KeyIndexReadingTest, RowsThatCameBackCostWhatHasToBeReadAgain) {
  const std::string path = Insert(Range(0, 20));
  const int64_t before = table_.history().rbegin()->first;
  table_.Kill(path, {1, 2, 3});
  table_.Commit();
  KeepIndex();
  table_.SetHead(before);
  EXPECT_EQ(CostNow().rows, 3);
}

// The snapshot of the checkpoint is gone from the history: the difference of states does not need it.
TEST_F(KeyIndexReadingTest, AnExpiredSnapshotCostsNothing) {
  Insert(Range(0, 20));
  KeepIndex();
  Insert(Range(20, 25));
  table_.ExpireAllButHead();
  EXPECT_EQ(CostNow().rows, 5);
}

TEST_F(KeyIndexReadingTest, DamageIsToldBeforeAnythingIsReadAgain) {
  Insert(Range(0, 20));
  KeepIndex();
  std::filesystem::remove(FilesOf("run-").at(0));
  const auto index = OpenForReading();
  EXPECT_THAT(FollowIf(*index, false), IsOkAnd(false));
  EXPECT_THAT(cost_.damage, HasSubstr("run-"));
  EXPECT_THAT(notices_, IsEmpty());
}

// ---- threads

/// Like the keys of 150,000 rows, a tenth of which are deleted, and as many others; ascending.
class KeyIndexThreadsTest : public KeyIndexReadingTest {
 protected:
  static constexpr int64_t kRows = 150'000;

  KeyIndexThreadsTest() {
    for (int64_t begin = 0; begin < kRows; begin += kRows / 3) {
      const std::string path = Insert(Range(begin, begin + kRows / 3));
      std::set<int64_t> dead;
      for (int64_t position = 0; position < kRows / 3; position += 10) dead.insert(position);
      table_.Kill(path, dead);
    }
    table_.Commit();
    auto key = CanonicalKey::Make(*table_.schema(), kDiskTestSeed);
    arrow::Int32Builder builder;
    for (int32_t id = 0; id < 2 * kRows; ++id) EXPECT_TRUE(builder.Append(id).ok());
    keys_ = *key->HashRows({*builder.Finish()});
    std::sort(keys_.begin(), keys_.end());
  }

  KeyIndexOptions OptionsWithThreads() {
    KeyIndexOptions options = Options();
    options.executor = &executor_;
    return options;
  }
  using Hits = std::vector<std::tuple<size_t, std::string, int64_t>>;
  static Hits Of(const std::vector<KeyHit>& found) {
    Hits hits;
    for (const KeyHit& hit : found) hits.emplace_back(hit.key, hit.file_path(), hit.position.value());
    return hits;
  }

  Executor executor_{3};
  std::vector<Hash96> keys_;
};

TEST_F(KeyIndexThreadsTest, LargeBatchesFindOnAllThreadsWhatOneThreadFinds) {
  KeyIndexOptions options = OptionsWithThreads();
  options.directory = "";
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<KeyHit> expected, index->View()->LookUp(keys_));
  EXPECT_EQ(static_cast<int64_t>(expected.size()), kRows * 9 / 10);
  ASSERT_OK_AND_ASSIGN(const KeyHits found, index->LookUp(keys_));
  EXPECT_TRUE(Of(found.hits) == Of(expected));
}

TEST_F(KeyIndexThreadsTest, DamageThatOneOfTheThreadsMeetsIsMended) {
  {
    ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(OptionsWithThreads()));
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  for (const std::string& run : FilesOf("run-")) DamagePages(run);
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(OptionsWithThreads()));
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_OK_AND_ASSIGN(const KeyHits found, index->LookUp(keys_));
  EXPECT_EQ(static_cast<int64_t>(found.hits.size()), kRows * 9 / 10);
  EXPECT_THAT(index->status().rebuilt_shards, SizeIs(4));
}

// ---- memory

TEST_F(KeyIndexReadingTest, LookUpsAreRightWhereThereIsNoRoomForVectors) {
  std::vector<std::string> paths;
  for (int64_t i = 0; i < 6; ++i) paths.push_back(Insert(Range(i * 10, i * 10 + 10)));
  for (const std::string& path : paths) table_.Kill(path, {1, 4, 9});
  table_.Commit();
  constexpr int64_t kLimit = int64_t{64} << 20;
  MemoryBudget budget(kLimit);
  KeyIndexOptions options = Options();
  options.directory = "";
  options.budget = &budget;
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  ASSERT_THAT(Follow(*index), IsOk());
  {
    ASSERT_OK_AND_ASSIGN(const auto taken, budget.Reserve(kLimit - budget.used_bytes(), "somebody else"));
    const auto view = index->View();
    EXPECT_EQ(Find(*view), table_.LiveRows());
    EXPECT_EQ(Find(*view), table_.LiveRows());
    EXPECT_LE(budget.used_bytes(), kLimit);
  }
  const int64_t before = budget.used_bytes();
  EXPECT_EQ(Find(*index->View()), table_.LiveRows());
  EXPECT_GT(budget.used_bytes(), before);  // the cache keeps the vectors
}

TEST_F(KeyIndexReadingTest, ARowMapIsChargedAsLongAsItLives) {
  Rewrite({Insert(Range(0, 20))});
  MemoryBudget small(10);
  EXPECT_THAT(ReadRowMap(*table_.io(), row_map_, &small), IsError(ErrorCode::kResourceExhausted, "a row map"));
  MemoryBudget budget(int64_t{1} << 20);
  ASSERT_OK_AND_ASSIGN(auto row_map, ReadRowMap(*table_.io(), row_map_, &budget));
  EXPECT_EQ(budget.used_bytes(), row_map->memory_bytes());
  EXPECT_EQ(row_map->sources().size(), 1u);
  row_map.reset();
  EXPECT_EQ(budget.used_bytes(), 0);
}

}  // namespace
}  // namespace frazil::index
