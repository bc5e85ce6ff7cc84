#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/vector_store.h"

namespace frazil::scan {

/// Which columns a reader returns, in this order: the chosen table columns, then the asked-for metadata columns.
struct ReadColumns {
  std::vector<spec::FieldId> fields;  ///< top-level columns of the plan's schema
  bool row_lineage = false;           ///< `_row_id`, `_last_updated_sequence_number` (effective values, section 5.2)
  bool position = false;              ///< `_pos`: ordinal in the file before any delete
  bool is_deleted = false;            ///< `_deleted`: rows that deletes hide come too, and this says which they are
  static ReadColumns All(const spec::Schema& schema);
  bool operator==(const ReadColumns&) const = default;
};

class EqualityDeletes;

/// Reads the live rows (is_deleted: all) of one planned file, Parquet or Avro: minus its vector, position and equality deletes, with
/// defaults, promotions, renamed and nested fields by id, identity-partition constants (spec sections 4.5, 5.2, 6.12).
/// The plan must outlive it.
///
/// One thread at a time; readers of different tasks are independent.
/// Errors: kNotSupported (ORC files, variant columns; naming file or column), kInvalidTable, kCorruptData.
class FileReader {
 public:
  /// `equality_deletes`: give the readers of one snapshot the same one, so that each delete file is read once; null: this
  /// reader has its own.
  static Result<std::unique_ptr<FileReader>> Open(std::shared_ptr<io::FileIO> io, const table::ScanPlan& plan,
                                                  const table::FileScanTask& task, const ReadColumns& columns,
                                                  std::shared_ptr<EqualityDeletes> equality_deletes = nullptr);
  ~FileReader();

  /// The next rows, null at the end. Never an empty batch.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();
  std::shared_ptr<arrow::Schema> schema() const;
  /// Whether the file has the column under its own id, so that it comes neither from the table's name mapping nor from a
  /// default or the partition.
  bool HasOwn(spec::FieldId id) const;

 private:
  class Impl;
  explicit FileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads v2 position delete files (Parquet): what table::MergeDeletes and FileReader need (spec section 4.6).
table::PositionDeleteReader ReadPositionDeletes(std::shared_ptr<io::FileIO> io);

}  // namespace frazil::scan
