#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/executor.h"
#include "frazil/base/result.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/write/row_order.h"

namespace frazil::write {

/// Where a written row lies: an ordinal into RowWriter's files and the row's position in that file.
struct RowLocation {
  uint32_t file = 0;
  int64_t position = 0;
};

struct RowWriterOptions {
  /// The spec to write with; none: the table's default one. Its id becomes that of the files.
  std::optional<spec::PartitionSpec> spec;
  /// The order that the rows are given in, when it is one of the table's (spec section 6.9).
  std::optional<spec::SortOrderId> sort_order_id;
  /// The most memory that open row groups may take together. A file is open for each partition that got rows: the largest
  /// row groups are written out early when they do not fit. None: only `write.parquet.row-group-size-bytes` counts.
  std::optional<int64_t> max_open_bytes;
  /// Given with `max_open_bytes`: a file is open for as many partitions as have room in it, and for kMaxOpenPartitions at
  /// most. Rows of others wait, sorted by partition, in a file without a name in this folder (empty: the system's), and
  /// Finish() writes them, one partition after the other. They take half of `max_open_bytes`.
  std::optional<std::string> spill_directory;
  /// Set by another thread: Write() and Finish() end soon with kShuttingDown. May be null.
  const std::atomic<bool>* stop = nullptr;
  bool is_landing = false;  ///< files get the names of landing files (table::IsLandingFile); `spec` has no fields
};

/// Writes record batches as data files of one partition spec: split by partition, rolled at
/// `write.target-file-size-bytes`, column metrics by `write.metadata.metrics.*` (spec sections 7.1, 7.4).
///
/// A batch has the columns of `schema` in its order (types as format::ToArrowSchema says), then optionally `_row_id`
/// and after it `_last_updated_sequence_number` (int64, nullable). A file in which every lineage value is null is
/// written without those columns (section 5.3). All batches of one writer have the same columns.
///
/// Rows keep their order inside a partition; they are not sorted here. One thread at a time; partitions of a batch are
/// encoded in parallel on `executor`.
/// Errors: kInvalidArgument (null in a required column, naming it), kNotSupported (unknown transform, property), kIo,
/// kShuttingDown.
class RowWriter {
 public:
  /// `executor` may be null: everything on the calling thread. `schema`: the schema to write with, usually the
  /// table's current one.
  static Result<std::unique_ptr<RowWriter>> Make(std::shared_ptr<io::FileIO> io, spec::TableMetadataPtr metadata,
                                                 spec::SchemaPtr schema, Executor* executor,
                                                 RowWriterOptions options = {});
  ~RowWriter();  ///< without Finish(): unfinished files are dropped, finished ones deleted

  /// When `locations` is given, one entry a row of the batch is appended to it, and no row of the batch waits.
  Status Write(const arrow::RecordBatch& batch, std::vector<RowLocation>* locations = nullptr);

  /// The same for rows that lie partition by partition already, as RowSorter orders them: nothing is computed or moved.
  /// `partitions` cover the batch and are of the writer's spec.
  Status WriteGrouped(const arrow::RecordBatch& batch, std::span<const PartitionRange> partitions,
                      std::vector<RowLocation>* locations = nullptr);

  /// Memory that the open row groups take, as the allocator counts it; after Write() within `max_open_bytes`, except that
  /// row groups of less than kMinRowGroupMemory stay open.
  int64_t open_bytes() const;
  static constexpr int64_t kMinRowGroupMemory = int64_t{64} << 10;
  /// Each takes a descriptor, of which a process often has 1,024.
  static constexpr int64_t kMaxOpenPartitions = 500;

  /// Closes everything. Entries are in the order of RowLocation::file; they are not committed yet, and theirs is the
  /// caller to delete when the commit surely failed.
  Result<std::vector<spec::DataFile>> Finish();

 private:
  class Impl;
  explicit RowWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::write
