#include "tests/support/scenario.h"

#include <algorithm>

#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/puffin.h"
#include "frazil/index/canonical_key.h"
#include "frazil/ingest/json_decoder.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/marker.h"
#include "frazil/table/scan_planner.h"

namespace frazil::test {
namespace {

using index::LiveRow;
using index::TestRow;

constexpr uint64_t kHashSeed = 99;

std::shared_ptr<catalog::Catalog> CatalogOf(const Scenario::Options& options, Clock& clock) {
  if (options.catalog) return options.catalog;
  return catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::MemoryFileIO>(), clock);
}

table::Table CreateTable(const Scenario::Options& options, Clock& clock) {
  auto table =
      index::CreateTestTable(CatalogOf(options, clock), {{"db"}, "t"}, options.partitioning, options.properties);
  EXPECT_THAT(table, IsOk());
  return *std::move(table);
}

std::unique_ptr<index::KeyIndex> NewIndex() {
  auto index = index::OpenKeyIndex({.schema = index::TestSchema(), .seed = kHashSeed});
  EXPECT_THAT(index, IsOk());
  return *std::move(index);
}

index::CanonicalKey TestKey() {
  auto key = index::CanonicalKey::Make(*index::TestSchema(), kHashSeed);
  EXPECT_THAT(key, IsOk());
  return *std::move(key);
}

struct Location {
  std::string path;
  int64_t position;
  std::optional<int64_t> row_id;
  auto operator<=>(const Location&) const = default;
};

/// Where an index finds the rows of `ids`.
std::multimap<int64_t, Location> Located(index::KeyIndex& index, const std::set<int64_t>& ids) {
  arrow::Int64Builder builder;
  for (const int64_t id : ids) EXPECT_TRUE(builder.Append(id).ok());
  std::multimap<int64_t, Location> found;
  if (ids.empty()) return found;
  auto hashes = TestKey().HashRows({*builder.Finish()});
  EXPECT_THAT(hashes, IsOk());
  std::map<Hash96, int64_t> id_of;
  size_t i = 0;
  for (const int64_t id : ids) id_of[(*hashes)[i++]] = id;
  std::sort(hashes->begin(), hashes->end());
  auto hits = index.LookUp(*hashes);
  EXPECT_THAT(hits, IsOk());
  for (const index::KeyHit& hit : hits->hits) {
    found.emplace(id_of[(*hashes)[hit.key]], Location{hit.file_path(), hit.position.value(),
                                                      hit.row_id ? std::optional(hit.row_id->value()) : std::nullopt});
  }
  return found;
}

void CheckVectors(const table::Table& table, const table::LiveFiles& live, std::vector<std::string>& wrong) {
  std::set<std::string> data_files;
  for (const table::LiveDataFile& file : live.data_files) {
    if (!data_files.insert(file.file.file_path).second) wrong.push_back("added twice: " + file.file.file_path);
  }
  std::set<std::string> with_vector;
  std::map<std::string, size_t> live_blobs;
  for (const table::LiveDelete& file : live.delete_files) {
    if (file.file.content == spec::FileContent::kEqualityDeletes)
      wrong.push_back("equality delete: " + file.file.file_path);
    if (!file.file.is_deletion_vector()) {
      wrong.push_back("no vector: " + file.file.file_path);
      continue;
    }
    const std::string referenced = file.file.referenced_data_file.value_or("");
    if (!with_vector.insert(referenced).second) wrong.push_back("two vectors: " + referenced);
    if (!data_files.contains(referenced)) wrong.push_back("dangling vector of " + referenced);
    ++live_blobs[file.file.file_path];
  }
  for (const auto& [path, count] : live_blobs) {
    auto file = table.io()->Open(path);
    if (!file) {
      wrong.push_back(file.error().ToString());
      continue;
    }
    const auto footer = format::ReadPuffinFooter(**file);
    if (!footer) {
      wrong.push_back(footer.error().ToString());
    } else if (footer->blobs.size() != count) {
      wrong.push_back(fmt::format("{} of {} blobs live: {}", count, footer->blobs.size(), path));
    }
  }
}

void CheckRows(const table::Table& table, const std::vector<LiveRow>& rows, std::vector<std::string>& wrong) {
  std::set<int64_t> ids;
  std::set<int64_t> row_ids;
  for (const LiveRow& row : rows) {
    if (!ids.insert(row.row.id).second) wrong.push_back(fmt::format("doubled key {}", row.row.id));
    if (!row.row_id || !row.last_updated) {
      wrong.push_back(fmt::format("key {} has no lineage", row.row.id));
      continue;
    }
    if (!row_ids.insert(*row.row_id).second) wrong.push_back(fmt::format("doubled _row_id {}", *row.row_id));
    if (*row.row_id >= table.metadata()->next_row_id.value()) {
      wrong.push_back(
          fmt::format("_row_id {} is not below next-row-id {}", *row.row_id, table.metadata()->next_row_id));
    }
    if (*row.last_updated > table.metadata()->last_sequence_number.value()) {
      wrong.push_back(fmt::format("key {} was updated in the future", row.row.id));
    }
  }
}

/// Everything that the metadata reaches.
Result<std::set<std::string>> ReachableFiles(const table::Table& table) {
  std::set<std::string> paths = {table.metadata_location()};
  for (const spec::MetadataLogEntry& entry : table.metadata()->metadata_log) paths.insert(entry.metadata_file);
  for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
    paths.insert(snapshot.manifest_list);
    FRAZIL_ASSIGN(const auto manifests, table.manifests().List(snapshot));
    for (const spec::ManifestFile& manifest : *manifests) {
      if (!paths.insert(manifest.manifest_path).second) continue;  // many snapshots share it
      FRAZIL_ASSIGN(const auto entries, table.manifests().Entries(manifest, *table.metadata()));
      for (const spec::ManifestEntry& entry : *entries) {
        if (entry.is_live()) paths.insert(entry.data_file.file_path);
      }
    }
  }
  return paths;
}

}  // namespace

