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
AnyResult Run(const statement::ShowNamespaces& show, NameResolver& resolver);
AnyResult Run(const statement::DescribeNamespace& describe, NameResolver& resolver);
AnyResult Run(const statement::CreateTable& create, NameResolver& resolver);
AnyResult Run(const statement::DropTable& drop, NameResolver& resolver);
AnyResult Run(const statement::ShowTables& show, NameResolver& resolver);
AnyResult Run(const statement::ShowCreateTable& show, NameResolver& resolver);
AnyResult Run(const statement::Describe& describe, NameResolver& resolver);
AnyResult Run(const statement::SetIdentifierFields& set, NameResolver& resolver);

}  // namespace frazil::sql
