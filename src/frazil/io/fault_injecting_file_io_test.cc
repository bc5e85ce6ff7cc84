#include "frazil/io/fault_injecting_file_io.h"

#include "frazil/base/test_support.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::io {
namespace {

using ::testing::ElementsAre;

class FaultInjectingFileIOTest : public ::testing::Test {
 protected:
  Status Decide(std::string_view operation, const std::string& path) {
    asked_.push_back(std::string(operation) + " " + path);
    if (operation == failing_) return Fail(ErrorCode::kUnavailable, "injected: {}", path);
    return {};
  }

  std::string failing_;
  std::vector<std::string> asked_;
  std::shared_ptr<MemoryFileIO> inner_ = std::make_shared<MemoryFileIO>();
  FaultInjectingFileIO io_{
      inner_, [this](std::string_view operation, const std::string& path) { return Decide(operation, path); }};
};

TEST_F(FaultInjectingFileIOTest, AsksAtEveryStep) {
  ASSERT_THAT(io_.WriteFile("/x", AsBytes("1")), IsOk());
  ASSERT_THAT(io_.ReadFile("/x"), IsOk());
  ASSERT_THAT(io_.Exists("/x"), IsOk());
  ASSERT_THAT(io_.List("/"), IsOk());
  ASSERT_THAT(io_.Delete({"/x"}), IsOk());
  EXPECT_THAT(asked_, ElementsAre("create /x", "append /x", "close.before /x", "close.after /x", "open /x", "read /x",
                                  "exists /x", "list /", "delete.before /x", "delete.after /x"));
}

TEST_F(FaultInjectingFileIOTest, BeforeCloseNothingHappened) {
  failing_ = "close.before";
  EXPECT_THAT(io_.WriteFile("/x", AsBytes("1")), IsError(ErrorCode::kUnavailable, "injected"));
  EXPECT_THAT(inner_->Exists("/x"), IsOkAnd(false));
}

TEST_F(FaultInjectingFileIOTest, AfterCloseTheFileIsThereAndTheAnswerIsLost) {
  failing_ = "close.after";
  EXPECT_THAT(io_.WriteFile("/x", AsBytes("1")), IsError(ErrorCode::kUnavailable, "injected"));
  EXPECT_THAT(inner_->Exists("/x"), IsOkAnd(true));
}

TEST_F(FaultInjectingFileIOTest, OneFailedDeleteDoesNotSaveTheOthers) {
  for (const char* path : {"/a", "/b"}) ASSERT_THAT(io_.WriteFile(path, AsBytes("1")), IsOk());
  failing_ = "delete.after";
  EXPECT_THAT(io_.Delete({"/a", "/b"}), IsError(ErrorCode::kUnavailable, "injected: /a"));
  EXPECT_THAT(inner_->Exists("/a"), IsOkAnd(false));
  EXPECT_THAT(inner_->Exists("/b"), IsOkAnd(false));
  failing_ = "delete.before";
  ASSERT_THAT(inner_->WriteFile("/a", AsBytes("1")), IsOk());
  EXPECT_THAT(io_.Delete({"/a"}), IsError(ErrorCode::kUnavailable, "injected: /a"));
  EXPECT_THAT(inner_->Exists("/a"), IsOkAnd(true));
}

}  // namespace
}  // namespace frazil::io
