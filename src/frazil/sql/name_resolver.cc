#include "frazil/sql/name_resolver.h"

#include <algorithm>
#include <set>

#include "frazil/spec/schema.h"

namespace frazil::sql {

namespace {

const std::set<std::string>& MetadataTableNames() {
  static const std::set<std::string> names = {
      "entries",          "files",     "data_files",    "delete_files", "history",          "metadata_log_entries",
      "snapshots",        "refs",      "manifests",     "partitions",   "position_deletes", "all_data_files",
      "all_delete_files", "all_files", "all_manifests", "all_entries"};
  return names;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ::tolower);
  return text;
}

bool StartsWith(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

/// "branch_x" -> "x", "tag_x" -> "x", "snapshot_id_12" -> "12".
std::optional<std::string> VersionSuffix(const std::string& part) {
  for (const char* prefix : {"branch_", "tag_", "snapshot_id_"}) {
    if (StartsWith(part, prefix) && part.size() > std::string(prefix).size())
      return part.substr(std::string(prefix).size());
  }
  return std::nullopt;
}

bool IsMissing(const Error& error) { return error.code() == ErrorCode::kNotFound; }

}  // namespace

std::string NameText(const NameParts& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

bool IsMetadataTableName(const std::string& name) { return MetadataTableNames().count(Lower(name)) > 0; }

NameResolver::NameResolver(std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs,
                           std::string default_catalog, catalog::Namespace default_namespace)
    : catalogs_(std::move(catalogs)),
      current_catalog_(std::move(default_catalog)),
      current_namespace_(std::move(default_namespace)) {}

Result<std::shared_ptr<catalog::Catalog>> NameResolver::Catalog(const std::string& name) const {
  auto found = catalogs_.find(name);
  if (found == catalogs_.end()) return Fail(ErrorCode::kNotFound, "catalog not found: {}", name);
  return found->second;
}

void NameResolver::Use(NamespaceReference place) {
  current_catalog_ = std::move(place.catalog);
  current_namespace_ = std::move(place.levels);
}

void NameResolver::KeepFiles(int64_t manifest_bytes, int64_t vector_bytes, MemoryBudget* budget) {
  for (const auto& [name, catalog] : catalogs_) {
    kept_[name] = {std::make_shared<table::ManifestCache>(catalog->file_io(), manifest_bytes, budget),
                   std::make_shared<table::VectorCache>(vector_bytes, budget)};
  }
}

std::shared_ptr<table::VectorCache> NameResolver::VectorsOf(const std::string& catalog) const {
  const auto found = kept_.find(catalog);
  return found == kept_.end() ? nullptr : found->second.vectors;
}

void NameResolver::LimitEqualityKeys(int64_t bytes, std::string temp_directory) {
  equality_key_bytes_ = bytes;
  temp_directory_ = std::move(temp_directory);
}

std::shared_ptr<scan::EqualityDeletes> NameResolver::NewEqualityDeletes(std::shared_ptr<io::FileIO> io) const {
  return std::make_shared<scan::EqualityDeletes>(std::move(io), equality_key_bytes_, temp_directory_);
}

void NameResolver::Forget() {
  std::lock_guard lock(mutex_);
  pinned_.clear();
}

bool NameResolver::IsPinned(const std::string& catalog, const catalog::TableName& name) const {
  std::lock_guard lock(mutex_);
  return pinned_.count({catalog, name}) > 0;
}

std::string NameResolver::PinnedText() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [key, table] : pinned_) text += (text.empty() ? "" : ", ") + key.second.ToString();
  return text;
}

Result<std::shared_ptr<table::Table>> NameResolver::Load(const std::string& catalog_name,
                                                         const catalog::TableName& name) {
  auto key = std::make_pair(catalog_name, name);
  std::lock_guard lock(mutex_);  // while it is loaded as well: nobody sees two states of a table
  if (auto found = pinned_.find(key); found != pinned_.end()) return found->second;
  FRAZIL_ASSIGN(auto catalog, Catalog(catalog_name));
  FRAZIL_ASSIGN(table::Table loaded, table::Table::Load(catalog, name));
  auto table = std::make_shared<table::Table>(std::move(loaded));
  if (const auto kept = kept_.find(catalog_name); kept != kept_.end()) table->ShareManifests(kept->second.manifests);
  pinned_.emplace(key, table);
  return table;
}

void NameResolver::Pin(const std::string& catalog, const table::Table& state) {
  std::lock_guard lock(mutex_);
  pinned_[std::make_pair(catalog, state.name())] = std::make_shared<table::Table>(state);
}

Result<std::shared_ptr<table::Table>> NameResolver::TryLoad(const std::string& catalog_name,
                                                            const catalog::TableName& name) {
  auto loaded = Load(catalog_name, name);
  if (!loaded && IsMissing(loaded.error())) return std::shared_ptr<table::Table>();
  return loaded;
}

