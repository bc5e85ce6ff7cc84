#include "frazil/maintain/rewrite_levels.h"

#include <cstdio>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/maintain/rewrite_plan.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/table_test_support.h"

namespace frazil::maintain {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMinuteMs = 60'000;

TEST(CountWorthMerging, AFileGoesAlongOnlyBesideAsManyBytesOfSmallerOnes) {
  const auto count = [](std::vector<int64_t> bytes) { return CountWorthMerging(bytes, 3); };
  EXPECT_EQ(count({}), 0U);
  EXPECT_EQ(count({1, 1}), 0U);  // fewer than three
  EXPECT_EQ(count({1, 1, 1}), 3U);
  EXPECT_EQ(count({1, 1, 1, 4}), 3U);
  EXPECT_EQ(count({1, 1, 1, 3}), 4U);
  EXPECT_EQ(count({1, 2, 4, 8}), 0U);
  EXPECT_EQ(count({1, 1, 1, 4, 5}), 5U);
  EXPECT_EQ(count({1, 1, 1, 100}), 3U);
  EXPECT_EQ(count({1, 1, 1, 100, 100}), 5U);  // one of them is a smaller one
}

/// Files that are entries only, in a table by `part` with a spec for landing files, and a clock.
class Table {
 public:
  explicit Table(int num_partitions) : num_partitions_(num_partitions) {
    const auto add_spec = [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
      return std::vector<spec::TableUpdate>{spec::update::AddPartitionSpec{spec::PartitionSpec(landing_, {})}};
    };
    EXPECT_THAT(table::CommitUpdates(memory_.table, add_spec, memory_.clock), IsOk());
    EXPECT_TRUE(memory_.table.metadata()->FindSpec(landing_)->fields().empty());
  }

  RewriteOptions options;

  /// `part`: of all rows, as the file's bounds say; none: there are no bounds.
  void Land(int64_t bytes, std::optional<int> part = {}) {
    spec::DataFile file = Sized(bytes);
    if (part) {
      const spec::FieldId id(3);
      const Bytes bound = spec::EncodeSingleValue(spec::Type::Primitive(spec::TypeId::kString), Name(*part));
      file.lower_bounds[id] = file.upper_bounds[id] = bound;
      file.null_value_counts[id] = 0;
    }
    file.spec_id = landing_;
    table::FileChanges changes;
    changes.operation = spec::Operation::kAppend;
    changes.added_data_files.push_back({.file = std::move(file), .sequence_number = {}});
    Commit(std::move(changes));
    written_ += bytes;
    landed_ += bytes;
  }

  RewritePlan Plan() {
    auto plan = PlanRewrite(memory_.table, options, memory_.clock);
    EXPECT_THAT(plan, IsOk());
    return *std::move(plan);
  }

  /// Does what a plan says, as far as sizes go. Whether there was something to do.
  bool Carry(const RewritePlan& plan) {
    table::FileChanges changes;
    changes.operation = spec::Operation::kReplace;
    for (const RewritePlan::Group& group : plan.groups) {
      for (const size_t task : group.tasks) {
        changes.removed_data_files.push_back(plan.scan->tasks[task].data_file.file.file_path);
      }
      written_ += group.input_bytes;
      const spec::PartitionTuple own = plan.scan->tasks[group.tasks[0]].data_file.file.partition;
      for (int part = 0; part < (group.is_move ? num_partitions_ : 1); ++part) {
        const spec::PartitionTuple partition = group.is_move ? spec::PartitionTuple{Name(part)} : own;
        int64_t left = group.is_move ? group.input_bytes / num_partitions_ : group.input_bytes;
        while (left > 0) {
          const int64_t bytes = std::min(left, group.roll_at_bytes);
          spec::DataFile file = Sized(bytes);
          file.partition = partition;
          changes.added_data_files.push_back({.file = std::move(file), .sequence_number = {}});
          left -= bytes;
        }
      }
    }
    if (plan.groups.empty()) return false;
    Commit(std::move(changes));
    return true;
  }

  void Wait(int64_t ms) { memory_.clock.Advance(ms); }
  double amplification() const { return static_cast<double>(written_) / static_cast<double>(landed_); }
  size_t num_files() { return LiveOf(memory_.table).data_files.size(); }

 private:
  static std::string Name(int part) { return "p" + std::to_string(part); }

