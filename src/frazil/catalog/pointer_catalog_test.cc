#include "frazil/catalog/pointer_catalog.h"

#include "frazil/catalog/catalog_test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::catalog {
namespace {

using ::testing::SizeIs;

/// How a write ends whose confirmation is lost.
enum class Loss {
  kNone,
  kApplied,            ///< it was applied
  kNotApplied,         ///< it never arrived
  kAppliedThenBuilt,   ///< it was applied, and others have committed since
  kAppliedThenSilent,  ///< it was applied, and the store does not answer afterwards
  kUnavailable,        ///< definitely not applied
};

class LossyPointerStore : public PointerStore {
 public:
  Status Transact(Access access, const std::function<Status(PointerRows& rows)>& body) override {
    if (silent_) return Fail(ErrorCode::kUnavailable, "silent");
    if (access == Access::kRead) return inner_->Transact(access, body);
    const Loss loss = std::exchange(next_, Loss::kNone);
    if (loss == Loss::kUnavailable) return Fail(ErrorCode::kUnavailable, "busy");
    if (loss != Loss::kNotApplied) {
      FRAZIL_TRY(inner_->Transact(access, body));
    }
    if (loss == Loss::kNone) return {};
    if (loss == Loss::kAppliedThenSilent) silent_ = true;
    if (loss == Loss::kAppliedThenBuilt) meanwhile_();
    return Fail(ErrorCode::kCommitUnknown, "reply lost");
  }

  Loss next_ = Loss::kNone;
  std::function<void()> meanwhile_;
  bool silent_ = false;

 private:
  std::unique_ptr<PointerStore> inner_ = MakeMemoryPointerStore();
};

class PointerCatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_THAT(catalog_->CreateTable(t_, SmallTable()), IsOk());
  }
  Result<LoadedTable> Commit(Loss loss, const char* value = "yes") {
    store_->next_ = loss;
    return catalog_->CommitTable(t_, {}, SetProperty("mine", value));
  }
  std::string Mine() {
    store_->silent_ = false;
    const auto table = catalog_->LoadTable(t_);
    EXPECT_THAT(table, IsOk());
    return PropertyOf(*table, "mine");
  }
  size_t NumFiles() const { return files_->List("mem:/w")->size(); }

  const TableName t_{{"db"}, "t"};
  std::shared_ptr<io::MemoryFileIO> files_ = std::make_shared<io::MemoryFileIO>();
  LossyPointerStore* store_ = new LossyPointerStore;
  std::unique_ptr<Catalog> catalog_ = std::make_unique<PointerCatalog>(
      "test", "mem:/w", std::unique_ptr<PointerStore>(store_), files_, Clock::System());
};

TEST_F(PointerCatalogTest, ALostReplyIsSettledByLookingAtThePointer) {
  ASSERT_OK_AND_ASSIGN(const auto committed, Commit(Loss::kApplied));
  EXPECT_EQ(catalog_->LoadTable(t_)->metadata_location, committed.metadata_location);
  EXPECT_EQ(Mine(), "yes");
}

TEST_F(PointerCatalogTest, ALostReplyIsSettledByTheMetadataLogWhenOthersBuiltUponIt) {
  store_->meanwhile_ = [&] { ASSERT_THAT(catalog_->CommitTable(t_, {}, SetProperty("theirs", "yes")), IsOk()); };
  EXPECT_THAT(Commit(Loss::kAppliedThenBuilt), IsOk());
  EXPECT_EQ(Mine(), "yes");
  EXPECT_EQ(PropertyOf(*catalog_->LoadTable(t_), "theirs"), "yes");
}

// Deleting the metadata of a commit that was applied after all destroys the table (iceberg#2808).
TEST_F(PointerCatalogTest, AnUnknownOutcomeDeletesNothing) {
  EXPECT_THAT(Commit(Loss::kAppliedThenSilent), IsError(ErrorCode::kCommitUnknown, "reply lost"));
  EXPECT_EQ(NumFiles(), 2U);
  EXPECT_EQ(Mine(), "yes");

  EXPECT_THAT(Commit(Loss::kNotApplied, "again"), IsError(ErrorCode::kCommitUnknown, "reply lost"));
  EXPECT_EQ(NumFiles(), 3U);  // the request might still be on its way
}

TEST_F(PointerCatalogTest, ADefiniteFailureDeletesItsMetadataFile) {
  EXPECT_THAT(Commit(Loss::kUnavailable), IsError(ErrorCode::kUnavailable, "busy"));
  EXPECT_EQ(NumFiles(), 1U);
  EXPECT_EQ(Mine(), "<none>");
}

TEST_F(PointerCatalogTest, ACreateWithALostReplyIsSettledToo) {
  const TableName u{{"db"}, "u"};
  store_->next_ = Loss::kApplied;
  ASSERT_OK_AND_ASSIGN(const auto created, catalog_->CreateTable(u, SmallTable()));
  EXPECT_EQ(catalog_->LoadTable(u)->metadata_location, created.metadata_location);
  store_->next_ = Loss::kNotApplied;
  EXPECT_THAT(catalog_->CreateTable({{"db"}, "v"}, SmallTable()), IsError(ErrorCode::kCommitUnknown, "reply lost"));
  EXPECT_THAT(files_->List("mem:/w/db/v"), IsOkAnd(SizeIs(1)));
}

TEST_F(PointerCatalogTest, ADropWithALostReplyPurgesNothing) {
  store_->next_ = Loss::kNotApplied;
  EXPECT_THAT(catalog_->DropTable(t_, true), IsError(ErrorCode::kCommitUnknown, "reply lost"));
  EXPECT_THAT(catalog_->LoadTable(t_), IsOk());
}

}  // namespace
}  // namespace frazil::catalog
