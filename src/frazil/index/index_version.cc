#include "frazil/index/index_version.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/index/entry_resolver.h"
#include "frazil/index/shard_cursor.h"
#include "frazil/scan/row_fetcher.h"

namespace frazil::index {
namespace {

/// Turns the entries of keys into hits; knows the order of rows of one key.
class HitCollector {
 public:
  explicit HitCollector(const IndexVersion& version) : version_(version) {}

  std::vector<KeyHit> hits;

  /// The rows and equality deletes of one key; those without file are dead.
  void Add(size_t key, std::span<const EntryResolver::Place> places) {
    // Nearly every key has one live row, and nothing to decide.
    const EntryResolver::Place* only = nullptr;
    size_t num_alive = 0;
    for (const EntryResolver::Place& place : places) {
      if (place.file == nullptr) continue;
      only = &place;
      ++num_alive;
    }
    if (num_alive == 0) return;
    if (num_alive == 1) return IsRow(*only) ? Append(key, *only) : void();
    rows_.clear();
    deletes_.clear();
    for (const EntryResolver::Place& place : places) {
      if (place.file != nullptr) (IsRow(place) ? rows_ : deletes_).push_back(place);
    }
    if (!deletes_.empty()) std::erase_if(rows_, [this](const EntryResolver::Place& row) { return IsHidden(row); });
    if (rows_.size() > 1) SortRows(hits.size());
    for (const EntryResolver::Place& row : rows_) Append(key, row);
  }

  /// Orders what data sequence numbers left undecided by the last-updated sequence number of the rows.
  Status BreakTies() {
    if (ties_.empty()) return {};
    std::vector<KeyHit> tied;
    for (const auto& [begin, end] : ties_) {
      tied.insert(tied.end(), hits.begin() + static_cast<std::ptrdiff_t>(begin),
                  hits.begin() + static_cast<std::ptrdiff_t>(end));
    }
    std::map<std::pair<const IndexedFile*, int64_t>, int64_t> last_updated;  // by file and position
    for (const RowsOfFile& rows : GroupByFile(tied)) {
      FRAZIL_ASSIGN(const std::vector<int64_t> sequences, ReadLastUpdated(rows));
      for (size_t i = 0; i < sequences.size(); ++i) last_updated[{rows.file, rows.positions[i]}] = sequences[i];
    }
    const auto sequence = [&](const KeyHit& hit) { return last_updated.at({hit.file, hit.position.value()}); };
    for (const auto& [begin, end] : ties_) {
      std::stable_sort(hits.begin() + static_cast<std::ptrdiff_t>(begin),
                       hits.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const KeyHit& left, const KeyHit& right) { return sequence(left) > sequence(right); });
    }
    ties_.clear();
    return {};
  }

 private:
  static bool IsRow(const EntryResolver::Place& place) { return place.file->content == spec::FileContent::kData; }
  void Append(size_t key, const EntryResolver::Place& row) {
    KeyHit& hit = hits.emplace_back();
    hit.key = key;
    hit.file = row.file;
    hit.position = spec::RowPosition(row.position);
    if (row.row_id != EntryResolver::kNoRowId) hit.row_id = spec::RowId(row.row_id);
  }

  /// Whether an equality delete of the same key strikes the row out (spec section 4.5): written strictly later, and over
  /// all partitions or the row's own.
  bool IsHidden(const EntryResolver::Place& row) const {
    const IndexedFile& file = *row.file;
    return std::any_of(deletes_.begin(), deletes_.end(), [&](const EntryResolver::Place& place) {
      const IndexedFile& by = *place.file;
      if (by.sequence_number <= file.sequence_number) return false;
      const spec::PartitionSpec* spec = version_.files->metadata->FindSpec(by.spec_id);
      const bool is_global = spec != nullptr && spec->is_unpartitioned();
      return is_global || (by.spec_id == file.spec_id && by.partition == file.partition);
    });
  }

  /// Newest first; a row that several entries lead to is one. Remembers where only the rows themselves can decide.
  void SortRows(size_t first_hit) {
    const auto order = [](const EntryResolver::Place& row) {
      return std::tuple(row.file->sequence_number, row.position, std::string_view(row.file->path));
    };
    std::sort(rows_.begin(), rows_.end(),
              [&](const auto& left, const auto& right) { return order(left) > order(right); });
    const auto is_same = [](const EntryResolver::Place& left, const EntryResolver::Place& right) {
      return left.file == right.file && left.position == right.position;
    };
    rows_.erase(std::unique(rows_.begin(), rows_.end(), is_same), rows_.end());
    for (size_t begin = 0; begin < rows_.size();) {
      size_t end = begin + 1;
      const auto sequence = [&](size_t i) { return rows_[i].file->sequence_number; };
      while (end < rows_.size() && sequence(end) == sequence(begin)) ++end;
      if (end - begin > 1) ties_.emplace_back(first_hit + begin, first_hit + end);
      begin = end;
    }
  }

