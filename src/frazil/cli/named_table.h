#pragma once

#include <memory>
#include <string>

#include "frazil/catalog/catalog.h"
#include "frazil/catalog/table_name.h"
#include "frazil/cli/context.h"
#include "frazil/table/table.h"

namespace frazil::cli {

/// A table as the command line spells it, found as in SQL: the first of several levels may be a catalog's name.
struct NamedTable {
  std::shared_ptr<catalog::Catalog> catalog;
  catalog::TableName name;  ///< in that catalog
};
Result<NamedTable> FindNamedTable(Context& context, const catalog::TableName& spelled);
/// The same, loaded. Errors of TableName::Parse and of the catalog.
Result<table::Table> LoadNamedTable(Context& context, const std::string& spelled);

}  // namespace frazil::cli
