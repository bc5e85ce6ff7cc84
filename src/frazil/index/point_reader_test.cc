#include "frazil/index/point_reader.h"

#include <algorithm>
#include <thread>

#include "frazil/base/test_support.h"
#include "frazil/index/row_table_test_support.h"

namespace frazil::index {
namespace {

constexpr uint64_t kSeed = 42;

std::vector<std::shared_ptr<arrow::Array>> KeysOf(const std::vector<int64_t>& ids) {
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.AppendValues(ids).ok());
  return {*builder.Finish()};
}

class PointReaderTest : public ::testing::Test {
 protected:
  PointReaderTest()
      : index_(*OpenKeyIndex({.schema = TestSchema(), .seed = kSeed})),
        reader_(*CanonicalKey::Make(*TestSchema(), kSeed),
                std::make_shared<scan::RowFetcher>(test_.io, int64_t{1} << 20)) {}

  void Follow() { ASSERT_THAT(index_->FollowTo(test_.table, test_.table.metadata()->current_snapshot(), {}), IsOk()); }

  /// Rows as "id value part _row_id _pos", sorted.
  Result<std::vector<std::string>> Read(const KeyIndexView& view, const std::vector<int64_t>& ids) const {
    scan::ReadColumns columns = scan::ReadColumns::All(*TestSchema());
    columns.row_lineage = columns.position = true;
    FRAZIL_ASSIGN(const auto batches, reader_.Read(view, KeysOf(ids), columns, nullptr));
    std::vector<std::string> rows;
    for (const auto& batch : batches) {
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        std::string text;
        for (const auto& column : batch->columns()) text += column->GetScalar(i).ValueOrDie()->ToString() + " ";
        rows.push_back(text);
      }
    }
    std::ranges::sort(rows);
    return rows;
  }

  /// The same by a scan of everything.
  std::vector<std::string> Scan(const std::set<int64_t>& ids) const {
    const auto live = ReadLiveRows(test_.table);
    EXPECT_THAT(live, IsOk());
    std::vector<std::string> rows;
    for (const LiveRow& row : *live) {
      if (!ids.contains(row.row.id)) continue;
      const auto number = [](const std::optional<int64_t>& value) { return value ? std::to_string(*value) : "null"; };
      rows.push_back(fmt::format("{} {} {} {} {} {} ", row.row.id, row.row.value, row.row.part, number(row.row_id),
                                 number(row.last_updated), row.position));
    }
    std::ranges::sort(rows);
    return rows;
  }

  void ExpectLikeAScan() {
    Follow();
    EXPECT_THAT(Read(*index_->View(), {1, 2, 3, 4, 5, 99}), IsOkAnd(Scan({1, 2, 3, 4, 5, 99})));
    for (const int64_t id : {1, 2, 3, 4, 5, 99}) EXPECT_THAT(Read(*index_->View(), {id}), IsOkAnd(Scan({id}))) << id;
  }

  MemoryTable test_{Partitioning::kByPart};
  const std::unique_ptr<KeyIndex> index_;
  const PointReader reader_;
};

TEST_F(PointReaderTest, GivesWhatAScanGivesAfterEveryKindOfChange) {
  ASSERT_THAT(ForeignInsert(test_.table, {{1, "a", "x"}, {2, "b", "x"}, {3, "c", "y"}}, test_.clock), IsOk());
  ASSERT_NO_FATAL_FAILURE(ExpectLikeAScan());
  const spec::SnapshotId first = *test_.table.metadata()->current_snapshot_id;
  ASSERT_THAT(ForeignDelete(test_.table, {2}, test_.clock), IsOk());
  ASSERT_NO_FATAL_FAILURE(ExpectLikeAScan());
  // A key twice: both rows come.
  ASSERT_THAT(ForeignInsert(test_.table, {{1, "again", "y"}, {4, "d", "x"}}, test_.clock), IsOk());
  ASSERT_NO_FATAL_FAILURE(ExpectLikeAScan());
  ASSERT_THAT(ForeignRewrite(
                  test_.table, [](const std::string&) { return true; }, test_.clock),
              IsOk());
  ASSERT_NO_FATAL_FAILURE(ExpectLikeAScan());
  ASSERT_THAT(SetHead(test_.table, first, test_.clock), IsOk());
  ASSERT_NO_FATAL_FAILURE(ExpectLikeAScan());
}

