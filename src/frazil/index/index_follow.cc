#include "frazil/index/index_follow.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "frazil/expr/expression.h"
#include "frazil/index/key_reading.h"
#include "frazil/table/marker.h"

namespace frazil::index {
namespace {

/// What the snapshot shows of the pipelines' progress: the text of the newest marker in its known history.
std::string MarkersAt(const spec::TableMetadata& metadata, const spec::Snapshot* snapshot) {
  while (snapshot != nullptr) {
    const auto found = snapshot->summary.find(table::kMarkerSummaryKey);
    if (found != snapshot->summary.end()) {
      const auto marker = table::ParseMarkerJson(found->second, snapshot->id);
      if (marker && *marker) return found->second;
    }
    snapshot = snapshot->parent_id ? metadata.FindSnapshot(*snapshot->parent_id) : nullptr;
  }
  return "";
}

int64_t CountLiveRows(const table::ScanPlan& plan) {
  int64_t rows = 0;
  for (const table::FileScanTask& task : plan.tasks) {
    int64_t deleted = task.deletes.vector == nullptr ? 0 : task.deletes.vector->file.record_count;
    for (const table::LiveDelete* file : task.deletes.position_deletes) deleted += file->file.record_count;
    rows += std::max<int64_t>(0, task.data_file.file.record_count - deleted);
  }
  return rows;
}

Status CheckRowCount(const spec::DataFile& file) {
  if (file.record_count >= 0 && file.record_count <= std::numeric_limits<uint32_t>::max()) return {};
  return Fail(ErrorCode::kNotSupported, "indexing a file of more than 2^32 rows: {}", file.file_path);
}

}  // namespace

IndexFollow::IndexFollow(const IndexVersion& from, const LiveNumbers& live, const std::set<FileNumber>& incomplete,
                         const std::vector<bool>& damaged_shards, Options options)
    : from_(from),
      live_(live),
      incomplete_(incomplete),
      damaged_shards_(damaged_shards),
      any_shard_is_damaged_(std::find(damaged_shards.begin(), damaged_shards.end(), true) != damaged_shards.end()),
      options_(std::move(options)),
      dictionary_(from.dictionary),
      still_live_(from.dictionary.next_number()) {}

Status IndexFollow::Compare(const table::Table& table, const spec::Snapshot* snapshot,
                            const std::map<std::string, KnownKeys>& known) {
  io_ = table.io();
  FRAZIL_ASSIGN(table::ScanPlan plan,
                table::PlanScan(table, snapshot, expr::Expression::True(), table.metadata()->schema()));
  plan_ = std::make_shared<const table::ScanPlan>(std::move(plan));
  key_reading_ = KeyReading(*table.metadata(), *options_.key);
  FRAZIL_TRY(CompareDataFiles(known));
  FRAZIL_TRY(CompareEqualityDeletes());
  FindGone();
  num_live_rows_ = CountLiveRows(*plan_);
  markers_ = MarkersAt(*table.metadata(), snapshot);
  return {};
}

Status IndexFollow::Plan(const table::Table& table) {
  FRAZIL_TRY(PlanAdded(table));
  return PlanChanged();
}

FollowCost IndexFollow::cost() const {
  return {.rows = max_entries(),
          .files = static_cast<int64_t>(jobs_.size() + from_known_.size()),
          .vectors = static_cast<int64_t>(changed_.size()),
          .live_rows = num_live_rows_,
          .live_files = static_cast<int64_t>(plan_->tasks.size()),
          .damage = ""};
}

Status IndexFollow::CompareDataFiles(const std::map<std::string, KnownKeys>& known) {
  std::unordered_set<std::string_view> added;
  const bool is_read_alike = key_reading_ == from_.key_reading;
  for (const table::FileScanTask& task : plan_->tasks) {
    const table::LiveDataFile& file = task.data_file;
    FRAZIL_TRY(CheckRowCount(file.file));
    spec::DeleteFileId deletes_id = LiveDeletes::IdOf(task.deletes);
    const auto number = live_.find(file.file.file_path);
    const FileState* state = number == live_.end() ? nullptr : from_.dictionary.Find(number->second);
    // A file that would be read otherwise now is another file: entries of the old number must not speak for it.
    if (state == nullptr || state->file->content != spec::FileContent::kData || !state->file->IsSame(file) ||
        !(is_read_alike || state->file->has_own_keys)) {
      if (!added.insert(file.file.file_path).second) {
        return Fail(ErrorCode::kInvalidTable, "a data file is in the snapshot twice: {}", file.file.file_path);
      }
      FRAZIL_ASSIGN(const FileNumber fresh, dictionary_.Add(IndexedFile::Of(file), std::move(deletes_id)));
      const auto keys = known.find(file.file.file_path);
      const bool is_known =
          keys != known.end() && static_cast<int64_t>(keys->second.hashes.size()) == file.file.record_count;
      added_.push_back({.task = &task, .number = fresh, .known = is_known ? &keys->second : nullptr});
      added_paths_.emplace_back(file.file.file_path, fresh);
      continue;
    }
    if (still_live_[number->second]) {
      return Fail(ErrorCode::kInvalidTable, "a data file is in the snapshot twice: {}", file.file.file_path);
    }
    still_live_[number->second] = true;
    ++num_still_live_;
    if (incomplete_.contains(number->second)) {
      jobs_.push_back({.data_file = &task, .number = number->second});
    } else if (any_shard_is_damaged_) {
      jobs_.push_back({.data_file = &task, .number = number->second, .shards = &damaged_shards_});
    }
    if (deletes_id != state->deletes_id) {
      changed_.push_back({.task = &task, .number = number->second, .deletes_id = std::move(deletes_id)});
    }
  }
  return {};
}

Status IndexFollow::CompareEqualityDeletes() {
  std::unordered_set<std::string_view> paths;
  for (const table::LiveDelete& file : plan_->deletes->deletes()) {
    if (file.file.content != spec::FileContent::kEqualityDeletes) continue;
    std::vector<spec::FieldId> fields = file.file.equality_ids;
    std::sort(fields.begin(), fields.end());
    // Over other columns the key says nothing; in another format nobody here can read it. Rows that it hides stay hits.
    if (fields != options_.key->field_ids() || file.file.file_format != spec::FileFormat::kParquet) continue;
    FRAZIL_TRY(CheckRowCount(file.file));
    const auto number = live_.find(file.file.file_path);
    const FileState* state = number == live_.end() ? nullptr : from_.dictionary.Find(number->second);
    if (const bool is_twice = !paths.insert(file.file.file_path).second; is_twice) {
      return Fail(ErrorCode::kInvalidTable, "an equality delete file is in the snapshot twice: {}",
                  file.file.file_path);
    }
    if (state != nullptr && state->file->content == spec::FileContent::kEqualityDeletes &&
        state->file->sequence_number == file.sequence_number && state->file->record_count == file.file.record_count &&
        key_reading_ == from_.key_reading) {
      ++num_still_live_;
      still_live_[number->second] = true;
      if (any_shard_is_damaged_) {
        jobs_.push_back({.equality_delete = &file, .number = number->second, .shards = &damaged_shards_});
      }
      continue;
    }
    FRAZIL_ASSIGN(const FileNumber fresh, dictionary_.Add(IndexedFile::Of(file), {}));
    added_paths_.emplace_back(file.file.file_path, fresh);
    jobs_.push_back({.equality_delete = &file, .number = fresh});
  }
  return {};
}

void IndexFollow::FindGone() {
  if (num_still_live_ == live_.size()) return;
  for (const auto& [path, number] : live_) {
    if (!still_live_[number]) gone_.insert(number);
  }
}

Status IndexFollow::PlanAdded(const table::Table& table) {
  RowForwarding forwarding(table, {.from = from_, .live = live_, .incomplete = incomplete_, .gone = gone_},
                           options_.new_files, options_.budget, options_.on_notice);
  for (const AddedFile& file : added_) {
    if (file.known != nullptr) {
      from_known_.push_back(&file);
      continue;
    }
    KeyScanJob job{.data_file = file.task, .number = file.number};
    if (!gone_.empty()) {
      FRAZIL_ASSIGN(auto decision, forwarding.Decide(*file.task, file.number));
      if (decision) {
        if (any_shard_is_damaged_) {
          jobs_.push_back({.data_file = file.task, .number = file.number, .shards = &damaged_shards_});
        }
        if (decision->to_scan.empty()) continue;
        job.only = std::make_shared<const format::DeletionVector>(std::move(decision->to_scan));
      }
    }
    jobs_.push_back(std::move(job));
  }
  std::map<FileNumber, std::shared_ptr<const Forwarding>> forwardings = forwarding.Finish();
  for (const FileNumber number : gone_) {
    const auto found = forwardings.find(number);
    dictionary_.SetGone(number, found == forwardings.end() ? nullptr : std::move(found->second));
  }
  return {};
}

Status IndexFollow::PlanChanged() {
  std::vector<KeyScanJob> jobs(changed_.size());
  FRAZIL_TRY(ParallelFor(options_.executor, changed_.size(), [&](size_t i) -> Status {
    const ChangedFile& changed = changed_[i];
    const FileState& state = *from_.dictionary.Find(changed.number);
    FRAZIL_ASSIGN(const LiveDeletes::Positions now, from_.deletes->Get(io_, *changed.task));
    const auto before = from_.deletes->GetByIdentity(io_, *state.file, state.deletes_id);
    if (before && *before == nullptr) return {};  // nothing was deleted, so nothing came back
    KeyScanJob job{.data_file = changed.task, .number = changed.number};
    if (before) {
      if (now != nullptr && (*before)->IsSubsetOf(*now)) return {};
      format::DeletionVector vanished = (*before)->Clone();
      if (now != nullptr) vanished.Subtract(*now);
      // A rollback or an un-delete. Entries of dead rows may have been merged away, so their keys are read again.
      job.only = std::make_shared<const format::DeletionVector>(std::move(vanished));
    }
    // Else what was deleted before cannot be known any more (expired), so any live row may have come back.
    jobs[i] = std::move(job);
    return {};
  }));
  for (KeyScanJob& job : jobs) {
    if (job.data_file != nullptr) jobs_.push_back(std::move(job));
  }
  for (ChangedFile& changed : changed_) dictionary_.SetDeletes(changed.number, changed.deletes_id);
  return {};
}

int64_t IndexFollow::max_entries() const {
  int64_t count = 0;
  for (const KeyScanJob& job : jobs_) count += job.max_rows();
  for (const AddedFile* file : from_known_) count += file->task->data_file.file.record_count;
  return count;
}

Status IndexFollow::AddKnown(const AddedFile& file, EntrySorter& sorter) const {
  const std::optional<spec::RowId> first_row_id = file.task->data_file.file.first_row_id;
  const KnownKeys& known = *file.known;
  constexpr size_t kChunk = 8192;
  std::vector<Entry> entries;
  entries.reserve(kChunk);
  for (size_t i = 0; i < known.hashes.size(); ++i) {
    Entry& entry =
        entries.emplace_back(Entry{.hash = known.hashes[i], .file = file.number, .position = static_cast<uint32_t>(i)});
    if (first_row_id && i < known.stored_row_ids.size() && known.stored_row_ids[i] &&
        known.stored_row_ids[i]->value() != first_row_id->value() + static_cast<int64_t>(i)) {
      entry.row_id = known.stored_row_ids[i]->value();
    }
    if (entries.size() == kChunk || i + 1 == known.hashes.size()) {
      FRAZIL_TRY(sorter.Add(entries));
      entries.clear();
    }
  }
  return {};
}

Status IndexFollow::Scan(EntrySorter& sorter) {
  for (const AddedFile* file : from_known_) FRAZIL_TRY(AddKnown(*file, sorter));
  KeyScan scan({.io = io_,
                .plan = plan_.get(),
                .key = options_.key.get(),
                .executor = options_.executor,
                .on_progress = options_.on_progress});
  FRAZIL_TRY(scan.Run(jobs_, sorter));
  for (const FileNumber number : scan.without_own_keys()) dictionary_.SetWithoutOwnKeys(number);
  if (scan.rows_without_key() > 0 && options_.on_notice) {
    options_.on_notice(fmt::format("rows with a null in their key cannot be upserted: {}", scan.rows_without_key()));
  }
  return {};
}

std::shared_ptr<IndexVersion> IndexFollow::MakeVersion() {
  auto version = std::make_shared<IndexVersion>();
  version->snapshot = plan_->snapshot_id;
  version->markers = markers_;
  version->num_live_rows = num_live_rows_;
  version->key_reading = key_reading_;
  version->dictionary = std::move(dictionary_);
  version->files = plan_;
  version->io = io_;
  version->key_fields = options_.key->field_ids();
  version->deletes = from_.deletes;
  return version;
}

void IndexFollow::UpdateNumbers(LiveNumbers& live) const {
  for (const FileNumber number : gone_) live.erase(from_.dictionary.Find(number)->file->path);
  for (const auto& [path, number] : added_paths_) live[path] = number;
}

}  // namespace frazil::index
