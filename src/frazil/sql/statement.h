#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frazil/spec/transform.h"
#include "frazil/spec/type.h"
#include "frazil/sql/name_resolver.h"

namespace frazil::sql {

// The statements that are ours, as parsed: nothing in them has been looked up yet. Value types.

/// A literal as written. `text` has its quotes undone; null: the keyword NULL.
struct Literal {
  std::optional<std::string> text;
  size_t offset = 0;  ///< in the statement, for messages
};

struct ColumnDefinition {
  std::string name;
  spec::Type type;  ///< ids inside nested types are all 0
  bool required = false;
  std::optional<std::string> comment;
  std::optional<Literal> default_value;
};

/// One item of PARTITIONED BY.
struct PartitionItem {
  spec::Transform transform = spec::Transform::Identity();
  NameParts column;
};

namespace statement {

struct CreateNamespace {
  NameParts name;
  bool if_not_exists = false;
  std::optional<std::string> comment;
  std::optional<std::string> location;
  std::map<std::string, std::string> properties;
};
struct DropNamespace {
  NameParts name;
  bool if_exists = false;
  bool cascade = false;
};
struct ShowNamespaces {
  NameParts parent;  ///< empty: the top
};
struct DescribeNamespace {
  NameParts name;
};
struct CreateTable {
  NameParts name;
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;
  std::vector<PartitionItem> partitioning;
  std::optional<std::string> location;
  std::optional<std::string> comment;
  std::map<std::string, std::string> properties;
};
struct DropTable {
  NameParts name;
  bool if_exists = false;
  bool purge = false;
};
struct ShowTables {
  NameParts in;  ///< empty: the current namespace
};
struct ShowCreateTable {
  NameParts name;
};
struct Describe {
  NameParts name;
  bool extended = false;
};
struct DescribeHistory {
  NameParts name;
};
struct Use {
  NameParts name;
};
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
struct SetIdentifierFields {
  NameParts table;
  std::vector<NameParts> fields;
  bool drop = false;  ///< DROP IDENTIFIER FIELDS: take these out
};
/// Recognised, not yet built.
struct NotBuilt {
  std::string what;  ///< "UPDATE", "CREATE VIEW", ...
};

}  // namespace statement

using Statement =
    std::variant<statement::CreateNamespace, statement::DropNamespace, statement::ShowNamespaces,
                 statement::DescribeNamespace, statement::CreateTable, statement::DropTable, statement::ShowTables,
                 statement::ShowCreateTable, statement::Describe, statement::DescribeHistory, statement::Use,
                 statement::Insert, statement::Delete, statement::SetIdentifierFields, statement::NotBuilt>;

/// Parses a statement of ours (Spark's grammar). None: it is not one of ours, DuckDB may know it.
/// kInvalidArgument "expected ... at line:column" for one of ours that is misspelt.
Result<std::optional<Statement>> ParseStatement(const std::string& text);

/// Spark's type text ("struct<a:int,b:array<string>>", "decimal(9,2)", "timestamp_ntz"); kInvalidArgument otherwise.
Result<spec::Type> ParseTypeText(const std::string& text);

}  // namespace frazil::sql
