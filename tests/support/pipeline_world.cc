#include "tests/support/pipeline_world.h"

#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/marker.h"

namespace frazil::test {

PipelineWorld::PipelineWorld(Options options) : topic(std::make_shared<FakeTopic>(options.num_partitions)) {
  catalog = options.catalog
                ? std::move(options.catalog)
                : catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::MemoryFileIO>(), *clock);
  if (!options.create_table) return;
  EXPECT_THAT(index::CreateTestTable(catalog, kName, options.partitioning, options.properties), IsOk());
}

ingest::PipelineOptions PipelineWorld::BoundedOptions() {
  ingest::PipelineOptions options;
  options.id = kId;
  options.writer = "test";
  options.startup.kind = ingest::StartupMode::Kind::kEarliest;
  options.is_bounded = true;
  options.commit_interval = std::chrono::milliseconds(10'000);
  options.landing = ingest::LandingMode::kNever;
  options.clock = clock.get();
  options.on_notice = [this](const std::string& line) { notices.push_back(line); };
  return options;
}

std::unique_ptr<ingest::Pipeline> PipelineWorld::NewPipeline(ingest::PipelineOptions options,
                                                             std::shared_ptr<catalog::Catalog> through,
                                                             std::unique_ptr<ingest::DeadLetters> dead_letters) {
  auto loaded = catalog->LoadTable(kName);
  EXPECT_THAT(loaded, IsOk());
  table::Table table(through ? std::move(through) : catalog, kName, *std::move(loaded));
  Clock& time = options.clock != nullptr ? *options.clock : Clock::System();
  auto decoder = std::make_unique<FakeRecordDecoder>(table.metadata()->schema());
  return std::make_unique<ingest::Pipeline>(std::move(table), std::make_unique<FakeRecordSource>(topic, time),
                                            std::move(decoder), std::move(dead_letters), std::move(options));
}

Status PipelineWorld::Run(std::shared_ptr<catalog::Catalog> through) {
  return Run(BoundedOptions(), std::move(through));
}

Status PipelineWorld::Run(ingest::PipelineOptions options, std::shared_ptr<catalog::Catalog> through) {
  const auto pipeline = NewPipeline(std::move(options), std::move(through));
  Status done = pipeline->Run();
  status = pipeline->status();
  return done;
}

table::EffectiveMarker PipelineWorld::Marker() const {
  auto marker = table::FindEffectiveMarker(Table(), spec::kMainBranch);
  EXPECT_THAT(marker, IsOk());
  return *std::move(marker);
}

std::map<int32_t, int64_t> PipelineWorld::Committed() const {
  std::map<int32_t, int64_t> committed;
  const table::EffectiveMarker marker = Marker();
  const auto ours = marker.marker.pipelines.find(kId);
  if (ours == marker.marker.pipelines.end()) return committed;
  for (const auto& [partition, offset] : ours->second.partitions) committed[partition] = offset.next;
  return committed;
}

std::map<int64_t, std::string> PipelineWorld::Rows() const {
  std::map<int64_t, std::string> rows;
  auto live = index::ReadLiveRows(Table());
  EXPECT_THAT(live, IsOk());
  for (const index::LiveRow& row : *live) {
    EXPECT_TRUE(rows.emplace(row.row.id, row.row.value).second) << "doubled key " << row.row.id;
  }
  return rows;
}

std::map<int64_t, int64_t> PipelineWorld::RowIds() const {
  std::map<int64_t, int64_t> ids;
  auto live = index::ReadLiveRows(Table());
  EXPECT_THAT(live, IsOk());
  for (const index::LiveRow& row : *live) ids[row.row.id] = row.row_id.value_or(-1);
  return ids;
}

void PipelineWorld::ExpectRight(const std::map<int64_t, std::string>& foreign) const {
  std::map<int32_t, table::PartitionOffset> next;
  for (const auto& [partition, offset] : Committed()) next[partition].next = offset;
  std::map<int64_t, std::string> expected = foreign;
  for (const auto& [id, change] : topic->Expected(next)) expected[id] = *change.value;
  EXPECT_EQ(Rows(), expected);
  EXPECT_THAT(Violations(Table()), ::testing::IsEmpty());
  EXPECT_THAT(MissingFiles(Table()), IsOkAnd(::testing::IsEmpty()));
}

void PipelineWorld::ExpectComplete(const std::map<int64_t, std::string>& foreign) const {
  ExpectRight(foreign);
  const std::map<int32_t, int64_t> committed = Committed();
  for (int32_t partition = 0; partition < topic->num_partitions(); ++partition) {
    const auto found = committed.find(partition);
    EXPECT_EQ(found == committed.end() ? 0 : found->second, topic->end(partition)) << "partition " << partition;
  }
}

}  // namespace frazil::test
