#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::catalog {

/// Levels of a namespace, outermost first; never empty for tables.
using Namespace = std::vector<std::string>;

/// Levels joined with dots, for people and for the SQL catalog's rows.
std::string NamespaceText(const Namespace& levels);
/// The levels of such a text; the SQL catalog's rows know no quoting, so every dot divides.
Namespace NamespaceFromText(std::string_view text);

/// A table's name inside one catalog.
struct TableName {
  Namespace levels;
  std::string name;
  /// "a.b.t"; parts that Parse() would misread are back-quoted.
  std::string ToString() const;
  auto operator<=>(const TableName&) const = default;

  /// "t" -> default_namespace.t, "a.b.t" -> {a, b}.t; back-quoted or double-quoted parts may hold dots, and
  /// a quote when it is doubled. kInvalidArgument otherwise.
  static Result<TableName> Parse(std::string_view text, const Namespace& default_namespace = {"default"});
};

}  // namespace frazil::catalog
