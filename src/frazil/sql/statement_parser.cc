#include <algorithm>
#include <functional>
#include <memory>

#include "frazil/sql/call_parser.h"
#include "frazil/sql/definition_parser.h"
#include "frazil/sql/explain_parser.h"
#include "frazil/sql/parse_tree.h"
#include "frazil/sql/statement.h"
#include "frazil/sql/statement_grammar.h"
#include "frazil/sql/token.h"
#include "frazil/sql/tree_reader.h"
#include "frazil/sql/write_parser.h"

namespace frazil::sql {

namespace {

using namespace grammar;  // the rules name the nodes of the tree

Result<statement::CreateTable> CreateTableOf(const Node& node, const TreeReader& reader) {
  statement::CreateTable create;
  create.name = NameIn(node);
  create.if_not_exists = Child<if_not_exists>(node) != nullptr;
  for (const auto& child : node.children) {
    if (child->is_type<columns>()) {
      for (const auto& item : child->children) {
        FRAZIL_ASSIGN(ColumnDefinition definition, reader.ColumnOf(*item));
        create.columns.push_back(std::move(definition));
      }
    } else if (child->is_type<using_clause>()) {
      std::string provider = Unquote(child->children.at(0)->string());
      if (Lower(provider) != "iceberg") {
        return Fail(ErrorCode::kNotSupported, "only USING iceberg is supported: {}", provider);
      }
    } else if (child->is_type<partition_clause>()) {
      for (const auto& item : child->children) {
        FRAZIL_ASSIGN(PartitionItem partition, reader.PartitionOf(*item->children.at(0)));
        partition.name = TreeReader::PartitionNameIn(*item);
        create.partitioning.push_back(std::move(partition));
      }
    } else if (child->is_type<location_clause>()) {
      create.location = TextIn(child.get());
    } else if (child->is_type<comment_clause>()) {
      create.comment = TextIn(child.get());
    } else if (child->is_type<property>()) {
      TreeReader::AddProperty(*child, create.properties);
    }
  }
  return create;
}

Result<Statement> LikeOf(statement::CreateTable create, const Node& node, const TreeReader& reader) {
  FRAZIL_ASSIGN(statement::CreateTable clauses, CreateTableOf(node, reader));
  if (!create.columns.empty() || !create.partitioning.empty() || !clauses.partitioning.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "LIKE gives columns and partitions, none can be defined: {}",
                NameText(create.name));
  }
  NameParts like = std::move(clauses.name);
  clauses.name = std::move(create.name);
  clauses.if_not_exists = create.if_not_exists;
  return statement::CreateTableLike{std::move(clauses), std::move(like)};
}

/// `WITH ('connector' = ...)`: a query would name what it defines.
bool IsOptionList(const std::string& text) {
  std::vector<Token> tokens = Tokenize(text);
  std::erase_if(tokens, IsBlank);
  return tokens.size() > 1 && IsWord(tokens[0], "WITH") && IsSymbol(tokens[1], "(");
}

Result<Statement> StatementOf(const Node& node, const std::string& source) {
  TreeReader reader(source);
  if (node.is_type<create_table>()) {
    if (const Node* other = Child<other_clause>(node))
      return statement::NotBuilt{"CREATE TABLE ... " + other->string()};
    FRAZIL_ASSIGN(auto create, CreateTableOf(node, reader));
    if (const Node* like = Child<like_clause>(node)) return LikeOf(std::move(create), *like, reader);
    const Node* query = Child<as_query>(node);
    const bool may_create = Child<replace_word>(node) == nullptr;
    const bool may_replace = !may_create || Child<or_replace>(node) != nullptr;
    if (query != nullptr && IsOptionList(Child<query_text>(*query)->string())) {
      return statement::NotBuilt{"CREATE TABLE ... WITH (...)"};
    }
    if (query != nullptr || may_replace) {
      std::string text = query == nullptr ? "" : Child<query_text>(*query)->string();
      return statement::CreateTableAs{std::move(create), std::move(text), may_create, may_replace};
    }
    if (create.columns.empty())
      return Fail(ErrorCode::kInvalidArgument, "table needs columns: {}", NameText(create.name));
    return create;
  }
  return Fail(ErrorCode::kInternal, "no statement for a tree");
}

/// Statements of ours that are not built yet, by their leading words.
std::optional<statement::NotBuilt> NotBuiltYet(const std::string& source) {
  std::vector<Token> tokens = Tokenize(source);
  std::erase_if(tokens, IsBlank);
  const size_t size = tokens.size();
  if (size > 2 && IsWord(tokens[size - 2], "WITH") && IsWord(tokens[size - 1], "TAIL")) {
    return statement::NotBuilt{"SELECT ... WITH TAIL"};
  }
  std::vector<std::string> words;
  for (const Token& token : tokens) {
    if (token.kind != TokenKind::kWord || words.size() >= 4) break;
    words.push_back(std::string(token.text));
    std::transform(words.back().begin(), words.back().end(), words.back().begin(), ::toupper);
  }
  auto starts = [&](std::initializer_list<const char*> expected) {
    return words.size() >= expected.size() &&
           std::equal(expected.begin(), expected.end(), words.begin(),
                      [](const char* left, const std::string& right) { return right == left; });
  };
  for (const char* word : {"BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT", "END"}) {
    if (!starts({word}) || (words[0] == "START" && !starts({"START", "TRANSACTION"}))) continue;
    return statement::NotBuilt{
        words[0] == "START" ? "START TRANSACTION" : word,
        "each statement is committed by itself; CALL system.rollback_to_snapshot takes one back"};
  }
  if (starts({"ALTER", "VIEW"})) return statement::NotBuilt{"ALTER VIEW"};
  if (starts({"CREATE", "VIEW"}) || starts({"CREATE", "OR", "REPLACE", "VIEW"}))
    return statement::NotBuilt{"CREATE VIEW"};
  if (starts({"DROP", "VIEW"})) return statement::NotBuilt{"DROP VIEW"};
  if (starts({"SHOW", "VIEWS"})) return statement::NotBuilt{"SHOW VIEWS"};
  return std::nullopt;
}

}  // namespace

Result<std::optional<Statement>> ParseStatement(const std::string& source) {
  FRAZIL_ASSIGN(auto explained, ParseExplain(source));
  if (explained) return explained;
  // Before definitions: ALTER TABLE ... EXECUTE is Trino's, another ALTER TABLE is a definition.
  FRAZIL_ASSIGN(auto call, ParseCall(source));
  if (call) return call;
  FRAZIL_ASSIGN(auto definition, ParseDefinition(source));
  if (definition) return definition;
  FRAZIL_ASSIGN(auto write, ParseWriteStatement(source));
  if (write) return write;
  FRAZIL_ASSIGN(auto tree, (ParseTree<whole_statement, Selected>(source)));
  if (tree) {
    FRAZIL_ASSIGN(Statement statement, StatementOf(*tree->children.at(0), source));
    return std::optional<Statement>(std::move(statement));
  }
  if (auto known = NotBuiltYet(source)) return std::optional<Statement>(*std::move(known));
  return std::optional<Statement>();
}

Result<spec::Type> ParseTypeText(const std::string& source) {
  FRAZIL_ASSIGN(auto tree, (ParseTree<whole_type, Selected>(source)));
  return TreeReader(source).TypeOf(*tree->children.at(0));
}

}  // namespace frazil::sql
