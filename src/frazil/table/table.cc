#include "frazil/table/table.h"

namespace frazil::table {

Result<Table> Table::Load(std::shared_ptr<catalog::Catalog> catalog, catalog::TableName name) {
  FRAZIL_ASSIGN(catalog::LoadedTable loaded, catalog->LoadTable(name));
  return Table(std::move(catalog), std::move(name), std::move(loaded));
}

Table::Table(std::shared_ptr<catalog::Catalog> catalog, catalog::TableName name, catalog::LoadedTable loaded)
    : catalog_(std::move(catalog)),
      name_(std::move(name)),
      loaded_(std::move(loaded)),
      io_(catalog_->file_io()),
      manifests_(std::make_shared<ManifestCache>(io_)) {}

Status Table::Refresh() {
  FRAZIL_ASSIGN(catalog::LoadedTable loaded, catalog_->LoadTable(name_));
  if (loaded.metadata->table_uuid != loaded_.metadata->table_uuid) {
    return Fail(ErrorCode::kInvalidTable, "another table has taken the name {}: its uuid is {}, ours was {}",
                name_.ToString(), loaded.metadata->table_uuid.ToString(), loaded_.metadata->table_uuid.ToString());
  }
  loaded_ = std::move(loaded);
  return {};
}

}  // namespace frazil::table
