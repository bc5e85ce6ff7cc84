#include "frazil/table/metadata_commit.h"

#include "frazil/table/snapshot_change.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

/// What a commit says whose two attempts the catalog answers like this.
Status CommitAnswered(ErrorCode first, ErrorCode second) {
  TestTable test({{"commit.retry.num-retries", "1"}});
  int num_attempts = 0;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before") return {};
    return Fail(++num_attempts == 1 ? first : second, "attempt {}", num_attempts);
  };
  const Status done = CommitUpdates(
      test.table,
      [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::SetProperties{{{"p", "1"}}}};
      },
      test.clock);
  EXPECT_EQ(num_attempts, 2);
  return done;
}

// Whoever gets a definite answer deletes what its change names, and the first request may be on its way still.
TEST(MetadataCommit, AfterAnAttemptWithoutAnAnswerNoLaterOneIsDefinite) {
  for (const ErrorCode second : {ErrorCode::kCommitConflict, ErrorCode::kInvalidArgument}) {
    EXPECT_THAT(CommitAnswered(ErrorCode::kUnavailable, second), IsError(ErrorCode::kCommitUnknown, "attempt 2"));
    EXPECT_THAT(CommitAnswered(ErrorCode::kCommitUnknown, second), IsError(ErrorCode::kCommitUnknown, "attempt 2"));
    EXPECT_THAT(CommitAnswered(ErrorCode::kCommitConflict, second), IsError(second, "attempt 2"));
  }
}

}  // namespace
}  // namespace frazil::table
