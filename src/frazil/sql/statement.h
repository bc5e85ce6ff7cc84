#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frazil/sql/call_statement.h"
#include "frazil/sql/definition_statement.h"
#include "frazil/sql/write_statement.h"

namespace frazil::sql {

// The statements that are ours, as parsed: nothing in them has been looked up yet. Value types.

namespace statement {

/// CREATE [OR REPLACE] TABLE, REPLACE TABLE: what CreateTable alone cannot say.
struct CreateTableAs {
  CreateTable table;
  std::string query;       ///< AS ...; empty: no rows
  bool may_create = true;  ///< false: REPLACE TABLE
  bool may_replace = false;
};
struct CreateTableLike {
  CreateTable table;  ///< without columns and partitioning
  NameParts like;
};
/// EXPLAIN of a statement that writes.
struct ExplainWrite {
  std::variant<Insert, Delete, Update, Merge, Truncate, CreateTableAs> write;
};
/// Recognised, not yet built.
struct NotBuilt {
  std::string what;  ///< "CREATE VIEW", ...
  std::string hint;  ///< what to do instead; may be empty
};

}  // namespace statement

using Statement = std::variant<
    statement::CreateNamespace, statement::DropNamespace, statement::SetNamespaceProperties, statement::ShowNamespaces,
    statement::DescribeNamespace, statement::Use, statement::CreateTable, statement::DropTable, statement::RenameTable,
    statement::ShowTables, statement::ShowCreateTable, statement::ShowTableProperties, statement::ShowColumns,
    statement::ShowPartitions, statement::Describe, statement::DescribeHistory, statement::AddColumns,
    statement::ReplaceColumns, statement::DropColumns, statement::RenameColumn, statement::AlterColumns,
    statement::SetIdentifierFields, statement::ChangePartitioning, statement::SetWriteOrder,
    statement::SetTableProperties, statement::UnsetTableProperties, statement::SetTableLocation, statement::SetRef,
    statement::DropRef, statement::SetSetting, statement::ShowSettings, statement::ResetSettings, statement::Insert,
    statement::Delete, statement::Update, statement::Merge, statement::Truncate, statement::CreateTableAs,
    statement::CreateTableLike, statement::Call, statement::Vacuum, statement::ExplainWrite, statement::NotBuilt>;

/// Parses a statement of ours (Spark's grammar). None: it is not one of ours, DuckDB may know it.
/// kInvalidArgument "expected ... at line:column" for one of ours that is misspelt.
Result<std::optional<Statement>> ParseStatement(const std::string& text);

/// Spark's type text ("struct<a:int,b:array<string>>", "decimal(9,2)", "timestamp_ntz"); kInvalidArgument otherwise.
Result<spec::Type> ParseTypeText(const std::string& text);

}  // namespace frazil::sql
