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
  explicit HitCollector(const IndexVersion& version) : version_(version) {}

  std::vector<KeyHit> hits;

  /// The rows and equality deletes of one key; those without state are dead.
  void Add(size_t key, std::span<const EntryResolver::Place> places) {
    // Nearly every key has one row, and nothing to decide.
    if (places.size() == 1 && places[0].state != nullptr && IsRow(places[0])) return Append(key, places[0]);
    rows_.clear();
    deletes_.clear();
    for (const EntryResolver::Place& place : places) {
      if (place.state != nullptr) (IsRow(place) ? rows_ : deletes_).push_back(place);
    }
    if (!deletes_.empty()) std::erase_if(rows_, [this](const EntryResolver::Place& row) { return IsHidden(row); });
    if (rows_.size() > 1) SortRows(hits.size());
    for (const EntryResolver::Place& row : rows_) Append(key, row);
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
  static bool IsRow(const EntryResolver::Place& place) {
    return place.state->file->content == spec::FileContent::kData;
  }
  void Append(size_t key, const EntryResolver::Place& row) {
    hits.push_back(
        {.key = key, .file = row.state->file, .position = spec::RowPosition(row.position), .row_id = row.row_id});
  }

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
  std::vector<EntryResolver::Place> rows_;
  std::vector<EntryResolver::Place> deletes_;
  std::vector<std::pair<size_t, size_t>> ties_;  // ranges of hits
};

/// Takes away the state of places that are deleted, file by file, so that one vector at a time is needed and its rows are
/// asked for together.
Status DropDeleted(const IndexVersion& version, std::vector<EntryResolver::Place>& places) {
  std::unordered_map<const FileState*, std::vector<uint32_t>> of_file;
  const FileState* last = nullptr;
  std::vector<uint32_t>* list = nullptr;
  for (size_t i = 0; i < places.size(); ++i) {
    const FileState* state = places[i].state;
    if (state == nullptr || state->deletes_id.path.empty()) continue;
    if (state != last) list = &of_file[last = state];
    list->push_back(static_cast<uint32_t>(i));
  }
  for (const auto& [state, indices] : of_file) {
    FRAZIL_ASSIGN(const LiveDeletes::Positions deleted, EntryResolver::DeletedIn(version, *state));
    if (deleted == nullptr) continue;
    for (const uint32_t i : indices) {
      if (deleted->Contains(spec::RowPosition(places[i].position))) places[i].state = nullptr;
    }
  }
  return {};
}

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
  std::vector<ProbeHit> found;
  FRAZIL_TRY(ProbeShards(sorted, found, damaged_shard));
  std::vector<EntryResolver::Place> places;
  places.reserve(found.size());
  for (const ProbeHit& hit : found) {
    places.push_back(EntryResolver::Locate(*this, hit.file, hit.position, hit.row_id));
  }
  FRAZIL_TRY(DropDeleted(*this, places));
  HitCollector collector(*this);
  collector.hits.reserve(std::min(found.size(), sorted.size()));
  for (size_t begin = 0; begin < found.size();) {
    size_t end = begin + 1;
    while (end < found.size() && found[end].key == found[begin].key) ++end;
    collector.Add(found[begin].key, std::span(places).subspan(begin, end - begin));
    begin = end;
  }
  FRAZIL_TRY(collector.BreakTies());
  return std::move(collector.hits);
}

Status IndexVersion::ProbeShards(std::span<const Hash96> sorted, std::vector<ProbeHit>& found,
                                 std::optional<uint32_t>* damaged_shard) const {
  const auto num_shards = static_cast<uint32_t>(shards.size());
  for (size_t begin = 0; begin < sorted.size();) {
    const uint32_t shard = ShardOf(sorted[begin], num_shards);
    const auto end = static_cast<size_t>(
        std::partition_point(sorted.begin() + static_cast<std::ptrdiff_t>(begin), sorted.end(),
                             [&](const Hash96& hash) { return ShardOf(hash, num_shards) == shard; }) -
        sorted.begin());
    const size_t first = found.size();
    if (Status status = Probe(shards[shard], sorted.subspan(begin, end - begin), found); !status) {
      if (status.error().code() == ErrorCode::kCorruptData && damaged_shard != nullptr) *damaged_shard = shard;
      return status;
    }
    for (size_t i = first; i < found.size(); ++i) found[i].key += static_cast<uint32_t>(begin);
    begin = end;
  }
  return {};
}

