#include "frazil/ingest/start_index.h"

#include "frazil/index/key_seed.h"
#include "frazil/index/row_table_test_support.h"

namespace frazil::ingest {
namespace {

/// The snapshot of the newest manifest in the folder.
std::optional<spec::SnapshotId> Kept(const std::string& folder, const table::Table& table, uint64_t seed) {
  const auto index = index::OpenKeyIndex({.directory = folder,
                                          .mode = index::KeyIndexOptions::Mode::kReadOnly,
                                          .table_uuid = table.metadata()->table_uuid.ToString(),
                                          .schema = table.metadata()->schema(),
                                          .seed = seed});
  EXPECT_THAT(index, IsOk());
  return index ? (*index)->snapshot_id() : std::nullopt;
}

TEST(StartIndex, IsKeptAfterAWhileOfTheIngestsClock) {
  const TempDir dir;
  index::MemoryTable test;
  const StartIndexOptions options{.directory = dir.Join("index")};
  ASSERT_THAT(index::ForeignInsert(test.table, {{1, "a", "x"}, {2, "b", "x"}}, test.clock), IsOk());
  table::Table table = test.Other();
  ASSERT_OK_AND_ASSIGN(const StartedIndex started, OpenStartIndex(table, options, test.clock));
  const uint64_t seed = *index::SeedOfKeyVersion(started.key->version());
  const auto follow = [&] {
    table = test.Other();
    ASSERT_THAT(started.index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
    ASSERT_THAT(started.index->WaitForMerges(), IsOk());
  };
  follow();  // the first one is kept at once
  const std::optional<spec::SnapshotId> first = started.index->snapshot_id();
  EXPECT_EQ(Kept(options.directory, table, seed), first);

  ASSERT_THAT(index::ForeignInsert(test.table, {{3, "c", "x"}}, test.clock), IsOk());
  follow();
  EXPECT_EQ(Kept(options.directory, table, seed), first);
  test.clock.Advance(180'000);
  follow();
  EXPECT_EQ(Kept(options.directory, table, seed), table.metadata()->current_snapshot()->id);
}

}  // namespace
}  // namespace frazil::ingest
