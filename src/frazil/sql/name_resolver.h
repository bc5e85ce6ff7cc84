#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/catalog/catalog.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_cache.h"

namespace frazil::sql {

class KeyIndexes;

/// Parts of a dotted name as written, quotes undone.
using NameParts = std::vector<std::string>;
std::string NameText(const NameParts& parts);

/// A table that a name leads to.
struct TableReference {
  std::string catalog;
  catalog::TableName name;
  std::string metadata_table;           ///< "snapshots", ...; empty: the table itself
  std::optional<std::string> version;   ///< of `t.branch_x`, `t.tag_x`, `t.snapshot_id_1`: the ref or the id
  std::shared_ptr<table::Table> table;  ///< pinned for the statement

  std::string ToString() const { return name.ToString(); }
};

struct NamespaceReference {
  std::string catalog;
  catalog::Namespace levels;
};

/// Finds what names mean: `[catalog.]a.b.table[.metadata table]`, starting from the session's catalog and namespace.
///
/// A table is loaded once and stays pinned until Forget(), so that a statement sees one state of it. Threads of
/// a query may look names up at once; what changes the session (Use, SetKeyIndexes, KeepFiles) is for one alone.
class NameResolver {
 public:
  NameResolver(std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs, std::string default_catalog,
               catalog::Namespace default_namespace);

  const std::map<std::string, std::shared_ptr<catalog::Catalog>>& catalogs() const { return catalogs_; }
  const std::string& current_catalog() const { return current_catalog_; }
  const catalog::Namespace& current_namespace() const { return current_namespace_; }
  Result<std::shared_ptr<catalog::Catalog>> Catalog(const std::string& name) const;
  void Use(NamespaceReference place);

  /// What queries may look keys up in; null: nothing.
  void SetKeyIndexes(std::shared_ptr<KeyIndexes> indexes) { key_indexes_ = std::move(indexes); }
  const std::shared_ptr<KeyIndexes>& key_indexes() const { return key_indexes_; }

  /// What statements find in memory of those before: manifests of each catalog in `manifest_bytes`, vectors in
  /// `vector_bytes`, both out of `budget` (may be null). Files never change, so nothing in there gets old.
  void KeepFiles(int64_t manifest_bytes, int64_t vector_bytes, MemoryBudget* budget);
  /// Null: none are kept.
  std::shared_ptr<table::VectorCache> VectorsOf(const std::string& catalog) const;

  /// Keys of equality deletes of a table take so much memory; more of them go to `temp_directory` (empty: the system's).
  void LimitEqualityKeys(int64_t bytes, std::string temp_directory);
  /// Of one snapshot, empty.
  std::shared_ptr<scan::EqualityDeletes> NewEqualityDeletes(std::shared_ptr<io::FileIO> io) const;

  /// Lets go of all pinned tables: a new statement begins.
  void Forget();
  /// Whether a query asked for this table since Forget().
  bool IsPinned(const std::string& catalog, const catalog::TableName& name) const;
  /// Names of the tables pinned so far, for messages.
  std::string PinnedText() const;

  /// An existing table; kNotFound with the nearest name as hint.
  Result<TableReference> Find(const NameParts& parts);
  /// As above; none when there is no such table.
  Result<std::optional<TableReference>> TryFind(const NameParts& parts);
  Result<std::shared_ptr<table::Table>> Load(const std::string& catalog, const catalog::TableName& name);

  /// Pins this state of the table instead of loading one.
  void Pin(const std::string& catalog, const table::Table& state);

  /// Where a new table of this name goes; it need not exist.
  Result<TableReference> Place(const NameParts& parts) const;
  /// The namespace that a name means; it need not exist. Empty parts: the current one.
  Result<NamespaceReference> PlaceNamespace(const NameParts& parts) const;
  Result<bool> NamespaceExists(const std::string& catalog, const catalog::Namespace& levels) const;

 private:
  Result<std::shared_ptr<table::Table>> TryLoad(const std::string& catalog, const catalog::TableName& name);
  Error NotFound(const NameParts& parts) const;

  std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs_;
  std::string current_catalog_;
  catalog::Namespace current_namespace_;
  struct KeptFiles {
    std::shared_ptr<table::ManifestCache> manifests;
    std::shared_ptr<table::VectorCache> vectors;
  };

  std::shared_ptr<KeyIndexes> key_indexes_;
  std::map<std::string, KeptFiles> kept_;  ///< by catalog
  int64_t equality_key_bytes_ = MemoryBudget::DefaultLimitBytes() / 4;
  std::string temp_directory_;
  mutable std::mutex mutex_;  ///< of pinned_
  std::map<std::pair<std::string, catalog::TableName>, std::shared_ptr<table::Table>> pinned_;
};

/// Whether `t.<name>` is a table about a table ("snapshots", ...), built or not yet built.
bool IsMetadataTableName(const std::string& name);

}  // namespace frazil::sql
