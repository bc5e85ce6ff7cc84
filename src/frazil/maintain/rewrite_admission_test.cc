#include "frazil/maintain/rewrite_admission.h"

#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "frazil/base/test_support.h"

namespace frazil::maintain {
namespace {

TEST(RewriteAdmission, GivesWhatIsWishedOrWhatIsLeft) {
  MemoryBudget budget(100);
  RewriteAdmission admission(&budget);
  auto first = admission.Enter(70, 20);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->bytes(), 70);
  auto second = admission.Enter(70, 20);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->bytes(), 30);
}

TEST(RewriteAdmission, GroupsThatRunAtATimeShareAlike) {
  MemoryBudget budget(120);
  auto foreign = budget.Reserve(20, "another part of the process");
  ASSERT_THAT(foreign, IsOk());
  RewriteAdmission admission(&budget, 2);
  auto first = admission.Enter(90, 20);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->bytes(), 50);
  auto second = admission.Enter(90, 20);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->bytes(), 50);
}

TEST(RewriteAdmission, AGroupWaitsForAnotherToEnd) {
  MemoryBudget budget(100);
  RewriteAdmission admission(&budget);
  auto first = std::make_optional(*admission.Enter(90, 20));
  auto second = std::async(std::launch::async, [&] { return admission.Enter(50, 20)->bytes(); });
  first.reset();
  EXPECT_EQ(second.get(), 50);
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(RewriteAdmission, RefusesWhereNobodyWillGiveAnythingBack) {
  MemoryBudget budget(100);
  auto foreign = budget.Reserve(95, "another part of the process");
  ASSERT_THAT(foreign, IsOk());
  RewriteAdmission admission(&budget);
  EXPECT_THAT(admission.Enter(50, 20), IsError(ErrorCode::kResourceExhausted, ""));
}

}  // namespace
}  // namespace frazil::maintain
