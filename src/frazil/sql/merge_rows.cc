#include <algorithm>

#include "frazil/spec/ascii.h"
#include "frazil/sql/column_values.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/row_level_change.h"
#include "frazil/sql/row_level_query.h"
#include "frazil/sql/store_assignment.h"
#include "frazil/sql/token.h"

namespace frazil::sql {
namespace {

using statement::MergeClause;
using Match = MergeClause::Match;
using Action = MergeClause::Action;

/// `text` with its plain uses of `names` qualified. A clause that sees one side of the join only may use names that both
/// sides have.
std::string Qualify(const std::string& text, const std::vector<std::string>& names, const std::string& qualifier) {
  if (names.empty() || HasSubquery(text)) return text;
  const std::vector<Token> tokens = Tokenize(text);
  auto solid = [&](size_t at, int step) -> const Token* {
    for (auto i = static_cast<ptrdiff_t>(at) + step; i >= 0 && i < static_cast<ptrdiff_t>(tokens.size()); i += step) {
      if (!IsBlank(tokens[static_cast<size_t>(i)])) return &tokens[static_cast<size_t>(i)];
    }
    return nullptr;
  };
  std::string result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedName) {
      const Token* before = solid(i, -1);
      const Token* after = solid(i, 1);
      const bool is_free = (before == nullptr || (before->text != "." && !IsWord(*before, "as"))) &&
                           (after == nullptr || (after->text != "." && after->text != "("));
      const std::string name = NameOf(token);
      if (is_free && std::any_of(names.begin(), names.end(),
                                 [&](const std::string& known) { return spec::EqualsAnyCase(known, name); })) {
        result += qualifier;
      }
    }
    result += token.text;
  }
  return result;
}

/// Puts the query of one MERGE together for one state of the target.
class MergeQuery {
 public:
  MergeQuery(const statement::Merge& merge, const WriteTarget& target, Engine& engine)
      : merge_(merge),
        target_(target),
        engine_(engine),
        schema_(target.metadata().schema()),
        table_(target.FromText(merge.alias)),
        of_table_(target.Qualifier(merge.alias)),
        source_(merge.source),
        of_source_(QuoteName(merge.source_alias) + ".") {
    if (merge.source_alias.empty()) {
      source_ += " AS frazil_input";
      of_source_ = "frazil_input.";
    }
    for (const MergeClause& clause : merge.clauses) {
      has_[static_cast<size_t>(clause.match)] = true;
      has_values_ = has_values_ || clause.action != Action::kDelete;
    }
  }

  Result<RowLevelQuery> Make() {
    FRAZIL_TRY(FindSourceColumns());
    // What a row of the target would be done to twice is an error, unless it is only deleted (Spark's rule).
    const bool is_delete_only =
        std::all_of(merge_.clauses.begin(), merge_.clauses.end(), [](const MergeClause& clause) {
          return clause.match != Match::kMatched || (clause.action == Action::kDelete && clause.condition.empty());
        });
    RowLevelQuery query;
    query.has_values = has_values_;
    query.forbids_repeats = has(Match::kMatched) && !is_delete_only;

    std::string rows[3];
    for (const MergeClause& clause : merge_.clauses) {
      FRAZIL_ASSIGN(const std::string row, RowOf(clause));
      std::string& all = rows[static_cast<size_t>(clause.match)];
      all += fmt::format(" WHEN {} THEN {}",
                         clause.condition.empty() ? "true" : "(" + Side(clause, clause.condition) + "\n)", row);
    }
    std::string row;
    auto add = [&](Match match, const std::string& when, const std::string& otherwise) {
      if (!has(match)) return;
      row += fmt::format(" WHEN {} THEN CASE{} ELSE {} END", when, rows[static_cast<size_t>(match)], otherwise);
    };
    const std::string has_target = of_table_ + "_file IS NOT NULL";
    const std::string has_source = "frazil_source.frazil_present";
    FRAZIL_ASSIGN(const std::string none, EmptyRow());
    if (has(Match::kMatched)) {
      add(Match::kMatched, has_target + " AND " + has_source, query.forbids_repeats ? none : "NULL");
    } else if (!IsInsertOnly()) {
      row += fmt::format(" WHEN {} AND {} THEN NULL", has_target, has_source);
    }
    add(Match::kNotMatchedBySource, has_target, "NULL");
    add(Match::kNotMatched, IsInsertOnly() ? "true" : has_source, "NULL");

    const std::string place =
        IsInsertOnly()
            ? "CAST(NULL AS VARCHAR) AS frazil_file, CAST(NULL AS BIGINT) AS frazil_pos, CAST(NULL AS BIGINT) AS "
              "frazil_row_id"
            : fmt::format("{0}_file AS frazil_file, {0}_pos AS frazil_pos, {0}_row_id AS frazil_row_id", of_table_);
    query.text = fmt::format("SELECT frazil_file, frazil_pos, frazil_row_id, frazil_row.frazil_action");
    for (size_t i = 0; has_values_ && i < schema_->fields().size(); ++i) {
      if (IsStored(i)) query.text += fmt::format(", frazil_row.frazil_c{}", i);
    }
    query.text += fmt::format(" FROM (SELECT {}, CASE{} END AS frazil_row FROM {}) AS frazil_rows", place, row, Join());
    return query;
  }

