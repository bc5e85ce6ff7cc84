#include "frazil/maintain/maintained_table.h"

#include "frazil/spec/schema.h"

namespace frazil::maintain {

Result<TablePlace> PlaceOfTable(const table::ProcedureContext& context, const std::string& text) {
  FRAZIL_ASSIGN(catalog::TableName name, catalog::TableName::Parse(text, context.default_namespace));
  std::string catalog = context.default_catalog;
  if (name.levels.size() > 1 && context.catalogs.contains(name.levels[0])) {
    catalog = name.levels[0];
    name.levels.erase(name.levels.begin());
  }
  const auto found = context.catalogs.find(catalog);
  if (found == context.catalogs.end()) return Fail(ErrorCode::kNotFound, "catalog not found: {}", catalog);
  return TablePlace{found->second, std::move(name)};
}

Result<table::Table> OpenTable(const table::ProcedureContext& context, const std::string& text) {
  FRAZIL_ASSIGN(const TablePlace place, PlaceOfTable(context, text));
  auto loaded = table::Table::Load(place.catalog, place.name);
  if (loaded || loaded.error().code() != ErrorCode::kNotFound) return loaded;
  std::vector<std::string> names;
  if (const auto tables = place.catalog->ListTables(place.name.levels)) {
    for (const catalog::TableName& table : *tables) names.push_back(table.ToString());
  }
  const std::string nearest = spec::NearestName(place.name.ToString(), names);
  if (nearest.empty()) return loaded;
  return tl::unexpected(Error(loaded.error()).WithHint("did you mean " + nearest + "?"));
}

Result<expr::ExpressionPtr> ParseWhere(const table::ProcedureContext& context, const table::Table& table,
                                       const std::string& text) {
  if (!context.parse_predicate) return Fail(ErrorCode::kNotSupported, "where is not supported here: {}", text);
  auto parsed = context.parse_predicate(*table.metadata()->schema(), text);
  if (!parsed) return tl::unexpected(std::move(parsed).error().WithContext("reading where => '" + text + "'"));
  return parsed;
}

std::vector<std::string> FoldersOf(const spec::TableMetadata& metadata) {
  std::vector<std::string> folders = {metadata.location};
  for (const char* key : {"write.data.path", "write.metadata.path"}) {
    if (std::string folder = metadata.Property(key, ""); !folder.empty()) folders.push_back(std::move(folder));
  }
  return folders;
}

Clock& ClockOf(const table::ProcedureContext& context) {
  return context.clock != nullptr ? *context.clock : Clock::System();
}

bool MayBeCommitted(const Error& error) {
  return error.code() == ErrorCode::kCommitUnknown || error.code() == ErrorCode::kUnavailable;
}

void Notice(const table::ProcedureContext& context, const std::string& line) {
  if (context.on_notice) context.on_notice(line);
}

Status CheckStop(const table::ProcedureContext& context) {
  if (context.stop != nullptr && context.stop->load()) return Fail(ErrorCode::kShuttingDown, "stopped on request");
  return {};
}

}  // namespace frazil::maintain