std::string JsonLine(const Change& change) {
  if (!change.value) return fmt::format("{{\"op\": \"d\", \"id\": {}}}\n", change.id);
  return fmt::format("{{\"op\": \"u\", \"id\": {}, \"value\": \"{}\", \"part\": \"{}\"}}\n", change.id, *change.value,
                     change.part);
}

ingest::ChangeBatch BatchOf(const std::vector<Change>& changes, int64_t start) {
  auto decoder =
      ingest::JsonDecoder::Make(index::TestSchema(), {.form = ingest::JsonForm::kFlat, .op_column = kOpColumn});
  EXPECT_THAT(decoder, IsOk());
  for (const Change& change : changes) {
    std::string line = JsonLine(change);
    line.pop_back();
    EXPECT_THAT(decoder->Decode(line), IsOk());
  }
  auto batch = decoder->Finish();
  EXPECT_THAT(batch, IsOk());
  batch->ranges[0] = {.start = start, .end = start + static_cast<int64_t>(changes.size()), .leader_epoch = {}};
  return *std::move(batch);
}

std::vector<std::string> Violations(const table::Table& table) {
  std::vector<std::string> wrong;
  const spec::Snapshot* head = table.metadata()->current_snapshot();
  const auto live = table::LoadLiveFiles(table, head);
  if (!live) return {live.error().ToString()};
  CheckVectors(table, *live, wrong);
  const auto rows = index::ReadLiveRows(table);
  if (!rows) return {rows.error().ToString()};
  CheckRows(table, *rows, wrong);
  const auto rebuilt = NewIndex();
  if (const Status followed = rebuilt->FollowTo(table, head, {}); !followed) return {followed.error().ToString()};
  std::multimap<int64_t, Location> by_scan;
  std::set<int64_t> ids;
  for (const LiveRow& row : *rows) {
    by_scan.emplace(row.row.id, Location{row.path, row.position, row.row_id});
    ids.insert(row.row.id);
  }
  if (Located(*rebuilt, ids) != by_scan) wrong.push_back("an index built from nothing finds other rows than a scan");
  return wrong;
}

Result<std::set<std::string>> OrphanFiles(const table::Table& table) {
  FRAZIL_ASSIGN(const std::set<std::string> reachable, ReachableFiles(table));
  FRAZIL_ASSIGN(const auto files, table.io()->List(table.metadata()->location));
  std::set<std::string> orphans;
  for (const io::FileInfo& file : files) {
    if (!reachable.contains(file.path)) orphans.insert(file.path);
  }
  return orphans;
}

