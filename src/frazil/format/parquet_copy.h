#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/value.h"

namespace frazil::format {

/// A file whose rows go into another one, and what stands in the columns that it lacks.
struct ParquetCopySource {
  std::shared_ptr<const ParquetReader> file;
  /// Top-level columns that the file lacks: the value of every row, perhaps null (spec section 6.12).
  std::map<spec::FieldId, spec::Value> constants;
  /// For lineage columns of the output, where the file has none or null (section 5.2): `_row_id` is first_row_id + position.
  int64_t first_row_id = 0;
  int64_t sequence_number = 0;
};

/// How the columns of a file become those of another one without becoming Arrow arrays in between: leaf by leaf, values and
/// levels as they are. Only where both have the same physical and logical type and the same nesting; everything else
/// (promoted types, INT96, decimals in other physical forms, fields missing in a struct, old list layouts) goes through
/// ParquetReader and ParquetWriter::Write. Immutable; thread-safe.
class ParquetCopyPlan {
 public:
  /// Null when the file cannot be copied. `schema`: that of the writer; may hold the lineage columns.
  static Result<std::shared_ptr<const ParquetCopyPlan>> Make(const spec::Schema& schema, ParquetCopySource source);

  const ParquetCopySource& source() const { return source_; }

  /// Where one leaf column of the output comes from.
  struct Leaf {
    enum class Kind { kFile, kConstant, kRowId, kSequenceNumber };
    Kind kind = Kind::kFile;
    int column = -1;  ///< leaf column of the file; of lineage columns -1 when the file has none
    spec::Field field;
    spec::Value constant;
  };
  /// In the order of the output's leaf columns.
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  ParquetCopyPlan() = default;

  ParquetCopySource source_;
  std::vector<Leaf> leaves_;
};

/// Which rows of a row group are copied: 1 or 0 for each row from its first one to the last that is copied, or beyond.
using ParquetKeptRows = std::vector<uint8_t>;

/// Rows of one row group of a planned file.
struct ParquetCopiedRows {
  std::shared_ptr<const ParquetCopyPlan> plan;
  int row_group = 0;
  ParquetKeptRows kept;
  int64_t num_rows = 0;  ///< ones in it
};

}  // namespace frazil::format
