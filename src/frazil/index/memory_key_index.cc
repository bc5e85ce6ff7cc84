#include <algorithm>
#include <limits>
#include <unordered_map>

#include <arrow/api.h>

#include "frazil/base/sync_point.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/index/sorted_runs.h"
#include "frazil/scan/file_reader.h"

namespace frazil::index {
namespace {

/// What the index knows of one data file. Numbers of files are never used twice: a file that goes and comes back gets
/// another one, so an old entry can never speak for a new file.
struct IndexedFile {
  std::string path;
  table::LiveDataFile entry;
  spec::DeleteFileId vector_id;  ///< empty path: no vector
  format::DeletionVector deleted;
  /// By position, where the file stores `_row_id`; empty when all are derived from first_row_id.
  std::vector<std::optional<spec::RowId>> stored_row_ids;
  bool is_live = true;
};

bool SameIdentity(const table::LiveDataFile& a, const table::LiveDataFile& b) {
  return a.sequence_number == b.sequence_number && a.file.first_row_id == b.file.first_row_id &&
         a.file.record_count == b.file.record_count;
}

/// Keys and stored row ids of the rows of one file that a scan found alive.
struct ScannedFile {
  std::vector<std::pair<Hash96, int64_t>> rows;  // hash, position
  std::vector<std::optional<spec::RowId>> stored_row_ids;
};

class MemoryKeyIndex : public KeyIndex {
 public:
  MemoryKeyIndex(CanonicalKey key, Executor* executor) : key_(std::move(key)), executor_(executor) {}

  std::optional<spec::SnapshotId> snapshot_id() const override { return snapshot_id_; }
  const table::LiveFiles& live_files() const override { return live_; }

  Status FollowTo(const table::Table& table, const spec::Snapshot* snapshot,
                  const std::map<std::string, KnownKeys>& known) override {
    if (snapshot != nullptr && snapshot_id_ == snapshot->id) return {};
    SyncPoint::Hit("key_index.follow.before");
    FRAZIL_ASSIGN(Difference difference, Compare(table, snapshot));
    FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(table, snapshot, expr::Expression::True()));
    // Everything that can fail happens before the first change.
    FRAZIL_TRY(Scan(table, plan, known, difference));
    Apply(std::move(difference));
    snapshot_id_ = snapshot == nullptr ? std::nullopt : std::optional(snapshot->id);
    SyncPoint::Hit("key_index.follow.after");
    return {};
  }

