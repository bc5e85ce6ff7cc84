#include "frazil/service/create_statement.h"

#include "frazil/sql/type_text.h"

namespace frazil::service {

std::string ColumnsText(const spec::Schema& schema) {
  std::string text;
  for (const spec::Field& field : schema.fields()) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", sql::QuotedIfNeeded(field.name),
                        sql::TypeDefinitionText(field.type), field.required ? " NOT NULL" : "");
  }
  return text;
}

std::string CreateTableStatement(const PipelineConfig& config, const std::string& columns) {
  std::vector<std::string> parts = config.table.levels;
  if (!config.catalog.empty()) parts.insert(parts.begin(), config.catalog);
  parts.push_back(config.table.name);
  for (std::string& part : parts) part = sql::QuotedIfNeeded(part);
  std::string statement =
      fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) USING iceberg", fmt::join(parts, "."), columns);
  if (!config.partition_by.empty())
    statement += fmt::format(" PARTITIONED BY ({})", fmt::join(config.partition_by, ", "));
  std::map<std::string, std::string> properties = config.table_properties;
  properties.try_emplace("format-version", "3");
  properties.try_emplace("history.expire.max-snapshot-age-ms", "86400000");
  // Such tables are asked for single rows by key: a look-up decodes a page a column (docs/benchmarks.md).
  properties.try_emplace("write.parquet.page-row-limit", "1000");
  std::string list;
  for (const auto& [key, value] : properties) {
    list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", sql::QuotedText(key), sql::QuotedText(value));
  }
  return statement + " TBLPROPERTIES (" + list + ")";
}

}  // namespace frazil::service
