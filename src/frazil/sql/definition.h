#pragma once

#include <memory>

#include "frazil/spec/schema.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_result.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

// Runs the statements that define and show namespaces and tables. Each works on the catalogs of `resolver` alone.

using AnyResult = Result<std::unique_ptr<QueryResult>>;

AnyResult Run(const statement::CreateNamespace& create, NameResolver& resolver);
AnyResult Run(const statement::DropNamespace& drop, NameResolver& resolver);
AnyResult Run(const statement::SetNamespaceProperties& set, NameResolver& resolver);
AnyResult Run(const statement::ShowNamespaces& show, NameResolver& resolver);
AnyResult Run(const statement::DescribeNamespace& describe, NameResolver& resolver);

AnyResult Run(const statement::CreateTable& create, NameResolver& resolver);
AnyResult Run(const statement::DropTable& drop, NameResolver& resolver);
AnyResult Run(const statement::RenameTable& rename, NameResolver& resolver);
AnyResult Run(const statement::ShowTables& show, NameResolver& resolver);
AnyResult Run(const statement::ShowCreateTable& show, NameResolver& resolver);
AnyResult Run(const statement::ShowTableProperties& show, NameResolver& resolver);
AnyResult Run(const statement::ShowColumns& show, NameResolver& resolver);
AnyResult Run(const statement::ShowPartitions& show, NameResolver& resolver);
AnyResult Run(const statement::Describe& describe, NameResolver& resolver);

// What changes a table is worked out anew on the newest state after every lost race; a statement that fails leaves the
// table as it was.

AnyResult Run(const statement::ReplaceColumns& replace, NameResolver& resolver);
AnyResult Run(const statement::AddColumns& add, NameResolver& resolver);
AnyResult Run(const statement::DropColumns& drop, NameResolver& resolver);
AnyResult Run(const statement::RenameColumn& rename, NameResolver& resolver);
AnyResult Run(const statement::AlterColumns& alter, NameResolver& resolver);
AnyResult Run(const statement::SetIdentifierFields& set, NameResolver& resolver);
AnyResult Run(const statement::ChangePartitioning& change, NameResolver& resolver);
AnyResult Run(const statement::SetWriteOrder& set, NameResolver& resolver);
AnyResult Run(const statement::SetTableProperties& set, NameResolver& resolver);
AnyResult Run(const statement::UnsetTableProperties& unset, NameResolver& resolver);
AnyResult Run(const statement::SetTableLocation& set, NameResolver& resolver);
AnyResult Run(const statement::SetRef& set, NameResolver& resolver);
AnyResult Run(const statement::DropRef& drop, NameResolver& resolver);

/// The namespace that names without one stand for exists as soon as it is needed.
Status CreateNamespaceIfDefault(catalog::Catalog& catalog, const catalog::Namespace& levels);

/// A table that ALTER TABLE may change: no metadata table, no branch or tag of one. kInvalidArgument otherwise.
Result<TableReference> FindToAlter(const NameParts& name, NameResolver& resolver);

/// Drops a table; with `purge` also every file that its metadata reaches.
Status DropTable(const TableReference& table, bool purge, NameResolver& resolver);

}  // namespace frazil::sql
