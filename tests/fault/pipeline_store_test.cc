// A store that is full, that nobody may write, or that is not mounted: a pipeline waits with the reason in its status, and goes
// on when the store is back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/pipeline_world.h"

namespace frazil::ingest {
namespace {

using test::PipelineWorld;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Tells of each wait.
class WatchedClock : public ManualClock {
 public:
  WatchedClock() : ManualClock(1'700'000'000'000) {}
  void SleepMs(int64_t duration_ms) override {
    ManualClock::SleepMs(duration_ms);
    if (on_sleep) on_sleep();
  }
  std::function<void()> on_sleep;
};

class PipelineStore : public ::testing::Test {
 protected:
  /// Two commits' worth of records; the second replaces, deletes and adds.
  void AppendFirst() { world_.Append({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}}); }
  void AppendSecond() {
    world_.Append({{1, "again", ""}, {4, "d", ""}});
    world_.topic->Append({2, std::nullopt, ""});
  }
  PipelineOptions Options(bool is_bounded) {
    PipelineOptions options = world_.BoundedOptions();
    options.is_bounded = is_bounded;
    options.clock = &clock_;
    return options;
  }
  bool HasCommittedAll(const Pipeline& pipeline) const {
    const SourcePositions committed = pipeline.status().committed;
    for (int32_t partition = 0; partition < world_.topic->num_partitions(); ++partition) {
      const auto at = committed.find(partition);
      if (at == committed.end() || at->second.next < world_.topic->end(partition)) return false;
    }
    return true;
  }
  /// Runs without an end. `between` is called once, when the first records are in the table; the run is stopped when all are.
  void RunWithoutEnd(const std::function<void(Pipeline&)>& between) {
    const auto pipeline = world_.NewPipeline(Options(false));
    pipeline_ = pipeline.get();
    bool is_second = false;
    world_.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll" || !HasCommittedAll(*pipeline)) return {};
      if (is_second) {
        pipeline->Stop(std::chrono::seconds(60));
        return {};
      }
      is_second = true;
      between(*pipeline);
      return {};
    });
    EXPECT_THAT(pipeline->Run(), IsOk());
    world_.topic->set_fault(nullptr);
    world_.status = pipeline->status();
    pipeline_ = nullptr;
  }

  io::FaultInjectingFileIO::Decide decide_ = [](std::string_view, const std::string&) { return Status(); };
  std::shared_ptr<io::MemoryFileIO> files_ = std::make_shared<io::MemoryFileIO>();
  WatchedClock clock_;
  ManualClock catalog_clock_{1'700'000'000'000};
  Pipeline* pipeline_ = nullptr;
  PipelineWorld world_{{.catalog = catalog::MakeMemoryCatalog(
                            "test", "memory:/warehouse",
                            std::make_shared<io::FaultInjectingFileIO>(
                                files_, [this](std::string_view operation,
                                               const std::string& path) { return decide_(operation, path); }),
                            catalog_clock_)}};
};

TEST_F(PipelineStore, OneThatIsFullIsWaitedForWithTheReason) {
  for (const char* file : {"/data/", ".puffin", "-m0.avro", "snap-", ".metadata.json"}) {
    SCOPED_TRACE(file);
    AppendFirst();
    int num_failures = 0;
    std::string reason;
    RunWithoutEnd([&](Pipeline& pipeline) {
      AppendSecond();
      decide_ = [&](std::string_view operation, const std::string& path) -> Status {
        if (operation != "create" || path.find(file) == std::string::npos || num_failures == 5) return {};
        if (pipeline.status().state == PipelineState::kWaiting) reason = pipeline.status().reason;
        ++num_failures;
        return Fail(ErrorCode::kIo, "no space left on device: {}", path);
      };
    });
    decide_ = [](std::string_view, const std::string&) { return Status(); };
    EXPECT_EQ(num_failures, 5);
    EXPECT_THAT(reason, AllOf(HasSubstr("no space left on device"), HasSubstr(file)));
    EXPECT_EQ(world_.status->starts, 1);
    world_.ExpectComplete();
  }
}

/// At its start and behind it.
TEST_F(PipelineStore, OneThatIsFullIsWaitedForByABoundedRunAsWell) {
  for (const char* file : {".metadata.json", "/data/"}) {
    SCOPED_TRACE(file);
    AppendFirst();
    int num_failures = 0;
    std::string reason;
    const auto pipeline = world_.NewPipeline(Options(true));
    decide_ = [&](std::string_view operation, const std::string& path) -> Status {
      if (operation != "create" || path.find(file) == std::string::npos || num_failures == 5) return {};
      if (pipeline->status().state == PipelineState::kWaiting) reason = pipeline->status().reason;
      ++num_failures;
      return Fail(ErrorCode::kIo, "no space left on device: {}", path);
    };
    EXPECT_THAT(pipeline->Run(), IsOk());
    decide_ = [](std::string_view, const std::string&) { return Status(); };
    EXPECT_EQ(num_failures, 5);
    EXPECT_THAT(reason, AllOf(HasSubstr("no space left on device"), HasSubstr(file)));
    world_.ExpectComplete();
  }
}

TEST_F(PipelineStore, ABoundedRunThatWaitsEndsWhenItIsTold) {
  AppendFirst();
  const auto pipeline = world_.NewPipeline(Options(true));
  decide_ = [&](std::string_view operation, const std::string& path) -> Status {
    if (operation != "create" || path.find("/data/") == std::string::npos) return {};
    pipeline->Stop(std::chrono::milliseconds(0));
    return Fail(ErrorCode::kIo, "no space left on device: {}", path);
  };
  EXPECT_THAT(pipeline->Run(), IsOk());
  const SourcePositions committed = pipeline->status().committed;
  EXPECT_THAT(committed, Not(IsEmpty()));
  for (const auto& [partition, offset] : committed) EXPECT_EQ(offset.next, 0) << partition;
  decide_ = [](std::string_view, const std::string&) { return Status(); };
  ASSERT_THAT(world_.Run(Options(true)), IsOk());
  world_.ExpectComplete();
}

/// The folder of a store that is not mounted is there, and empty: what is written into it is hidden later, and the catalog would
/// name metadata that nobody finds.
TEST_F(PipelineStore, OneThatIsNotMountedGetsNoCommit) {
  AppendFirst();
  std::map<std::string, Bytes> away;
  std::string reason;
  int num_waits = 0;
  const auto list = [&] {
    std::vector<std::string> paths;
    const auto listed = files_->List("memory:/warehouse");
    EXPECT_THAT(listed, IsOk());
    for (const io::FileInfo& file : *listed) {
      if (file.path.find("/_frazil/") == std::string::npos) paths.push_back(file.path);
    }
    return paths;
  };
  clock_.on_sleep = [&] {
    if (away.empty() || pipeline_->status().state != PipelineState::kWaiting || ++num_waits < 200) return;
    reason = pipeline_->status().reason;
    EXPECT_THAT(list(), IsEmpty());
    for (const auto& [path, bytes] : away) EXPECT_THAT(files_->WriteFile(path, bytes), IsOk());
    away.clear();
  };
  RunWithoutEnd([&](Pipeline&) {
    AppendSecond();
    for (const std::string& path : list()) {
      auto bytes = files_->ReadFile(path);
      EXPECT_THAT(bytes, IsOk());
      away[path] = *std::move(bytes);
      EXPECT_THAT(files_->Delete({path}), IsOk());
    }
  });
  clock_.on_sleep = nullptr;
  EXPECT_THAT(reason, HasSubstr("metadata file is not in its store"));
  world_.ExpectComplete();
}

}  // namespace
}  // namespace frazil::ingest
