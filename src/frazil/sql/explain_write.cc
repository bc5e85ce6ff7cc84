#include "frazil/sql/explain_write.h"

#include <algorithm>
#include <optional>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "frazil/sql/create_request.h"
#include "frazil/sql/create_table_as.h"
#include "frazil/sql/insert_query.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/row_level_query.h"
#include "frazil/sql/type_text.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {
namespace {

std::string Files(size_t number) { return fmt::format("{} data file{}", number, number == 1 ? "" : "s"); }

/// The data files of a target, and which of them hold rows that a statement may change.
class TargetFiles {
 public:
  static Result<TargetFiles> Make(const WriteTarget& target) {
    const spec::Snapshot* head = target.HeadOf(target.metadata());
    FRAZIL_ASSIGN(const auto live, table::LoadLiveFiles(target.table(), head, table::FileMetrics::kDropped));
    return TargetFiles(target, head, live.data_files.size());
  }

  size_t num_files() const { return num_files_; }
  std::string All() const { return Files(num_files_); }

  /// "2 of 5 data files", by partitions and column metrics. `alias` as in QueryOf().
  Result<std::string> Matching(const std::string& condition, const std::string& alias, Engine& engine) const {
    size_t num_matching = num_files_;
    if (!condition.empty() && !HasSubquery(condition)) {
      const std::string name = alias.empty() ? target_.table().name().name : alias;
      // A condition on more than the table's columns (`_file`) is not understood: any file may match.
      const auto filter = engine.TranslatePredicate(*target_.metadata().schema(), condition, name);
      if (filter) {
        FRAZIL_ASSIGN(const auto plan, table::PlanScan(target_.table(), head_, *filter, target_.metadata().schema()));
        num_matching = plan.tasks.size();
      }
    }
    return fmt::format("{} of {}", num_matching, Files(num_files_));
  }

 private:
  TargetFiles(const WriteTarget& target, const spec::Snapshot* head, size_t num_files)
      : target_(target), head_(head), num_files_(num_files) {}

  const WriteTarget& target_;
  const spec::Snapshot* head_;
  size_t num_files_;
};

class Explainer {
 public:
  Explainer(NameResolver& resolver, Engine& engine, bool replaces_partitions)
      : resolver_(resolver), engine_(engine), replaces_partitions_(replaces_partitions) {}

  Result<std::string> operator()(const statement::Delete& remove) {
    FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(remove.table, resolver_));
    if (remove.condition.empty()) return RemoveAll("DELETE FROM", target);
    FRAZIL_TRY(target.CheckRowColumns());
    FRAZIL_TRY(CheckProperties(target.metadata(), kDeleteProperties));
    FRAZIL_ASSIGN(const std::string plan, PlanOf(QueryOf(remove, target).text));
    FRAZIL_ASSIGN(const TargetFiles files, TargetFiles::Make(target));
    FRAZIL_ASSIGN(const std::string touched, files.Matching(remove.condition, remove.alias, engine_));
    return Title("DELETE FROM", target) + ModeLine(target, kDeleteProperties) + TouchedLine(touched) +
           "Whole files: those that lose their last row; which, is known when the query has run\n" + plan;
  }

