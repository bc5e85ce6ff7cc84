#include "frazil/index/index_version.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/index/shard_cursor.h"
#include "frazil/scan/file_reader.h"

namespace frazil::index {
namespace {

/// Turns the entries of keys into hits; knows the order of rows of one key.
class HitCollector {
 public:
  explicit HitCollector(const IndexVersion& version) : version_(version), resolver_(version) {}

  std::vector<KeyHit> hits;

  /// The entries of one key.
  template <typename Entries>
  Status Add(size_t key, const Entries& entries) {
    rows_.clear();
    deletes_.clear();
    for (const auto& entry : entries) {
      FRAZIL_ASSIGN(const std::optional<EntryResolver::Place> place,
                    resolver_.Resolve(entry.file, entry.position, entry.row_id));
      if (!place) continue;
      (place->state->file->content == spec::FileContent::kData ? rows_ : deletes_).push_back(*place);
    }
    if (!deletes_.empty()) std::erase_if(rows_, [this](const EntryResolver::Place& row) { return IsHidden(row); });
    if (rows_.size() > 1) SortRows(hits.size());
    for (const EntryResolver::Place& row : rows_) {
      hits.push_back(
          {.key = key, .file = row.state->file, .position = spec::RowPosition(row.position), .row_id = row.row_id});
    }
    return {};
  }

  /// Orders what data sequence numbers left undecided by the last-updated sequence number of the rows.
  Status BreakTies() {
    if (ties_.empty()) return {};
    std::map<std::string, std::map<int64_t, int64_t>> last_updated;  // by path and position
    for (const auto& [begin, end] : ties_) {
      for (size_t i = begin; i < end; ++i) last_updated[hits[i].file_path()][hits[i].position.value()] = 0;
    }
    for (auto& [path, rows] : last_updated) FRAZIL_TRY(ReadLastUpdated(path, rows));
    for (const auto& [begin, end] : ties_) {
      std::stable_sort(hits.begin() + static_cast<std::ptrdiff_t>(begin),
                       hits.begin() + static_cast<std::ptrdiff_t>(end), [&](const KeyHit& left, const KeyHit& right) {
                         return last_updated[left.file_path()][left.position.value()] >
                                last_updated[right.file_path()][right.position.value()];
                       });
    }
    ties_.clear();
    return {};
  }

 private:
  /// Whether an equality delete of the same key strikes the row out (spec section 4.5): written strictly later, and over
  /// all partitions or the row's own.
  bool IsHidden(const EntryResolver::Place& row) const {
    const IndexedFile& file = *row.state->file;
    return std::any_of(deletes_.begin(), deletes_.end(), [&](const EntryResolver::Place& place) {
      const IndexedFile& by = *place.state->file;
      if (by.sequence_number <= file.sequence_number) return false;
      const spec::PartitionSpec* spec = version_.files->metadata->FindSpec(by.spec_id);
      const bool is_global = spec != nullptr && spec->is_unpartitioned();
      return is_global || (by.spec_id == file.spec_id && by.partition == file.partition);
    });
  }

  /// Newest first; a row that several entries lead to is one. Remembers where only the rows themselves can decide.
  void SortRows(size_t first_hit) {
    const auto order = [](const EntryResolver::Place& row) {
      return std::tuple(row.state->file->sequence_number, row.position, std::string_view(row.state->file->path));
    };
    std::sort(rows_.begin(), rows_.end(),
              [&](const auto& left, const auto& right) { return order(left) > order(right); });
    const auto is_same = [](const EntryResolver::Place& left, const EntryResolver::Place& right) {
      return left.state == right.state && left.position == right.position;
    };
    rows_.erase(std::unique(rows_.begin(), rows_.end(), is_same), rows_.end());
    for (size_t begin = 0; begin < rows_.size();) {
      size_t end = begin + 1;
      const auto sequence = [&](size_t i) { return rows_[i].state->file->sequence_number; };
      while (end < rows_.size() && sequence(end) == sequence(begin)) ++end;
      if (end - begin > 1) ties_.emplace_back(first_hit + begin, first_hit + end);
      begin = end;
    }
  }

  Status ReadLastUpdated(const std::string& path, std::map<int64_t, int64_t>& rows) const {
    const table::FileScanTask* planned = version_.FindTask(path);
    if (planned == nullptr) return Fail(ErrorCode::kInternal, "a live file is not in the plan: {}", path);
    table::FileScanTask task = *planned;
    task.deletes.equality_deletes.clear();
    const scan::ReadColumns columns{.fields = version_.key_fields, .row_lineage = true, .position = true};
    FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(version_.io, *version_.files, task, columns));
    const int last_updated = static_cast<int>(version_.key_fields.size()) + 1;
    for (;;) {
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
      if (batch == nullptr) return {};
      const auto& sequences = static_cast<const arrow::Int64Array&>(*batch->column(last_updated));
      const auto& positions = static_cast<const arrow::Int64Array&>(*batch->column(last_updated + 1));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        const auto row = rows.find(positions.Value(i));
        if (row != rows.end() && sequences.IsValid(i)) row->second = sequences.Value(i);
      }
    }
  }

  const IndexVersion& version_;
  EntryResolver resolver_;
  std::vector<EntryResolver::Place> rows_;
  std::vector<EntryResolver::Place> deletes_;
  std::vector<std::pair<size_t, size_t>> ties_;  // ranges of hits
};

Status CheckFollowed(const IndexVersion& version) {
  if (version.files != nullptr) return {};
  return Fail(ErrorCode::kInternal, "the index was opened but has not followed the table yet, snapshot {}",
              version.snapshot ? version.snapshot->value() : -1);
}

}  // namespace