Status IndexVersion::ForEachDuplicateKey(
    const std::function<Status(const Hash96&, const std::vector<KeyHit>&)>& visit) const {
  FRAZIL_TRY(CheckFollowed(*this));
  HitCollector collector(*this);
  EntryResolver resolver(*this);
  std::vector<Entry> entries;
  std::vector<EntryResolver::Place> places;
  for (const RunList& shard : shards) {
    ShardCursor cursor(shard);
    for (;;) {
      FRAZIL_ASSIGN(const bool has_key, cursor.NextKey(entries));
      if (!has_key) break;
      if (entries.size() < 2) continue;
      places.clear();
      for (const Entry& entry : entries) {
        FRAZIL_ASSIGN(const auto place, resolver.Resolve(entry.file, entry.position, entry.row_id));
        if (place) places.push_back(*place);
      }
      collector.hits.clear();
      collector.Add(0, places);
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

EntryResolver::Place EntryResolver::Locate(const IndexVersion& version, FileNumber number, uint32_t position,
                                           int64_t row_id) {
  const FileState* state = version.dictionary.Find(number);
  if (state == nullptr) return {};
  Place place{.state = state, .position = position, .row_id = std::nullopt};
  // A rewrite keeps row ids, so the file that the entry names decides, not the one where the row lies today.
  if (state->file->first_row_id) {
    place.row_id = row_id != kDerivedRowId ? spec::RowId(row_id)
                                           : spec::RowId(state->file->first_row_id->value() + int64_t{position});
  }
  while (!place.state->is_live) {
    const Forwarding* forwarding = place.state->forwarding.get();
    if (forwarding == nullptr) return {};
    const auto target = forwarding->row_map->Find(forwarding->source, spec::RowPosition(place.position));
    if (!target || target->output >= forwarding->outputs.size()) return {};
    const std::optional<FileNumber> next = forwarding->outputs[target->output];
    // Outputs are always younger than their sources; anything else would be a circle.
    if (!next || *next <= place.state->file->number) return {};
    place.state = version.dictionary.Find(*next);
    if (place.state == nullptr) return {};
    place.position = static_cast<uint32_t>(target->position.value());
  }
  return place;
}

Result<LiveDeletes::Positions> EntryResolver::DeletedIn(const IndexVersion& version, const FileState& state) {
  if (LiveDeletes::Positions cached = version.deletes->FindCached(state.file->path, state.deletes_id)) return cached;
  if (const table::FileScanTask* task = version.FindTask(state.file->path)) {
    return version.deletes->Get(version.io, *task);
  }
  return version.deletes->GetByIdentity(version.io, *state.file, state.deletes_id);
}

Result<std::optional<EntryResolver::Place>> EntryResolver::Resolve(FileNumber number, uint32_t position,
                                                                   int64_t row_id) {
  const Place place = Locate(version_, number, position, row_id);
  if (place.state == nullptr) return std::nullopt;
  if (place.state->deletes_id.path.empty()) return place;
  FRAZIL_ASSIGN(const bool is_deleted, IsDeleted(*place.state, place.position));
  if (is_deleted) return std::nullopt;
  return place;
}

Result<bool> EntryResolver::IsDeleted(const FileState& state, uint32_t position) {
  auto found = deleted_.find(state.file->number);
  if (found == deleted_.end()) {
    LiveDeletes::Positions positions;
    if (rows_left_ > 0) {
      FRAZIL_ASSIGN(positions, DeletedIn(version_, state));
      if (positions != nullptr) rows_left_ -= positions->cardinality();
    }
    found = deleted_.emplace(state.file->number, std::move(positions)).first;
  }
  return found->second != nullptr && found->second->Contains(spec::RowPosition(position));
}

}  // namespace frazil::index
