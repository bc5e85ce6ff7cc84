#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "duckdb/common/multi_file/base_file_reader.hpp"
#include "duckdb/common/table_column.hpp"
#include "duckdb/function/table/arrow.hpp"
#include "duckdb/planner/table_filter_state.hpp"
#include "frazil/scan/equality_deletes.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_fetcher.h"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

/// What a ScanFileReader calls itself.
inline constexpr char kScanFileReader[] = "frazil";

/// A data file that DuckDB's Parquet reader cannot read (Avro) or not without loss (timestamptz_ns), given to its
/// multi-file scan through scan::FileReader. Deletes, defaults, evolution and lineage are done when rows come out of it,
/// so a chunk has exactly the columns of the scan and nothing is mapped. One thread reads the file.
class ScanFileReader final : public duckdb::BaseFileReader {
 public:
  /// `plan` outlives the reader. `task` is one of it.
  ScanFileReader(duckdb::OpenFileInfo file, std::shared_ptr<const PinnedTable> pinned, const table::ScanPlan& plan,
                 const table::FileScanTask& task);

  /// Reads these rows only, which are live but for equality deletes; instead of all.
  void ReadRows(std::shared_ptr<scan::RowFetcher> fetcher, scan::LocatedRows rows, std::atomic<int64_t>& num_pages);

  /// Adds the next column of the scan: a column of the table by its place in the schema, a hidden one that is computed
  /// from rows, or a value that is the same for all of them.
  void AddTableColumn(size_t index);
  void AddRowId();
  void AddLastUpdatedSequenceNumber();
  void AddPosition();
  void AddIsDeleted();
  void AddConstant(duckdb::Value value);
  /// Takes over the filters, whose indices are those of the added columns.
  void SetFilters(const duckdb::TableFilterSet& filters);

  std::string GetReaderType() const override { return kScanFileReader; }
  bool TryInitializeScan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState& global,
                         duckdb::LocalTableFunctionState& local) override;
  void PrepareScan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState& global,
                   duckdb::LocalTableFunctionState& local) override;
  duckdb::AsyncResult Scan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState& global,
                           duckdb::LocalTableFunctionState& local, duckdb::DataChunk& chunk) override;

 private:
  enum class Source { kTable, kRowId, kLastUpdatedSequenceNumber, kPosition, kIsDeleted, kConstant };
  struct Output {
    Source source;
    size_t field = 0;                       ///< kTable: place in read_.fields
    duckdb::Value value = duckdb::Value();  ///< kConstant
    size_t arrow_column = 0;                ///< of a batch, all but constants
  };
  struct Filter {
    duckdb::idx_t column;
    duckdb::unique_ptr<duckdb::TableFilter> filter;
    duckdb::unique_ptr<duckdb::TableFilterState> state;
  };

  void AddOutput(Output output, std::string name, duckdb::LogicalType type);
  std::shared_ptr<arrow::Schema> OpenRows();
  std::shared_ptr<arrow::RecordBatch> FetchRows();
  std::shared_ptr<arrow::RecordBatch> NextRows();
  bool NextBatch(duckdb::ClientContext& context);
  void FilterChunk(duckdb::DataChunk& chunk);

  const std::shared_ptr<const PinnedTable> pinned_;
  const table::ScanPlan& plan_;
  const table::FileScanTask& task_;
  scan::ReadColumns read_;
  std::vector<Output> outputs_;
  std::vector<Filter> filters_;
  bool is_started_ = false;

  std::unique_ptr<scan::FileReader> rows_;
  std::shared_ptr<scan::RowFetcher> fetcher_;  // instead of rows_
  scan::LocatedRows located_;
  size_t next_located_ = 0;
  std::atomic<int64_t>* num_pages_ = nullptr;
  std::shared_ptr<arrow::RecordBatch> fetched_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
  duckdb::ArrowTableSchema arrow_types_;
  duckdb::DataChunk arrow_chunk_;
  duckdb::unique_ptr<duckdb::ArrowScanLocalState> batch_;
  duckdb::idx_t batch_rows_ = 0;
};

}  // namespace frazil::sql
