#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/arrow/schema.h>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::format {

/// A column or nested field as the file has it. A list's child is its element, a map's are key and value. Internal to
/// the parquet_*.cc files.
struct ParquetColumn {
  std::optional<spec::FieldId> id;
  std::string name;
  std::shared_ptr<arrow::Field> field;  ///< with the type that Arrow reads
  std::vector<ParquetColumn> children;
  int leaf = -1;  ///< column index in the file; leaves only

  const ParquetColumn* Find(spec::FieldId wanted) const;
};

/// The file's columns under one root. `name_mapping` gives ids when the file has none (dotted names).
ParquetColumn ColumnsOf(const parquet::arrow::SchemaManifest& manifest,
                        const std::map<std::string, spec::FieldId>& name_mapping);
bool HasIds(const ParquetColumn& column);

/// Checks that `column` can be read as `wanted` (spec section 6.2) and appends the leaves to read. kInvalidTable naming
/// the column.
Status PlanColumn(const ParquetColumn& column, const spec::Field& wanted, std::vector<int>& leaves);

/// Values as the table wants them. `array` is what Arrow read of the leaves that PlanColumn chose.
Result<std::shared_ptr<arrow::Array>> ConformColumn(const std::shared_ptr<arrow::Array>& array,
                                                    const ParquetColumn& column, const spec::Field& wanted,
                                                    const std::string& path);

}  // namespace frazil::format
