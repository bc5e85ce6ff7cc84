#include "frazil/index/key_seed.h"

#include <limits>

#include "frazil/base/test_support.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/row_table_test_support.h"

namespace frazil::index {
namespace {

using ::testing::Eq;
using ::testing::Optional;

Status SetSeedText(table::Table& table, const std::optional<std::string>& text, Clock& clock) {
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        if (text) return std::vector<spec::TableUpdate>{spec::update::SetProperties{{{kKeySeedProperty, *text}}}};
        return std::vector<spec::TableUpdate>{spec::update::RemoveProperties{{kKeySeedProperty}}};
      },
      clock);
}

TEST(KeySeed, AMissingOneIsSetAndStays) {
  MemoryTable world(Partitioning::kNone);
  EXPECT_THAT(FindKeySeed(*world.table.metadata()), IsOkAnd(Eq(std::nullopt)));
  ASSERT_OK_AND_ASSIGN(const uint64_t seed, EnsureKeySeed(world.table, std::nullopt, world.clock));
  EXPECT_THAT(FindKeySeed(*world.table.metadata()), IsOkAnd(Optional(seed)));
  const std::string location = world.table.metadata_location();
  EXPECT_THAT(EnsureKeySeed(world.table, seed + 1, world.clock), IsOkAnd(seed));
  EXPECT_EQ(world.table.metadata_location(), location) << "nothing is committed when it is there";
}

TEST(KeySeed, AnyNumberOf64BitsIsOne) {
  MemoryTable world(Partitioning::kNone);
  for (const uint64_t seed : {uint64_t{0}, std::numeric_limits<uint64_t>::max()}) {
    ASSERT_THAT(SetSeedText(world.table, std::nullopt, world.clock), IsOk());
    EXPECT_THAT(EnsureKeySeed(world.table, seed, world.clock), IsOkAnd(seed));
    EXPECT_THAT(FindKeySeed(*world.table.metadata()), IsOkAnd(Optional(seed)));
  }
}

TEST(KeySeed, TextThatIsNoNumberIsRefusedByName) {
  MemoryTable world(Partitioning::kNone);
  for (const char* text : {"", "-1", "x", "1 ", "18446744073709551616", "0x1"}) {
    ASSERT_THAT(SetSeedText(world.table, text, world.clock), IsOk());
    EXPECT_THAT(FindKeySeed(*world.table.metadata()), IsError(ErrorCode::kInvalidTable, kKeySeedProperty)) << text;
    EXPECT_THAT(EnsureKeySeed(world.table, 1, world.clock), IsError(ErrorCode::kInvalidTable, kKeySeedProperty));
  }
}

TEST(KeySeed, OfTwoThatSetItOneWinsAndBothHaveIt) {
  MemoryTable world(Partitioning::kNone);
  table::Table other = world.table;
  ASSERT_OK_AND_ASSIGN(const uint64_t first, EnsureKeySeed(world.table, 7, world.clock));
  EXPECT_THAT(FindKeySeed(*other.metadata()), IsOkAnd(Eq(std::nullopt)));  // it has not heard of it yet
  EXPECT_THAT(EnsureKeySeed(other, 8, world.clock), IsOkAnd(first));
  EXPECT_THAT(FindKeySeed(*other.metadata()), IsOkAnd(Optional(first)));
}

TEST(KeySeed, TheVersionOfAKeyTellsItsSeed) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1} << 63, uint64_t{12345}}) {
    ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*TestSchema(), seed));
    EXPECT_THAT(SeedOfKeyVersion(key.version()), Optional(seed)) << key.version();
  }
  EXPECT_EQ(SeedOfKeyVersion(""), std::nullopt);
  EXPECT_EQ(SeedOfKeyVersion("2 seed 0000000000000001, 1 long"), std::nullopt);
  EXPECT_EQ(SeedOfKeyVersion("1 seed 000000000000000g"), std::nullopt);
}

TEST(KeySeed, ALostPropertyIsTheOneOfTheIndexWhenThatIsOfTheTable) {
  const TempDir dir;
  const Uuid uuid = Uuid::Random();
  const std::string folder = dir.Join("index");
  EXPECT_EQ(SeedOfIndex(folder, uuid), std::nullopt);
  ASSERT_OK_AND_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*TestSchema(), 99));
  IndexManifest manifest;
  manifest.table_uuid = uuid.ToString();
  manifest.key_version = key.version();
  manifest.shards.resize(1);
  ASSERT_OK_AND_ASSIGN(const auto directory, IndexDirectory::Open(folder, IndexDirectory::Access::kReadWrite));
  ASSERT_THAT(directory->WriteManifest(manifest, {}), IsOk());
  EXPECT_THAT(SeedOfIndex(folder, uuid), Optional(uint64_t{99}));
  EXPECT_EQ(SeedOfIndex(folder, Uuid::Random()), std::nullopt);
}

}  // namespace
}  // namespace frazil::index
