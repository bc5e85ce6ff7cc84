#include "frazil/catalog/sqlite_rows.h"

namespace frazil::catalog {
namespace {

constexpr char kCreateTables[] =
    "CREATE TABLE IF NOT EXISTS iceberg_tables ("
    "catalog_name VARCHAR(255) NOT NULL, "
    "table_namespace VARCHAR(255) NOT NULL, "
    "table_name VARCHAR(255) NOT NULL, "
    "metadata_location VARCHAR(1000), "
    "previous_metadata_location VARCHAR(1000), "
    "iceberg_type VARCHAR(5), "
    "PRIMARY KEY (catalog_name, table_namespace, table_name))";

constexpr char kCreateProperties[] =
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties ("
    "catalog_name VARCHAR(255) NOT NULL, "
    "namespace VARCHAR(255) NOT NULL, "
    "property_key VARCHAR(255) NOT NULL, "
    "property_value VARCHAR(1000), "
    "PRIMARY KEY (catalog_name, namespace, property_key))";

}  // namespace

Status CreateCatalogTables(SqliteDatabase& database) {
  FRAZIL_TRY(database.Query(kCreateTables, {}));
  FRAZIL_TRY(database.Query(kCreateProperties, {}));
  return {};
}

Result<SqliteRows> SqliteRows::Make(SqliteDatabase& database, const std::string& catalog_name) {
  FRAZIL_ASSIGN(const auto columns,
                database.Query("SELECT 1 FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'", {}));
  return SqliteRows(database, catalog_name, !columns.empty());
}

std::string SqliteRows::OnlyTables() const {
  // NULL counts as a table: PyIceberg and upgraded V0 databases leave it so.
  return has_type_ ? " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)" : "";
}

Result<bool> SqliteRows::ChangesOne(std::string sql, const std::vector<std::string>& values) {
  FRAZIL_ASSIGN(const int changed, database_.Update(sql, values));
  if (changed > 1) return Fail(ErrorCode::kInternal, "one catalog row was meant, {} would change: {}", changed, sql);
  return changed == 1;
}

Result<std::optional<PointerEntry>> SqliteRows::Find(const TableName& name) {
  const std::string type = has_type_ ? "iceberg_type" : "NULL";
  FRAZIL_ASSIGN(const auto rows, database_.Query("SELECT metadata_location, " + type +
                                                     " FROM iceberg_tables WHERE catalog_name = ?1 AND "
                                                     "table_namespace = ?2 AND table_name = ?3",
                                                 {catalog_name_, NamespaceText(name.levels), name.name}));
  if (rows.empty()) return std::nullopt;
  PointerEntry entry;
  entry.kind = rows[0][1] == "VIEW" ? EntryKind::kView : EntryKind::kTable;
  if (!rows[0][0] && entry.kind == EntryKind::kTable) {
    return Fail(ErrorCode::kInvalidTable, "catalog row without a metadata location: {}", name.ToString());
  }
  entry.metadata_location = rows[0][0].value_or("");
  return entry;
}

Result<std::vector<TableName>> SqliteRows::Tables(const Namespace& levels) {
  FRAZIL_ASSIGN(
      const auto rows,
      database_.Query("SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2" +
                          OnlyTables() + " ORDER BY table_name",
                      {catalog_name_, NamespaceText(levels)}));
  std::vector<TableName> names;
  for (const auto& row : rows) names.push_back({levels, row[0].value_or("")});
  return names;
}

Status SqliteRows::Insert(const TableName& name, const std::string& metadata_location) {
  const std::string columns = "catalog_name, table_namespace, table_name, metadata_location";
  const std::string sql =
      has_type_ ? "INSERT INTO iceberg_tables (" + columns + ", iceberg_type) " + "VALUES (?1, ?2, ?3, ?4, 'TABLE')"
                : "INSERT INTO iceberg_tables (" + columns + ") VALUES (?1, ?2, ?3, ?4)";
  FRAZIL_TRY(database_.Update(sql, {catalog_name_, NamespaceText(name.levels), name.name, metadata_location}));
  return {};
}

Result<bool> SqliteRows::Swap(const TableName& name, const std::string& base, const std::string& next) {
  return ChangesOne(
      "UPDATE iceberg_tables SET metadata_location = ?5, previous_metadata_location = ?4 "
      "WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3 AND metadata_location = ?4" +
          OnlyTables(),
      {catalog_name_, NamespaceText(name.levels), name.name, base, next});
}

Result<bool> SqliteRows::Remove(const TableName& name) {
  return ChangesOne(
      "DELETE FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3" + OnlyTables(),
      {catalog_name_, NamespaceText(name.levels), name.name});
}

Result<bool> SqliteRows::Rename(const TableName& from, const TableName& to) {
  return ChangesOne(
      "UPDATE iceberg_tables SET table_namespace = ?4, table_name = ?5 "
      "WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3" +
          OnlyTables(),
      {catalog_name_, NamespaceText(from.levels), from.name, NamespaceText(to.levels), to.name});
}

Result<std::set<Namespace>> SqliteRows::NamespacesFrom(const Namespace& levels) {
  // Below "a" means between "a." and "a/", the slash being the dot's successor: a range of the primary key, free of
  // LIKE's metacharacters and of its blindness to case ("A.x" does not lie in "a").
  const std::string from = NamespaceText(levels);
  const auto query = [&](const std::string& column, const std::string& table) {
    std::string sql = "SELECT DISTINCT " + column + " FROM " + table + " WHERE catalog_name = ?1";
    std::vector<std::string> values{catalog_name_};
    if (!levels.empty()) {
      sql += " AND (" + column + " = ?2 OR (" + column + " >= ?3 AND " + column + " < ?4))";
      values.insert(values.end(), {from, from + ".", from + "/"});
    }
    return database_.Query(sql, values);
  };
  FRAZIL_ASSIGN(const auto of_tables, query("table_namespace", "iceberg_tables"));
  FRAZIL_ASSIGN(const auto of_properties, query("namespace", "iceberg_namespace_properties"));
  std::set<Namespace> known;
  for (const auto* rows : {&of_tables, &of_properties}) {
    for (const auto& row : *rows) known.insert(NamespaceFromText(row[0].value_or("")));
  }
  return known;
}

Result<std::map<std::string, std::string>> SqliteRows::Properties(const Namespace& levels) {
  FRAZIL_ASSIGN(const auto rows,
                database_.Query("SELECT property_key, property_value FROM iceberg_namespace_properties "
                                "WHERE catalog_name = ?1 AND namespace = ?2",
                                {catalog_name_, NamespaceText(levels)}));
  std::map<std::string, std::string> properties;
  for (const auto& row : rows) properties[row[0].value_or("")] = row[1].value_or("");
  return properties;
}

Status SqliteRows::SetProperties(const Namespace& levels, const std::map<std::string, std::string>& properties) {
  for (const auto& [key, value] : properties) {
    FRAZIL_TRY(
        database_.Update("INSERT OR REPLACE INTO iceberg_namespace_properties "
                         "(catalog_name, namespace, property_key, property_value) VALUES (?1, ?2, ?3, ?4)",
                         {catalog_name_, NamespaceText(levels), key, value}));
  }
  return {};
}

Status SqliteRows::RemoveProperties(const Namespace& levels) {
  FRAZIL_TRY(database_.Update("DELETE FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2",
                              {catalog_name_, NamespaceText(levels)}));
  return {};
}

}  // namespace frazil::catalog
