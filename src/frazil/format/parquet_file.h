#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include "frazil/format/parquet_column.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_statistics.h"

namespace frazil::format {

/// What ParquetReader keeps of an open file, for everything that reads of it. Internal to the parquet_*.cc files.
/// Immutable after Open(); thread-safe. May throw as Parquet does: callers guard.
class ParquetFile {
 public:
  static Result<std::shared_ptr<const ParquetFile>> Open(std::shared_ptr<const io::InputFile> input,
                                                         const ParquetReadOptions& options);

  const std::string& path() const { return input_->path(); }
  const std::shared_ptr<const io::InputFile>& input() const { return input_; }
  const std::shared_ptr<parquet::FileMetaData>& metadata() const { return metadata_; }
  /// The file's columns.
  const ParquetColumn& root() const { return root_; }
  bool has_field_ids() const { return has_field_ids_; }
  const std::vector<ParquetRowGroup>& row_groups() const { return row_groups_; }
  LeafIds Ids() const;

  /// A reader of its own for each use: Arrow's is for one thread.
  Result<std::unique_ptr<parquet::arrow::FileReader>> OpenArrowReader(int64_t batch_rows) const;

 private:
  ParquetFile() = default;
  Status Load(const ParquetReadOptions& options);

  std::shared_ptr<const io::InputFile> input_;
  std::unique_ptr<parquet::arrow::FileReader> arrow_reader_;  // keeps the manifest that root_ was made of
  std::shared_ptr<parquet::FileMetaData> metadata_;
  ParquetColumn root_;
  bool has_field_ids_ = false;
  std::vector<ParquetRowGroup> row_groups_;
};

/// How Arrow is to read our files, whichever door they come through.
parquet::ReaderProperties ParquetReaderProperties();
parquet::ArrowReaderProperties ArrowReaderProperties(int64_t batch_rows);

}  // namespace frazil::format
