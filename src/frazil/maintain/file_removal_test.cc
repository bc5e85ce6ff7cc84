#include "frazil/maintain/file_removal.h"

#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/maintain/maintain_test_support.h"

namespace frazil::maintain {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// A table whose store refuses to delete what a test says.
class FileRemovalTest : public ::testing::Test {
 protected:
  FileRemovalTest() {
    EXPECT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk());
    spec::CreateTableRequest request;
    request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                         {{spec::FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)}});
    EXPECT_THAT(catalog_->CreateTable(kName, std::move(request)), IsOk());
    table_.emplace(*table::Table::Load(catalog_, kName));
    context_.clock = &clock_;
    context_.on_notice = [this](const std::string& line) { notices_.push_back(line); };
  }

  const spec::TableMetadata& metadata() const { return *table_->metadata(); }

  RemovalCandidate Orphan(const std::string& name) {
    RemovalCandidate file{metadata().location + "/data/" + name, FileKind::kUnknown, "a test", kOrphanMs};
    EXPECT_THAT(io_->WriteFile(file.path, AsBytes("x")), IsOk());
    return file;
  }
  std::vector<RemovalCandidate> Orphans(int count) {
    std::vector<RemovalCandidate> files;
    for (int i = 0; i < count; ++i) files.push_back(Orphan(fmt::format("{:04}", i)));
    return files;
  }
  bool IsThere(const RemovalCandidate& file) const { return *io_->Exists(file.path); }
  std::vector<std::string> Lists() const {
    std::vector<std::string> paths;
    const auto lists = RemovalList::Find(*io_, metadata().location, "expire");
    for (const io::FileInfo& list : *lists) paths.push_back(list.path);
    return paths;
  }
  std::string List(const std::vector<RemovalCandidate>& files, const std::string& what = "expire") {
    const auto list = RemovalList::Write(*io_, metadata(), what, files);
    EXPECT_THAT(list, IsOk());
    return *list;
  }
  Status Remove(const std::vector<RemovalCandidate>& files, RemovalPace pace = {}) {
    return FileRemoval(*table_, RemovalOperation::kExpire, FileSet(), kStoreNowMs, context_, pace)
        .Remove(List(files), files, result_);
  }
  Status Resume() {
    return FileRemoval(*table_, RemovalOperation::kExpire, FileSet(), kStoreNowMs, context_, {}).Resume(result_);
  }

  inline static const catalog::TableName kName{{"db"}, "t"};
  static constexpr int64_t kOrphanMs = 100;  ///< files in memory count milliseconds
  static constexpr int64_t kStoreNowMs = 1'000'000;
  static constexpr int64_t kTwoHoursMs = int64_t{2} * 3'600 * 1'000;  ///< nobody works on any list any more

  ManualClock clock_{1'700'000'000'000};
  std::function<Status(const std::string& path)> refuse_ = [](const std::string&) { return Status(); };
  std::shared_ptr<io::FileIO> io_ = std::make_shared<io::FaultInjectingFileIO>(
      std::make_shared<io::MemoryFileIO>(), [this](std::string_view operation, const std::string& path) {
        return operation == "delete.before" ? refuse_(path) : Status();
      });
  std::shared_ptr<catalog::Catalog> catalog_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_, clock_);
  std::optional<table::Table> table_;
  table::ProcedureContext context_;
  std::vector<std::string> notices_;
  RemovalResult result_;
};

TEST_F(FileRemovalTest, WhatAStoreRefusesIsPassedOverAndLeftToTheNextRun) {
  const std::vector<RemovalCandidate> files = Orphans(5);
  refuse_ = [&](const std::string& path) -> Status {
    return path == files[2].path ? Fail(ErrorCode::kIo, "permission denied: {}", path) : Status();
  };
  ASSERT_THAT(Remove(files), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(files[0], files[1], files[3], files[4]));
  EXPECT_THAT(result_.failed, ElementsAre(files[2]));
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("4 files were deleted, 1 are left to the next run: permission denied")));
  ASSERT_THAT(Lists(), SizeIs(1));
  EXPECT_THAT(RemovalList::Read(*io_, metadata(), Lists()[0]), IsOkAnd(ElementsAre(files[2])));
  // It is asked again, whatever else is there.
  result_ = {};
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_THAT(result_.failed, ElementsAre(files[2]));
  refuse_ = [](const std::string&) { return Status(); };
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(files[2]));
  EXPECT_THAT(Lists(), IsEmpty());
}

