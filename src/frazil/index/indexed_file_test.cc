#include "frazil/index/indexed_file.h"

#include "frazil/base/test_support.h"
#include "frazil/table/scan_planner.h"

namespace frazil::index {
namespace {

table::LiveDataFile FileIn(int64_t sequence_number, const std::string& partition) {
  table::LiveDataFile file;
  file.sequence_number = spec::SequenceNumber(sequence_number);
  file.file.file_path = "f.parquet";
  file.file.record_count = 1;
  file.file.spec_id = spec::SpecId(1);
  file.file.partition = {spec::Value(partition)};
  return file;
}

// Its rows may take their keys from the partition, and nothing else tells the two apart in a table of version 1.
TEST(IndexedFile, OneOfVersion1ThatCameBackInAnotherPartitionIsAnother) {
  const IndexedFile file = IndexedFile::Of(FileIn(0, "x"));
  EXPECT_TRUE(file.IsSame(FileIn(0, "x")));
  EXPECT_FALSE(file.IsSame(FileIn(0, "y")));
  table::LiveDataFile of_other_spec = FileIn(0, "x");
  of_other_spec.file.spec_id = spec::SpecId(2);
  EXPECT_FALSE(file.IsSame(of_other_spec));
}

TEST(IndexedFile, OneThatWasWrittenAgainIsAnother) {
  const IndexedFile file = IndexedFile::Of(FileIn(3, "x"));
  EXPECT_TRUE(file.IsSame(FileIn(3, "x")));
  EXPECT_FALSE(file.IsSame(FileIn(4, "x")));
}

}  // namespace
}  // namespace frazil::index
