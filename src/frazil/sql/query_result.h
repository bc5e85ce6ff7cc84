#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::sql {

/// ResultColumn::type, or what it has in that place, of values that DuckDB takes for timestamp_ns, though their table says
/// timestamptz_ns.
inline constexpr char kNanosWithZone[] = "timestamp_ns with time zone";

struct ResultColumn {
  std::string name;
  std::string type;  ///< SQL spelling, e.g. "bigint", "decimal(9,2)"
};

/// What a statement answers: rows, or a message ("created table demo.flights"), or both (rows affected).
class QueryResult {
 public:
  virtual ~QueryResult() = default;
  /// Empty for statements without rows.
  virtual const std::vector<ResultColumn>& columns() const = 0;
  /// The schema of the batches; null without columns.
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  /// The next rows; null at the end.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  /// One line for people (stderr); may be empty.
  virtual const std::string& message() const = 0;
};

}  // namespace frazil::sql
