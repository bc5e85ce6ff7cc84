#pragma once

#include <map>
#include <string>
#include <vector>

#include "frazil/sql/engine.h"
#include "frazil/sql/write_statement.h"
#include "frazil/sql/write_target.h"

namespace frazil::sql {

/// What an INSERT writes, as SQL.
struct InsertQuery {
  std::vector<std::string> values;  ///< of each stored column, in order
  std::string from;                 ///< "(source) AS frazil_source(c0, c1, ...)"
  /// True for the rows that the values of PARTITION (a = 'x') stand for; empty without any.
  std::string partition_condition;

  std::string ToString() const;
};

/// What an INSERT puts its rows in the place of.
enum class Overwrite {
  kNothing,
  kEverything,
  kPartitions,      ///< the partitions that get rows (partitionOverwriteMode=dynamic)
  kPartitionValue,  ///< the rows of PARTITION (a = 'x')
};
Overwrite OverwriteOf(const statement::Insert& insert, bool replaces_partitions);

/// Brings the columns of the source, by position or name, the values of PARTITION and the defaults of the rest into the
/// table's order and types. kInvalidArgument naming the column that is unknown, missing or given twice.
Result<InsertQuery> MakeInsertQuery(const statement::Insert& insert, const WriteTarget& target, Engine& engine);

}  // namespace frazil::sql
