#include "frazil/cli/named_table.h"

namespace frazil::cli {

Result<NamedTable> FindNamedTable(Context& context, const catalog::TableName& spelled) {
  FRAZIL_ASSIGN(const auto catalogs, context.catalogs());
  if (const auto named = catalogs.find(spelled.levels.front()); named != catalogs.end() && spelled.levels.size() > 1) {
    return NamedTable{named->second, {{spelled.levels.begin() + 1, spelled.levels.end()}, spelled.name}};
  }
  FRAZIL_ASSIGN(std::shared_ptr<catalog::Catalog> catalog, context.default_catalog());
  return NamedTable{std::move(catalog), spelled};
}

Result<table::Table> LoadNamedTable(Context& context, const std::string& spelled) {
  FRAZIL_ASSIGN(const catalog::TableName name, catalog::TableName::Parse(spelled));
  FRAZIL_ASSIGN(NamedTable found, FindNamedTable(context, name));
  return table::Table::Load(std::move(found.catalog), found.name);
}

}  // namespace frazil::cli
