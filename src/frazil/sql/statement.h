#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frazil/sql/definition_statement.h"

namespace frazil::sql {

// The statements that are ours, as parsed: nothing in them has been looked up yet. Value types.

namespace statement {

struct Insert {
  NameParts table;
  std::vector<std::string> columns;  ///< empty: all, in order
  std::string source;                ///< the query or VALUES, as written
};
struct Delete {
  NameParts table;
  std::string alias;
  std::string condition;  ///< as written; empty: every row
};
/// Recognised, not yet built.
struct NotBuilt {
  std::string what;  ///< "UPDATE", "CREATE VIEW", ...
};

}  // namespace statement

using Statement =
    std::variant<statement::CreateNamespace, statement::DropNamespace, statement::SetNamespaceProperties,
                 statement::ShowNamespaces, statement::DescribeNamespace, statement::Use, statement::CreateTable,
                 statement::DropTable, statement::RenameTable, statement::ShowTables, statement::ShowCreateTable,
                 statement::ShowTableProperties, statement::ShowColumns, statement::ShowPartitions, statement::Describe,
                 statement::DescribeHistory, statement::AddColumns, statement::DropColumns, statement::RenameColumn,
                 statement::AlterColumns, statement::SetIdentifierFields, statement::ChangePartitioning,
                 statement::SetWriteOrder, statement::SetTableProperties, statement::UnsetTableProperties,
                 statement::SetTableLocation, statement::SetRef, statement::DropRef, statement::SetSetting,
                 statement::ShowSettings, statement::ResetSettings, statement::Insert, statement::Delete,
                 statement::NotBuilt>;

/// Parses a statement of ours (Spark's grammar). None: it is not one of ours, DuckDB may know it.
/// kInvalidArgument "expected ... at line:column" for one of ours that is misspelt.
Result<std::optional<Statement>> ParseStatement(const std::string& text);

/// Spark's type text ("struct<a:int,b:array<string>>", "decimal(9,2)", "timestamp_ntz"); kInvalidArgument otherwise.
Result<spec::Type> ParseTypeText(const std::string& text);

}  // namespace frazil::sql
