#pragma once

#include <map>
#include <string>
#include <vector>

#include "frazil/spec/schema.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/write_statement.h"
#include "frazil/sql/write_target.h"

namespace frazil::sql {

/// The index of a top-level column by name, any case; kInvalidArgument with the nearest name as hint.
Result<size_t> FindColumn(const spec::Schema& schema, const std::string& name, const std::string& table);

/// The values that SET gives to the columns of a row: whole columns, or members of structs.
class ColumnValues {
 public:
  /// Looks the columns up. kInvalidArgument for unknown columns, for two values for one column, and for paths that do
  /// not lead into structs.
  static Result<ColumnValues> Resolve(const std::vector<statement::Assignment>& assignments, const WriteTarget& target,
                                      const std::string& alias);

  /// The expressions whose types must be known, in order. DEFAULT is none of them.
  const std::vector<std::string>& expressions() const { return expressions_; }

  /// SQL of the new value of column `i`, `old_value` being SQL of the one it has. `values` and `types`: SQL and DuckDB's
  /// type of each of expressions().
  Result<std::string> ValueOf(size_t i, const std::string& old_value, const std::vector<std::string>& values,
                              const std::vector<std::string>& types) const;
  bool IsAssigned(size_t i) const { return columns_.count(i) > 0; }

 private:
  /// What is given to a column or member: an expression, its default, or values of members.
  struct Node {
    int expression = -1;
    bool is_default = false;
    std::map<size_t, Node> members;
  };
  Result<std::string> ValueOf(const Node& node, const spec::Field& field, const std::string& old_value,
                              const std::vector<std::string>& values, const std::vector<std::string>& types) const;

  std::string table_;
  spec::SchemaPtr schema_;
  std::map<size_t, Node> columns_;
  std::vector<std::string> expressions_;
};

/// DuckDB's types of the columns of a query, without running it.
Result<std::vector<ResultColumn>> ColumnsOfQuery(const std::string& query, Engine& engine);

}  // namespace frazil::sql
