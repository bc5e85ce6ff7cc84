#include "frazil/maintain/shared_equality_deletes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::maintain {
namespace {

/// A head with equality delete files by path and sequence number.
table::DeleteIndex HeadWith(const std::vector<std::pair<std::string, int64_t>>& files) {
  std::vector<table::LiveDelete> deletes;
  for (const auto& [path, sequence] : files) {
    table::LiveDelete& file = deletes.emplace_back();
    file.file.content = spec::FileContent::kEqualityDeletes;
    file.file.file_path = path;
    file.file.equality_ids = {spec::FieldId(1)};
    file.sequence_number = spec::SequenceNumber(sequence);
  }
  spec::TableMetadata metadata;
  metadata.partition_specs.emplace_back();
  auto index = table::DeleteIndex::Make(std::move(deletes), metadata);
  EXPECT_THAT(index, IsOk());
  return *std::move(index);
}

TEST(SharedEqualityDeletes, AreKeptWhileNoFileOfThemGoes) {
  const auto io = std::make_shared<io::MemoryFileIO>();
  SharedEqualityDeletes shared(nullptr, "");
  const auto first = shared.Of(io, HeadWith({{"a", 1}}));
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(*shared.Of(io, HeadWith({{"a", 1}, {"b", 2}})), *first) << "what was read of a is not read again";
  EXPECT_NE(*shared.Of(io, HeadWith({{"b", 2}})), *first) << "keys of a would go on hiding rows";
  const auto third = *shared.Of(io, HeadWith({{"b", 2}}));
  EXPECT_NE(*shared.Of(io, HeadWith({{"b", 3}})), third) << "the path again, but another file";
}

TEST(SharedEqualityDeletes, TakeTheirRoomFromTheBudgetAndLessWhereItIsTaken) {
  const auto io = std::make_shared<io::MemoryFileIO>();
  MemoryBudget budget(int64_t{64} << 20);
  {
    SharedEqualityDeletes shared(&budget, "");
    EXPECT_EQ(budget.used_bytes(), 0);
    ASSERT_THAT(shared.Of(io, HeadWith({{"a", 1}})), IsOk());
    EXPECT_EQ(budget.used_bytes(), int64_t{16} << 20);
    ASSERT_THAT(shared.Of(io, HeadWith({{"b", 1}})), IsOk());
    EXPECT_EQ(budget.used_bytes(), int64_t{16} << 20) << "the room of the keys before is given back first";
  }
  EXPECT_EQ(budget.used_bytes(), 0);
  const auto others = budget.Reserve(int64_t{60} << 20, "others");
  ASSERT_THAT(others, IsOk());
  SharedEqualityDeletes shared(&budget, "");
  ASSERT_THAT(shared.Of(io, HeadWith({{"a", 1}})), IsOk());
  EXPECT_EQ(budget.used_bytes(), int64_t{62} << 20);
}

}  // namespace
}  // namespace frazil::maintain
