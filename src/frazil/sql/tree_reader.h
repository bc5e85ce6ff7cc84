#pragma once

#include <map>
#include <optional>
#include <string>

#include "frazil/sql/lexical_grammar.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

// What the parsers of statements read from a tree alike. Nodes are the rules of lexical_grammar.h.

/// The first child that a rule made; null when there is none.
template <typename Rule>
const grammar::Node* Child(const grammar::Node& node) {
  for (const auto& child : node.children) {
    if (child->template is_type<Rule>()) return child.get();
  }
  return nullptr;
}

/// Undoes the quotes of a name or text, back slashes in a text included; a plain word as it is.
std::string Unquote(const std::string& quoted);
/// Without blanks at the end: rules take them along.
std::string Trimmed(std::string text);
/// ASCII letters in lower case.
std::string Lower(std::string letters);
/// The parts of a `table_name`.
NameParts PartsOf(const grammar::Node& table);
/// Of the first `table_name` below a node; empty when there is none.
NameParts NameIn(const grammar::Node& node);
/// The first 'text' below a node; none when there is none, or no node.
std::optional<std::string> TextIn(const grammar::Node* node);

/// Turns nodes into what statements hold. `source` is the statement's text, for places in messages; it must outlive the
/// reader. Errors: kInvalidArgument and kNotSupported with line:column.
class TreeReader {
 public:
  explicit TreeReader(const std::string& source) : source_(source) {}

  Result<spec::Type> TypeOf(const grammar::Node& node) const;
  /// A column's name, type, NOT NULL, COMMENT and DEFAULT. The node's children: a name or path, a type, the rest in any
  /// order. The name of a path is its last part.
  Result<ColumnDefinition> ColumnOf(const grammar::Node& node) const;
  /// The value of a literal's node.
  Result<Literal> LiteralOf(const grammar::Node& node) const;
  /// A `partition_item`: a column, or a transform of one.
  Result<PartitionItem> PartitionOf(const grammar::Node& node) const;
  /// A `partition_name`.
  static std::optional<std::string> PartitionNameIn(const grammar::Node& node);
  /// A `property` of a list.
  static void AddProperty(const grammar::Node& node, std::map<std::string, std::string>& properties);
  /// A `property_key`.
  static std::string KeyOf(const grammar::Node& node);

  /// "line:column" of a node.
  std::string Place(const grammar::Node& node) const;

 private:
  Result<spec::Field> MemberOf(const grammar::Node& node) const;
  Result<spec::Type> SimpleTypeOf(const grammar::Node& node) const;

  const std::string& source_;
};

}  // namespace frazil::sql
