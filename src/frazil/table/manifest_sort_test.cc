#include "frazil/table/manifest_sort.h"

#include <algorithm>
#include <functional>
#include <random>

#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

constexpr int64_t kLittleMemory = int64_t{300} << 10;  ///< a quarter of it has no room for some hundred files
constexpr int kAppends = 10;
constexpr int kFilesEach = 60;

const std::map<std::string, std::string> kUnmerged = {{"commit.manifest-merge.enabled", "false"}};

/// Sorts within `limit` bytes; 0: as much as it takes.
std::vector<spec::ManifestEntry> Sort(TestTable& test, const std::vector<spec::ManifestFile>& manifests,
                                      const PartitionOrder& order, int64_t limit, int64_t& num_passes) {
  MemoryBudget budget(limit);
  std::vector<spec::ManifestEntry> sorted;
  ManifestSort sort(test.table.manifests(), test.metadata(), manifests, order, limit == 0 ? nullptr : &budget);
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

/// The same without any of the code under test: all live entries, sorted at once.
std::vector<spec::ManifestEntry> BruteForce(TestTable& test, const std::vector<spec::ManifestFile>& manifests,
                                            const std::function<std::string(const spec::ManifestEntry&)>& key) {
  std::vector<spec::ManifestEntry> entries;
  for (const spec::ManifestFile& manifest : manifests) {
    for (spec::ManifestEntry& entry : test.Entries(manifest)) {
      if (!entry.is_live()) continue;
      entry.status = spec::EntryStatus::kExisting;
      entries.push_back(std::move(entry));
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const auto& left, const auto& right) { return key(left) < key(right); });
  return entries;
}

/// Nulls first.
std::string TextKey(const spec::ManifestEntry& entry, size_t field) {
  const spec::Value& value = entry.data_file.partition.at(field);
  return spec::IsNull(value) ? std::string() : std::get<std::string>(value);
}

/// Sorted by the first field of the partition, in little memory, it is as brute force has it.
void ExpectSortedInManyPasses(TestTable& test, const std::vector<spec::ManifestFile>& manifests, size_t num_entries) {
  int64_t num_passes = 0;
  const std::vector<spec::ManifestEntry> sorted = Sort(test, manifests, PartitionOrder({0}), kLittleMemory, num_passes);
  EXPECT_GE(num_passes, 3);
  EXPECT_EQ(sorted.size(), num_entries);
  EXPECT_EQ(sorted, BruteForce(test, manifests, [](const auto& entry) { return TextKey(entry, 0); }));
}

/// Files of one append, in 30 partitions, "large" having most of them.
std::vector<spec::DataFile> SomeFiles(int append, std::mt19937& random) {
  std::vector<spec::DataFile> files;
  for (int i = 0; i < kFilesEach; ++i) {
    const unsigned part = random() % 30U;
    spec::Value value;
    if (part > 1) value = spec::Value(part < 14 ? std::string("large") : "p" + std::to_string(part));
    files.push_back(DataFileOf(fmt::format("memory:/t/{}-{}", append, i), 3, {std::move(value)}));
  }
  return files;
}

/// Some manifests of files in partitions.
class ManifestSortTest : public ::testing::Test {
 protected:
  ManifestSortTest() {
    std::mt19937 random(3);
    for (int append = 0; append < kAppends; ++append) {
      EXPECT_THAT(Append(test_, SomeFiles(append, random)), IsOk());
    }
    manifests_ = test_.Manifests(spec::ManifestContent::kData);
  }

  std::vector<spec::ManifestEntry> Sorted(int64_t limit, int64_t& num_passes) {
    return Sort(test_, manifests_, PartitionOrder({0}), limit, num_passes);
  }

  TestTable test_{kUnmerged, true};
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
  for (const int64_t limit : {int64_t{64} << 20, int64_t{600} << 10, kLittleMemory}) {
    SCOPED_TRACE(limit);
    EXPECT_EQ(Sorted(limit, num_passes), wanted);
    EXPECT_GE(num_passes, passes_before);
    passes_before = num_passes;
  }
  EXPECT_GT(num_passes, 3);
}

TEST_F(ManifestSortTest, FilesThatWereRemovedAreNotTold) {
  FileChanges remove;
  for (int append = 0; append < kAppends; ++append) {
    for (int i = append % 3; i < kFilesEach; i += 3) {
      remove.removed_data_files.push_back(fmt::format("memory:/t/{}-{}", append, i));
    }
  }
  ASSERT_EQ(remove.removed_data_files.size(), 200U);
  ASSERT_THAT(Commit(test_, remove), IsOk());
  const auto manifests = test_.Manifests(spec::ManifestContent::kData);
  size_t num_deleted = 0;
  for (const spec::ManifestFile& manifest : manifests) {
    for (const spec::ManifestEntry& entry : test_.Entries(manifest)) num_deleted += entry.is_live() ? 0 : 1;
  }
  ASSERT_EQ(num_deleted, 200U) << "between those that stay";
  ExpectSortedInManyPasses(test_, manifests, 400);
}

TEST_F(ManifestSortTest, DeleteManifestsAreSortedAlike) {
  for (int append = 0; append < kAppends; ++append) {
    FileChanges changes;
    for (const LiveDataFile& live : test_.Live().data_files) {
      if (!live.file.file_path.starts_with(fmt::format("memory:/t/{}-", append))) continue;
      const auto offset = static_cast<int64_t>(4 + 40 * changes.added_delete_files.size());
      changes.added_delete_files.push_back(
          VectorEntry(fmt::format("memory:/t/{}.puffin", append), offset, live.file, 1));
    }
    ASSERT_EQ(changes.added_delete_files.size(), static_cast<size_t>(kFilesEach));
    ASSERT_THAT(Commit(test_, changes), IsOk());
  }
  const auto manifests = test_.Manifests(spec::ManifestContent::kDeletes);
  ASSERT_EQ(manifests.size(), static_cast<size_t>(kAppends));
  ExpectSortedInManyPasses(test_, manifests, 600);
}

// Partitions that differ only in fields that are not sorted by are one, and their files stay in the order of the manifests.
TEST(ManifestSort, ByOneOfTwoFieldsTheOtherDoesNotCount) {
  TestTable test(kUnmerged);
  const spec::PartitionSpec by_two(spec::SpecId{1},
                                   {{spec::FieldId{1}, spec::FieldId{1000}, "id_bucket", spec::Transform::Bucket(8)},
                                    {spec::FieldId{2}, spec::FieldId{1001}, "part", spec::Transform::Identity()}});
  ASSERT_THAT(CommitUpdates(
                  test.table,
                  [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::AddPartitionSpec{by_two},
                                                          spec::update::SetDefaultSpec{spec::SpecId{-1}}};
                  },
                  test.clock),
              IsOk());
  std::mt19937 random(5);
  for (int append = 0; append < kAppends; ++append) {
    std::vector<spec::DataFile> files = SomeFiles(append, random);
    for (spec::DataFile& file : files) {
      file.spec_id = test.metadata().default_spec_id;
      file.partition.insert(file.partition.begin(), spec::Value(static_cast<int32_t>(random() % 8U)));
    }
    ASSERT_THAT(Append(test, files), IsOk());
  }
  const auto manifests = test.Manifests(spec::ManifestContent::kData);
  const auto wanted = BruteForce(test, manifests, [](const auto& entry) { return TextKey(entry, 1); });
  int64_t num_passes = 0;
  EXPECT_EQ(Sort(test, manifests, PartitionOrder({1}), 0, num_passes), wanted);
  EXPECT_EQ(num_passes, 1);
  EXPECT_EQ(Sort(test, manifests, PartitionOrder({1}), kLittleMemory, num_passes), wanted);
  EXPECT_GE(num_passes, 3);
  // The other way round, both count.
  EXPECT_EQ(Sort(test, manifests, PartitionOrder({1, 0}), kLittleMemory, num_passes),
            BruteForce(test, manifests, [](const auto& entry) {
              return fmt::format("{}\t{}", TextKey(entry, 1), std::get<int32_t>(entry.data_file.partition.at(0)));
            }));
}

// Row ids of an upgraded table are assigned by the list of the next snapshot: nobody else may give any.
TEST(ManifestSort, WhatHasNoRowIdsYetIsToldWithout) {
  TestTable test({{"format-version", "2"}, {"commit.manifest-merge.enabled", "false"}}, true);
  std::mt19937 random(3);
  for (int append = 0; append < kAppends; ++append) ASSERT_THAT(Append(test, SomeFiles(append, random)), IsOk());
  ASSERT_THAT(CommitUpdates(
                  test.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
                  },
                  test.clock),
              IsOk());
  const auto manifests = test.Manifests(spec::ManifestContent::kData);
  ExpectSortedInManyPasses(test, manifests, 600);
  int64_t num_passes = 0;
  for (const spec::ManifestEntry& entry : Sort(test, manifests, PartitionOrder({0}), kLittleMemory, num_passes)) {
    EXPECT_FALSE(entry.data_file.first_row_id.has_value());
  }
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
