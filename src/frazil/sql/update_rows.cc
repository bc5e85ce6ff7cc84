#include "frazil/sql/column_values.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/row_level_change.h"
#include "frazil/sql/row_level_query.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

/// "SELECT place, row id, UPDATE, new values FROM (SELECT place, row id, what the new values are made of FROM table)".
Result<RowLevelQuery> QueryOf(const statement::Update& update, const WriteTarget& target, Engine& engine) {
  const spec::Schema& schema = *target.metadata().schema();
  const std::string from = target.FromText(update.alias);
  const std::string of_table = target.Qualifier(update.alias);
  FRAZIL_ASSIGN(const ColumnValues values, ColumnValues::Resolve(update.assignments, target, update.alias));

  std::string given;
  std::vector<std::string> names;
  for (size_t i = 0; i < values.expressions().size(); ++i) {
    names.push_back(fmt::format("frazil_v{}", i));
    given += fmt::format(", ({}\n) AS {}", values.expressions()[i], names.back());
  }
  std::vector<std::string> types;
  if (!names.empty()) {
    FRAZIL_ASSIGN(const auto columns, ColumnsOfQuery(fmt::format("SELECT {} FROM {}", given.substr(2), from), engine));
    for (const ResultColumn& column : columns) types.push_back(column.type);
  }

  std::string inner =
      fmt::format("SELECT {0}_file AS frazil_file, {0}_pos AS frazil_pos, {0}_row_id AS frazil_row_id", of_table);
  std::string outer =
      fmt::format("SELECT frazil_file, frazil_pos, frazil_row_id, {}", static_cast<int32_t>(RowAction::kUpdate));
  for (size_t i = 0; i < schema.fields().size(); ++i) {
    if (schema.fields()[i].type.id() == spec::TypeId::kUnknown) continue;
    const std::string old_value = fmt::format("frazil_c{}", i);
    inner += fmt::format(", {}{} AS {}", of_table, QuoteName(schema.fields()[i].name), old_value);
    FRAZIL_ASSIGN(const std::string value, values.ValueOf(i, old_value, names, types));
    outer += ", " + value;
  }
  std::string where = update.condition.empty() ? "" : fmt::format(" WHERE ({}\n)", update.condition);
  return RowLevelQuery{fmt::format("{} FROM ({}{} FROM {}{}) AS frazil_rows", outer, inner, given, from, where), true,
                       false};
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Update& update, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(update.table, resolver));
  FRAZIL_TRY(target.CheckRowColumns());
  std::string text = update.condition;
  for (const statement::Assignment& assignment : update.assignments) text += " " + assignment.value;
  RowLevelChange change(target, resolver, engine,
                        {.statement = "UPDATE",
                         .properties = kUpdateProperties,
                         .reads_other_rows = HasSubquery(text),
                         .is_repeatable = IsRepeatable(text)},
                        [&](const table::Table&) { return QueryOf(update, target, engine); });
  FRAZIL_ASSIGN(const RowLevelChange::Counts counts, change.Commit());
  return MessageResult(fmt::format("updated {} rows in {}", counts.num_updated, target.ToString()));
}

}  // namespace frazil::sql
