#include "frazil/sql/definition_parser.h"

#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

#include "frazil/sql/definition_grammar.h"
#include "frazil/sql/parse_tree.h"
#include "frazil/sql/tree_reader.h"

namespace frazil::sql {

namespace {

using namespace grammar;              // NOLINT: the rules name the nodes of the tree
using namespace grammar::definition;  // NOLINT

bool Has(const Node* node) { return node != nullptr; }

std::string NameOf(const Node& node) { return Unquote(node.children.at(0)->string()); }

std::map<std::string, std::string> PropertiesIn(const Node& node) {
  std::map<std::string, std::string> properties;
  for (const auto& child : node.children) {
    if (child->is_type<property>()) TreeReader::AddProperty(*child, properties);
  }
  return properties;
}

/// Makes statements of the trees of one text.
class DefinitionReader {
 public:
  explicit DefinitionReader(const std::string& source) : reader_(source) {}

  Result<Statement> StatementOf(const Node& node) const {
    if (node.is_type<alter_table>()) return AlterTableOf(NameIn(node), *node.children.back());
    if (node.is_type<create_namespace>()) {
      return statement::CreateNamespace{NameIn(node), Has(Child<if_not_exists>(node)),
                                        TextIn(Child<comment_clause>(node)), TextIn(Child<location_clause>(node)),
                                        PropertiesIn(node)};
    }
    if (node.is_type<drop_namespace>()) {
      return statement::DropNamespace{NameIn(node), Has(Child<if_exists>(node)), Has(Child<cascade>(node))};
    }
    if (node.is_type<set_namespace_properties>()) {
      return statement::SetNamespaceProperties{NameIn(node), PropertiesIn(node)};
    }
    if (node.is_type<drop_table>()) {
      return statement::DropTable{NameIn(node), Has(Child<if_exists>(node)), Has(Child<purge>(node))};
    }
    if (node.is_type<show_namespaces>()) {
      return statement::ShowNamespaces{NamespaceIn(node), TextIn(Child<like_pattern>(node))};
    }
    if (node.is_type<show_tables>()) {
      return statement::ShowTables{NamespaceIn(node), TextIn(Child<like_pattern>(node))};
    }
    if (node.is_type<show_create_table>()) return statement::ShowCreateTable{NameIn(node)};
    if (node.is_type<show_properties>()) {
      const Node* key = Child<property_key>(node);
      return statement::ShowTableProperties{NameIn(node),
                                            key != nullptr ? std::optional(TreeReader::KeyOf(*key)) : std::nullopt};
    }
    if (node.is_type<show_columns>()) {
      NameParts name = NamespaceIn(node);
      const NameParts table = NameIn(node);
      name.insert(name.end(), table.begin(), table.end());
      return statement::ShowColumns{std::move(name)};
    }
    if (node.is_type<show_partitions>()) return statement::ShowPartitions{NameIn(node)};
    if (node.is_type<describe_namespace>()) {
      return statement::DescribeNamespace{NameIn(node), Has(Child<extended>(node))};
    }
    if (node.is_type<describe_history>()) return statement::DescribeHistory{NameIn(node)};
    if (node.is_type<describe_table>()) {
      const Node* column = Child<described_column>(node);
      return statement::Describe{NameIn(node), Has(Child<extended>(node)),
                                 column != nullptr ? PartsOf(*column) : NameParts()};
    }
    if (node.is_type<use_namespace>()) return statement::Use{NameIn(node)};
    if (node.is_type<set_setting>()) {
      return statement::SetSetting{Child<setting_key_text>(node)->string(),
                                   Unquote(Trimmed(Child<setting_value>(node)->string()))};
    }
    if (node.is_type<show_settings>()) return statement::ShowSettings{};
    if (node.is_type<show_setting>()) return statement::ShowSettings{Child<setting_key_text>(node)->string()};
    if (node.is_type<named_setting>()) {
      return statement::ShowSettings{Child<setting_key_text>(node)->string(), /*may_be_table=*/true};
    }
    if (node.is_type<show_time_zone>()) return statement::ShowSettings{"TimeZone"};
    if (node.is_type<reset_settings>()) return statement::ResetSettings{};
    return statement::ResetSettings{Child<setting_key_text>(node)->string()};
  }

 private:
  static NameParts NamespaceIn(const Node& node) {
    const Node* in = Child<in_namespace>(node);
    return in != nullptr ? NameIn(*in) : NameParts();
  }

