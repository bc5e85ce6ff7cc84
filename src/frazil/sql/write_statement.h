#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frazil/sql/name_resolver.h"

namespace frazil::sql::statement {

// The statements that write rows, as parsed: nothing in them has been looked up yet. Expressions, conditions and queries
// are text as written. Value types.

/// `column = value`; the column may be qualified by the table, and may be a path into a struct.
struct Assignment {
  NameParts column;
  std::string value;
};

/// One item of `PARTITION (a = 'x', b)`. Without a value the query gives it.
struct PartitionValue {
  std::string column;
  std::optional<std::string> value;
};

struct Insert {
  NameParts table;
  bool overwrite = false;
  std::vector<PartitionValue> partition;
  bool by_name = false;
  std::vector<std::string> columns;  ///< empty: all, in order
  std::string source;                ///< the query or VALUES
};

struct Delete {
  NameParts table;
  std::string alias;
  std::string condition;  ///< empty: every row
};

struct Update {
  NameParts table;
  std::string alias;
  std::vector<Assignment> assignments;
  std::string condition;  ///< empty: every row
};

struct Truncate {
  NameParts table;
};

/// One WHEN of a MERGE.
struct MergeClause {
  enum class Match { kMatched, kNotMatched, kNotMatchedBySource };
  enum class Action { kUpdate, kInsert, kDelete };

  Match match = Match::kMatched;
  Action action = Action::kUpdate;
  std::string condition;                ///< empty: always
  bool star = false;                    ///< UPDATE SET *, INSERT *
  std::vector<Assignment> assignments;  ///< of an update or insert
  /// INSERT VALUES (...) without columns: values in the order of the table's columns, names above are empty.
  bool by_position = false;
};

struct Merge {
  NameParts table;
  std::string alias;
  std::string source;        ///< as it stands in a FROM, its alias included
  std::string source_alias;  ///< by which its columns are called; a table's last name when none is given
  std::string condition;     ///< of ON
  std::vector<MergeClause> clauses;
};

}  // namespace frazil::sql::statement