TEST_F(FileRemovalTest, AnOutageEndsTheRunAndLosesNothingOfItsList) {
  const std::vector<RemovalCandidate> files = Orphans(5);
  refuse_ = [&](const std::string& path) -> Status {
    return path >= files[2].path ? Fail(ErrorCode::kUnavailable, "no answer") : Status();
  };
  EXPECT_THAT(Remove(files), IsError(ErrorCode::kUnavailable, "no answer"));
  EXPECT_THAT(result_.deleted, ElementsAre(files[0], files[1]));
  refuse_ = [](const std::string&) { return Status(); };
  result_ = {};
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(files[2], files[3], files[4]));
}

TEST_F(FileRemovalTest, AStoreThatRefusesEverythingIsNotAskedForEver) {
  const std::vector<RemovalCandidate> files = Orphans(300);
  int num_asked = 0;
  refuse_ = [&](const std::string& path) -> Status {
    if (path.ends_with(".jsonl")) return {};
    ++num_asked;
    return Fail(ErrorCode::kIo, "permission denied: {}", path);
  };
  EXPECT_THAT(Remove(files), IsError(ErrorCode::kIo, "permission denied"));
  EXPECT_LE(num_asked, 400) << "the batch, then 100 one by one";
  EXPECT_THAT(result_.deleted, IsEmpty());
  ASSERT_THAT(Lists(), SizeIs(1));
  EXPECT_THAT(RemovalList::Read(*io_, metadata(), Lists()[0]), IsOkAnd(SizeIs(300)));
}

TEST_F(FileRemovalTest, AListThatCannotBeReadHoldsUpNoOther) {
  const std::string torn = RemovalList::Folder(metadata().location) + "/left-expire-a.jsonl";
  ASSERT_THAT(io_->WriteFile(torn, AsBytes(R"({"path": )")), IsOk());
  const RemovalCandidate file = Orphan("x");
  List({file}, RemovalList::Left("expire"));
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(file));
  EXPECT_THAT(notices_, Contains(HasSubstr("has a line that is none: " + torn)));
  EXPECT_THAT(Lists(), ElementsAre(torn));
}

// A restored or cloned folder brings the lists of the original along.
TEST_F(FileRemovalTest, AListOfAnotherTableOrAnotherPlaceDeletesNothing) {
  const RemovalCandidate file = Orphan("x");
  spec::TableMetadata other = metadata();
  other.table_uuid = Uuid::Random();
  const auto of_other_table = RemovalList::Write(*io_, other, RemovalList::Left("expire"), {file});
  ASSERT_THAT(of_other_table, IsOk());
  spec::TableMetadata original = metadata();
  original.location = "memory:/warehouse/original";
  const auto list = RemovalList::Write(*io_, original, RemovalList::Left("expire"), {file});
  ASSERT_THAT(list, IsOk());
  const std::string copy = RemovalList::Folder(metadata().location) + "/left-expire-b.jsonl";
  ASSERT_THAT(io_->WriteFile(copy, *io_->ReadFile(*list)), IsOk());
  const std::string headless = RemovalList::Folder(metadata().location) + "/left-expire-c.jsonl";
  ASSERT_THAT(io_->WriteFile(headless, AsBytes(R"({"path": ")" + file.path + "\"}\n")), IsOk());

  ASSERT_THAT(Resume(), IsOk());
  EXPECT_TRUE(IsThere(file));
  EXPECT_THAT(result_.deleted, IsEmpty());
  for (const std::string& path : {*of_other_table, copy, headless}) {
    EXPECT_THAT(notices_, Contains(testing::AllOf(HasSubstr("is of another table"), HasSubstr(path))));
  }
}

TEST_F(FileRemovalTest, AnOrphanThatIsListedOutsideTheTableStays) {
  const RemovalCandidate outside{"memory:/elsewhere/x", FileKind::kUnknown, "a test", kOrphanMs};
  ASSERT_THAT(io_->WriteFile(outside.path, AsBytes("x")), IsOk());
  RemovalCandidate freed{"memory:/elsewhere/taken-over.parquet", FileKind::kDataFile, "a test"};
  ASSERT_THAT(io_->WriteFile(freed.path, AsBytes("x")), IsOk());
  List({outside, freed}, RemovalList::Left("expire"));
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_TRUE(IsThere(outside));
  EXPECT_THAT(result_.deleted, ElementsAre(freed));
}

