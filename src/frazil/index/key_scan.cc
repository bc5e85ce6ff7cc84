#include "frazil/index/key_scan.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/index/equality_delete_keys.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_fetcher.h"

namespace frazil::index {
namespace {

bool IsWanted(const KeyScanJob& job, const Hash96& hash) {
  return job.shards == nullptr || (*job.shards)[ShardOf(hash, static_cast<uint32_t>(job.shards->size()))];
}

}  // namespace

int64_t KeyScanJob::max_rows() const {
  if (only != nullptr) return only->cardinality();
  return data_file != nullptr ? data_file->data_file.file.record_count : equality_delete->file.record_count;
}

bool KeyScanJob::IsOfFewRows() const {
  // A row by itself costs the page that it is in, a column; a scan costs all of them.
  constexpr int64_t kFewRows = 8;
  constexpr int64_t kRowsOfPage = 4096;
  if (data_file == nullptr || only == nullptr) return false;
  const int64_t count = only->cardinality();
  return count <= std::max(kFewRows, data_file->data_file.file.record_count / kRowsOfPage);
}

Status KeyScan::Run(const std::vector<KeyScanJob>& jobs, EntrySorter& sorter) {
  for (const KeyScanJob& job : jobs) total_rows_ += job.max_rows();
  const auto scan = [&](size_t i) -> Status {
    const KeyScanJob& job = jobs[i];
    const bool is_data = job.data_file != nullptr;
    Status status = is_data ? ScanDataFile(job, sorter) : ScanEqualityDelete(job, sorter);
    if (!status) {
      const std::string& path = is_data ? job.data_file->data_file.file.file_path : job.equality_delete->file.file_path;
      return tl::unexpected(std::move(status).error().WithContext("indexing " + path));
    }
    return {};
  };
  return ParallelFor(options_.executor, jobs.size(), scan);
}

void KeyScan::Report(int64_t rows) {
  const int64_t done = rows_ += rows;
  if (options_.on_progress) options_.on_progress(std::min(done, total_rows_), total_rows_);
}

Status KeyScan::ScanDataFile(const KeyScanJob& job, EntrySorter& sorter) {
  table::FileScanTask task = *job.data_file;
  task.deletes.equality_deletes.clear();
  const scan::ReadColumns columns{.fields = options_.key->field_ids(), .row_lineage = true, .position = true};
  if (job.IsOfFewRows()) return FetchRows(job, task, columns, sorter);
  FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(options_.io, *options_.plan, task, columns));
  if (!std::ranges::all_of(options_.key->field_ids(), [&](spec::FieldId id) { return reader->HasOwn(id); })) {
    const std::lock_guard lock(mutex_);
    without_own_keys_.push_back(job.number);
  }
  for (;;) {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    if (batch == nullptr) return {};
    FRAZIL_TRY(AddRows(job, *batch, sorter));
  }
}

Status KeyScan::FetchRows(const KeyScanJob& job, const table::FileScanTask& task, const scan::ReadColumns& columns,
                          EntrySorter& sorter) {
  constexpr int64_t kCacheBytes = int64_t{1} << 20;
  constexpr size_t kRowsAtATime = 4096;
  scan::RowFetcher fetcher(options_.io, kCacheBytes);
  const std::vector<int64_t> positions = job.only->ToPositions();
  for (size_t begin = 0; begin < positions.size(); begin += kRowsAtATime) {
    const auto rows = std::span(positions).subspan(begin, std::min(kRowsAtATime, positions.size() - begin));
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch,
                  fetcher.Fetch(*options_.plan, task, rows, columns, nullptr));
    FRAZIL_TRY(AddRows(job, *batch, sorter));
  }
  return {};
}

Status KeyScan::AddRows(const KeyScanJob& job, const arrow::RecordBatch& batch, EntrySorter& sorter) {
  const auto num_keys = static_cast<std::ptrdiff_t>(options_.key->field_ids().size());
  const std::optional<spec::RowId> first_row_id = job.data_file->data_file.file.first_row_id;
  const arrow::ArrayVector arrays = batch.columns();
  FRAZIL_ASSIGN(const auto keys, options_.key->HashNullableRows({arrays.begin(), arrays.begin() + num_keys}));
  const auto& row_ids = static_cast<const arrow::Int64Array&>(*arrays[static_cast<size_t>(num_keys)]);
  const auto& positions = static_cast<const arrow::Int64Array&>(*arrays[static_cast<size_t>(num_keys) + 2]);
  std::vector<Entry> entries;
  entries.reserve(static_cast<size_t>(batch.num_rows()));
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    const auto row = static_cast<size_t>(i);
    const int64_t position = positions.Value(i);
    if (job.only != nullptr && !job.only->Contains(spec::RowPosition(position))) continue;
    if (!keys.has_no_key.empty() && keys.has_no_key[row]) {
      ++rows_without_key_;
      continue;
    }
    if (!IsWanted(job, keys.hashes[row])) continue;
    Entry& entry = entries.emplace_back(
        Entry{.hash = keys.hashes[row], .file = job.number, .position = static_cast<uint32_t>(position)});
    if (first_row_id && row_ids.Value(i) != first_row_id->value() + position) entry.row_id = row_ids.Value(i);
  }
  FRAZIL_TRY(sorter.Add(entries));
  Report(batch.num_rows());
  return {};
}

Status KeyScan::ScanEqualityDelete(const KeyScanJob& job, EntrySorter& sorter) {
  std::vector<Entry> entries;
  const auto take = [&](int64_t first_row, const CanonicalKey::NullableHashes& keys) -> Status {
    entries.clear();
    for (size_t row = 0; row < keys.hashes.size(); ++row) {
      if (!keys.has_no_key.empty() && keys.has_no_key[row]) continue;
      if (!IsWanted(job, keys.hashes[row])) continue;
      entries.push_back({.hash = keys.hashes[row],
                         .file = job.number,
                         .position = static_cast<uint32_t>(first_row + static_cast<int64_t>(row))});
    }
    FRAZIL_TRY(sorter.Add(entries));
    Report(static_cast<int64_t>(keys.hashes.size()));
    return {};
  };
  return ReadEqualityDeleteKeys(*options_.io, *options_.plan->metadata, *options_.plan->schema, *options_.key,
                                job.equality_delete->file, take);
}

}  // namespace frazil::index
