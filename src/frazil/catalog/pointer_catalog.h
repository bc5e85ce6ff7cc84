#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/catalog/catalog.h"
#include "frazil/catalog/metadata_cache.h"
#include "frazil/catalog/pointer_store.h"
#include "frazil/catalog/table_places.h"

namespace frazil::catalog {

/// The catalog over any store of pointers: everything but the rows themselves (spec sections 8.1, 8.4, 8.5).
///
/// A commit writes its metadata file first, durably, and then moves the pointer in one short transaction. The file is
/// deleted again after a definite failure and never when the outcome is unknown. Parsed metadata files are kept, charged to
/// `budget` (may be null; it must outlive the catalog). Thread-safe.
class PointerCatalog : public Catalog, public TablePlaces {
 public:
  PointerCatalog(std::string name, std::string warehouse, std::unique_ptr<PointerStore> store,
                 std::shared_ptr<io::FileIO> io, Clock& clock, MemoryBudget* budget = nullptr);

  const std::string& name() const override { return name_; }
  std::shared_ptr<io::FileIO> file_io() const override { return io_; }

  Status CreateNamespace(const Namespace& levels, const std::map<std::string, std::string>& properties) override;
  Status DropNamespace(const Namespace& levels) override;
  Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) const override;
  Result<std::map<std::string, std::string>> LoadNamespace(const Namespace& levels) const override;
  Status SetNamespaceProperties(const Namespace& levels, const std::map<std::string, std::string>& properties) override;

  Result<std::vector<TableName>> ListTables(const Namespace& levels) const override;
  Result<LoadedTable> CreateTable(const TableName& name, spec::CreateTableRequest request) override;
  Result<std::string> PlaceForNew(const TableName& name) const override;
  Result<LoadedTable> LoadTable(const TableName& name) const override;
  Result<LoadedTable> CommitTable(const TableName& name, const std::vector<spec::TableRequirement>& requirements,
                                  const std::vector<spec::TableUpdate>& updates) override;
  Status DropTable(const TableName& name, bool purge) override;
  Status RenameTable(const TableName& from, const TableName& to) override;
  Result<LoadedTable> RegisterTable(const TableName& name, const std::string& metadata_location) override;

 private:
  Result<LoadedTable> CreateFromUpdates(const TableName& name, const std::vector<spec::TableRequirement>& requirements,
                                        const std::vector<spec::TableUpdate>& updates);
  std::string DefaultLocation(const TableName& name) const;
  Result<std::string> FindTable(const TableName& name) const;
  Status CheckCreatable(const TableName& name) const;
  Status InsertPointer(const TableName& name, const std::string& metadata_location);
  Status SwapPointer(const TableName& name, const std::string& base, const std::string& next);
  Status Settle(const TableName& name, const std::string& metadata_location, Status outcome);
  void DeleteQuietly(const std::vector<std::string>& paths);

  std::string name_;
  std::string warehouse_;
  std::unique_ptr<PointerStore> store_;
  std::shared_ptr<io::FileIO> io_;
  Clock& clock_;
  mutable MetadataCache metadata_;
};

}  // namespace frazil::catalog