TEST_F(FileRemovalTest, WhatIsCommittedWhileItGoesSlowlyIsSpared) {
  const std::vector<RemovalCandidate> files = Orphans(200);
  table::Table other = *table::Table::Load(catalog_, kName);
  context_.on_progress = [&](const table::ProcedureProgress& progress) {
    if (progress.groups_done != 5) return;
    EXPECT_THAT(table::Commit(other, table::Adding({table::DataFileOf(files[150].path, 1)}), clock_), IsOk());
  };
  ASSERT_THAT(Remove(files, {.max_per_second = 1}), IsOk());
  EXPECT_THAT(result_.spared, ElementsAre(files[150]));
  EXPECT_TRUE(IsThere(files[150]));
  EXPECT_EQ(result_.deleted.size(), 199U);
}

// A writer that slept says so late that files of its own may lie among the orphans.
TEST_F(FileRemovalTest, ALeaseThatComesBackWhileItGoesSlowlySparesWhatIsYounger) {
  std::vector<RemovalCandidate> files = Orphans(200);
  files[150].modified_ms = kOrphanMs - 1;
  context_.on_progress = [&](const table::ProcedureProgress& progress) {
    if (progress.groups_done != 5) return;
    EXPECT_THAT(io_->WriteFile(metadata().location + "/_frazil/leases/w-1.json",
                               AsBytes(fmt::format(R"({{"started-at-ms": {}}})", kOrphanMs))),
                IsOk());
  };
  // Its file is the youngest there is.
  FileRemoval removal(*table_, RemovalOperation::kExpire, FileSet(), 1, context_, {.max_per_second = 1});
  ASSERT_THAT(removal.Remove(List(files), files, result_), IsOk());
  EXPECT_FALSE(IsThere(files[150]));
  EXPECT_TRUE(IsThere(files[149]));
  EXPECT_TRUE(IsThere(files[199]));
  EXPECT_GE(result_.spared.size(), 130U);
}

TEST_F(FileRemovalTest, AListThatIsBeingWorkedOnNeverLooksAbandoned) {
  const std::vector<RemovalCandidate> files = Orphans(1300);
  std::set<std::string> names;
  context_.on_progress = [&](const table::ProcedureProgress&) {
    ASSERT_THAT(Lists(), SizeIs(1));
    names.insert(Lists()[0]);
    EXPECT_FALSE(RemovalList::IsLeft(Lists()[0]));
  };
  ASSERT_THAT(Remove(files, {.max_per_second = 1}), IsOk());
  EXPECT_THAT(names, SizeIs(2)) << "it is written anew every 20 min";
  EXPECT_THAT(Lists(), IsEmpty());
  EXPECT_EQ(result_.deleted.size(), 1300U);
}

// Whoever takes a line out of what was shown keeps the file.
TEST_F(FileRemovalTest, WhatWasNotShownIsNotTakenUp) {
  const std::vector<RemovalCandidate> files = Orphans(3);
  List(files, RemovalList::Left("expire"));
  FileRemoval removal(*table_, RemovalOperation::kExpire, FileSet(), kStoreNowMs, context_, {});
  EXPECT_THAT(removal.Unfinished(),
              IsOkAnd(Field(&UnfinishedRemoval::files, ElementsAre(files[0], files[1], files[2]))));
  ASSERT_THAT(removal.Resume(result_, std::set<std::string>{files[0].path, files[2].path}), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(files[0], files[2]));
  EXPECT_TRUE(IsThere(files[1]));
  EXPECT_THAT(notices_,
              Contains("1 files that an earlier run had listed stay, they are not in the list that was shown"));
  EXPECT_THAT(removal.Unfinished(), IsOkAnd(Field(&UnfinishedRemoval::files, ElementsAre(files[1]))))
      << "it waits for another time";
  ASSERT_THAT(removal.Resume(result_, std::set<std::string>()), IsOk());
  EXPECT_TRUE(IsThere(files[1]));
}

