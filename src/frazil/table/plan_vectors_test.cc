#include "frazil/table/plan_vectors.h"

#include "frazil/io/counting_file_io.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::ElementsAre;

class PlanVectorsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<spec::DataFile> files;
    std::map<std::string, std::vector<int64_t>> deletes;
    for (int64_t i = 0; i < 5; ++i) {
      files.push_back(DataFileOf("f" + std::to_string(i), 10));
      deletes[files.back().file_path] = {i, i + 3};
    }
    ASSERT_THAT(Append(test_, files), IsOk());
    ASSERT_THAT(Delete(test_, deletes), IsOk());
    const Table now = test_.Other();
    ASSERT_OK_AND_ASSIGN(plan_, PlanScan(now, now.metadata()->current_snapshot(), nullptr));
    ASSERT_EQ(plan_.tasks.size(), 5u);
  }

  int64_t Opens() const {
    const RequestCounters::Snapshot counts = counters_->Read();
    const auto opens = counts.find("open");
    return opens == counts.end() ? 0 : opens->second.ok;
  }

  TestTable test_;
  ScanPlan plan_;
  std::shared_ptr<RequestCounters> counters_ = std::make_shared<RequestCounters>();
  std::shared_ptr<io::FileIO> io_ = std::make_shared<io::CountingFileIO>(test_.io, counters_);
};

TEST_F(PlanVectorsTest, APuffinIsOpenedOnceForAllItsVectors) {
  const auto cache = std::make_shared<VectorCache>(1 << 20);
  PlanVectors vectors(io_, plan_, cache);
  for (const FileScanTask& task : plan_.tasks) {
    const int64_t first = task.data_file.file.file_path[1] - '0';
    ASSERT_OK_AND_ASSIGN(const auto vector, vectors.For(task));
    EXPECT_THAT(vector->ToPositions(), ElementsAre(first, first + 3));
  }
  EXPECT_EQ(Opens(), 1);

  // The next scan finds them.
  PlanVectors again(io_, plan_, cache);
  for (const FileScanTask& task : plan_.tasks) EXPECT_THAT(again.For(task), IsOk());
  EXPECT_EQ(Opens(), 1);
}

TEST_F(PlanVectorsTest, WithoutRoomEachVectorIsReadWhenItIsAskedFor) {
  for (const auto& cache : {std::shared_ptr<VectorCache>(), std::make_shared<VectorCache>(1)}) {
    const int64_t before = Opens();
    PlanVectors vectors(io_, plan_, cache);
    for (const FileScanTask& task : plan_.tasks) EXPECT_THAT(vectors.For(task), IsOk());
    EXPECT_EQ(Opens() - before, 5);
  }
}

TEST_F(PlanVectorsTest, AKeptVectorIsOfThatDataFileOnly) {
  const auto cache = std::make_shared<VectorCache>(1 << 20);
  PlanVectors vectors(io_, plan_, cache);
  ASSERT_THAT(vectors.For(plan_.tasks[0]), IsOk());
  const spec::DataFile& entry = plan_.tasks[0].deletes.vector->file;
  EXPECT_NE(cache->Find(entry, 10), nullptr);
  EXPECT_EQ(cache->Find(entry, 9), nullptr) << "checked against another number of rows";
  spec::DataFile other = entry;
  other.referenced_data_file = "other";
  EXPECT_EQ(cache->Find(other, 10), nullptr);
  other = entry;
  other.record_count = 1;
  EXPECT_EQ(cache->Find(other, 10), nullptr);
}

TEST_F(PlanVectorsTest, ABrokenVectorIsAnErrorOfItsFileAlone) {
  const auto cache = std::make_shared<VectorCache>(1 << 20);
  // A data file that has fewer rows than its vector's positions say.
  plan_.tasks[3].data_file.file.record_count = 4;
  PlanVectors vectors(io_, plan_, cache);
  EXPECT_THAT(vectors.For(plan_.tasks[0]), IsOk());
  EXPECT_THAT(vectors.For(plan_.tasks[3]), IsError(ErrorCode::kInvalidTable, "holds position 6"));
  EXPECT_THAT(vectors.For(plan_.tasks[4]), IsOk());
}

}  // namespace
}  // namespace frazil::table
