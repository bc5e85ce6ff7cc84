#include "frazil/sql/write_parser.h"

#include <algorithm>

#include "frazil/sql/parse_tree.h"
#include "frazil/sql/token.h"
#include "frazil/sql/tree_reader.h"
#include "frazil/sql/write_grammar.h"

namespace frazil::sql {

namespace {

using grammar::Node;
namespace rule = grammar::write;

std::string AliasIn(const Node& node) {
  const Node* found = Child<rule::target_alias>(node);
  return found == nullptr ? "" : Unquote(found->children.at(0)->string());
}

std::string ConditionIn(const Node& node) {
  const Node* found = Child<rule::where>(node);
  return found == nullptr ? "" : Trimmed(Child<grammar::rest_of_statement>(*found)->string());
}

statement::Assignment AssignmentOf(const Node& node) {
  return {NameIn(node), Trimmed(Child<rule::assigned>(node)->string())};
}

statement::Insert InsertOf(const Node& node) {
  statement::Insert insert;
  insert.table = NameIn(node);
  insert.overwrite = Child<rule::overwrite_word>(node) != nullptr;
  if (const Node* partition = Child<rule::static_partition>(node)) {
    for (const auto& item : partition->children) {
      statement::PartitionValue value{Unquote(item->children.at(0)->string()), std::nullopt};
      if (const Node* given = Child<rule::inserted>(*item)) value.value = Trimmed(given->string());
      insert.partition.push_back(std::move(value));
    }
  }
  insert.by_name = Child<rule::by_name>(node) != nullptr;
  if (const Node* list = Child<rule::column_names>(node)) {
    for (const auto& child : list->children) insert.columns.push_back(Unquote(child->string()));
  }
  insert.source = Trimmed(Child<rule::rows>(node)->string());
  return insert;
}

Result<statement::MergeClause> ClauseOf(const Node& node, const std::string& source) {
  using Match = statement::MergeClause::Match;
  using Action = statement::MergeClause::Action;
  statement::MergeClause clause;
  if (node.is_type<rule::when_not_matched>()) clause.match = Match::kNotMatched;
  if (node.is_type<rule::when_not_matched_by_source>()) clause.match = Match::kNotMatchedBySource;
  if (const Node* given = Child<rule::and_condition>(node)) {
    clause.condition = Trimmed(Child<rule::clause_condition>(*given)->string());
  }
  if (Child<rule::delete_word>(node)) {
    clause.action = Action::kDelete;
  } else if (const Node* update = Child<rule::set_clause>(node)) {
    clause.star = Child<rule::star>(*update) != nullptr;
    if (clause.star && clause.match == Match::kNotMatchedBySource) {
      return Fail(ErrorCode::kInvalidArgument, "UPDATE SET * needs a row of the source at {}",
                  PlaceOf(source, update->begin().byte));
    }
    for (const auto& child : update->children) {
      if (child->is_type<rule::assignment>()) clause.assignments.push_back(AssignmentOf(*child));
    }
  } else {
    const Node& insert = *Child<rule::insert_clause>(node);
    clause.action = Action::kInsert;
    clause.star = Child<rule::star>(insert) != nullptr;
    for (const auto& child : insert.children) {
      if (child->is_type<rule::insert_column>()) {
        clause.assignments.push_back({PartsOf(*child), ""});
      }
    }
    if (const Node* values = Child<rule::insert_values>(insert)) {
      clause.by_position = clause.assignments.empty();
      if (clause.by_position) clause.assignments.resize(values->children.size());
      if (clause.assignments.size() != values->children.size()) {
        return Fail(ErrorCode::kInvalidArgument, "INSERT names {} columns and gives {} values at {}",
                    clause.assignments.size(), values->children.size(), PlaceOf(source, insert.begin().byte));
      }
      for (size_t i = 0; i < values->children.size(); ++i) {
        clause.assignments[i].value = Trimmed(values->children[i]->string());
      }
    }
  }
  return clause;
}

/// Spark's rule: of several clauses of one kind only the last may go without a condition, or the rest can never happen.
Status CheckReachable(const std::vector<statement::MergeClause>& clauses) {
  static const char* const kNames[] = {"MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"};
  bool is_closed[3] = {};
  for (const statement::MergeClause& clause : clauses) {
    auto kind = static_cast<size_t>(clause.match);
    if (is_closed[kind]) {
      return Fail(ErrorCode::kInvalidArgument, "only the last WHEN {} clause may lack a condition", kNames[kind]);
    }
    is_closed[kind] = clause.condition.empty();
  }
  return {};
}

Result<statement::Merge> MergeOf(const Node& node, const std::string& text) {
  statement::Merge merge;
  merge.table = NameIn(node);
  merge.alias = AliasIn(node);
  const Node& source = *Child<rule::source_text>(node);
  merge.source = Trimmed(source.string());
  if (const Node* alias = Child<rule::source_alias>(source)) {
    merge.source_alias = Unquote(alias->children.at(0)->string());
  } else if (const Node* name = Child<rule::source_name>(source)) {
    merge.source_alias = NameIn(*name).back();
  }
  merge.condition = Trimmed(Child<rule::join_condition>(node)->string());
  for (const auto& child : node.children) {
    if (!child->is_type<rule::when_matched>() && !child->is_type<rule::when_not_matched>() &&
        !child->is_type<rule::when_not_matched_by_source>()) {
      continue;
    }
    FRAZIL_ASSIGN(statement::MergeClause clause, ClauseOf(*child, text));
    merge.clauses.push_back(std::move(clause));
  }
  FRAZIL_TRY(CheckReachable(merge.clauses));
  return merge;
}

/// `WITH ... ` in front of a statement that writes: the offset of that statement. None: the text begins otherwise.
std::optional<size_t> EndOfWith(const std::string& text) {
  const std::vector<Token> tokens = Tokenize(text);
  size_t at = 0;
  const auto skip = [&] {
    while (at < tokens.size() && IsBlank(tokens[at])) ++at;
    return at < tokens.size();
  };
  if (!skip() || !IsWord(tokens[at], "with")) return std::nullopt;
  int depth = 0;
  for (++at; skip(); ++at) {
    if (IsSymbol(tokens[at], "(")) ++depth;
    if (IsSymbol(tokens[at], ")")) --depth;
    if (depth != 0) continue;
    for (const char* word : {"insert", "delete", "update", "merge"}) {
      if (IsWord(tokens[at], word)) return tokens[at].offset;
    }
    if (IsWord(tokens[at], "select") || IsWord(tokens[at], "values") || IsWord(tokens[at], "from")) break;
  }
  return std::nullopt;
}

/// Spark lets the WITH of an INSERT stand in front of it; the query takes it.
Result<std::optional<Statement>> ParseBehindWith(const std::string& text, size_t offset) {
  std::string rest = text;  // places in messages stay right
  std::replace_if(
      rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(offset), [](char letter) { return letter != '\n'; },
      ' ');
  FRAZIL_ASSIGN(auto parsed, ParseWriteStatement(rest));
  if (!parsed) return parsed;
  auto* insert = std::get_if<statement::Insert>(&*parsed);
  if (insert == nullptr) {
    return tl::unexpected(
        Error(ErrorCode::kNotSupported, "WITH in front of this statement at 1:1")
            .WithHint("write it inside: ... WHERE id IN (WITH ... SELECT ...), MERGE ... USING (WITH ... SELECT ...)"));
  }
  const bool has_own = insert->source.size() > 4 && Lower(insert->source.substr(0, 4)) == "with";
  insert->source = Trimmed(text.substr(0, offset)) +
                   (has_own ? "\nSELECT * FROM (\n" + insert->source + "\n)" : "\n" + insert->source);
  return parsed;
}

}  // namespace

Result<std::optional<Statement>> ParseWriteStatement(const std::string& text) {
  if (const auto offset = EndOfWith(text)) return ParseBehindWith(text, *offset);
  FRAZIL_ASSIGN(auto tree, (ParseTree<rule::whole_statement, rule::Selected>(text)));
  if (!tree) return std::optional<Statement>();
  const Node& node = *tree->children.at(0);
  if (Child<rule::with_evolution>(node)) return Statement(statement::NotBuilt{"WITH SCHEMA EVOLUTION"});
  if (node.is_type<rule::insert>()) {
    if (Child<grammar::if_not_exists>(node)) return Statement(statement::NotBuilt{"INSERT ... IF NOT EXISTS"});
    return Statement(InsertOf(node));
  }
  if (node.is_type<rule::delete_rows>())
    return Statement(statement::Delete{NameIn(node), AliasIn(node), ConditionIn(node)});
  if (node.is_type<rule::truncate>()) return Statement(statement::Truncate{NameIn(node)});
  if (node.is_type<rule::update>()) {
    statement::Update update{NameIn(node), AliasIn(node), {}, ConditionIn(node)};
    for (const auto& child : node.children) {
      if (child->is_type<rule::assignment>()) update.assignments.push_back(AssignmentOf(*child));
    }
    return Statement(std::move(update));
  }
  FRAZIL_ASSIGN(auto merge, MergeOf(node, text));
  return Statement(std::move(merge));
}

}  // namespace frazil::sql