Result<std::vector<std::string>> MissingFiles(const table::Table& table) {
  FRAZIL_ASSIGN(const std::set<std::string> reachable, ReachableFiles(table));
  std::vector<std::string> missing;
  for (const std::string& path : reachable) {
    FRAZIL_ASSIGN(const bool exists, table.io()->Exists(path));
    if (!exists) missing.push_back(path);
  }
  return missing;
}

Scenario::Scenario() : Scenario(Options{}) {}

Pipeline::Pipeline(table::Table table, Clock& clock, std::string id)
    : table_(std::move(table)),
      clock_(clock),
      identity_{.id = std::move(id), .writer = "test", .source = {{"kind", "test"}}, .num_partitions = {}},
      index_(NewIndex()) {}

Result<table::CommitOutcome> Pipeline::Commit(const std::vector<Change>& changes) {
  const ingest::ChangeBatch batch = BatchOf(changes, next_);
  FRAZIL_ASSIGN(const ingest::CollapsedBatch collapsed, ingest::Collapse(batch, *index::TestSchema(), TestKey()));
  ingest::BatchCommit commit(
      batch, collapsed, identity_, *index_, table_.metadata()->schema(), clock_,
      {.landing = landing_, .min_landing_rows = min_landing_rows_, .executor = executor_.get(), .stages = nullptr});
  FRAZIL_ASSIGN(const table::CommitOutcome outcome, commit.Run(table_));
  next_ = batch.ranges.at(0).end;
  return outcome;
}

Status Pipeline::Restart() {
  FRAZIL_TRY(table_.Refresh());
  index_ = NewIndex();
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table_, spec::kMainBranch));
  EXPECT_NE(effective.proof, table::EffectiveMarker::Proof::kUnproven);
  const auto ours = effective.marker.pipelines.find(identity_.id);
  next_ = ours == effective.marker.pipelines.end() ? 0 : ours->second.partitions.at(0).next;
  return {};
}

Scenario::Scenario(Options options) : clock_(std::make_unique<ManualClock>(1'700'000'000'000)) {
  pipeline_ = std::make_unique<Pipeline>(CreateTable(options, *clock_), *clock_);
}

Scenario& Scenario::Upsert(const TestRow& row) {
  stream_.push_back({.id = row.id, .value = row.value, .part = row.part});
  return *this;
}

Scenario& Scenario::Upsert(const std::vector<TestRow>& rows) {
  for (const TestRow& row : rows) Upsert(row);
  return *this;
}

Scenario& Scenario::Delete(const std::set<int64_t>& ids) {
  for (const int64_t id : ids) stream_.push_back({.id = id, .value = {}, .part = ""});
  return *this;
}

void Scenario::ApplyToOracle(const Change& change) {
  if (!change.value) {
    oracle_.erase(change.id);
    return;
  }
  oracle_[change.id].row = {change.id, *change.value, change.part};
}

Scenario& Scenario::Commit() {
  const std::vector<Change> changes(stream_.begin() + pipeline_->next(), stream_.end());
  EXPECT_THAT(pipeline_->Commit(changes), IsOk());
  for (const Change& change : changes) ApplyToOracle(change);
  Check();
  return *this;
}

Scenario& Scenario::Restart() {
  const int64_t before = pipeline_->next();
  EXPECT_THAT(pipeline_->Restart(), IsOk());
  EXPECT_EQ(pipeline_->next(), before);
  return *this;
}

Scenario& Scenario::ForeignInsert(const std::vector<TestRow>& rows) {
  EXPECT_THAT(index::ForeignInsert(table(), rows, *clock_), IsOk());
  for (const TestRow& row : rows) oracle_[row.id] = {row, std::nullopt};
  Check();
  return *this;
}

Scenario& Scenario::ForeignDelete(const std::set<int64_t>& ids) {
  EXPECT_THAT(index::ForeignDelete(table(), ids, *clock_), IsOk());
  for (const int64_t id : ids) oracle_.erase(id);
  Check();
  return *this;
}

Scenario& Scenario::ForeignRewrite() {
  EXPECT_THAT(index::ForeignRewrite(
                  table(), [](const std::string&) { return true; }, *clock_),
              IsOk());
  Check();
  return *this;
}