  static std::vector<NameParts> PathsIn(const Node& node) {
    std::vector<NameParts> paths;
    for (const auto& child : node.children) {
      if (child->is_type<table_name>()) paths.push_back(PartsOf(*child));
    }
    return paths;
  }

  static std::optional<table::ColumnPosition> PositionIn(const Node& node) {
    if (Child<first>(node) != nullptr) return table::ColumnPosition{table::ColumnPosition::Kind::kFirst, ""};
    const Node* found = Child<after>(node);
    if (found == nullptr) return std::nullopt;
    return table::ColumnPosition{table::ColumnPosition::Kind::kAfter, NameOf(*found)};
  }

  Result<Statement> AlterTableOf(NameParts table, const Node& action) const {
    if (action.is_type<add_columns>()) return AddColumnsOf(std::move(table), action);
    if (action.is_type<replace_columns>()) {
      statement::ReplaceColumns replace{std::move(table), {}};
      for (const auto& child : action.children) {
        if (!child->is_type<replacing_column>()) continue;
        FRAZIL_ASSIGN(ColumnDefinition column, reader_.ColumnOf(*child));
        replace.columns.push_back(std::move(column));
      }
      return replace;
    }
    if (action.is_type<drop_columns>()) {
      return statement::DropColumns{std::move(table), PathsIn(action), Has(Child<if_exists>(action))};
    }
    if (action.is_type<rename_column>()) {
      return statement::RenameColumn{std::move(table), NameIn(action), NameOf(*Child<new_name>(action))};
    }
    if (action.is_type<alter_columns>()) return AlterColumnsOf(std::move(table), action);
    if (action.is_type<identifier_fields>()) {
      return statement::SetIdentifierFields{std::move(table), PathsIn(action), Has(Child<drop_word>(action))};
    }
    if (action.is_type<add_partition>() || action.is_type<drop_partition>() || action.is_type<replace_partition>()) {
      return ChangePartitioningOf(std::move(table), action);
    }
    if (action.is_type<write_order>()) return WriteOrderOf(std::move(table), action);
    if (action.is_type<set_properties>()) return statement::SetTableProperties{std::move(table), PropertiesIn(action)};
    if (action.is_type<unset_properties>()) {
      statement::UnsetTableProperties unset{std::move(table), {}};
      for (const auto& child : action.children) {
        if (child->is_type<property_key>()) unset.keys.push_back(TreeReader::KeyOf(*child));
      }
      return unset;
    }
    if (action.is_type<set_location>()) {
      return statement::SetTableLocation{std::move(table), *TextIn(Child<location_clause>(action))};
    }
    if (action.is_type<rename_table>()) return statement::RenameTable{std::move(table), NameIn(action)};
    if (action.is_type<drop_ref>()) {
      return statement::DropRef{std::move(table), Unquote(Child<name_text>(action)->string()),
                                Has(Child<branch_word>(action)), Has(Child<if_exists>(action))};
    }
    return SetRefOf(std::move(table), action);
  }

  Result<Statement> AddColumnsOf(NameParts table, const Node& node) const {
    statement::AddColumns add{std::move(table), {}};
    for (const auto& child : node.children) {
      if (!child->is_type<added_column>()) continue;
      statement::AddedColumn added;
      added.path = NameIn(*child);
      FRAZIL_ASSIGN(added.definition, reader_.ColumnOf(*child));
      added.position = PositionIn(*child);
      add.columns.push_back(std::move(added));
    }
    return add;
  }

  Result<Statement> AlterColumnsOf(NameParts table, const Node& node) const {
    statement::AlterColumns alter{std::move(table), {}};
    for (const auto& child : node.children) {
      if (!child->is_type<altered_column>()) continue;
      statement::AlteredColumn altered;
      altered.path = NameIn(*child);
      if (const Node* type = Child<new_type>(*child)) {
        FRAZIL_ASSIGN(altered.type, reader_.TypeOf(*type->children.at(0)));
      }
      if (Has(Child<set_not_null>(*child))) altered.required = true;
      if (Has(Child<drop_not_null>(*child))) altered.required = false;
      if (Has(Child<drop_default>(*child))) altered.default_value = Literal();
      if (const Node* given = Child<set_default>(*child)) {
        FRAZIL_ASSIGN(altered.default_value, reader_.LiteralOf(*given->children.at(0)));
      }
      altered.comment = TextIn(Child<column_comment>(*child));
      altered.position = PositionIn(*child);
      alter.columns.push_back(std::move(altered));
    }
    return alter;
  }