 private:
  bool has(Match match) const { return has_[static_cast<size_t>(match)]; }
  bool IsInsertOnly() const { return !has(Match::kMatched) && !has(Match::kNotMatchedBySource); }
  bool IsStored(size_t i) const { return schema_->fields()[i].type.id() != spec::TypeId::kUnknown; }

  std::string Join() const {
    const std::string on = fmt::format("ON ({}\n)", merge_.condition);
    if (IsInsertOnly()) return fmt::format("{} ANTI JOIN {} {}", source_, table_, on);
    const char* kind = "INNER JOIN";
    if (has(Match::kNotMatched)) kind = has(Match::kNotMatchedBySource) ? "FULL JOIN" : "RIGHT JOIN";
    if (!has(Match::kNotMatched) && has(Match::kNotMatchedBySource)) kind = "LEFT JOIN";
    return fmt::format("{} {} ((SELECT true AS frazil_present) AS frazil_source CROSS JOIN {}) {}", table_, kind,
                       source_, on);
  }

  /// The columns of the source, and which names both sides have.
  Status FindSourceColumns() {
    FRAZIL_ASSIGN(source_columns_, ColumnsOfQuery("SELECT * FROM " + source_, engine_));
    for (const ResultColumn& column : source_columns_) {
      if (schema_->FindFieldAnyCase(column.name) != nullptr) shared_names_.push_back(column.name);
    }
    return {};
  }

  /// An expression of a clause, as it must stand in the join.
  std::string Side(const MergeClause& clause, const std::string& expression) const {
    if (clause.match == Match::kMatched || IsInsertOnly()) return expression;
    return Qualify(expression, shared_names_, clause.match == Match::kNotMatched ? of_source_ : of_table_);
  }

  /// What a clause can see.
  std::string FromOf(const MergeClause& clause) const {
    if (clause.match == Match::kNotMatched) return source_;
    if (clause.match == Match::kNotMatchedBySource) return table_;
    return table_ + " CROSS JOIN " + source_;
  }

  Result<std::vector<statement::Assignment>> AssignmentsOf(const MergeClause& clause) const {
    std::vector<statement::Assignment> assignments = clause.assignments;
    const char* what = clause.action == Action::kInsert ? "INSERT" : "UPDATE SET";
    if (clause.star) {
      for (size_t i = 0; i < schema_->fields().size(); ++i) {
        const spec::Field& field = schema_->fields()[i];
        if (!IsStored(i)) continue;
        const auto found =
            std::find_if(source_columns_.begin(), source_columns_.end(),
                         [&](const ResultColumn& column) { return spec::EqualsAnyCase(column.name, field.name); });
        if (found == source_columns_.end()) {
          return Fail(ErrorCode::kInvalidArgument, "{} * needs every column of {} in the source, it lacks {}", what,
                      target_.ToString(), field.name);
        }
        assignments.push_back({{field.name}, of_source_ + QuoteName(found->name)});
      }
    } else if (clause.by_position) {
      std::vector<std::string> names;
      for (size_t i = 0; i < schema_->fields().size(); ++i) {
        if (IsStored(i)) names.push_back(schema_->fields()[i].name);
      }
      if (names.size() != assignments.size()) {
        return Fail(ErrorCode::kInvalidArgument, "INSERT into {} needs {} values, {} are given", target_.ToString(),
                    names.size(), assignments.size());
      }
      for (size_t i = 0; i < names.size(); ++i) assignments[i].column = {names[i]};
    }
    if (clause.action == Action::kInsert) {
      for (statement::Assignment& assignment : assignments) {
        assignment.column = target_.WithoutTable(assignment.column, merge_.alias);
        if (assignment.column.size() == 1) continue;
        return Fail(ErrorCode::kInvalidArgument, "INSERT takes whole columns: {}", NameText(assignment.column));
      }
    }
    return assignments;
  }

