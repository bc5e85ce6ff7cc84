#pragma once

#include <memory>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/catalog/catalog.h"
#include "frazil/table/manifest_cache.h"

namespace frazil::table {

/// A handle on one table of one catalog: the metadata it last saw, and how to see newer.
///
/// metadata() is an immutable value; Refresh() and commits replace it. Copyable; copies share the manifest cache.
/// One thread at a time per copy.
class Table {
 public:
  static Result<Table> Load(std::shared_ptr<catalog::Catalog> catalog, catalog::TableName name);
  Table(std::shared_ptr<catalog::Catalog> catalog, catalog::TableName name, catalog::LoadedTable loaded);

  const catalog::TableName& name() const { return name_; }
  const std::shared_ptr<catalog::Catalog>& catalog() const { return catalog_; }
  const std::shared_ptr<io::FileIO>& io() const { return io_; }
  const spec::TableMetadataPtr& metadata() const { return loaded_.metadata; }
  const std::string& metadata_location() const { return loaded_.metadata_location; }
  ManifestCache& manifests() const { return *manifests_; }
  /// Reads manifests through this cache of the same store, which other tables may use too.
  void ShareManifests(std::shared_ptr<ManifestCache> manifests) { manifests_ = std::move(manifests); }

  /// Loads the current metadata. kInvalidTable when the uuid changed (another table took the name).
  Status Refresh();
  /// After a commit of ours.
  void Adopt(catalog::LoadedTable loaded) { loaded_ = std::move(loaded); }

 private:
  std::shared_ptr<catalog::Catalog> catalog_;
  catalog::TableName name_;
  catalog::LoadedTable loaded_;
  std::shared_ptr<io::FileIO> io_;
  std::shared_ptr<ManifestCache> manifests_;
};

}  // namespace frazil::table
