#include "frazil/catalog/pointer_catalog.h"
#include "frazil/catalog/pointer_rules.h"

namespace frazil::catalog {
namespace {

// Java's JdbcCatalog marks a namespace without properties by this row; it is never shown (spec section 8.5).
constexpr char kExistsProperty[] = "exists";

}  // namespace

Status PointerCatalog::CreateNamespace(const Namespace& levels, const std::map<std::string, std::string>& properties) {
  FRAZIL_TRY(CheckNewNamespace(levels));
  return store_->Transact(PointerStore::Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_ASSIGN(const auto known, rows.NamespacesFrom(levels));
    if (!known.empty()) {
      return Fail(ErrorCode::kAlreadyExists, "namespace exists already: {}", NamespaceText(levels));
    }
    if (properties.empty()) return rows.SetProperties(levels, {{kExistsProperty, "true"}});
    return rows.SetProperties(levels, properties);
  });
}

Status PointerCatalog::DropNamespace(const Namespace& levels) {
  return store_->Transact(PointerStore::Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_TRY(CheckNamespaceExists(rows, levels));
    FRAZIL_TRY(rows.RemoveProperties(levels));
    // Whatever is still known now is a table, a view, or something below; failing undoes the removal above.
    FRAZIL_ASSIGN(const auto left, rows.NamespacesFrom(levels));
    if (!left.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "namespace is not empty, it holds {}: {}",
                  left.contains(levels) ? "tables or views" : "namespace " + NamespaceText(*left.begin()),
                  NamespaceText(levels));
    }
    return {};
  });
}

Result<std::vector<Namespace>> PointerCatalog::ListNamespaces(const Namespace& parent) const {
  return Read<std::vector<Namespace>>(*store_, [&](PointerRows& rows) -> Result<std::vector<Namespace>> {
    if (!parent.empty()) {
      FRAZIL_TRY(CheckNamespaceExists(rows, parent));
    }
    FRAZIL_ASSIGN(const auto known, rows.NamespacesFrom(parent));
    std::set<Namespace> children;
    for (const Namespace& levels : known) {
      if (levels.size() > parent.size()) children.emplace(levels.begin(), levels.begin() + parent.size() + 1);
    }
    return std::vector<Namespace>(children.begin(), children.end());
  });
}

Result<std::map<std::string, std::string>> PointerCatalog::LoadNamespace(const Namespace& levels) const {
  using Properties = std::map<std::string, std::string>;
  return Read<Properties>(*store_, [&](PointerRows& rows) -> Result<Properties> {
    FRAZIL_TRY(CheckNamespaceExists(rows, levels));
    FRAZIL_ASSIGN(Properties properties, rows.Properties(levels));
    properties.erase(kExistsProperty);
    return properties;
  });
}

Status PointerCatalog::SetNamespaceProperties(const Namespace& levels,
                                              const std::map<std::string, std::string>& properties) {
  return store_->Transact(PointerStore::Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_TRY(CheckNamespaceExists(rows, levels));
    return rows.SetProperties(levels, properties);
  });
}

Result<std::vector<TableName>> PointerCatalog::ListTables(const Namespace& levels) const {
  return Read<std::vector<TableName>>(*store_, [&](PointerRows& rows) -> Result<std::vector<TableName>> {
    FRAZIL_TRY(CheckNamespaceExists(rows, levels));
    return rows.Tables(levels);
  });
}

}  // namespace frazil::catalog
