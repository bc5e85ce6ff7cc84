// Rewriting evaluates the equality deletes of other engines: several column sets, null keys, keys that come again later,
// in memory and in the least memory there can be, where every key goes to disk. The oracle is brute force over the rows.
//
// FRAZIL_TEST_SEED sets the seed.

#include <algorithm>
#include <cstdlib>
#include <random>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/maintain/rewrite_commit.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/maintain/rewrite_group.h"
#include "frazil/maintain/rewrite_plan.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/scan_planner.h"
#include "tests/support/foreign_table.h"

namespace frazil::maintain {
namespace {

using Key = std::pair<std::optional<int64_t>, std::optional<std::string>>;

const spec::Field kA = test::Column(1, "a", spec::TypeId::kLong);
const spec::Field kB = test::Column(2, "b", spec::TypeId::kString);
const spec::Field kV = test::Column(3, "v", spec::TypeId::kLong);

struct Row {
  Key key;
  int64_t v = 0;
  bool operator==(const Row&) const = default;
  auto operator<=>(const Row&) const = default;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << (row.key.first ? std::to_string(*row.key.first) : "null") << " " << row.key.second.value_or("null") << " "
       << row.v;
}

std::string NumberList(const std::vector<Key>& keys) {
  std::string list;
  for (const Key& key : keys) list += (list.empty() ? "" : ",") + (key.first ? std::to_string(*key.first) : "null");
  return "[" + list + "]";
}

std::string NameList(const std::vector<Key>& keys) {
  std::string list;
  for (const Key& key : keys) list += (list.empty() ? "" : ",") + (key.second ? "\"" + *key.second + "\"" : "null");
  return "[" + list + "]";
}

/// A table of another engine, and the rows that it should have.
class EqualityTable {
 public:
  explicit EqualityTable(std::mt19937& random) : random_(random), table_(3, {kA, kB, kV}) {}

  void Insert(int count) {
    std::vector<Key> keys;
    std::string values;
    for (int i = 0; i < count; ++i) {
      keys.push_back(AnyKey());
      rows_.push_back({keys.back(), next_v_});
      values += (values.empty() ? "" : ",") + std::to_string(next_v_++);
    }
    table_.Commit({table_.Parquet({kA, kB, kV}, {NumberList(keys), NameList(keys), "[" + values + "]"})});
  }

  void Delete(int count) {
    std::vector<Key> keys;
    for (int i = 0; i < count; ++i) keys.push_back(AnyKey());
    const unsigned columns = random_() % 3;
    spec::DataFile file = columns == 0   ? table_.EqualityDeletes({kA}, {NumberList(keys)}, {1})
                          : columns == 1 ? table_.EqualityDeletes({kB}, {NameList(keys)}, {2})
                                         : table_.EqualityDeletes({kA, kB}, {NumberList(keys), NameList(keys)}, {1, 2});
    table_.Commit({std::move(file)});
    std::erase_if(rows_, [&](const Row& row) {
      return std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
        return (columns == 1 || key.first == row.key.first) && (columns == 0 || key.second == row.key.second);
      });
    });
  }

