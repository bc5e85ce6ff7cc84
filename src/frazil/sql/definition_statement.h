#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/spec/sort_order.h"
#include "frazil/spec/transform.h"
#include "frazil/spec/type.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/table/schema_update.h"

namespace frazil::sql {

// The statements that define and show namespaces, tables and the session, as parsed: nothing in them has been looked up
// yet. Value types.

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

/// A column or a transform of one: an item of PARTITIONED BY, ADD PARTITION FIELD, ORDERED BY.
struct PartitionItem {
  spec::Transform transform = spec::Transform::Identity();
  NameParts column;
  std::optional<std::string> name = std::nullopt;  ///< AS name
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
struct SetNamespaceProperties {
  NameParts name;
  std::map<std::string, std::string> properties;
};
struct ShowNamespaces {
  NameParts parent;                         ///< empty: the top
  std::optional<std::string> pattern = {};  ///< * for any text, | between alternatives, any case
};
struct DescribeNamespace {
  NameParts name;
  bool extended = false;
};
struct Use {
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
struct RenameTable {
  NameParts name;
  NameParts new_name;  ///< without a namespace: stays in the one it is in
};
struct ShowTables {
  NameParts in;                             ///< empty: the current namespace
  std::optional<std::string> pattern = {};  ///< as of ShowNamespaces
};
struct ShowCreateTable {
  NameParts name;
};
struct ShowTableProperties {
  NameParts name;
  std::optional<std::string> key;
};
struct ShowColumns {
  NameParts name;
};
struct ShowPartitions {
  NameParts name;
};
struct Describe {
  NameParts name;
  bool extended = false;
  NameParts column = {};  ///< path of the one that is asked about; empty: the whole table
};
struct DescribeHistory {
  NameParts name;
};

struct AddedColumn {
  NameParts path;  ///< the last part is the new column's name
  ColumnDefinition definition;
  std::optional<table::ColumnPosition> position;
};
struct AddColumns {
  NameParts table;
  std::vector<AddedColumn> columns;
};
struct ReplaceColumns {
  NameParts table;
  std::vector<ColumnDefinition> columns;
};
struct DropColumns {
  NameParts table;
  std::vector<NameParts> columns;
  bool if_exists = false;
};
struct RenameColumn {
  NameParts table;
  NameParts column;
  std::string new_name;
};
/// Everything that one ALTER COLUMN asks of a column; what is not set stays.
struct AlteredColumn {
  NameParts path;
  std::optional<spec::Type> type;
  std::optional<bool> required;          ///< SET or DROP NOT NULL
  std::optional<Literal> default_value;  ///< SET DEFAULT; NULL also for DROP DEFAULT
  std::optional<std::string> comment;
  std::optional<table::ColumnPosition> position;
};
struct AlterColumns {
  NameParts table;
  std::vector<AlteredColumn> columns;
};
struct SetIdentifierFields {
  NameParts table;
  std::vector<NameParts> fields;
  bool drop = false;  ///< DROP IDENTIFIER FIELDS: take these out
};

/// ADD, DROP, REPLACE PARTITION FIELD.
struct ChangePartitioning {
  NameParts table;
  std::optional<PartitionItem> drop;  ///< a column without transform may be the name of a partition field
  std::optional<PartitionItem> add;
};
struct OrderItem {
  PartitionItem term;
  spec::SortDirection direction = spec::SortDirection::kAscending;
  spec::NullOrder null_order = spec::NullOrder::kFirst;
};
/// WRITE [DISTRIBUTED BY PARTITION] [LOCALLY] ORDERED BY ...; without items: unordered.
struct SetWriteOrder {
  NameParts table;
  std::vector<OrderItem> items;
  std::optional<std::string> distribution_mode;  ///< none: stays as it is
};
struct SetTableProperties {
  NameParts table;
  std::map<std::string, std::string> properties;
};
struct UnsetTableProperties {
  NameParts table;
  std::vector<std::string> keys;
};
struct SetTableLocation {
  NameParts table;
  std::string location;
};

/// CREATE, REPLACE BRANCH or TAG.
struct SetRef {
  NameParts table;
  std::string name;
  bool is_branch = true;
  bool may_create = true;
  bool may_replace = false;
  bool if_not_exists = false;
  std::optional<int64_t> snapshot_id;  ///< none: the current one
  std::optional<int64_t> max_ref_age_ms;
  std::optional<int64_t> min_snapshots_to_keep;
  std::optional<int64_t> max_snapshot_age_ms;
};
struct DropRef {
  NameParts table;
  std::string name;
  bool is_branch = true;
  bool if_exists = false;
};

/// SET key = value for keys with a dot, which are Spark's.
struct SetSetting {
  std::string key;
  std::string value;
};
/// SET, SET key, SHOW key: shows settings.
struct ShowSettings {
  std::string key;            ///< empty: all
  bool may_be_table = false;  ///< SHOW key: a table of that name goes before a setting
};
struct ResetSettings {
  std::string key;  ///< empty: all
};

}  // namespace statement
}  // namespace frazil::sql