  spec::DataFile Sized(int64_t bytes) {
    spec::DataFile file = table::DataFileOf("memory:/t/f" + std::to_string(num_made_++), bytes);
    file.file_size_in_bytes = bytes;
    return file;
  }

  class Change : public table::SnapshotChange {
   public:
    explicit Change(table::FileChanges changes) : changes_(std::move(changes)) {}
    Result<table::FileChanges> Prepare(const table::Table&, spec::SnapshotId) override { return changes_; }

   private:
    table::FileChanges changes_;
  };

  void Commit(table::FileChanges changes) {
    Change change(std::move(changes));
    ASSERT_THAT(table::CommitSnapshot(memory_.table, change, {}, memory_.clock), IsOk());
  }

  MemoryTable memory_{Partitioning::kByPart, {{"format-version", "3"}}};
  const int num_partitions_;
  inline static const spec::SpecId landing_{1};
  int num_made_ = 0;
  int64_t written_ = 0;
  int64_t landed_ = 0;
};

TEST(JudgeLanding, WaitsForItsFillOrItsAge) {
  Table table(2);
  table.options.leveled = true;
  table.options.target_file_size_bytes = 3200;  // 100 bytes a partition
  table.Land(90);
  const RewritePlan waiting = table.Plan();
  EXPECT_THAT(waiting.groups, IsEmpty());
  ASSERT_EQ(waiting.partitions.size(), 1U);
  EXPECT_THAT(waiting.partitions[0].reason, HasSubstr("less than landing-fill-bytes = 100"));
  table.Land(110);  // it is not known yet that there are two partitions
  EXPECT_TRUE(table.Carry(table.Plan()));
  table.Land(190);
  EXPECT_FALSE(table.Carry(table.Plan()));
  table.Wait(59 * kMinuteMs);
  EXPECT_FALSE(table.Carry(table.Plan()));
  table.Wait(kMinuteMs);
  const RewritePlan old = table.Plan();
  ASSERT_EQ(old.groups.size(), 1U);
  EXPECT_TRUE(table.Carry(old));
  EXPECT_FALSE(table.Carry(table.Plan())) << "a fixed point";
}

// Rows of one day among very many days must not wait until there is enough for every one of them.
TEST(JudgeLanding, CountsThePartitionsThatTheFilesMayHaveRowsOf) {
  Table table(4);
  table.options.leveled = true;
  table.options.target_file_size_bytes = 3200;  // 100 bytes a partition
  table.Land(400);
  ASSERT_TRUE(table.Carry(table.Plan())) << "there are four partitions now";
  table.Land(390);
  EXPECT_FALSE(table.Carry(table.Plan())) << "its rows may be of any partition";
  table.Land(10);
  ASSERT_TRUE(table.Carry(table.Plan()));
  table.Land(90, 2);
  EXPECT_FALSE(table.Carry(table.Plan()));
  table.Land(10, 2);
  const RewritePlan plan = table.Plan();
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_TRUE(plan.groups[0].is_move);
  EXPECT_EQ(plan.groups[0].tasks.size(), 2U);
}

// Commits every five minutes of very different sizes, and a rewrite after every fourth: how often a byte is written in all,
// landing included, until it lies in a file of its last size.
TEST(RewriteLevels, AByteIsNotWrittenMoreThanTenTimes) {
  constexpr int64_t kMega = int64_t{1} << 20;
  struct Case {
    int num_partitions;
    int64_t commit_bytes;
  };
  for (const Case& one : {Case{1, kMega}, Case{3, 2 * kMega}}) {
    std::mt19937 random(1);
    Table table(one.num_partitions);
    table.options.leveled = true;
    table.options.target_file_size_bytes = 32 * kMega;
    for (int commit = 0; commit < 60; ++commit) {
      table.Land(1 + static_cast<int64_t>(random() % static_cast<unsigned>(2 * one.commit_bytes)));
      table.Wait(5 * kMinuteMs);
      if (commit % 4 != 0) continue;
      for (int again = 0; table.Carry(table.Plan()); ++again) ASSERT_LT(again, 4) << "no fixed point";
    }
    std::printf("%d partitions, %lld kB a commit: each byte written %.1f times, %zu files\n", one.num_partitions,
                static_cast<long long>(one.commit_bytes / 1024), table.amplification(), table.num_files());
    EXPECT_LT(table.amplification(), 10);
    EXPECT_LT(table.num_files(), 12 + 12 * static_cast<size_t>(one.num_partitions));
  }
}

}  // namespace
}  // namespace frazil::maintain
