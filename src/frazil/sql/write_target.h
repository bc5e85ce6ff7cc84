#pragma once

#include <memory>
#include <string>

#include "frazil/sql/name_resolver.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

/// The table, or the branch of a table, that a statement writes to. A value type.
class WriteTarget {
 public:
  /// kInvalidArgument for what cannot be written: metadata tables, tags, snapshots.
  static Result<WriteTarget> Find(const NameParts& name, NameResolver& resolver);

  table::Table& table() const { return *reference_.table; }
  const spec::TableMetadata& metadata() const { return *reference_.table->metadata(); }
  const std::string& catalog() const { return reference_.catalog; }
  const std::string& branch() const { return branch_; }
  /// The head of the branch in `metadata`; null when the table has no snapshot.
  const spec::Snapshot* HeadOf(const spec::TableMetadata& metadata) const;

  /// The target as it stands in a FROM, in the state that the resolver has pinned: its live rows, without `_deleted`.
  std::string FromText(const std::string& alias) const;
  /// What a column of FromText(alias) is called by: `"alias".` or `"table".`
  std::string Qualifier(const std::string& alias) const;
  /// Whether `parts` name a column by way of the table (`t.c`, `db.t.c`, `alias.c`): the parts without that; else all.
  NameParts WithoutTable(const NameParts& parts, const std::string& alias) const;

  /// kNotSupported when a column of the table hides one of those that row-level statements find rows by.
  Status CheckRowColumns() const;

  std::string ToString() const;

 private:
  TableReference reference_;
  std::string branch_;
};

}  // namespace frazil::sql
