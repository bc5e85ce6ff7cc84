#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/format/parquet_writer.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/file_names.h"
#include "frazil/write/column_metrics.h"

namespace frazil::maintain {

/// The data files that a group of a rewrite writes, one open at a time: rows come partition by partition. Unlike
/// write::RowWriter it takes partitions as they are (their source columns may be gone), any spec, and rows that bring
/// their lineage with them. One thread.
class RewriteOutputs {
 public:
  struct Options {
    spec::SchemaPtr schema;
    spec::PartitionSpec spec;
    bool has_lineage = false;  ///< batches end with `_row_id` and `_last_updated_sequence_number`, and so do files
    int64_t roll_at_bytes = 0;
    int64_t row_group_bytes = 0;  ///< less than the table says, where memory is short; 0: as it says
    /// The same for copied row groups: of them only columns with a dictionary are in memory, one at a time.
    int64_t copied_row_group_bytes = 0;
    std::optional<spec::SortOrderId> sort_order_id;
  };
  static Result<std::unique_ptr<RewriteOutputs>> Make(std::shared_ptr<io::FileIO> io, spec::TableMetadataPtr metadata,
                                                      Options options);
  ~RewriteOutputs();  ///< without Finish(): nothing stays

  /// Where the first row of a batch went; the others follow it.
  struct Place {
    uint32_t output = 0;
    int64_t start = 0;
  };
  /// Columns as the options say. Another partition than the last one's closes the file.
  Result<Place> Write(const spec::PartitionTuple& partition, const arrow::RecordBatch& rows);

  /// Writes rows of other files as one row group (format::ParquetWriter::WriteRowGroup); before any Write() of the
  /// partition. The plans are for file_schema().
  Result<Place> WriteRowGroup(const spec::PartitionTuple& partition, std::span<const format::ParquetCopiedRows> rows);
  /// What that row group should take: as the table says, and what the file has room for.
  int64_t row_group_room_bytes() const;
  /// The options' schema with the lineage columns, if any.
  const spec::Schema& file_schema() const { return *file_schema_; }

  /// Closes the last file; the files in the order of Place::output, not committed.
  Result<std::vector<spec::DataFile>> Finish();

 private:
  RewriteOutputs(std::shared_ptr<io::FileIO> io, spec::TableMetadataPtr metadata, Options options,
                 spec::SchemaPtr file_schema, write::MetricsConfig metrics, table::FileNames names);

  Status OpenFor(const spec::PartitionTuple& partition);
  Status Open(const spec::PartitionTuple& partition);
  Status Close();

  const std::shared_ptr<io::FileIO> io_;
  const spec::TableMetadataPtr metadata_;
  const Options options_;
  const spec::SchemaPtr file_schema_;
  const write::MetricsConfig metrics_;
  table::FileNames names_;
  format::ParquetWriteOptions write_options_;
  int64_t copied_row_group_bytes_ = 0;

  std::unique_ptr<format::ParquetWriter> writer_;
  std::vector<spec::DataFile> files_;
  bool is_finished_ = false;
};

}  // namespace frazil::maintain
