#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/sql/row_group_counts.h"
#include "frazil/sql/scan_file_list.h"

namespace frazil::sql {

/// Tells DuckDB's multi-file scan what an Iceberg table knows: schema by field id, deletes, constants per file.
/// Its file lists are ScanFileLists. Thread-safe once a scan has begun.
class TableReader final : public duckdb::MultiFileReader {
 public:
  /// `entry` outlives the reader.
  TableReader(std::shared_ptr<const PinnedTable> pinned, duckdb::TableCatalogEntry& entry);
  duckdb::TableCatalogEntry& entry() const { return entry_; }
  /// What EXPLAIN shows of row groups; none: they were not counted. Set while the query is planned.
  const std::optional<RowGroupCounts>& row_groups() const { return row_groups_; }
  void SetRowGroups(RowGroupCounts counts) { row_groups_ = std::move(counts); }
  duckdb::unique_ptr<MultiFileReader> Copy() const override;

  duckdb::shared_ptr<duckdb::MultiFileList> CreateFileList(duckdb::ClientContext& context,
                                                           const duckdb::vector<std::string>& paths,
                                                           const duckdb::FileGlobInput& glob) override;
  bool Bind(duckdb::MultiFileOptions& options, duckdb::MultiFileList& files, duckdb::vector<duckdb::LogicalType>& types,
            duckdb::vector<std::string>& names, duckdb::MultiFileReaderBindData& bind_data) override;
  duckdb::unique_ptr<duckdb::MultiFileList> ComplexFilterPushdown(
      duckdb::ClientContext& context, duckdb::MultiFileList& files, const duckdb::MultiFileOptions& options,
      duckdb::MultiFilePushdownInfo& info, duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) override;
  /// Prunes nothing: what joins and top-N push down while the query runs is for row groups.
  duckdb::unique_ptr<duckdb::MultiFileList> DynamicFilterPushdown(
      duckdb::ClientContext& context, const duckdb::MultiFileList& files, const duckdb::MultiFileOptions& options,
      const duckdb::vector<std::string>& names, const duckdb::vector<duckdb::LogicalType>& types,
      const duckdb::vector<duckdb::column_t>& column_ids, duckdb::TableFilterSet& filters) override;
  /// Refuses columns that cannot be read, naming them.
  duckdb::unique_ptr<duckdb::MultiFileReaderGlobalState> InitializeGlobalState(
      duckdb::ClientContext& context, const duckdb::MultiFileOptions& options,
      const duckdb::MultiFileReaderBindData& bind_data, const duckdb::MultiFileList& files,
      const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
      const duckdb::vector<duckdb::ColumnIndex>& columns) override;

  /// DuckDB's Parquet reader, or ours where it cannot read the file or single rows are wanted. InitializeReader() may put ours
  /// in its place: when page indexes tell that few rows can match.
  duckdb::shared_ptr<duckdb::BaseFileReader> CreateReader(duckdb::ClientContext& context,
                                                          duckdb::GlobalTableFunctionState& global,
                                                          const duckdb::OpenFileInfo& file, duckdb::idx_t index,
                                                          const duckdb::MultiFileBindData& bind_data) override;
  using MultiFileReader::CreateReader;
  duckdb::ReaderInitializeType InitializeReader(duckdb::MultiFileReaderData& data,
                                                const duckdb::MultiFileBindData& bind_data,
                                                const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
                                                const duckdb::vector<duckdb::ColumnIndex>& global_ids,
                                                duckdb::optional_ptr<duckdb::TableFilterSet> filters,
                                                duckdb::ClientContext& context,
                                                duckdb::MultiFileGlobalState& state) override;
  void FinalizeBind(duckdb::MultiFileReaderData& data, const duckdb::MultiFileOptions& options,
                    const duckdb::MultiFileReaderBindData& bind_data,
                    const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
                    const duckdb::vector<duckdb::ColumnIndex>& global_ids, duckdb::ClientContext& context,
                    duckdb::optional_ptr<duckdb::MultiFileReaderGlobalState> state) override;
  duckdb::ReaderInitializeType CreateMapping(duckdb::ClientContext& context, duckdb::MultiFileReaderData& data,
                                             const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
                                             const duckdb::vector<duckdb::ColumnIndex>& global_ids,
                                             duckdb::optional_ptr<duckdb::TableFilterSet> filters,
                                             duckdb::MultiFileList& list,
                                             const duckdb::MultiFileReaderBindData& bind_data,
                                             const duckdb::virtual_column_map_t& virtual_columns) override;
  using MultiFileReader::CreateMapping;

  duckdb::unique_ptr<duckdb::Expression> GetConstantVirtualColumn(duckdb::MultiFileReaderData& data,
                                                                  duckdb::idx_t column,
                                                                  const duckdb::LogicalType& type) override;
  duckdb::unique_ptr<duckdb::Expression> GetVirtualColumnExpression(
      duckdb::ClientContext& context, duckdb::MultiFileReaderData& data,
      const duckdb::vector<duckdb::MultiFileColumnDefinition>& local_columns, duckdb::idx_t& column,
      const duckdb::LogicalType& type, duckdb::MultiFileLocalIndex next_index,
      duckdb::optional_ptr<duckdb::MultiFileColumnDefinition>& global_column) override;

 private:
  /// What an open reader of DuckDB's reads: the hooks for hidden columns are not told.
  struct OpenFile {
    const table::LiveDataFile* file;
    std::shared_ptr<const format::DeletionVector> deleted;  ///< null: none, or not asked for
  };
  class OpenFiles {
   public:
    void Set(const duckdb::BaseFileReader* reader, OpenFile file);
    OpenFile Get(const duckdb::BaseFileReader* reader);

   private:
    std::mutex mutex_;
    std::map<const duckdb::BaseFileReader*, OpenFile> files_;
  };

  void CheckReadable(duckdb::column_t column) const;
  void PrepareColumns(const table::FileScanTask& task,
                      duckdb::vector<duckdb::MultiFileColumnDefinition>& columns) const;
  bool Fits(const duckdb::vector<duckdb::MultiFileColumnDefinition>& columns,
            const duckdb::vector<duckdb::ColumnIndex>& ids) const;
  bool CanFetch(const ScanFileList& list, const table::FileScanTask& task,
                const duckdb::vector<duckdb::ColumnIndex>& ids) const;
  void MapDirectly(duckdb::MultiFileReaderData& data, const table::LiveDataFile& file,
                   const duckdb::vector<duckdb::ColumnIndex>& ids, duckdb::optional_ptr<duckdb::TableFilterSet> filters,
                   const duckdb::virtual_column_map_t& virtual_columns) const;
  void AddConstants(const table::LiveDataFile& file, duckdb::MultiFileReaderData& data,
                    const duckdb::vector<duckdb::ColumnIndex>& global_ids) const;

  const std::shared_ptr<const PinnedTable> pinned_;
  duckdb::TableCatalogEntry& entry_;
  OpenFiles open_files_;
  std::optional<RowGroupCounts> row_groups_;
};

}  // namespace frazil::sql