  std::vector<Row> Expected() const {
    std::vector<Row> rows = rows_;
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  table::Table Load() const { return *table::Table::Load(table_.MakeCatalog(), {{"db"}, "t"}); }

 private:
  Key AnyKey() {
    Key key;
    if (random_() % 8 != 0) key.first = static_cast<int64_t>(random_() % 60);
    if (random_() % 8 != 0) key.second = "n" + std::to_string(random_() % 25);
    return key;
  }

  std::mt19937& random_;
  test::ForeignTable table_;
  std::vector<Row> rows_;
  int64_t next_v_ = 0;
};

struct Lineage {
  std::vector<Row> rows;
  std::map<int64_t, std::pair<int64_t, int64_t>> by_v;  ///< row id and last updated
};

Lineage Read(const table::Table& table) {
  const auto plan = table::PlanScan(table, table.metadata()->current_snapshot(), nullptr);
  EXPECT_THAT(plan, IsOk());
  scan::ReadColumns columns = scan::ReadColumns::All(*plan->schema);
  columns.row_lineage = true;
  Lineage read;
  for (const table::FileScanTask& task : plan->tasks) {
    const auto reader = scan::FileReader::Open(table.io(), *plan, task, columns);
    EXPECT_THAT(reader, IsOk());
    for (;;) {
      const auto batch = (*reader)->Next();
      EXPECT_THAT(batch, IsOk());
      if (*batch == nullptr) break;
      const auto number = [&](int column, int64_t i) {
        const auto& array = static_cast<const arrow::Int64Array&>(*(*batch)->column(column));
        return array.IsNull(i) ? std::nullopt : std::optional(array.Value(i));
      };
      const auto& names = static_cast<const arrow::StringArray&>(*(*batch)->column(1));
      for (int64_t i = 0; i < (*batch)->num_rows(); ++i) {
        Row row{{number(0, i), names.IsNull(i) ? std::nullopt : std::optional(names.GetString(i))}, *number(2, i)};
        read.by_v[row.v] = {number(3, i).value_or(-1), number(4, i).value_or(-1)};
        read.rows.push_back(std::move(row));
      }
    }
  }
  std::sort(read.rows.begin(), read.rows.end());
  return read;
}

/// All files, with no more than `key_bytes` of keys in memory.
void RewriteAll(table::Table& table, int64_t key_bytes, bool sorts) {
  RewriteOptions options;
  options.rewrite_all = true;
  options.max_file_group_input_files = 3;
  if (sorts) {
    options.strategy = RewriteOptions::Strategy::kSort;
    options.sort_order = spec::SortOrder{.id = spec::SortOrderId{0}, .fields = {{.source_id = spec::FieldId{2}}}};
  }
  const auto plan = PlanRewrite(table, options);
  ASSERT_THAT(plan, IsOk());
  const auto equality = std::make_shared<scan::EqualityDeletes>(table.io(), key_bytes, ::testing::TempDir());
  std::vector<RewrittenGroup> groups;
  for (const RewritePlan::Group& group : plan->groups) {
    auto done = RewriteGroup(table, *plan, group, equality, {});
    ASSERT_THAT(done, IsOk());
    groups.push_back(*std::move(done));
  }
  std::vector<const RewrittenGroup*> all;
  for (const RewrittenGroup& group : groups) all.push_back(&group);
  RewriteCommit commit(all, std::vector<bool>(all.size()), {});
  ASSERT_THAT(commit.Run(table, Clock::System()), IsOk());
}

TEST(RewriteEqualityDeletes, NullKeysAndSeveralColumnSetsInAnyMemoryAreBruteForce) {
  const char* const given = std::getenv("FRAZIL_TEST_SEED");
  const unsigned seed = given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::stoul(given));
  SCOPED_TRACE(fmt::format("FRAZIL_TEST_SEED={}", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 6 && !::testing::Test::HasFailure(); ++round) {
    EqualityTable made(random);
    for (unsigned step = 0; step < 4 + random() % 8; ++step) {
      if (step == 0 || random() % 2 == 0) {
        made.Insert(1 + static_cast<int>(random() % 120));
      } else {
        made.Delete(1 + static_cast<int>(random() % 12));
      }
    }
    for (const int64_t key_bytes : {int64_t{1}, int64_t{1} << 30}) {
      table::Table table = made.Load();
      const Lineage before = Read(table);
      ASSERT_EQ(before.rows, made.Expected()) << "as read";
      RewriteAll(table, key_bytes, round % 3 == 2);
      const Lineage after = Read(table);
      EXPECT_EQ(after.rows, made.Expected()) << "in " << key_bytes << " bytes";
      EXPECT_EQ(after.by_v, before.by_v);
    }
  }
}

// The whole run, in the least memory that it accepts: what keys take of it is too little for them.
TEST(RewriteEqualityDeletes, AWholeRunInLittleMemoryIsBruteForce) {
  std::mt19937 random(7);
  EqualityTable made(random);
  for (int i = 0; i < 4; ++i) {
    made.Insert(300);
    made.Delete(10);
  }
  table::Table table = made.Load();
  const Lineage before = Read(table);
  MemoryBudget budget(int64_t{72} << 20);
  RewriteOptions options;
  options.rewrite_all = true;
  options.remove_dangling_deletes = true;
  const auto result = RewriteDataFiles(table, options, {.budget = &budget, .temp_directory = ::testing::TempDir()});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 4);
  const Lineage after = Read(table);
  EXPECT_EQ(after.rows, made.Expected());
  EXPECT_EQ(after.by_v, before.by_v);
  EXPECT_LE(budget.peak_bytes(), budget.limit_bytes());
  EXPECT_GT(budget.peak_bytes(), 0);
  EXPECT_EQ(budget.used_bytes(), 0);
}

}  // namespace
}  // namespace frazil::maintain