  std::shared_ptr<const KeyIndexView> View() const override { return nullptr; }
  Status Checkpoint() override { return {}; }
  Status WaitForMerges() override { return {}; }
  Status Verify(const table::Table&, const std::function<void(int64_t, int64_t)>&) override { return {}; }
  KeyIndexStatus status() const override { return {.snapshot_id = snapshot_id_, .num_entries = runs_.num_entries()}; }

  Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted) override {
    std::vector<KeyHit> hits;
    std::vector<std::pair<size_t, RunEntry>> found;
    runs_.Probe(sorted, [&](size_t key, const RunEntry& entry) {
      if (!IsDead(entry)) found.emplace_back(key, entry);
    });
    std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first < b.first;
      const IndexedFile& file_a = files_[a.second.file];
      const IndexedFile& file_b = files_[b.second.file];
      if (file_a.entry.sequence_number != file_b.entry.sequence_number) {
        return file_a.entry.sequence_number > file_b.entry.sequence_number;
      }
      return std::pair(a.second.file, a.second.position) > std::pair(b.second.file, b.second.position);
    });
    // A position whose bit vanished was scanned again, so an entry may be there twice.
    found.erase(std::unique(found.begin(), found.end()), found.end());
    hits.reserve(found.size());
    for (const auto& [key, entry] : found) {
      const IndexedFile& file = files_[entry.file];
      hits.push_back({.key = key, .file_path = file.path, .position = spec::RowPosition(entry.position),
                      .row_id = RowIdOf(file, entry.position), .sequence_number = file.entry.sequence_number});
    }
    return hits;
  }

 private:
  /// What changes between the index's snapshot and the target.
  struct NewFile {
    table::LiveDataFile entry;
    ScannedFile scanned;
    spec::DeleteFileId vector_id;
    format::DeletionVector deleted;
  };
  struct ChangedVector {
    uint32_t file = 0;
    spec::DeleteFileId vector_id;
    format::DeletionVector deleted;
    std::vector<std::pair<Hash96, int64_t>> revived;  // rows whose bit vanished
    std::vector<std::optional<spec::RowId>> stored_row_ids;  // theirs too, where the file stores any
  };
  struct Difference {
    table::LiveFiles live;
    std::vector<NewFile> added;
    std::vector<ChangedVector> changed;
    std::vector<uint32_t> gone;
  };

  static std::optional<spec::RowId> RowIdOf(const IndexedFile& file, uint32_t position) {
    if (!file.entry.file.first_row_id) return std::nullopt;
    if (position < file.stored_row_ids.size() && file.stored_row_ids[position]) return file.stored_row_ids[position];
    return spec::RowId(file.entry.file.first_row_id->value() + position);
  }

  bool IsDead(const RunEntry& entry) const {
    const IndexedFile& file = files_[entry.file];
    return !file.is_live || file.deleted.Contains(spec::RowPosition(entry.position));
  }

  Result<Difference> Compare(const table::Table& table, const spec::Snapshot* snapshot) const {
    Difference difference;
    FRAZIL_ASSIGN(difference.live, table::LoadLiveFiles(table, snapshot));
    std::unordered_map<std::string, bool> still_live;
    for (const table::LiveDataFile& file : difference.live.data_files) {
      if (file.file.record_count > std::numeric_limits<uint32_t>::max()) {
        return Fail(ErrorCode::kNotSupported, "a data file of more than 2^32 rows: {}", file.file.file_path);
      }
      const auto known = number_of_.find(file.file.file_path);
      if (known == number_of_.end() || !SameIdentity(files_[known->second].entry, file)) {
        difference.added.push_back({.entry = file});
      } else {
        still_live[file.file.file_path] = true;
      }
    }
    for (const auto& [path, number] : number_of_) {
      if (!still_live.contains(path)) difference.gone.push_back(number);
    }
    return difference;
  }

  /// Reads what the target's state needs: vectors that changed, keys of new files, rows that came back.
  Status Scan(const table::Table& table, const table::ScanPlan& plan, const std::map<std::string, KnownKeys>& known,
              Difference& difference) {
    std::unordered_map<std::string, size_t> added_of;
    for (size_t i = 0; i < difference.added.size(); ++i) added_of[difference.added[i].entry.file.file_path] = i;
    std::vector<const table::FileScanTask*> to_read;
    std::vector<ChangedVector*> to_compare;
    std::vector<const table::FileScanTask*> changed_tasks;
    for (const table::FileScanTask& task : plan.tasks) {
      const std::string& path = task.data_file.file.file_path;
      if (!task.deletes.equality_deletes.empty()) {
        return Fail(ErrorCode::kNotSupported, "an index over equality deletes: {}",
                    task.deletes.equality_deletes.front()->file.file_path);
      }
      const spec::DeleteFileId vector_id = DeletesId(task.deletes);
      if (added_of.contains(path)) {
        difference.added[added_of[path]].vector_id = vector_id;
        to_read.push_back(&task);
      } else if (files_[number_of_.at(path)].vector_id != vector_id) {
        changed_tasks.push_back(&task);
        difference.changed.push_back({.file = number_of_.at(path), .vector_id = vector_id});
      }
    }
    FRAZIL_TRY(ForEach(to_read.size(), [&](size_t i) -> Status {
      const std::string& path = to_read[i]->data_file.file.file_path;
      const auto hint = known.find(path);
      return ReadNewFile(table, plan, *to_read[i], hint == known.end() ? nullptr : &hint->second,
                         difference.added[added_of.at(path)]);
    }));
    return ForEach(changed_tasks.size(), [&](size_t i) {
      return ReadChangedVector(table, plan, *changed_tasks[i], difference.changed[i]);
    });
  }

  /// Identity of the positions deleted in a file: its vector, or the set of its v2 position delete files.
  static spec::DeleteFileId DeletesId(const table::ApplicableDeletes& deletes) {
    if (deletes.vector != nullptr) return spec::IdOf(deletes.vector->file);
    std::vector<std::string> paths;
    for (const table::LiveDelete* file : deletes.position_deletes) paths.push_back(file->file.file_path);
    std::sort(paths.begin(), paths.end());
    spec::DeleteFileId id;
    for (const std::string& path : paths) id.path += path + '\n';
    return id;
  }

  Status ReadNewFile(const table::Table& table, const table::ScanPlan& plan, const table::FileScanTask& task,
                     const KnownKeys* known, NewFile& file) const {
    FRAZIL_ASSIGN(file.deleted, table::ReadPositions(*table.io(), task.data_file, task.deletes,
                                                     scan::ReadPositionDeletes(table.io())));
    if (known != nullptr && static_cast<int64_t>(known->hashes.size()) == task.data_file.file.record_count) {
      for (size_t i = 0; i < known->hashes.size(); ++i) {
        if (!file.deleted.Contains(spec::RowPosition(static_cast<int64_t>(i)))) {
          file.scanned.rows.emplace_back(known->hashes[i], static_cast<int64_t>(i));
        }
      }
      file.scanned.stored_row_ids = known->stored_row_ids;
      return {};
    }
    return ScanKeys(table, plan, task, file.scanned);
  }

  Status ReadChangedVector(const table::Table& table, const table::ScanPlan& plan, const table::FileScanTask& task,
                           ChangedVector& changed) const {
    FRAZIL_ASSIGN(changed.deleted, table::ReadPositions(*table.io(), task.data_file, task.deletes,
                                                        scan::ReadPositionDeletes(table.io())));
    format::DeletionVector vanished = files_[changed.file].deleted.Clone();
    vanished.Subtract(changed.deleted);
    if (vanished.empty()) return {};
    // A rollback or an un-delete. Entries of dead rows may have been merged away, so their keys are read again.
    ScannedFile scanned;
    FRAZIL_TRY(ScanKeys(table, plan, task, scanned));
    for (const auto& row : scanned.rows) {
      if (vanished.Contains(spec::RowPosition(row.second))) changed.revived.push_back(row);
    }
    changed.stored_row_ids = std::move(scanned.stored_row_ids);
    return {};
  }

  Status ScanKeys(const table::Table& table, const table::ScanPlan& plan, const table::FileScanTask& task,
                  ScannedFile& scanned) const {
    scan::ReadColumns columns{.fields = key_.field_ids(), .row_lineage = true, .position = true};
    FRAZIL_ASSIGN(const std::unique_ptr<scan::FileReader> reader, scan::FileReader::Open(table.io(), plan, task, columns));
    const size_t num_keys = key_.field_ids().size();
    const std::optional<spec::RowId> first_row_id = task.data_file.file.first_row_id;
    for (;;) {
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
      if (batch == nullptr) return {};
      const std::vector<std::shared_ptr<arrow::Array>> arrays = batch->columns();
      auto hashes = key_.HashRows({arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(num_keys)});
      if (!hashes) return tl::unexpected(std::move(hashes).error().WithContext("indexing " + task.data_file.file.file_path));
      const auto& row_ids = static_cast<const arrow::Int64Array&>(*arrays[num_keys]);
      const auto& positions = static_cast<const arrow::Int64Array&>(*arrays[num_keys + 2]);
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        const int64_t position = positions.Value(i);
        scanned.rows.emplace_back((*hashes)[static_cast<size_t>(i)], position);
        if (!first_row_id || row_ids.Value(i) == first_row_id->value() + position) continue;
        if (scanned.stored_row_ids.empty()) {
          scanned.stored_row_ids.resize(static_cast<size_t>(task.data_file.file.record_count));
        }
        scanned.stored_row_ids[static_cast<size_t>(position)] = spec::RowId(row_ids.Value(i));
      }
    }
  }

  Status ForEach(size_t count, const std::function<Status(size_t)>& body) const {
    if (executor_ != nullptr) return executor_->ParallelFor(count, body);
    for (size_t i = 0; i < count; ++i) FRAZIL_TRY(body(i));
    return {};
  }

  void Apply(Difference difference) {
    for (const uint32_t number : difference.gone) {
      IndexedFile& file = files_[number];
      number_of_.erase(file.path);
      file = IndexedFile();  // its entries are dead; the memory goes now
      file.is_live = false;
    }
    std::vector<RunEntry> entries;
    for (ChangedVector& changed : difference.changed) {
      IndexedFile& file = files_[changed.file];
      file.vector_id = std::move(changed.vector_id);
      file.deleted = std::move(changed.deleted);
      // Rows that were dead when the file was first read did not tell their ids then.
      if (!changed.stored_row_ids.empty()) file.stored_row_ids.resize(changed.stored_row_ids.size());
      for (const auto& [hash, position] : changed.revived) {
        const auto at = static_cast<size_t>(position);
        if (at < changed.stored_row_ids.size()) file.stored_row_ids[at] = changed.stored_row_ids[at];
        entries.push_back({hash, changed.file, static_cast<uint32_t>(position)});
      }
    }
    for (NewFile& added : difference.added) {
      const auto number = static_cast<uint32_t>(files_.size());
      IndexedFile& file = files_.emplace_back();
      file.path = added.entry.file.file_path;
      file.entry = std::move(added.entry);
      file.vector_id = std::move(added.vector_id);
      file.deleted = std::move(added.deleted);
      file.stored_row_ids = std::move(added.scanned.stored_row_ids);
      number_of_[file.path] = number;
      for (const auto& [hash, position] : added.scanned.rows) {
        entries.push_back({hash, number, static_cast<uint32_t>(position)});
      }
    }
    runs_.Add(std::move(entries), [this](const RunEntry& entry) { return IsDead(entry); });
    live_ = std::move(difference.live);
  }

  const CanonicalKey key_;
  Executor* const executor_;
  std::optional<spec::SnapshotId> snapshot_id_;
  std::vector<IndexedFile> files_;                        // by number
  std::unordered_map<std::string, uint32_t> number_of_;   // live files only
  SortedRuns runs_;
  table::LiveFiles live_;
};

}  // namespace

Result<std::unique_ptr<KeyIndex>> OpenKeyIndex(KeyIndexOptions options) {
  FRAZIL_ASSIGN(CanonicalKey key, CanonicalKey::Make(*options.schema, options.seed));
  return std::unique_ptr<KeyIndex>(std::make_unique<MemoryKeyIndex>(std::move(key), options.executor));
}

}  // namespace frazil::index
