#include "frazil/spec/snapshot.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

TEST(Snapshot, OperationNamesReadBack) {
  for (Operation operation : {Operation::kAppend, Operation::kReplace, Operation::kOverwrite, Operation::kDelete}) {
    EXPECT_THAT(ParseOperation(OperationName(operation)), IsOkAnd(operation));
  }
}

TEST(Snapshot, RefusesAnOperationThatTheSpecDoesNotKnow) {
  EXPECT_THAT(ParseOperation("upsert"), IsError(ErrorCode::kInvalidTable, "unknown snapshot operation: upsert"));
}

}  // namespace
}  // namespace frazil::spec
