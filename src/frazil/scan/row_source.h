#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::scan {

/// Rows of one data or delete file by field id, whatever its format (spec section 7). One thread at a time.
class RowSource {
 public:
  virtual ~RowSource() = default;

  /// Whether the file itself has the column, at any depth.
  virtual bool HasField(spec::FieldId id) const = 0;
  /// Whether it names its columns by id; else the table's name mapping does.
  virtual bool has_field_ids() const = 0;

  /// Chooses the columns; once, before Next(). See format::ParquetReader::Read for what types become.
  virtual Status Start(const std::vector<spec::Field>& wanted) = 0;

  /// The next rows, none at the end: the wanted columns that the file has, in their order. kCorruptData naming the file.
  virtual Result<std::optional<format::ParquetBatch>> Next() = 0;
};

/// kNotSupported naming the file when it is encrypted.
Status CheckNotEncrypted(const spec::DataFile& file);

/// Opens a file, with the table's name mapping where it has no field ids. kNotSupported for ORC and encrypted files;
/// kInvalidTable when the manifest is wrong about the number of rows, or when a file has neither ids nor a mapping.
Result<std::unique_ptr<RowSource>> OpenRowSource(const io::FileIO& io, const spec::TableMetadata& metadata,
                                                 const spec::DataFile& file);

/// The same for Parquet files only.
Result<std::shared_ptr<const format::ParquetReader>> OpenParquetFile(const io::FileIO& io,
                                                                     const spec::TableMetadata& metadata,
                                                                     const spec::DataFile& file);

/// Says that a file has neither field ids nor a mapping: guessing columns by place or name would give wrong values, and all
/// of them missing would give nulls.
Error NoFieldIds(const std::string& path);

/// Ids by dotted name for a file that has none; empty when the table has no mapping (spec section 1.11). Columns whose value
/// a data file's partition knows are left out: the partition goes first (section 6.12).
Result<std::map<std::string, spec::FieldId>> NameMappingFor(const spec::TableMetadata& metadata,
                                                            const spec::DataFile& file);

}  // namespace frazil::scan