Result<std::optional<TableReference>> NameResolver::TryFind(const NameParts& parts) {
  struct Candidate {
    std::string catalog;
    NameParts rest;
  };
  std::vector<Candidate> candidates;
  candidates.push_back({current_catalog_, parts});
  if (parts.size() > 2 && catalogs_.count(parts[0]) > 0) {
    // A catalog's name in front wins over a namespace of the same name only when it has to: the longer name first.
    candidates.insert(candidates.begin(), {parts[0], NameParts(parts.begin() + 1, parts.end())});
  }
  for (const Candidate& candidate : candidates) {
    // First the whole name is a table, then its last part may say what of the table is wanted.
    for (size_t suffix = 0; suffix <= 1; ++suffix) {
      if (candidate.rest.size() <= suffix) continue;
      const std::string& last = candidate.rest.back();
      auto version = suffix == 1 ? VersionSuffix(last) : std::nullopt;
      if (suffix == 1 && !version && !IsMetadataTableName(last)) continue;
      NameParts name_parts(candidate.rest.begin(), candidate.rest.end() - static_cast<ptrdiff_t>(suffix));
      catalog::TableName name;
      name.name = name_parts.back();
      name.levels.assign(name_parts.begin(), name_parts.end() - 1);
      if (name.levels.empty()) name.levels = current_namespace_;
      FRAZIL_ASSIGN(auto table, TryLoad(candidate.catalog, name));
      if (!table) continue;
      TableReference reference{candidate.catalog, name, "", version, table};
      if (suffix == 1 && !version) reference.metadata_table = Lower(last);
      return std::optional<TableReference>(std::move(reference));
    }
  }
  return std::optional<TableReference>();
}

Error NameResolver::NotFound(const NameParts& parts) const {
  Error error(ErrorCode::kNotFound, "table not found: " + NameText(parts));
  auto place = Place(parts);
  if (!place) return error;
  auto catalog = Catalog(place->catalog);
  if (!catalog) return error;
  auto tables = (*catalog)->ListTables(place->name.levels);
  if (tables) {
    std::vector<std::string> names;
    for (const catalog::TableName& table : *tables) names.push_back(table.name);
    std::string near = spec::NearestName(place->name.name, names);
    if (!near.empty())
      return std::move(error).WithHint(
          fmt::format("did you mean {}.{}?", catalog::NamespaceText(place->name.levels), near));
    return error;
  }
  auto namespaces = (*catalog)->ListNamespaces({});
  if (!namespaces) return error;
  std::vector<std::string> names;
  for (const catalog::Namespace& levels : *namespaces) names.push_back(catalog::NamespaceText(levels));
  std::string near = spec::NearestName(catalog::NamespaceText(place->name.levels), names);
  if (near.empty())
    return std::move(error).WithHint("there is no namespace " + catalog::NamespaceText(place->name.levels));
  return std::move(error).WithHint(fmt::format("did you mean namespace {}?", near));
}

Result<TableReference> NameResolver::Find(const NameParts& parts) {
  FRAZIL_ASSIGN(auto found, TryFind(parts));
  if (!found) return tl::unexpected<Error>(NotFound(parts));
  return *std::move(found);
}

Result<TableReference> NameResolver::Place(const NameParts& parts) const {
  if (parts.empty()) return Fail(ErrorCode::kInvalidArgument, "empty table name");
  TableReference reference;
  reference.catalog = current_catalog_;
  auto begin = parts.begin();
  if (parts.size() > 2 && catalogs_.count(parts[0]) > 0) {
    reference.catalog = parts[0];
    ++begin;
  }
  reference.name.name = parts.back();
  reference.name.levels.assign(begin, parts.end() - 1);
  if (reference.name.levels.empty()) reference.name.levels = current_namespace_;
  return reference;
}

Result<NamespaceReference> NameResolver::PlaceNamespace(const NameParts& parts) const {
  if (parts.empty()) return NamespaceReference{current_catalog_, current_namespace_};
  if (parts.size() > 1 && catalogs_.count(parts[0]) > 0) {
    return NamespaceReference{parts[0], catalog::Namespace(parts.begin() + 1, parts.end())};
  }
  return NamespaceReference{current_catalog_, catalog::Namespace(parts)};
}

Result<bool> NameResolver::NamespaceExists(const std::string& catalog_name, const catalog::Namespace& levels) const {
  FRAZIL_ASSIGN(auto catalog, Catalog(catalog_name));
  auto loaded = catalog->LoadNamespace(levels);
  if (loaded) return true;
  if (IsMissing(loaded.error())) return false;
  return tl::unexpected<Error>(std::move(loaded).error());
}

}  // namespace frazil::sql
