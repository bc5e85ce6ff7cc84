#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/name_pattern.h"

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

namespace {

Status UnlessGone(Status status) {
  return !status && status.error().code() == ErrorCode::kNotFound ? Status() : status;
}

/// Everything below a namespace, then itself. Each table goes or stays whole; what went stays gone when a later one fails.
/// A namespace that nobody created is there only through what lies in it, and goes with the last of that.
Status DropAll(const NamespaceReference& place, NameResolver& resolver, catalog::Catalog& catalog) {
  FRAZIL_ASSIGN(auto tables, catalog.ListTables(place.levels));
  FRAZIL_ASSIGN(auto children, catalog.ListNamespaces(place.levels));
  for (catalog::Namespace& child : children) {
    FRAZIL_TRY(DropAll({place.catalog, std::move(child)}, resolver, catalog));
  }
  for (const catalog::TableName& name : tables) {
    FRAZIL_TRY(UnlessGone(catalog.DropTable(name, false)));
  }
  return UnlessGone(catalog.DropNamespace(place.levels));
}

}  // namespace

AnyResult Run(const statement::DropNamespace& drop, NameResolver& resolver) {
  FRAZIL_ASSIGN(NamespaceReference place, resolver.PlaceNamespace(drop.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  std::string name = catalog::NamespaceText(place.levels);
  FRAZIL_ASSIGN(bool exists, resolver.NamespaceExists(place.catalog, place.levels));
  if (!exists) {
    if (drop.if_exists) return MessageResult("namespace does not exist: " + name);
    return tl::unexpected<Error>(NamespaceNotFound(place, *catalog));
  }
  FRAZIL_TRY(drop.cascade ? DropAll(place, resolver, *catalog) : catalog->DropNamespace(place.levels));
  return MessageResult("dropped namespace " + name);
}

AnyResult Run(const statement::SetNamespaceProperties& set, NameResolver& resolver) {
  FRAZIL_ASSIGN(NamespaceReference place, resolver.PlaceNamespace(set.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  FRAZIL_ASSIGN(bool exists, resolver.NamespaceExists(place.catalog, place.levels));
  if (!exists) return tl::unexpected<Error>(NamespaceNotFound(place, *catalog));
  FRAZIL_TRY(catalog->SetNamespaceProperties(place.levels, set.properties));
  return MessageResult("set properties of " + catalog::NamespaceText(place.levels));
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
  for (const catalog::Namespace& levels : namespaces) {
    const std::string name = catalog::NamespaceText(levels);
    if (!show.pattern || MatchesNamePattern(name, *show.pattern)) table.rows.push_back({TextDatum(name)});
  }
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
  std::string others;
  for (const auto& [key, value] : properties) {
    if (key == "comment") {
      table.rows.push_back({TextDatum("Comment"), TextDatum(value)});
    } else if (key == "location") {
      table.rows.push_back({TextDatum("Location"), TextDatum(value)});
    } else {
      others += fmt::format("{}({},{})", others.empty() ? "" : ", ", key, value);
    }
  }
  if (describe.extended) table.rows.push_back({TextDatum("Properties"), TextDatum("(" + others + ")")});
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
      if (show.pattern && !MatchesNamePattern(name.name, *show.pattern)) continue;
      table.rows.push_back({TextDatum(catalog::NamespaceText(name.levels)), TextDatum(name.name)});
    }
  }
  return TableResult(table);
}

}  // namespace frazil::sql