  Result<Statement> ChangePartitioningOf(NameParts table, const Node& node) const {
    statement::ChangePartitioning change{std::move(table), std::nullopt, std::nullopt};
    std::vector<PartitionItem> items;
    for (const auto& child : node.children) {
      if (!child->is_type<partition_item>()) continue;
      FRAZIL_ASSIGN(PartitionItem item, reader_.PartitionOf(*child));
      items.push_back(std::move(item));
    }
    if (!node.is_type<add_partition>()) change.drop = items.front();
    if (!node.is_type<drop_partition>()) {
      change.add = items.back();
      change.add->name = TreeReader::PartitionNameIn(node);
    }
    return change;
  }

  Result<Statement> WriteOrderOf(NameParts table, const Node& node) const {
    statement::SetWriteOrder order{std::move(table), {}, std::nullopt};
    for (const auto& child : node.children) {
      if (!child->is_type<order_item>()) continue;
      statement::OrderItem item;
      FRAZIL_ASSIGN(item.term, reader_.PartitionOf(*Child<partition_item>(*child)));
      const bool is_descending = Has(Child<descending>(*child));
      item.direction = is_descending ? spec::SortDirection::kDescending : spec::SortDirection::kAscending;
      item.null_order = is_descending ? spec::NullOrder::kLast : spec::NullOrder::kFirst;
      if (Has(Child<nulls_first>(*child))) item.null_order = spec::NullOrder::kFirst;
      if (Has(Child<nulls_last>(*child))) item.null_order = spec::NullOrder::kLast;
      order.items.push_back(std::move(item));
    }
    if (Has(Child<distributed>(node))) {
      order.distribution_mode = "hash";
    } else if (Has(Child<unordered>(node))) {
      order.distribution_mode = "none";
    } else if (!Has(Child<locally>(node))) {
      order.distribution_mode = "range";
    }
    return order;
  }

  Result<int64_t> NumberOf(const Node& node) const {
    const std::string digits = node.string();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return Fail(ErrorCode::kInvalidArgument, "number is too large at {}: {}", reader_.Place(node), digits);
    }
    return number;
  }

  /// An `age` in milliseconds.
  Result<int64_t> AgeOf(const Node& node) const {
    FRAZIL_ASSIGN(const int64_t number, NumberOf(*Child<integer_text>(node)));
    const std::string unit = Lower(Child<age_unit>(node)->string());
    const int64_t unit_ms = unit.starts_with("day") ? 86'400'000 : unit.starts_with("hour") ? 3'600'000 : 60'000;
    if (number > std::numeric_limits<int64_t>::max() / unit_ms) {
      return Fail(ErrorCode::kInvalidArgument, "age is too large at {}: {}", reader_.Place(node), node.string());
    }
    return number * unit_ms;
  }

  Result<Statement> SetRefOf(NameParts table, const Node& node) const {
    statement::SetRef set;
    set.table = std::move(table);
    set.name = Unquote(Child<name_text>(node)->string());
    set.is_branch = Has(Child<branch_word>(node));
    set.may_create = node.is_type<create_ref>();
    set.may_replace = !set.may_create || Has(Child<grammar::definition::or_replace>(node));
    set.if_not_exists = Has(Child<if_not_exists>(node));
    if (const Node* version = Child<as_of>(node)) {
      FRAZIL_ASSIGN(set.snapshot_id, NumberOf(*Child<integer_text>(*version)));
    }
    if (const Node* kept = Child<retain>(node)) {
      FRAZIL_ASSIGN(set.max_ref_age_ms, AgeOf(*Child<age>(*kept)));
    }
    if (const Node* retention = Child<snapshot_retention>(node)) {
      if (const Node* least = Child<min_snapshots>(*retention)) {
        FRAZIL_ASSIGN(set.min_snapshots_to_keep, NumberOf(*Child<integer_text>(*least)));
      }
      if (const Node* oldest = Child<age>(*retention)) {
        FRAZIL_ASSIGN(set.max_snapshot_age_ms, AgeOf(*oldest));
      }
    }
    return set;
  }

  TreeReader reader_;
};

}  // namespace

Result<std::optional<Statement>> ParseDefinition(const std::string& text) {
  FRAZIL_ASSIGN(auto tree, (ParseTree<grammar::definition::whole_statement, grammar::definition::Selected>(text)));
  if (!tree) return std::optional<Statement>();
  FRAZIL_ASSIGN(Statement statement, DefinitionReader(text).StatementOf(*tree->children.at(0)));
  return std::optional<Statement>(std::move(statement));
}

}  // namespace frazil::sql
