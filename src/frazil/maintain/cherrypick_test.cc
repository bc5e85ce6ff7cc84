#include "frazil/maintain/expire_test_support.h"

namespace frazil::maintain {
namespace {

using testing::Contains;
using testing::IsSubsetOf;
using testing::Not;
using testing::SizeIs;

/// Main has `a` and `c`; the file `b` is that of a snapshot beside it, to which no ref leads any more.
spec::SnapshotId StageB(TestTable& test, const spec::DataFile& b) {
  AppendEach(test, {"a"});
  EXPECT_THAT(SetRef(test, "audit", {.snapshot_id = test.head().id}), IsOk());
  EXPECT_THAT(table::Commit(test, table::Adding({b}), {.branch = "audit"}), IsOk());
  const spec::SnapshotId staged = test.metadata().refs.at("audit").snapshot_id;
  EXPECT_THAT(RemoveRef(test, "audit"), IsOk());
  AppendEach(test, {"c"});
  return staged;
}

TEST(Cherrypick, AddsFilesAndLeavesNoRef) {
  TestTable test;
  const spec::DataFile b = WrittenFile(test, "b", 1);
  const spec::SnapshotId staged = StageB(test, b);
  ASSERT_THAT(Call("cherrypick_snapshot", ContextOf(test), {{"table", "t"}, {"snapshot_id", staged.value()}}), IsOk());
  ASSERT_THAT(test.table.Refresh(), IsOk());
  EXPECT_THAT(test.Live().data_files, SizeIs(3));
  EXPECT_THAT(test.metadata().refs, SizeIs(1));
}

// The files that it is about to add are freed, and main is where it was.
TEST(Cherrypick, OfASnapshotThatExpiresMeanwhileIsRefused) {
  TestTable test;
  const spec::DataFile b = WrittenFile(test, "b", 1);
  const spec::SnapshotId staged = StageB(test, b);
  Meanwhile(test, [&](table::Table& other) -> Status {
    ExpireOptions options;
    options.older_than_ms = 0;
    options.snapshot_ids = {staged};
    FRAZIL_TRY(ExpireSnapshots(other, options, ContextOf(test)));
    return {};
  });
  EXPECT_THAT(Call("cherrypick_snapshot", ContextOf(test), {{"table", "t"}, {"snapshot_id", staged.value()}}),
              IsError(ErrorCode::kInvalidArgument, "to unknown snapshot: "));
  ASSERT_THAT(test.table.Refresh(), IsOk());
  EXPECT_EQ(test.metadata().FindSnapshot(staged), nullptr);
  EXPECT_THAT(AllFiles(test), Not(Contains(b.file_path)));
  EXPECT_THAT(test.Live().data_files, SizeIs(2));
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
}

}  // namespace
}  // namespace frazil::maintain
