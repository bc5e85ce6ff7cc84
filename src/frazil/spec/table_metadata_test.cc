#include "frazil/spec/table_metadata.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

TEST(TableMetadata, TimeTravelTakesTheLatestEntryNotAfterTheTime) {
  TableMetadata metadata;
  metadata.snapshot_log = {{100, SnapshotId{1}}, {200, SnapshotId{2}}, {190, SnapshotId{3}}, {300, SnapshotId{4}}};
  EXPECT_THAT(metadata.SnapshotAsOf(100), IsOkAnd(SnapshotId{1}));
  EXPECT_THAT(metadata.SnapshotAsOf(199), IsOkAnd(SnapshotId{3}));
  EXPECT_THAT(metadata.SnapshotAsOf(250), IsOkAnd(SnapshotId{3}));
  EXPECT_THAT(metadata.SnapshotAsOf(1000), IsOkAnd(SnapshotId{4}));
  EXPECT_THAT(metadata.SnapshotAsOf(99), IsError(ErrorCode::kNotFound, "no snapshot at or before"));
}

TEST(TableMetadata, PropertiesHaveTypesAndDefaults) {
  TableMetadata metadata;
  metadata.properties = {{"n", "12"}, {"bad", "12x"}, {"yes", "TRUE"}, {"no", "yes"}};
  EXPECT_EQ(metadata.Property("n", ""), "12");
  EXPECT_EQ(metadata.Property("absent", "fallback"), "fallback");
  EXPECT_THAT(metadata.IntProperty("n", 1), IsOkAnd(12));
  EXPECT_THAT(metadata.IntProperty("absent", 7), IsOkAnd(7));
  EXPECT_THAT(metadata.IntProperty("bad", 7), IsError(ErrorCode::kInvalidTable, "bad must be a whole number"));
  EXPECT_TRUE(metadata.BoolProperty("yes", false));
  EXPECT_FALSE(metadata.BoolProperty("no", true));
  EXPECT_TRUE(metadata.BoolProperty("absent", true));
}

TEST(TableMetadata, LooksUpWhatIsNotThereAsNull) {
  TableMetadata metadata;
  EXPECT_EQ(metadata.schema(), nullptr);
  EXPECT_EQ(metadata.FindSpec(SpecId{4}), nullptr);
  EXPECT_EQ(metadata.FindSnapshot(SnapshotId{4}), nullptr);
  EXPECT_EQ(metadata.current_snapshot(), nullptr);
  EXPECT_EQ(metadata.FindRef("main"), nullptr);
  EXPECT_TRUE(metadata.default_spec().is_unpartitioned());
  EXPECT_FALSE(metadata.default_sort_order().is_sorted());
}

}  // namespace
}  // namespace frazil::spec
