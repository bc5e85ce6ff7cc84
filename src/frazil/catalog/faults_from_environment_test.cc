#include "frazil/catalog/faults_from_environment.h"

#include <cstdlib>

#include "frazil/catalog/catalog_test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::catalog {
namespace {

class FaultsFromEnvironment : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(inner_->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_THAT(inner_->CreateTable(t_, SmallTable()), IsOk());
  }
  ~FaultsFromEnvironment() override {
    for (const char* name : {"FRAZIL_LOSE_COMMIT_REQUEST", "FRAZIL_LOSE_COMMIT_REPLY", "FRAZIL_STALE_CATALOG"}) {
      unsetenv(name);
    }
  }

  /// The property that the table has.
  std::string Value(const Catalog& catalog) const {
    const auto loaded = catalog.LoadTable(t_);
    EXPECT_THAT(loaded, IsOk());
    return loaded ? PropertyOf(*loaded, "a") : "";
  }

  std::shared_ptr<Catalog> inner_ = MakeMemoryCatalog("test", "mem:/warehouse", std::make_shared<io::MemoryFileIO>());
  const TableName t_{{"db"}, "t"};
};

TEST_F(FaultsFromEnvironment, AreNoneWithoutVariables) { EXPECT_EQ(WithFaultsFromEnvironment(inner_), inner_); }

TEST_F(FaultsFromEnvironment, StrikeOnceAtTheGivenNumber) {
  setenv("FRAZIL_LOSE_COMMIT_REQUEST", "1", 1);
  setenv("FRAZIL_LOSE_COMMIT_REPLY", "2", 1);  // counts what arrives
  setenv("FRAZIL_STALE_CATALOG", "3", 1);
  const auto faulty = WithFaultsFromEnvironment(inner_);
  const auto commit = [&](const std::string& value) { return faulty->CommitTable(t_, {}, SetProperty("a", value)); };
  EXPECT_THAT(commit("1"), IsError(ErrorCode::kUnavailable, "request to commit to db.t was lost"));
  EXPECT_EQ(Value(*inner_), "<none>");
  EXPECT_THAT(commit("2"), IsOk());
  EXPECT_THAT(commit("3"), IsError(ErrorCode::kCommitUnknown, "reply to a commit to db.t was lost"));
  EXPECT_EQ(Value(*inner_), "3");
  EXPECT_THAT(commit("4"), IsOk());
  std::vector<std::string> loads;
  for (int i = 0; i < 4; ++i) loads.push_back(Value(*faulty));
  EXPECT_THAT(loads, ::testing::ElementsAre("4", "4", "3", "4"));
}

}  // namespace
}  // namespace frazil::catalog