  Result<std::string> operator()(const statement::Truncate& truncate) {
    FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(truncate.table, resolver_));
    return RemoveAll("TRUNCATE TABLE", target);
  }

  Result<std::string> operator()(const statement::Update& update) {
    FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(update.table, resolver_));
    FRAZIL_TRY(target.CheckRowColumns());
    FRAZIL_TRY(CheckProperties(target.metadata(), kUpdateProperties));
    FRAZIL_ASSIGN(const RowLevelQuery query, QueryOf(update, target, engine_));
    FRAZIL_ASSIGN(const std::string plan, PlanOf(query.text));
    FRAZIL_ASSIGN(const TargetFiles files, TargetFiles::Make(target));
    FRAZIL_ASSIGN(const std::string touched, files.Matching(update.condition, update.alias, engine_));
    return Title("UPDATE", target) + ModeLine(target, kUpdateProperties) + TouchedLine(touched) + plan;
  }

  Result<std::string> operator()(const statement::Merge& merge) {
    FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(merge.table, resolver_));
    FRAZIL_TRY(target.CheckRowColumns());
    FRAZIL_TRY(CheckProperties(target.metadata(), kMergeProperties));
    FRAZIL_ASSIGN(const RowLevelQuery query, QueryOf(merge, target, engine_));
    FRAZIL_ASSIGN(const std::string plan, PlanOf(query.text));
    const bool only_inserts = std::ranges::all_of(merge.clauses, [](const statement::MergeClause& clause) {
      return clause.match == statement::MergeClause::Match::kNotMatched;
    });
    FRAZIL_ASSIGN(const TargetFiles files, TargetFiles::Make(target));
    // Which rows match is for the join to say.
    const std::string touched = fmt::format("{} of {}", only_inserts ? 0 : files.num_files(), files.All());
    return Title("MERGE INTO", target) + ModeLine(target, kMergeProperties) + TouchedLine(touched) + plan;
  }

  Result<std::string> operator()(const statement::Insert& insert) {
    FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(insert.table, resolver_));
    const Overwrite overwrite = OverwriteOf(insert, replaces_partitions_);
    if (overwrite == Overwrite::kPartitionValue) return ReplaceWhere(insert, target);
    FRAZIL_ASSIGN(const InsertQuery query, MakeInsertQuery(insert, target, engine_));
    FRAZIL_ASSIGN(const std::string plan, PlanOf(query.ToString()));
    FRAZIL_ASSIGN(const TargetFiles files, TargetFiles::Make(target));
    switch (overwrite) {
      case Overwrite::kNothing:
        return Title("INSERT INTO", target) + "Mode: append\n" + TouchedLine("0 of " + files.All()) + plan;
      case Overwrite::kEverything:
        return Title("INSERT OVERWRITE", target) + "Mode: overwrite, whole files\n" +
               TouchedLine(fmt::format("{} of {}, which are removed", files.num_files(), files.All())) + plan;
      default:
        return Title("INSERT OVERWRITE", target) + "Mode: overwrite, whole partitions (dynamic)\n" +
               TouchedLine(fmt::format("those of the partitions that get rows, of {}", files.All())) + plan;
    }
  }

  Result<std::string> operator()(const statement::CreateTableAs& create) {
    FRAZIL_ASSIGN(const TableToCreate found, FindTableToCreate(create, resolver_, engine_));
    if (found.is_there) return "Nothing to do: table exists already: " + found.place.ToString() + "\n";
    FRAZIL_TRY(CreateRequestOf(found.definition));  // as the statement would refuse it
    std::string columns;
    for (const ColumnDefinition& column : found.definition.columns) {
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", column.name, TypeText(column.type));
    }
    std::string text = fmt::format("{} {}{}\n", found.existing ? "REPLACE TABLE" : "CREATE TABLE",
                                   found.place.ToString(), create.query.empty() ? "" : " AS SELECT");
    text += "Mode: definition and rows in one commit\nColumns: " + columns + "\n";
    if (found.existing) {
      const table::Table& table = *found.existing->table;
      FRAZIL_ASSIGN(const auto live,
                    table::LoadLiveFiles(table, table.metadata()->current_snapshot(), table::FileMetrics::kDropped));
      text += "Left behind, readable in older snapshots: " + Files(live.data_files.size()) + "\n";
    }
    if (create.query.empty()) return text;
    FRAZIL_ASSIGN(const std::string plan, PlanOf(create.query));
    return text + plan;
  }

 private:
  static std::string Title(const char* statement, const WriteTarget& target) {
    return fmt::format("{} {}\n", statement, target.ToString());
  }
  static std::string TouchedLine(const std::string& files) { return "Data files it may touch: " + files + "\n"; }

  static std::string ModeLine(const WriteTarget& target, const RowLevelProperties& properties) {
    if (IsCopyOnWrite(target.metadata(), properties)) return "Mode: copy-on-write, touched files are written anew\n";
    const bool has_vectors = target.metadata().format_version >= 3;
    return fmt::format("Mode: merge-on-read, by {}\n", has_vectors ? "deletion vectors" : "position delete files");
  }

  static Result<std::string> RemoveAll(const char* statement, const WriteTarget& target) {
    FRAZIL_ASSIGN(const TargetFiles files, TargetFiles::Make(target));
    return Title(statement, target) + "Mode: metadata only, no row is read\n" +
           TouchedLine(fmt::format("{} of {}, which are removed whole", files.num_files(), files.All()));
  }

  Result<std::string> ReplaceWhere(const statement::Insert& insert, const WriteTarget& target) {
    FRAZIL_TRY(target.CheckRowColumns());
    FRAZIL_TRY(CheckProperties(target.metadata(), kDeleteProperties));
    FRAZIL_ASSIGN(const InsertQuery rows, MakeInsertQuery(insert, target, engine_));
    FRAZIL_ASSIGN(const RowLevelQuery query, ReplacementQueryOf(insert, target, engine_));
    FRAZIL_ASSIGN(const std::string plan, PlanOf(query.text));
    FRAZIL_ASSIGN(const TargetFiles files, TargetFiles::Make(target));
    FRAZIL_ASSIGN(const std::string touched, files.Matching(rows.partition_condition, "", engine_));
    return Title("INSERT OVERWRITE", target) + ModeLine(target, kDeleteProperties) + TouchedLine(touched) + plan;
  }

  /// As EXPLAIN of a SELECT shows it.
  Result<std::string> PlanOf(const std::string& query) {
    FRAZIL_ASSIGN(const std::string text, RewriteQuery("EXPLAIN " + query));
    FRAZIL_ASSIGN(auto rows, engine_.Run(text));
    std::string plan;
    while (true) {
      FRAZIL_ASSIGN(const auto batch, rows->Next());
      if (!batch) return plan;
      const auto& values = *batch->column(batch->num_columns() - 1);
      if (values.type_id() != arrow::Type::STRING) return Fail(ErrorCode::kInternal, "a plan that is no text");
      for (int64_t i = 0; i < values.length(); ++i) {
        plan += "\n";
        plan += static_cast<const arrow::StringArray&>(values).GetView(i);
      }
    }
  }

  NameResolver& resolver_;
  Engine& engine_;
  const bool replaces_partitions_;
};

}  // namespace

Result<std::unique_ptr<QueryResult>> Run(const statement::ExplainWrite& explain, NameResolver& resolver, Engine& engine,
                                         bool replaces_partitions) {
  FRAZIL_ASSIGN(std::string text, std::visit(Explainer(resolver, engine, replaces_partitions), explain.write));
  MadeUpTable table;
  for (const char* name : {"explain_key", "explain_value"}) {
    table.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kString)});
  }
  table.rows.push_back({TextDatum("write_plan"), TextDatum(std::move(text))});
  return TableResult(table);
}

}  // namespace frazil::sql
