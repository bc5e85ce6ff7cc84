#include "frazil/catalog/metadata_cache.h"

#include "frazil/catalog/catalog_test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/catalog/metadata_file.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::catalog {
namespace {

class MetadataCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk());
    spec::CreateTableRequest request;
    request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                         {{spec::FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)}});
    ASSERT_OK_AND_ASSIGN(table_, catalog_->CreateTable({{"db"}, "t"}, std::move(request)));
  }

  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<Catalog> catalog_ = MakeMemoryCatalog("demo", "memory:/warehouse", io_);
  LoadedTable table_;
};

TEST_F(MetadataCacheTest, AFileIsParsedOnce) {
  MetadataCache cache;
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Read(*io_, table_.metadata_location));
  ASSERT_OK_AND_ASSIGN(const auto second, cache.Read(*io_, table_.metadata_location));
  EXPECT_EQ(first, second);
}

TEST_F(MetadataCacheTest, WhatWasWrittenIsKnown) {
  MetadataCache cache;
  cache.Keep(*io_, table_);
  EXPECT_THAT(cache.Read(*io_, table_.metadata_location), IsOkAnd(table_.metadata));
}

TEST_F(MetadataCacheTest, AFileWhoseNameMayComeAgainIsReadEachTime) {
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, io_->ReadFile(table_.metadata_location, 1 << 20));
  const std::string uuid = "0197b5a4-5ec2-7c3b-9d4e-0123456789ab";
  const std::pair<std::string, bool> cases[] = {{"v3.metadata.json", false},
                                                {"metadata.json", false},
                                                {"00003-abc.metadata.json", false},
                                                {"v3-" + uuid + ".metadata.json", false},
                                                {"-" + uuid + ".metadata.json", false},
                                                {"00003-" + uuid, false},
                                                {"00003-" + uuid + "0.metadata.json", false},
                                                {uuid + ".metadata.json", false},
                                                {"00003-" + uuid + ".metadata.json", true},
                                                {"100000-" + uuid + ".metadata.json", true}};
  for (const auto& [name, is_kept] : cases) {
    const std::string location = "memory:/warehouse/other/" + name;
    ASSERT_THAT(io_->WriteFile(location, bytes), IsOk());
    MetadataCache cache;
    ASSERT_OK_AND_ASSIGN(const auto first, cache.Read(*io_, location));
    ASSERT_OK_AND_ASSIGN(const auto second, cache.Read(*io_, location));
    EXPECT_EQ(first == second, is_kept) << name;
  }
}

TEST_F(MetadataCacheTest, WhatIsKeptIsChargedAndGivenBackUnderPressure) {
  MemoryBudget budget(1 << 20);
  {
    MetadataCache cache(&budget);
    ASSERT_OK_AND_ASSIGN(const auto first, cache.Read(*io_, table_.metadata_location));
    ASSERT_OK_AND_ASSIGN(const auto file, io_->Open(table_.metadata_location));
    EXPECT_GE(budget.used_bytes(), file->size_bytes());
    ASSERT_OK_AND_ASSIGN(auto all, budget.Reserve(budget.limit_bytes(), "a rewrite"));
    ASSERT_OK_AND_ASSIGN(const auto second, cache.Read(*io_, table_.metadata_location));
    EXPECT_NE(first, second);
    EXPECT_THAT(cache.Read(*io_, table_.metadata_location), IsOkAnd(testing::Ne(second)));  // no room: not kept
    all.Release();
    ASSERT_OK_AND_ASSIGN(const auto third, cache.Read(*io_, table_.metadata_location));
    EXPECT_THAT(cache.Read(*io_, table_.metadata_location), IsOkAnd(third));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_THAT(budget.Reserve(budget.limit_bytes() + 1, "too much"), IsError(ErrorCode::kResourceExhausted, "too much"));
}

TEST_F(MetadataCacheTest, AFileLargerThanItsPartOfTheMemoryIsReadEachTimeAndDropsNothing) {
  ASSERT_OK_AND_ASSIGN(const auto file, io_->Open(table_.metadata_location));
  MemoryBudget budget(64 * file->size_bytes() - 1);
  MetadataCache cache(&budget);
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Read(*io_, table_.metadata_location));
  EXPECT_THAT(cache.Read(*io_, table_.metadata_location), IsOkAnd(testing::Ne(first)));
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST_F(MetadataCacheTest, AFileThatIsGoneOrAnotherIsNotFoundHere) {
  MetadataCache cache;
  ASSERT_THAT(cache.Read(*io_, table_.metadata_location), IsOk());
  ASSERT_THAT(io_->Delete({table_.metadata_location}), IsOk());
  EXPECT_THAT(cache.Read(*io_, table_.metadata_location), IsError(ErrorCode::kNotFound, "metadata.json"));
  ASSERT_THAT(io_->WriteFile(table_.metadata_location, AsBytes(std::string_view("{}"))), IsOk());
  EXPECT_FALSE(cache.Read(*io_, table_.metadata_location).has_value());
}

}  // namespace
}  // namespace frazil::catalog
