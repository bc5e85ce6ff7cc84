#include "frazil/index/point_reader.h"

#include <algorithm>
#include <set>

#include <arrow/api.h>

namespace frazil::index {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

/// Canonical bytes of every row.
Result<std::vector<Bytes>> BytesOfRows(const CanonicalKey& key, const Arrays& columns) {
  std::vector<Bytes> rows;
  for (int64_t i = 0; i < columns.front()->length(); ++i) {
    FRAZIL_ASSIGN(Bytes bytes, key.BytesOfRow(columns, i));
    rows.push_back(std::move(bytes));
  }
  return rows;
}

}  // namespace

PointReader::PointReader(CanonicalKey key, std::shared_ptr<scan::RowFetcher> fetcher)
    : key_(std::move(key)), fetcher_(std::move(fetcher)) {}

Result<std::vector<LocatedRows>> PointReader::Locate(const KeyIndexView& view, const Arrays& keys) const {
  FRAZIL_ASSIGN(std::vector<Hash96> hashes, key_.HashRows(keys));
  std::ranges::sort(hashes);
  hashes.erase(std::ranges::unique(hashes).begin(), hashes.end());
  FRAZIL_ASSIGN(const std::vector<KeyHit> hits, view.LookUp(hashes));
  std::vector<LocatedRows> located;
  for (RowsOfFile& rows : GroupByFile(hits)) {
    const table::FileScanTask* task = view.FindTask(rows.file->path);
    if (task == nullptr) {
      return Fail(ErrorCode::kInternal, "the key index names a file that is not live: {}", rows.file->path);
    }
    located.push_back({task, std::move(rows.positions)});
  }
  return located;
}

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> PointReader::Read(const KeyIndexView& view, const Arrays& keys,
                                                                           const scan::ReadColumns& columns,
                                                                           scan::FetchCounts* counts) const {
  FRAZIL_ASSIGN(const std::vector<LocatedRows> located, Locate(view, keys));
  FRAZIL_ASSIGN(const std::vector<Bytes> wanted_rows, BytesOfRows(key_, keys));
  const std::set<Bytes> wanted(wanted_rows.begin(), wanted_rows.end());
  // The key columns are read in any case; those that nobody asked for stand between the table's and the hidden ones.
  scan::ReadColumns read = columns;
  std::vector<int> key_columns;
  for (const spec::FieldId id : key_.field_ids()) {
    const auto found = std::ranges::find(read.fields, id);
    key_columns.push_back(static_cast<int>(found - read.fields.begin()));
    if (found == read.fields.end()) read.fields.push_back(id);
  }
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (const LocatedRows& rows : located) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> batch,
                  fetcher_->Fetch(view.plan(), *rows.task, rows.positions, read, counts));
    if (batch->num_rows() == 0) continue;
    Arrays batch_keys;
    for (const int column : key_columns) batch_keys.push_back(batch->column(column));
    FRAZIL_ASSIGN(const std::vector<Bytes> found_rows, BytesOfRows(key_, batch_keys));
    for (auto column = static_cast<int>(read.fields.size()) - 1; column >= static_cast<int>(columns.fields.size());
         --column) {
      batch = batch->RemoveColumn(column).ValueOrDie();
    }
    for (int64_t begin = 0; begin < batch->num_rows();) {  // runs of rows that were asked for
      int64_t end = begin;
      while (end < batch->num_rows() && wanted.contains(found_rows[static_cast<size_t>(end)])) ++end;
      const bool is_all = begin == 0 && end == batch->num_rows();
      if (end > begin) batches.push_back(is_all ? batch : batch->Slice(begin, end - begin));
      begin = end + 1;
    }
  }
  return batches;
}

}  // namespace frazil::index
