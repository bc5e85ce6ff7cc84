#include "frazil/table/manifest_sort.h"

#include <random>

#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

/// Some manifests of files in partitions, "large" having most of them.
class ManifestSortTest : public ::testing::Test {
 protected:
  ManifestSortTest() {
    std::mt19937 random(3);
    for (int append = 0; append < 10; ++append) {
      std::vector<spec::DataFile> files;
      for (int i = 0; i < 60; ++i) {
        const unsigned part = random() % 30U;
        spec::Value value;
        if (part > 1) value = spec::Value(part < 14 ? std::string("large") : "p" + std::to_string(part));
        files.push_back(DataFileOf(fmt::format("memory:/t/{}-{}", append, i), 3, {std::move(value)}));
      }
      EXPECT_THAT(Append(test_, files), IsOk());
    }
    manifests_ = test_.Manifests(spec::ManifestContent::kData);
  }

  /// Sorts within `limit` bytes; 0: as much as it takes.
  std::vector<spec::ManifestEntry> Sorted(int64_t limit, int64_t& num_passes) {
    MemoryBudget budget(limit);
    std::vector<spec::ManifestEntry> sorted;
    ManifestSort sort(test_.table.manifests(), test_.metadata(), manifests_, PartitionOrder({0}),
                      limit == 0 ? nullptr : &budget);
    EXPECT_THAT(sort.ForEach([&](const spec::ManifestEntry& entry) -> Status {
      sorted.push_back(entry);
      return {};
    }),
                IsOk());
    EXPECT_EQ(sort.num_entries(), static_cast<int64_t>(sorted.size()));
    EXPECT_LE(budget.peak_bytes(), limit);
    EXPECT_EQ(budget.peak_bytes() > 0, limit > 0);
    num_passes = sort.num_passes();
    return sorted;
  }

  TestTable test_{{{"commit.manifest-merge.enabled", "false"}}, true};
  std::vector<spec::ManifestFile> manifests_;
};

TEST_F(ManifestSortTest, TheOrderIsTheSameWhateverRoomThereIs) {
  int64_t num_passes = 0;
  const std::vector<spec::ManifestEntry> wanted = Sorted(0, num_passes);
  EXPECT_EQ(num_passes, 1);
  ASSERT_EQ(wanted.size(), 600U);
  EXPECT_TRUE(spec::IsNull(wanted.front().data_file.partition.at(0))) << "nulls first";
  const PartitionOrder order({0});
  for (size_t i = 1; i < wanted.size(); ++i) {
    const spec::DataFile& left = wanted[i - 1].data_file;
    const spec::DataFile& right = wanted[i].data_file;
    EXPECT_FALSE(order(right.partition, left.partition));
    EXPECT_EQ(wanted[i].status, spec::EntryStatus::kExisting);
  }
  int64_t passes_before = 1;
  for (const int64_t limit : {int64_t{64} << 20, int64_t{600} << 10, int64_t{300} << 10}) {
    SCOPED_TRACE(limit);
    EXPECT_EQ(Sorted(limit, num_passes), wanted);
    EXPECT_GE(num_passes, passes_before);
    passes_before = num_passes;
  }
  EXPECT_GT(num_passes, 3);
}

TEST_F(ManifestSortTest, WithoutAnyRoomItFails) {
  MemoryBudget budget(1000);
  ManifestSort sort(test_.table.manifests(), test_.metadata(), manifests_, PartitionOrder({0}), &budget);
  EXPECT_THAT(sort.ForEach([](const spec::ManifestEntry&) { return Status(); }),
              IsError(ErrorCode::kResourceExhausted, "sorting manifests"));
}

TEST_F(ManifestSortTest, AManifestThatLostAFileIsAnError) {
  manifests_[3].added_files_count = *manifests_[3].added_files_count + 1;
  ManifestSort sort(test_.table.manifests(), test_.metadata(), manifests_, PartitionOrder({0}), nullptr);
  EXPECT_THAT(sort.ForEach([](const spec::ManifestEntry&) { return Status(); }),
              IsError(ErrorCode::kInvalidTable, "a manifest holds 60 live files, its list says 61"));
}

}  // namespace
}  // namespace frazil::table
