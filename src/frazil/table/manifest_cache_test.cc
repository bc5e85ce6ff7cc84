#include "frazil/table/manifest_cache.h"

#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

class ManifestCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* path : {"a", "b", "c"}) ASSERT_THAT(Append(test_, {DataFileOf(path, 5)}), IsOk());
    rows_ = test_.Manifests(spec::ManifestContent::kData);
    ASSERT_EQ(rows_.size(), 3U);
    counting_ = std::make_shared<io::FaultInjectingFileIO>(
        test_.io, [this](std::string_view operation, const std::string&) -> Status {
          num_opened_ += operation == "open" ? 1 : 0;
          return {};
        });
  }
  TestTable test_;
  std::vector<spec::ManifestFile> rows_;
  std::shared_ptr<io::FileIO> counting_;
  int num_opened_ = 0;
};

TEST_F(ManifestCacheTest, AManifestIsReadOnce) {
  ManifestCache cache(counting_);
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Entries(rows_[0], test_.metadata()));
  ASSERT_OK_AND_ASSIGN(const auto second, cache.Entries(rows_[0], test_.metadata()));
  EXPECT_EQ(first, second);
  ASSERT_THAT(cache.List(test_.head()), IsOk());
  ASSERT_THAT(cache.List(test_.head()), IsOk());
  EXPECT_EQ(num_opened_, 2);
}

TEST_F(ManifestCacheTest, WhatIsInheritedFromAnotherRowIsAnotherSlot) {
  ManifestCache cache(counting_);
  auto row = rows_[0];
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Entries(row, test_.metadata()));
  row.first_row_id = spec::RowId{1000};
  ASSERT_OK_AND_ASSIGN(const auto second, cache.Entries(row, test_.metadata()));
  EXPECT_EQ((*first)[0].data_file.first_row_id, rows_[0].first_row_id);
  EXPECT_EQ((*second)[0].data_file.first_row_id, spec::RowId{1000});
}

TEST_F(ManifestCacheTest, TablesThatNameOneManifestShareNoEntries) {
  ManifestCache cache(counting_);
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Entries(rows_[0], test_.metadata()));
  spec::TableMetadata other = test_.metadata();
  other.table_uuid = Uuid::Random();
  ASSERT_OK_AND_ASSIGN(const auto second, cache.Entries(rows_[0], other));
  EXPECT_NE(first, second);
  EXPECT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOkAnd(first));
  EXPECT_EQ(num_opened_, 2);
}

// Registered twice from one metadata file, then changed apart: the UUIDs and the schemas' ids are the same.
TEST_F(ManifestCacheTest, PartitionValuesOfAnotherTypeAreAnotherSlot) {
  TestTable test({}, true);
  ASSERT_THAT(Append(test, {DataFileOf("a", 5, {spec::Value(std::string("x"))})}), IsOk());
  const auto rows = test.Manifests(spec::ManifestContent::kData);
  ASSERT_EQ(rows.size(), 1U);
  ManifestCache cache(test.io);
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Entries(rows[0], test.metadata()));
  spec::TableMetadata other = test.metadata();
  ASSERT_OK_AND_ASSIGN(
      other.schemas[0],
      spec::Schema::Make(other.schemas[0]->id(),
                         {{spec::FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)},
                          {spec::FieldId{2}, "part", false, spec::Type::Primitive(spec::TypeId::kInt)}}));
  const auto second = cache.Entries(rows[0], other);  // decoded anew, or refused as no text
  EXPECT_TRUE(!second || *second != first);
}

TEST_F(ManifestCacheTest, TheLeastRecentlyUsedGoesFirst) {
  ManifestCache large(counting_);
  const auto bytes_of_one = static_cast<int64_t>(sizeof(spec::ManifestEntry)) + 100;
  ManifestCache cache(counting_, 2 * bytes_of_one);
  ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());
  ASSERT_THAT(cache.Entries(rows_[1], test_.metadata()), IsOk());
  ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());
  ASSERT_THAT(cache.Entries(rows_[2], test_.metadata()), IsOk());  // pushes out 1
  EXPECT_EQ(num_opened_, 3);
  ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());
  EXPECT_EQ(num_opened_, 3);
  ASSERT_THAT(cache.Entries(rows_[1], test_.metadata()), IsOk());
  EXPECT_EQ(num_opened_, 4);
}

TEST_F(ManifestCacheTest, WhatIsKeptIsChargedAndGivenBackUnderPressure) {
  MemoryBudget budget(1 << 20);
  ManifestCache cache(counting_, 1 << 20, &budget);
  ASSERT_THAT(cache.List(test_.head()), IsOk());
  for (const auto& row : rows_) ASSERT_THAT(cache.Entries(row, test_.metadata()), IsOk());
  EXPECT_GT(budget.used_bytes(), static_cast<int64_t>(3 * sizeof(spec::ManifestEntry)));
  EXPECT_EQ(num_opened_, 4);
  {
    ASSERT_OK_AND_ASSIGN(const auto all, budget.Reserve(1 << 20, "a rewrite"));
    EXPECT_EQ(budget.used_bytes(), 1 << 20);
    ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());  // read, not kept
    ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());
    EXPECT_EQ(num_opened_, 6);
  }
  ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());
  ASSERT_THAT(cache.Entries(rows_[0], test_.metadata()), IsOk());
  EXPECT_EQ(num_opened_, 7);
}

TEST_F(ManifestCacheTest, EncryptedManifestsAreRefused) {
  ManifestCache cache(counting_);
  auto row = rows_[0];
  row.key_metadata = Bytes{std::byte{1}};
  EXPECT_THAT(cache.Entries(row, test_.metadata()), IsError(ErrorCode::kNotSupported, row.manifest_path));
}

TEST_F(ManifestCacheTest, ASpecThatTheTableLacksIsAnError) {
  ManifestCache cache(counting_);
  auto row = rows_[0];
  row.partition_spec_id = spec::SpecId{7};
  EXPECT_THAT(cache.Entries(row, test_.metadata()), IsError(ErrorCode::kInvalidTable, row.manifest_path));
}

}  // namespace
}  // namespace frazil::table