  /// By row; 0 where the row has none.
  Result<std::vector<int64_t>> ReadLastUpdated(const RowsOfFile& rows) {
    const table::FileScanTask* planned = version_.FindTask(rows.file->path);
    if (planned == nullptr) return Fail(ErrorCode::kInternal, "a live file is not in the plan: {}", rows.file->path);
    table::FileScanTask task = *planned;
    task.deletes.equality_deletes.clear();
    constexpr int64_t kFetchCacheBytes = int64_t{4} << 20;
    if (fetcher_ == nullptr) fetcher_ = std::make_unique<scan::RowFetcher>(version_.io, kFetchCacheBytes);
    // Some column of the table has to be read for Arrow to count rows by; the key is there.
    const scan::ReadColumns columns{.fields = version_.key_fields, .row_lineage = true};
    const int last_updated = static_cast<int>(version_.key_fields.size()) + 1;
    std::vector<int64_t> sequences;
    constexpr size_t kRowsAtATime = 8192;
    for (size_t begin = 0; begin < rows.positions.size(); begin += kRowsAtATime) {
      const size_t count = std::min(kRowsAtATime, rows.positions.size() - begin);
      FRAZIL_ASSIGN(
          const std::shared_ptr<arrow::RecordBatch> batch,
          fetcher_->Fetch(*version_.files, task, std::span(rows.positions).subspan(begin, count), columns, nullptr));
      const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(last_updated));
      for (int64_t i = 0; i < column.length(); ++i) sequences.push_back(column.IsValid(i) ? column.Value(i) : 0);
    }
    return sequences;
  }

  const IndexVersion& version_;
  std::vector<EntryResolver::Place> rows_;
  std::vector<EntryResolver::Place> deletes_;
  std::vector<std::pair<size_t, size_t>> ties_;  // ranges of hits
  std::unique_ptr<scan::RowFetcher> fetcher_;
};

Status CheckFollowed(const IndexVersion& version) {
  if (version.files != nullptr) return {};
  return Fail(ErrorCode::kInternal, "the index was opened but has not followed the table yet, snapshot {}",
              version.snapshot ? version.snapshot->value() : -1);
}

}  // namespace

IndexVersion::IndexVersion(const IndexVersion& other)
    : snapshot(other.snapshot),
      markers(other.markers),
      num_live_rows(other.num_live_rows),
      key_reading(other.key_reading),
      dictionary(other.dictionary),
      shards(other.shards),
      files(other.files),
      io(other.io),
      key_fields(other.key_fields),
      deletes(other.deletes) {}

Result<std::vector<KeyHit>> IndexVersion::LookUp(std::span<const Hash96> sorted) const {
  return LookUp(sorted, nullptr, nullptr);
}

Result<std::vector<KeyHit>> IndexVersion::LookUp(std::span<const Hash96> sorted, Executor* executor,
                                                 std::optional<uint32_t>* damaged_shard) const {
  FRAZIL_TRY(CheckFollowed(*this));
  constexpr size_t kMinKeysOfPart = 32'768;
  // More than threads: some of these may be busy with other things.
  const size_t max_parts = executor == nullptr ? 1 : 2 * static_cast<size_t>(executor->num_threads());
  const size_t num_parts = std::clamp<size_t>(sorted.size() / kMinKeysOfPart, 1, max_parts);
  std::vector<std::vector<KeyHit>> hits(num_parts);
  std::vector<std::optional<uint32_t>> damaged(num_parts);
  const Status done = ParallelFor(executor, num_parts, [&](size_t i) -> Status {
    const size_t begin = sorted.size() * i / num_parts;
    const size_t end = sorted.size() * (i + 1) / num_parts;
    FRAZIL_ASSIGN(hits[i], LookUpPart(sorted, begin, end, damaged[i]));
    return {};
  });
  if (!done) {
    const auto first = std::ranges::find_if(damaged, [](const auto& shard) { return shard.has_value(); });
    if (damaged_shard != nullptr && first != damaged.end()) *damaged_shard = *first;
    return tl::unexpected(done.error());
  }
  std::vector<KeyHit> all = std::move(hits.front());
  for (size_t i = 1; i < num_parts; ++i) all.insert(all.end(), hits[i].begin(), hits[i].end());
  return all;
}

Result<std::vector<KeyHit>> IndexVersion::LookUpPart(std::span<const Hash96> sorted, size_t begin, size_t end,
                                                     std::optional<uint32_t>& damaged_shard) const {
  // What is between a run and a hit stays in the processor's caches.
  constexpr size_t kKeysAtATime = 4096;
  const auto num_shards = static_cast<uint32_t>(shards.size());
  EntryResolver resolver(*this);
  HitCollector collector(*this);
  collector.hits.reserve(end - begin);
  std::vector<ProbeHit> found;
  std::vector<EntryResolver::Place> places;
  while (begin < end) {
    const std::span<const Hash96> next = sorted.subspan(begin, std::min(kKeysAtATime, end - begin));
    const uint32_t shard = ShardOf(next.front(), num_shards);
    const auto keys = next.first(static_cast<size_t>(
        std::partition_point(next.begin(), next.end(),
                             [&](const Hash96& hash) { return ShardOf(hash, num_shards) == shard; }) -
        next.begin()));
    found.clear();
    if (Status status = Probe(shards[shard], keys, found); !status) {
      if (status.error().code() == ErrorCode::kCorruptData) damaged_shard = shard;
      return tl::unexpected(std::move(status).error());
    }
    FRAZIL_TRY(resolver.Resolve(found, places));
    for (size_t first = 0; first < found.size();) {
      size_t last = first + 1;
      while (last < found.size() && found[last].key == found[first].key) ++last;
      collector.Add(begin + found[first].key, std::span(places).subspan(first, last - first));
      first = last;
    }
    begin += keys.size();
  }
  FRAZIL_TRY(collector.BreakTies());
  return std::move(collector.hits);
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
      FRAZIL_TRY(resolver.Resolve(entries, places));
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

Result<LiveDeletes::Positions> IndexVersion::DeletedIn(const FileState& state) const {
  if (LiveDeletes::Positions cached = deletes->FindCached(state.file->path, state.deletes_id)) return cached;
  if (const table::FileScanTask* task = FindTask(state.file->path)) return deletes->Get(io, *task);
  return deletes->GetByIdentity(io, *state.file, state.deletes_id);
}

}  // namespace frazil::index
