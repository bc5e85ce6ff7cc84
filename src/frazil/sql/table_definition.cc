#include <set>

#include "frazil/base/log.h"
#include "frazil/sql/create_request.h"
#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::sql {

namespace {

/// Every file that some snapshot of the table names: what DROP TABLE ... PURGE deletes.
Result<std::vector<std::string>> FilesOf(const table::Table& table) {
  std::set<std::string> paths;
  for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
    FRAZIL_ASSIGN(table::ManifestList list, table.manifests().List(snapshot));
    paths.insert(snapshot.manifest_list);
    for (const spec::ManifestFile& manifest : *list) {
      if (!paths.insert(manifest.manifest_path).second) continue;
      FRAZIL_TRY(
          table.manifests().ForEachEntry(manifest, *table.metadata(), [&](const spec::ManifestEntry& entry) -> Status {
            paths.insert(entry.data_file.file_path);
            return {};
          }));
    }
  }
  for (const spec::StatisticsFile& file : table.metadata()->statistics) paths.insert(file.statistics_path);
  for (const spec::PartitionStatisticsFile& file : table.metadata()->partition_statistics)
    paths.insert(file.statistics_path);
  paths.erase("");
  return std::vector<std::string>(paths.begin(), paths.end());
}

/// Commits updates without a snapshot and says `message`.
AnyResult Commit(const TableReference& target, std::vector<spec::TableUpdate> updates, std::string message) {
  FRAZIL_TRY(table::CommitUpdates(
      *target.table, [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> { return updates; }));
  return MessageResult(std::move(message));
}

}  // namespace

Result<TableReference> FindToAlter(const NameParts& name, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(name));
  if (!found.metadata_table.empty() || found.version) {
    return Fail(ErrorCode::kInvalidArgument, "not a table that can be altered: {}", NameText(name));
  }
  return found;
}

Status CreateNamespaceIfDefault(catalog::Catalog& catalog, const catalog::Namespace& levels) {
  if (levels != catalog::Namespace{"default"}) return {};
  Status created = catalog.CreateNamespace(levels, {});
  if (!created && created.error().code() != ErrorCode::kAlreadyExists) return created;
  return {};
}

AnyResult Run(const statement::CreateTable& create, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference place, resolver.Place(create.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  if (create.if_not_exists) {
    auto existing = catalog->LoadTable(place.name);
    if (existing) return MessageResult("table exists already: " + place.ToString());
    if (existing.error().code() != ErrorCode::kNotFound) return tl::unexpected<Error>(std::move(existing).error());
  }
  FRAZIL_ASSIGN(spec::CreateTableRequest request, CreateRequestOf(create));

  FRAZIL_TRY(CreateNamespaceIfDefault(*catalog, place.name.levels));
  auto created = catalog->CreateTable(place.name, std::move(request));
  if (!created) {
    if (create.if_not_exists && created.error().code() == ErrorCode::kAlreadyExists) {
      return MessageResult("table exists already: " + place.ToString());
    }
    return tl::unexpected<Error>(std::move(created).error());
  }
  return MessageResult("created table " + place.ToString());
}

Status DropTable(const TableReference& found, bool purge, NameResolver& resolver) {
  const table::Table& table = *found.table;
  std::vector<std::string> files;
  if (purge) {
    if (!table.metadata()->BoolProperty("gc.enabled", true)) {
      return Fail(ErrorCode::kInvalidArgument, "cannot purge, the table's property gc.enabled is false: {}",
                  found.ToString());
    }
    FRAZIL_ASSIGN(files, FilesOf(table));
  }
  auto store = table.io();
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(found.catalog));
  FRAZIL_TRY(catalog->DropTable(found.name, purge));
  // The table is gone; files that stay behind cost room, not truth.
  if (Status deleted = store->Delete(files); !deleted) {
    Log::Warn("some files of dropped table {} are left: {}", found.ToString(), deleted.error().ToString());
  }
  return {};
}

AnyResult Run(const statement::DropTable& drop, NameResolver& resolver) {
  FRAZIL_ASSIGN(auto found, resolver.TryFind(drop.name));
  if (!found) {
    if (drop.if_exists) return MessageResult("table does not exist: " + NameText(drop.name));
    return tl::unexpected<Error>(resolver.Find(drop.name).error());
  }
  if (!found->metadata_table.empty() || found->version) {
    return Fail(ErrorCode::kInvalidArgument, "not a table that can be dropped: {}", NameText(drop.name));
  }
  FRAZIL_TRY(DropTable(*found, drop.purge, resolver));
  return MessageResult("dropped table " + found->ToString());
}

AnyResult Run(const statement::RenameTable& rename, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(rename.name, resolver));
  FRAZIL_ASSIGN(TableReference place, resolver.Place(rename.new_name));
  if (rename.new_name.size() == 1) {
    place.catalog = found.catalog;
    place.name.levels = found.name.levels;
  }
  if (place.catalog != found.catalog) {
    return Fail(ErrorCode::kInvalidArgument, "cannot rename a table into another catalog: {}",
                NameText(rename.new_name));
  }
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(found.catalog));
  FRAZIL_TRY(catalog->RenameTable(found.name, place.name));
  return MessageResult(fmt::format("renamed table {} to {}", found.ToString(), place.ToString()));
}

AnyResult Run(const statement::SetTableProperties& set, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(set.table, resolver));
  for (const auto& [key, statement] : std::map<std::string, std::string>{{"identifier-fields", "SET IDENTIFIER FIELDS"},
                                                                         {"sort-order", "WRITE ORDERED BY"}}) {
    if (!set.properties.contains(key)) continue;
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "not a property that can be set: " + key)
                              .WithHint("ALTER TABLE ... " + statement));
  }
  return Commit(found, {spec::update::SetProperties{set.properties}}, "set properties of " + found.ToString());
}

AnyResult Run(const statement::UnsetTableProperties& unset, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(unset.table, resolver));
  return Commit(found, {spec::update::RemoveProperties{unset.keys}}, "unset properties of " + found.ToString());
}

AnyResult Run(const statement::SetTableLocation& set, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(set.table, resolver));
  return Commit(found, {spec::update::SetLocation{set.location}},
                fmt::format("new files of {} go to {}", found.ToString(), set.location));
}

}  // namespace frazil::sql
