#pragma once

#include <string>

#include "frazil/catalog/pointer_store.h"
#include "frazil/catalog/sqlite_database.h"

namespace frazil::catalog {

/// Makes the two tables when they are missing, in schema V1 (spec section 8.5).
Status CreateCatalogTables(SqliteDatabase& database);

/// The rows of one catalog name in the layout of Java's JdbcCatalog and PyIceberg's SqlCatalog. Lives inside a
/// transaction of `database`.
class SqliteRows : public PointerRows {
 public:
  /// Databases of schema V0 have no column iceberg_type and hold only tables; looked up afresh in each transaction,
  /// since any other program may upgrade the file meanwhile.
  static Result<SqliteRows> Make(SqliteDatabase& database, const std::string& catalog_name);

  Result<std::optional<PointerEntry>> Find(const TableName& name) override;
  Result<std::vector<TableName>> Tables(const Namespace& levels) override;
  Status Insert(const TableName& name, const std::string& metadata_location) override;
  Result<bool> Swap(const TableName& name, const std::string& base, const std::string& next) override;
  Result<bool> Remove(const TableName& name) override;
  Result<bool> Rename(const TableName& from, const TableName& to) override;
  Result<std::set<Namespace>> NamespacesFrom(const Namespace& levels) override;
  Result<std::map<std::string, std::string>> Properties(const Namespace& levels) override;
  Status SetProperties(const Namespace& levels, const std::map<std::string, std::string>& properties) override;
  Status RemoveProperties(const Namespace& levels) override;

 private:
  SqliteRows(SqliteDatabase& database, std::string catalog_name, bool has_type)
      : database_(database), catalog_name_(std::move(catalog_name)), has_type_(has_type) {}
  /// " AND it is a table"
  std::string OnlyTables() const;
  Result<bool> ChangesOne(std::string sql, const std::vector<std::string>& values);

  SqliteDatabase& database_;
  std::string catalog_name_;
  bool has_type_;
};

}  // namespace frazil::catalog
