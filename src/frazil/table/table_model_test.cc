// Random commits, lost races and lost replies against a model: which rows live, which ids they have, how vectors lie.

#include <random>

#include "frazil/format/puffin.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

struct ModelFile {
  int64_t num_rows = 0;
  std::optional<int64_t> first_row_id;  ///< as first seen
  std::set<int64_t> deleted;
};

class Model {
 public:
  explicit Model(unsigned seed) : random_(seed) {
    test_.decide = [this](std::string_view operation) { return Decide(operation); };
  }

  void Step() {
    switch (Pick(5)) {
      case 0:
      case 1: AppendSome(test_.table); break;
      case 2: RemoveOne(); break;
      default: DeleteSome(); break;
    }
  }

  void Check() {
    ASSERT_THAT(test_.table.Refresh(), IsOk());
    const auto plan = PlanScan(test_.table, test_.metadata().current_snapshot(), nullptr);
    ASSERT_THAT(plan, IsOk());
    ASSERT_EQ(plan->tasks.size(), files_.size());
    int64_t num_rows = 0;
    std::set<int64_t> ids;
    for (const FileScanTask& task : plan->tasks) {
      const spec::DataFile& file = task.data_file.file;
      ASSERT_TRUE(files_.contains(file.file_path)) << file.file_path;
      ModelFile& expected = files_[file.file_path];
      num_rows += file.record_count;
      ASSERT_TRUE(file.first_row_id.has_value());
      const int64_t id = file.first_row_id->value();
      if (!expected.first_row_id) expected.first_row_id = id;
      EXPECT_EQ(id, *expected.first_row_id) << "the row ids of a file never change";
      for (int64_t i = 0; i < file.record_count; ++i) EXPECT_TRUE(ids.insert(id + i).second) << "row ids are unique";
      EXPECT_LE(id + file.record_count, test_.metadata().next_row_id.value());
      const auto positions = ReadPositions(*test_.io, task.data_file, task.deletes, nullptr);
      ASSERT_THAT(positions, IsOk());
      const std::vector<int64_t> deleted(expected.deleted.begin(), expected.deleted.end());
      EXPECT_EQ(positions->ToPositions(), deleted) << file.file_path;
    }
    if (const spec::Snapshot* head = test_.metadata().current_snapshot()) {
      EXPECT_EQ(head->summary.at("total-records"), std::to_string(num_rows));
      EXPECT_EQ(head->summary.at("total-data-files"), std::to_string(files_.size()));
      EXPECT_EQ(head->summary.at("total-delete-files"), std::to_string(plan->deletes->deletes().size()));
    }
    CheckPuffinsAreWhole(plan->deletes->deletes());
  }

  /// Every manifest and list of every snapshot is there, and none of those that lost.
  void CheckAvroFiles() { EXPECT_EQ(test_.AvroFiles(), test_.ReachableAvroFiles()); }

 private:
  size_t Pick(size_t bound) { return random_() % bound; }

  const std::string* AnyFile() {
    if (files_.empty()) return nullptr;
    auto file = files_.begin();
    std::advance(file, Pick(files_.size()));
    return &file->first;
  }

  /// One in four commits meets a foreign append, one in eight loses its request or its reply.
  Status Decide(std::string_view operation) {
    if (is_foreign_) return {};
    if (operation == "commit.before" && Pick(4) == 0) {
      is_foreign_ = true;
      Table other = test_.Other();
      AppendSome(other);
      is_foreign_ = false;
    }
    if ((operation == "commit.before" || operation == "commit.after") && Pick(8) == 0) {
      return Fail(ErrorCode::kCommitUnknown, "no reply");
    }
    return {};
  }

  void AppendSome(Table& table) {
    std::vector<spec::DataFile> added;
    for (size_t i = 0, count = 1 + Pick(3); i < count; ++i) {
      added.push_back(DataFileOf("f" + std::to_string(next_file_++), 1 + static_cast<int64_t>(Pick(6)),
                                 {std::string(1, static_cast<char>('x' + Pick(3)))}));
    }
    ASSERT_THAT(Commit(table, Adding(added), test_.clock), IsOk());
    for (const spec::DataFile& file : added) files_[file.file_path].num_rows = file.record_count;
  }

  void RemoveOne() {
    const std::string* path = AnyFile();
    if (path == nullptr) return;
    FileChanges changes;
    changes.removed_data_files = {*path};
    ASSERT_THAT(Commit(test_, changes), IsOk());
    files_.erase(*path);
  }

  void DeleteSome() {
    std::map<std::string, std::vector<int64_t>> deletes;
    for (size_t i = 0, count = 1 + Pick(4); i < count; ++i) {
      const std::string* path = AnyFile();
      if (path == nullptr) return;
      std::set<int64_t> positions;
      for (size_t k = 0; k < 1 + Pick(3); ++k) positions.insert(static_cast<int64_t>(Pick(files_[*path].num_rows)));
      deletes[*path].assign(positions.begin(), positions.end());
    }
    ASSERT_THAT(Delete(test_, deletes), IsOk());
    for (const auto& [path, positions] : deletes) {
      ModelFile& file = files_[path];
      file.deleted.insert(positions.begin(), positions.end());
      if (static_cast<int64_t>(file.deleted.size()) == file.num_rows) files_.erase(path);
    }
  }

  void CheckPuffinsAreWhole(const std::vector<LiveDelete>& deletes) {
    std::map<std::string, size_t> live;
    for (const LiveDelete& file : deletes) ++live[file.file.file_path];
    for (const auto& [path, count] : live) {
      const auto file = test_.io->Open(path);
      ASSERT_THAT(file, IsOk());
      const auto footer = format::ReadPuffinFooter(**file);
      ASSERT_THAT(footer, IsOk());
      // A bare removal of a data file may split a Puffin, our merges never do.
      EXPECT_LE(count, footer->blobs.size());
      EXPECT_LE(footer->blobs.size(), 3U);
    }
  }

  std::mt19937 random_;
  TestTable test_{{{"commit.manifest.min-count-to-merge", "3"},
                   {"frazil.write.dv.max-blobs-per-puffin", "3"},
                   {"commit.retry.num-retries", "50"}},
                  true};
  std::map<std::string, ModelFile> files_;
  int next_file_ = 0;
  bool is_foreign_ = false;
};

TEST(TableModel, RowsIdsAndVectorsAgreeAfterRandomCommits) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Model model(seed);
  for (int step = 0; step < 60; ++step) {
    model.Step();
    model.Check();
    if (step % 20 == 19) model.CheckAvroFiles();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace frazil::table