  std::string Row(RowAction action, const std::vector<std::string>& values) const {
    std::string row = fmt::format("struct_pack(frazil_action := {}", static_cast<int32_t>(action));
    size_t next = 0;
    for (size_t i = 0; has_values_ && i < schema_->fields().size(); ++i) {
      if (IsStored(i)) row += fmt::format(", frazil_c{} := {}", i, values[next++]);
    }
    return row + ")";
  }

  Result<std::string> EmptyRow() const { return EmptyRow(RowAction::kNone); }
  Result<std::string> EmptyRow(RowAction action) const {
    std::vector<std::string> values;
    for (size_t i = 0; has_values_ && i < schema_->fields().size(); ++i) {
      if (!IsStored(i)) continue;
      FRAZIL_ASSIGN(const std::string type, SqlCastType(schema_->fields()[i].type));
      values.push_back(fmt::format("CAST(NULL AS {})", type));
    }
    return Row(action, values);
  }

  Result<std::string> RowOf(const MergeClause& clause) {
    const bool by_source = clause.match == Match::kNotMatchedBySource;
    if (clause.action == Action::kDelete) return EmptyRow(by_source ? RowAction::kDeleteUnmatched : RowAction::kDelete);
    FRAZIL_ASSIGN(const auto assignments, AssignmentsOf(clause));
    FRAZIL_ASSIGN(const ColumnValues given, ColumnValues::Resolve(assignments, target_, merge_.alias));
    std::vector<std::string> expressions;
    std::vector<std::string> types;
    std::string probe;
    for (const std::string& expression : given.expressions()) {
      expressions.push_back(fmt::format("({}\n)", Side(clause, expression)));
      probe += fmt::format("{}({}\n) AS v{}", probe.empty() ? "" : ", ", expression, types.size());
      types.emplace_back();
    }
    if (!expressions.empty()) {
      FRAZIL_ASSIGN(const auto columns,
                    ColumnsOfQuery(fmt::format("SELECT {} FROM {}", probe, FromOf(clause)), engine_));
      for (size_t i = 0; i < columns.size(); ++i) types[i] = columns[i].type;
    }
    std::vector<std::string> values;
    for (size_t i = 0; i < schema_->fields().size(); ++i) {
      if (!IsStored(i)) continue;
      const spec::Field& field = schema_->fields()[i];
      if (clause.action == Action::kInsert && !given.IsAssigned(i)) {
        FRAZIL_ASSIGN(values.emplace_back(), DefaultOf(field, target_.ToString()));
        continue;
      }
      FRAZIL_ASSIGN(values.emplace_back(), given.ValueOf(i, of_table_ + QuoteName(field.name), expressions, types));
    }
    if (clause.action == Action::kInsert) return Row(RowAction::kInsert, values);
    return Row(by_source ? RowAction::kUpdateUnmatched : RowAction::kUpdate, values);
  }

  const statement::Merge& merge_;
  const WriteTarget& target_;
  Engine& engine_;
  const spec::SchemaPtr schema_;
  const std::string table_;
  const std::string of_table_;
  std::string source_;
  std::string of_source_;
  bool has_[3] = {};
  bool has_values_ = false;
  std::vector<ResultColumn> source_columns_;
  std::vector<std::string> shared_names_;
};

}  // namespace

Result<RowLevelQuery> QueryOf(const statement::Merge& merge, const WriteTarget& target, Engine& engine) {
  return MergeQuery(merge, target, engine).Make();
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Merge& merge, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(merge.table, resolver));
  FRAZIL_TRY(target.CheckRowColumns());
  std::string text = merge.source + " " + merge.condition;
  for (const MergeClause& clause : merge.clauses) {
    text += " " + clause.condition;
    for (const statement::Assignment& assignment : clause.assignments) text += " " + assignment.value;
  }
  RowLevelChange change(target, resolver, engine,
                        {.statement = "MERGE",
                         .properties = kMergeProperties,
                         .reads_other_rows = true,
                         .is_repeatable = IsRepeatable(text)},
                        [&](const table::Table&) { return QueryOf(merge, target, engine); });
  FRAZIL_ASSIGN(const RowLevelChange::Counts counts, change.Commit());
  return MessageResult(fmt::format("merged into {}: {} rows updated, {} deleted, {} inserted", target.ToString(),
                                   counts.num_updated, counts.num_deleted, counts.num_inserted));
}

}  // namespace frazil::sql
