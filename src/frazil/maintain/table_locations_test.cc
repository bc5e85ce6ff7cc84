#include "frazil/maintain/table_locations.h"

#include <gmock/gmock.h>

#include "frazil/base/test_support.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/row_map.h"
#include "frazil/table/writer_lease.h"

namespace frazil::maintain {
namespace {

using ::testing::UnorderedElementsAre;

TEST(TableLocations, AreThoseThatTheTablesFilesLieIn) {
  spec::TableMetadata metadata;
  metadata.location = "s3://b/new";
  metadata.metadata_log = {{.timestamp_ms = 1, .metadata_file = "s3://b/older/metadata/v1.json"},
                           {.timestamp_ms = 2, .metadata_file = "s3://b/elsewhere/v2.json"},
                           {.timestamp_ms = 3, .metadata_file = "/metadata/v3.json"},
                           {.timestamp_ms = 4, .metadata_file = "no path"},
                           {.timestamp_ms = 5, .metadata_file = "s3://b/new/metadata/v4.json"}};
  spec::Snapshot snapshot;
  snapshot.manifest_list = "s3://b/old/metadata/snap-1.avro";
  snapshot.summary[table::kRowMapSummaryKey] = "s3://b/mapped/_frazil/rowmaps/x.puffin";
  metadata.snapshots = {snapshot};
  EXPECT_THAT(LocationsOf(metadata), UnorderedElementsAre("s3://b/new", "s3://b/older", "s3://b/old", "s3://b/mapped"));
}

TEST(TableLocations, TheOldestLeaseOfAllOfThemCounts) {
  io::MemoryFileIO io;
  const auto oldest = [&] { return *LeasedSinceMs(io, {"memory:/old", "memory:/new"}, 0); };
  EXPECT_EQ(oldest(), std::nullopt);
  ASSERT_THAT(io.WriteFile("memory:/new/_frazil/leases/w.json", AsBytes(R"({"started-at-ms": -5})")), IsOk());
  EXPECT_EQ(oldest(), -5);
  ASSERT_THAT(io.WriteFile("memory:/old/_frazil/leases/w.json", AsBytes(R"({"started-at-ms": -7})")), IsOk());
  EXPECT_EQ(oldest(), -7);
}

}  // namespace
}  // namespace frazil::maintain