TEST_F(FileRemovalTest, WhatIsInUseStaysInNoListThoughItWasNotShown) {
  const std::vector<RemovalCandidate> files = Orphans(2);
  for (const bool is_shown : {true, false}) {
    FileSet live;
    ASSERT_THAT(live.Add(files[1].path), IsOk());
    List(is_shown ? files : std::vector<RemovalCandidate>{files[1]});
    FileRemoval removal(*table_, RemovalOperation::kExpire, std::move(live), kTwoHoursMs, context_, {});
    result_ = {};
    ASSERT_THAT(removal.Resume(result_, std::set<std::string>{files[0].path}), IsOk());
    EXPECT_EQ(result_.deleted.size(), is_shown ? 1U : 0U);
    EXPECT_TRUE(IsThere(files[1]));
    EXPECT_THAT(Lists(), IsEmpty());
    EXPECT_THAT(notices_, Not(Contains(HasSubstr("stay"))));
  }
}

// A run that was killed before its commit has listed what the next one frees.
TEST_F(FileRemovalTest, WhatSeveralListsNameIsDeletedAndCountedOnce) {
  const std::vector<RemovalCandidate> files = Orphans(4);
  List({files[0], files[1], files[2]});
  List({files[2], files[3]}, RemovalList::Left("expire"));
  FileRemoval removal(*table_, RemovalOperation::kExpire, FileSet(), kTwoHoursMs, context_, {});
  const std::vector<RemovalCandidate> own = {files[0], files[1]};
  ASSERT_THAT(removal.Remove(List(own), own, result_), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(files[0], files[1]));
  ASSERT_THAT(removal.Resume(result_), IsOk());
  EXPECT_THAT(result_.deleted, testing::UnorderedElementsAreArray(files));
  for (const RemovalCandidate& file : files) EXPECT_FALSE(IsThere(file));
  EXPECT_THAT(Lists(), IsEmpty());
}

// An expiry leaves as many lists as it was stopped before: together they may be more than there is memory for.
TEST_F(FileRemovalTest, OfUnfinishedListsAsManyAreShownAsThereIsRoomFor) {
  constexpr int kFilesEach = 100;
  const std::vector<RemovalCandidate> files = Orphans(kFilesEach);
  for (int i = 0; i < 8; ++i) List(files, RemovalList::Left("expire"));
  const auto lists = RemovalList::Find(*io_, metadata().location, "expire");
  ASSERT_THAT(lists, IsOkAnd(SizeIs(8)));
  // Three times its bytes each: five have room.
  MemoryBudget budget(5 * 3 * lists->front().size_bytes + 100);
  context_.budget = &budget;
  {
    FileRemoval removal(*table_, RemovalOperation::kExpire, FileSet(), kStoreNowMs, context_, {});
    const auto shown = removal.Unfinished();
    ASSERT_THAT(shown, IsOk());
    EXPECT_EQ(shown->files.size(), size_t{5} * kFilesEach);
    EXPECT_EQ(shown->num_lists_left_out, 3);
    EXPECT_EQ(budget.used_bytes(), 5 * 3 * lists->front().size_bytes) << "as long as they are shown";
    EXPECT_THAT(notices_, ElementsAre(HasSubstr("3 more lists of earlier runs are not shown for want of memory")));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST_F(FileRemovalTest, AListOfAnotherOperationIsNotTakenUp) {
  const RemovalCandidate file = Orphan("x");
  const std::string list = List({file}, RemovalList::Left("orphans"));
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_TRUE(IsThere(file));
  EXPECT_THAT(io_->Exists(list), IsOkAnd(true));
}

TEST_F(FileRemovalTest, OrphansLeaveNoListSinceTheyAreFoundAgain) {
  const std::vector<RemovalCandidate> files = Orphans(3);
  refuse_ = [&](const std::string& path) -> Status {
    return path == files[1].path ? Fail(ErrorCode::kIo, "permission denied: {}", path) : Status();
  };
  FileRemoval removal(*table_, RemovalOperation::kOrphans, FileSet(), kStoreNowMs, context_, {});
  const std::string earlier = List({files[1]}, RemovalList::Left("orphans"));
  ASSERT_THAT(removal.Remove(List(files, "orphans"), files, result_), IsOk());
  EXPECT_THAT(result_.deleted, ElementsAre(files[0], files[2]));
  EXPECT_THAT(RemovalList::Find(*io_, metadata().location, "orphans"), IsOkAnd(SizeIs(1)));
  removal.ForgetUnfinished();
  EXPECT_THAT(RemovalList::Find(*io_, metadata().location, "orphans"), IsOkAnd(IsEmpty()));
  EXPECT_TRUE(IsThere(files[1]));
}

}  // namespace
}  // namespace frazil::maintain