Scenario& Scenario::ExpireAllButHead() {
  EXPECT_THAT(index::ExpireAllButHead(table(), *clock_), IsOk());
  Check();
  return *this;
}

Scenario& Scenario::Rollback(int steps) {
  const spec::Snapshot* target = table().metadata()->current_snapshot();
  for (int i = 0; i < steps && target != nullptr && target->parent_id; ++i) {
    target = table().metadata()->FindSnapshot(*target->parent_id);
  }
  if (target == nullptr) {
    ADD_FAILURE() << "no snapshot to roll back to";
    return *this;
  }
  const spec::SnapshotId id = target->id;
  EXPECT_THAT(index::SetHead(table(), id, *clock_), IsOk());
  const auto& [oracle, next] = history_.at(id);
  oracle_ = oracle;
  pipeline_->set_next(next);
  Check();
  return *this;
}

Scenario& Scenario::ExpectRows(const std::vector<TestRow>& rows) {
  auto live = index::ReadLiveRows(table());
  EXPECT_THAT(live, IsOk());
  std::vector<TestRow> found;
  for (const LiveRow& row : *live) found.push_back(row.row);
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(rows));
  return *this;
}

Scenario& Scenario::ExpectDataFiles(size_t count) {
  auto live = table::LoadLiveFiles(table(), table().metadata()->current_snapshot());
  EXPECT_THAT(live, IsOk());
  EXPECT_EQ(live->data_files.size(), count);
  return *this;
}

Scenario& Scenario::ExpectVectors(size_t count) {
  auto live = table::LoadLiveFiles(table(), table().metadata()->current_snapshot());
  EXPECT_THAT(live, IsOk());
  EXPECT_EQ(live->delete_files.size(), count);
  return *this;
}

Scenario& Scenario::ExpectOneLiveVectorPerFile() {
  EXPECT_THAT(Violations(table()), ::testing::IsEmpty());
  return *this;
}

std::map<int64_t, int64_t> Scenario::RowIds() {
  std::map<int64_t, int64_t> ids;
  auto live = index::ReadLiveRows(table());
  EXPECT_THAT(live, IsOk());
  for (const LiveRow& row : *live) ids[row.row.id] = row.row_id.value_or(-1);
  return ids;
}

void Scenario::Check() {
  EXPECT_THAT(Violations(table()), ::testing::IsEmpty());
  auto live = index::ReadLiveRows(table());
  EXPECT_THAT(live, IsOk());
  std::set<int64_t> ids;
  for (const Change& change : stream_) ids.insert(change.id);
  std::multimap<int64_t, Location> by_scan;
  EXPECT_EQ(live->size(), oracle_.size());
  const int64_t largest_before = largest_row_id_;
  for (const LiveRow& row : *live) {
    ids.insert(row.row.id);
    by_scan.emplace(row.row.id, Location{row.path, row.position, row.row_id});
    const auto expected = oracle_.find(row.row.id);
    if (expected == oracle_.end()) {
      ADD_FAILURE() << "key " << row.row.id << " should be gone";
      continue;
    }
    EXPECT_EQ(row.row.value, expected->second.row.value) << "key " << row.row.id;
    if (expected->second.row_id) {
      EXPECT_EQ(row.row_id, expected->second.row_id) << "key " << row.row.id << " is another row now";
    } else {
      EXPECT_GT(row.row_id.value_or(-1), largest_before) << "key " << row.row.id << " got an old _row_id";
      expected->second.row_id = row.row_id;
    }
    largest_row_id_ = std::max(largest_row_id_, row.row_id.value_or(-1));
  }
  // Ids that were given out in a state that was rolled back stay given out.
  largest_row_id_ = std::max(largest_row_id_, table().metadata()->next_row_id.value() - 1);
  const spec::Snapshot* head = table().metadata()->current_snapshot();
  EXPECT_THAT(pipeline_->index().FollowTo(table(), head, {}), IsOk());
  EXPECT_EQ(Located(pipeline_->index(), ids), by_scan) << "the followed index differs from the table";
  if (head != nullptr) history_[head->id] = {oracle_, pipeline_->next()};
}

Scenario Given(const std::vector<TestRow>& rows, Scenario::Options options) {
  Scenario scenario(std::move(options));
  scenario.Upsert(rows);
  return scenario;
}

}  // namespace frazil::test