TEST_F(PointReaderTest, AViewStaysAtItsSnapshot) {
  ASSERT_THAT(ForeignInsert(test_.table, {{1, "old", "x"}}, test_.clock), IsOk());
  Follow();
  const std::shared_ptr<const KeyIndexView> view = index_->View();
  const std::vector<std::string> before = Scan({1});
  ASSERT_THAT(ForeignDelete(test_.table, {1}, test_.clock), IsOk());
  ASSERT_THAT(ForeignInsert(test_.table, {{1, "new", "x"}}, test_.clock), IsOk());
  Follow();
  EXPECT_THAT(Read(*view, {1}), IsOkAnd(before));
  EXPECT_THAT(Read(*index_->View(), {1}), IsOkAnd(Scan({1})));
}

TEST_F(PointReaderTest, KeyColumnsThatNobodyAskedForDoNotShow) {
  ASSERT_THAT(ForeignInsert(test_.table, {{1, "a", "x"}}, test_.clock), IsOk());
  Follow();
  scan::ReadColumns columns{.fields = {spec::FieldId(2)}, .position = true};
  ASSERT_OK_AND_ASSIGN(const auto batches, reader_.Read(*index_->View(), KeysOf({1}), columns, nullptr));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0]->schema()->field_names(), (std::vector<std::string>{"value", "_pos"}));
}

/// Says that every key has every row: what a collision of hashes looks like.
class CollidingView : public KeyIndexView {
 public:
  explicit CollidingView(std::shared_ptr<const KeyIndexView> view) : view_(std::move(view)) {}
  std::optional<spec::SnapshotId> snapshot_id() const override { return view_->snapshot_id(); }
  Result<std::vector<KeyHit>> LookUp(std::span<const Hash96>) const override {
    std::vector<Hash96> all;
    const auto key = CanonicalKey::Make(*TestSchema(), kSeed);
    for (const int64_t id : {1, 2, 3}) all.push_back(key->HashRows(KeysOf({id}))->front());
    std::ranges::sort(all);
    return view_->LookUp(all);
  }
  Status ForEachDuplicateKey(
      const std::function<Status(const Hash96&, const std::vector<KeyHit>&)>& visit) const override {
    return view_->ForEachDuplicateKey(visit);
  }
  const table::ScanPlan& plan() const override { return view_->plan(); }
  const table::FileScanTask* FindTask(const std::string& path) const override { return view_->FindTask(path); }

 private:
  const std::shared_ptr<const KeyIndexView> view_;
};

TEST_F(PointReaderTest, ACollisionOfHashesShowsNoWrongRow) {
  ASSERT_THAT(ForeignInsert(test_.table, {{1, "a", "x"}, {2, "b", "x"}, {3, "c", "y"}}, test_.clock), IsOk());
  Follow();
  EXPECT_THAT(Read(CollidingView(index_->View()), {2}), IsOkAnd(Scan({2})));
  EXPECT_THAT(Read(CollidingView(index_->View()), {1, 3}), IsOkAnd(Scan({1, 3})));
  EXPECT_THAT(Read(CollidingView(index_->View()), {99}), IsOkAnd(testing::IsEmpty()));
}

TEST_F(PointReaderTest, ManyReadersWhileTheIndexFollows) {
  std::vector<TestRow> rows;
  for (int64_t id = 0; id < 100; ++id) rows.push_back({id, "first", "x"});
  ASSERT_THAT(ForeignInsert(test_.table, rows, test_.clock), IsOk());
  Follow();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int64_t reader = 0; reader < 8; ++reader) {
    readers.emplace_back([&, reader] {
      for (int64_t id = reader; !stop; id = (id + 7) % 100) {
        const auto found = Read(*index_->View(), {id});
        if (!found || found->size() != 1) ++wrong;
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    ASSERT_THAT(ForeignRewrite(
                    test_.table, [](const std::string&) { return true; }, test_.clock),
                IsOk());
    Follow();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace frazil::index