IndexVersion::IndexVersion(const IndexVersion& other)
    : snapshot(other.snapshot),
      dictionary(other.dictionary),
      shards(other.shards),
      files(other.files),
      io(other.io),
      key_fields(other.key_fields),
      deletes(other.deletes) {}

Result<std::vector<KeyHit>> IndexVersion::LookUp(std::span<const Hash96> sorted) const {
  return LookUp(sorted, nullptr);
}

Result<std::vector<KeyHit>> IndexVersion::LookUp(std::span<const Hash96> sorted,
                                                 std::optional<uint32_t>* damaged_shard) const {
  FRAZIL_TRY(CheckFollowed(*this));
  HitCollector collector(*this);
  collector.hits.reserve(sorted.size());
  std::vector<ProbeHit> found;
  const auto num_shards = static_cast<uint32_t>(shards.size());
  for (size_t begin = 0; begin < sorted.size();) {
    const uint32_t shard = ShardOf(sorted[begin], num_shards);
    const auto end = static_cast<size_t>(
        std::partition_point(sorted.begin() + static_cast<std::ptrdiff_t>(begin), sorted.end(),
                             [&](const Hash96& hash) { return ShardOf(hash, num_shards) == shard; }) -
        sorted.begin());
    found.clear();
    if (Status status = Probe(shards[shard], sorted.subspan(begin, end - begin), found); !status) {
      if (status.error().code() == ErrorCode::kCorruptData && damaged_shard != nullptr) *damaged_shard = shard;
      return tl::unexpected(std::move(status).error());
    }
    for (size_t i = 0; i < found.size();) {
      size_t next = i + 1;
      while (next < found.size() && found[next].key == found[i].key) ++next;
      FRAZIL_TRY(collector.Add(begin + found[i].key, std::span(found).subspan(i, next - i)));
      i = next;
    }
    begin = end;
  }
  FRAZIL_TRY(collector.BreakTies());
  return std::move(collector.hits);
}

Status IndexVersion::ForEachDuplicateKey(
    const std::function<Status(const Hash96&, const std::vector<KeyHit>&)>& visit) const {
  FRAZIL_TRY(CheckFollowed(*this));
  HitCollector collector(*this);
  std::vector<Entry> entries;
  for (const RunList& shard : shards) {
    ShardCursor cursor(shard);
    for (;;) {
      FRAZIL_ASSIGN(const bool has_key, cursor.NextKey(entries));
      if (!has_key) break;
      if (entries.size() < 2) continue;
      collector.hits.clear();
      FRAZIL_TRY(collector.Add(0, entries));
      FRAZIL_TRY(collector.BreakTies());
      if (collector.hits.size() > 1) FRAZIL_TRY(visit(entries.front().hash, collector.hits));
    }
  }
  return {};
}

const table::ScanPlan& IndexVersion::plan() const {
  static const table::ScanPlan empty;
  return files == nullptr ? empty : *files;
}

const table::FileScanTask* IndexVersion::FindTask(const std::string& file_path) const {
  std::call_once(tasks_once_, [this] {
    tasks_.reserve(plan().tasks.size());
    for (const table::FileScanTask& task : plan().tasks) tasks_.emplace(task.data_file.file.file_path, &task);
  });
  const auto found = tasks_.find(file_path);
  return found == tasks_.end() ? nullptr : found->second;
}

Result<std::optional<EntryResolver::Place>> EntryResolver::Resolve(FileNumber number, uint32_t position,
                                                                   int64_t row_id) {
  const FileState* state = version_.dictionary.Find(number);
  if (state == nullptr) return std::nullopt;
  Place place{.state = state, .position = position, .row_id = std::nullopt};
  // A rewrite keeps row ids, so the file that the entry names decides, not the one where the row lies today.
  if (state->file->first_row_id) {
    place.row_id = row_id != kDerivedRowId ? spec::RowId(row_id)
                                           : spec::RowId(state->file->first_row_id->value() + int64_t{position});
  }
  while (!place.state->is_live) {
    const Forwarding* forwarding = place.state->forwarding.get();
    if (forwarding == nullptr) return std::nullopt;
    const auto target = forwarding->row_map->Find(forwarding->source, spec::RowPosition(place.position));
    if (!target || target->output >= forwarding->outputs.size()) return std::nullopt;
    const std::optional<FileNumber> next = forwarding->outputs[target->output];
    // Outputs are always younger than their sources; anything else would be a circle.
    if (!next || *next <= place.state->file->number) return std::nullopt;
    place.state = version_.dictionary.Find(*next);
    if (place.state == nullptr) return std::nullopt;
    place.position = static_cast<uint32_t>(target->position.value());
  }
  if (place.state->deletes_id.path.empty()) return place;
  FRAZIL_ASSIGN(const bool is_deleted, IsDeleted(*place.state, place.position));
  if (is_deleted) return std::nullopt;
  return place;
}

Result<bool> EntryResolver::IsDeleted(const FileState& state, uint32_t position) {
  auto found = deleted_.find(state.file->number);
  if (found == deleted_.end()) {
    LiveDeletes::Positions positions = version_.deletes->FindCached(state.file->path, state.deletes_id);
    if (positions == nullptr) {
      if (const table::FileScanTask* task = version_.FindTask(state.file->path)) {
        FRAZIL_ASSIGN(positions, version_.deletes->Get(version_.io, *task));
      } else {
        FRAZIL_ASSIGN(positions, version_.deletes->GetByIdentity(version_.io, *state.file, state.deletes_id));
      }
    }
    found = deleted_.emplace(state.file->number, std::move(positions)).first;
  }
  return found->second != nullptr && found->second->Contains(spec::RowPosition(position));
}

}  // namespace frazil::index
