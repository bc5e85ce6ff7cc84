#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"

namespace frazil::sql {

namespace {

spec::Field TextColumn(std::string name) {
  return {spec::FieldId(0), std::move(name), false, spec::Type::Primitive(spec::TypeId::kString)};
}

Error NamespaceNotFound(const NamespaceReference& place, const catalog::Catalog& catalog) {
  Error error(ErrorCode::kNotFound, "namespace not found: " + catalog::NamespaceText(place.levels));
  auto all = catalog.ListNamespaces({});
  if (!all) return error;
  std::vector<std::string> names;
  for (const catalog::Namespace& levels : *all) names.push_back(catalog::NamespaceText(levels));
  std::string near = spec::NearestName(catalog::NamespaceText(place.levels), names);
  return near.empty() ? error : std::move(error).WithHint(fmt::format("did you mean {}?", near));
}

}  // namespace

AnyResult Run(const statement::CreateNamespace& create, NameResolver& resolver) {
  FRAZIL_ASSIGN(NamespaceReference place, resolver.PlaceNamespace(create.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  auto properties = create.properties;
  if (create.comment) properties["comment"] = *create.comment;
  if (create.location) properties["location"] = *create.location;
  std::string name = catalog::NamespaceText(place.levels);
  Status created = catalog->CreateNamespace(place.levels, properties);
  if (!created) {
    if (create.if_not_exists && created.error().code() == ErrorCode::kAlreadyExists) {
      return MessageResult("namespace exists already: " + name);
    }
    return tl::unexpected<Error>(std::move(created).error());
  }
  return MessageResult("created namespace " + name);
}

AnyResult Run(const statement::DropNamespace& drop, NameResolver& resolver) {
  FRAZIL_ASSIGN(NamespaceReference place, resolver.PlaceNamespace(drop.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  if (drop.cascade) return Fail(ErrorCode::kNotSupported, "DROP NAMESPACE ... CASCADE is not supported yet");
  std::string name = catalog::NamespaceText(place.levels);
  FRAZIL_ASSIGN(bool exists, resolver.NamespaceExists(place.catalog, place.levels));
  if (!exists) {
    if (drop.if_exists) return MessageResult("namespace does not exist: " + name);
    return tl::unexpected<Error>(NamespaceNotFound(place, *catalog));
  }
  FRAZIL_TRY(catalog->DropNamespace(place.levels));
  return MessageResult("dropped namespace " + name);
}

AnyResult Run(const statement::ShowNamespaces& show, NameResolver& resolver) {
  NamespaceReference place{resolver.current_catalog(), {}};
  if (show.parent.size() == 1 && resolver.catalogs().count(show.parent[0]) > 0) {
    place.catalog = show.parent[0];
  } else if (!show.parent.empty()) {
    FRAZIL_ASSIGN(place, resolver.PlaceNamespace(show.parent));
  }
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  FRAZIL_ASSIGN(auto namespaces, catalog->ListNamespaces(place.levels));
  MadeUpTable table;
  table.columns = {TextColumn("namespace")};
  for (const catalog::Namespace& levels : namespaces) table.rows.push_back({TextDatum(catalog::NamespaceText(levels))});
  return TableResult(table);
}

AnyResult Run(const statement::DescribeNamespace& describe, NameResolver& resolver) {
  FRAZIL_ASSIGN(NamespaceReference place, resolver.PlaceNamespace(describe.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  FRAZIL_ASSIGN(bool exists, resolver.NamespaceExists(place.catalog, place.levels));
  if (!exists) return tl::unexpected<Error>(NamespaceNotFound(place, *catalog));
  FRAZIL_ASSIGN(auto properties, catalog->LoadNamespace(place.levels));
  MadeUpTable table;
  table.columns = {TextColumn("info_name"), TextColumn("info_value")};
  table.rows.push_back({TextDatum("Catalog Name"), TextDatum(place.catalog)});
  table.rows.push_back({TextDatum("Namespace Name"), TextDatum(catalog::NamespaceText(place.levels))});
  for (const auto& [key, value] : properties) table.rows.push_back({TextDatum(key), TextDatum(value)});
  return TableResult(table);
}

AnyResult Run(const statement::ShowTables& show, NameResolver& resolver) {
  FRAZIL_ASSIGN(NamespaceReference place, resolver.PlaceNamespace(show.in));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  FRAZIL_ASSIGN(bool exists, resolver.NamespaceExists(place.catalog, place.levels));
  if (!exists && !show.in.empty()) return tl::unexpected<Error>(NamespaceNotFound(place, *catalog));
  MadeUpTable table;
  table.columns = {TextColumn("namespace"), TextColumn("tableName")};
  if (exists) {
    FRAZIL_ASSIGN(auto tables, catalog->ListTables(place.levels));
    for (const catalog::TableName& name : tables) {
      table.rows.push_back({TextDatum(catalog::NamespaceText(name.levels)), TextDatum(name.name)});
    }
  }
  return TableResult(table);
}

}  // namespace frazil::sql
