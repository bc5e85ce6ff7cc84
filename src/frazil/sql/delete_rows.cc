#include "frazil/base/version.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/remove_files.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/row_level_change.h"
#include "frazil/sql/row_level_query.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {
namespace {

/// Says of whole files that they went: who looks for a deletion vector of them finds none.
std::string DeletedText(int64_t num_rows, int64_t num_whole_files, const WriteTarget& target) {
  std::string text = fmt::format("deleted {} rows from {}", num_rows, target.ToString());
  if (num_whole_files > 0) {
    text += fmt::format("; {} data file{} removed whole, without a deletion vector", num_whole_files,
                        num_whole_files == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

RowLevelQuery QueryOf(const statement::Delete& remove, const WriteTarget& target) {
  return {fmt::format("SELECT {0}_file, {0}_pos, {0}_row_id, {1} FROM {2} WHERE ({3}\n)",
                      target.Qualifier(remove.alias), static_cast<int32_t>(RowAction::kDelete),
                      target.FromText(remove.alias), remove.condition)};
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Delete& remove, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(remove.table, resolver));
  if (remove.condition.empty()) {
    FRAZIL_ASSIGN(const RemovedAll removed, RemoveEveryRow(target));
    return MessageResult(DeletedText(removed.num_rows, removed.num_files, target));
  }
  FRAZIL_TRY(target.CheckRowColumns());
  auto make = [&](const table::Table&) -> Result<RowLevelQuery> { return QueryOf(remove, target); };
  RowLevelChange change(target, resolver, engine,
                        {.statement = "DELETE",
                         .properties = kDeleteProperties,
                         .reads_other_rows = HasSubquery(remove.condition),
                         .is_repeatable = IsRepeatable(remove.condition)},
                        make);
  FRAZIL_ASSIGN(const RowLevelChange::Counts counts, change.Commit());
  return MessageResult(DeletedText(counts.num_deleted, counts.num_files_removed_whole, target));
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Truncate& truncate, NameResolver& resolver) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(truncate.table, resolver));
  FRAZIL_ASSIGN(const RemovedAll removed, RemoveEveryRow(target));
  return MessageResult(fmt::format("truncated {}, {} rows are gone", target.ToString(), removed.num_rows));
}

}  // namespace frazil::sql
