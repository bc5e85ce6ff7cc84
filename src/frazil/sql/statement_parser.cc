#include <algorithm>
#include <functional>
#include <memory>

#include "frazil/spec/schema.h"
#include "frazil/sql/statement.h"
#include "frazil/sql/statement_grammar.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

namespace {

using namespace grammar;  // the rules name the nodes of the tree

// --- from the tree to statements ----------------------------------------------------------------------------------------

template <typename Rule>
const Node* Child(const Node& node) {
  for (const auto& child : node.children) {
    if (child->is_type<Rule>()) return child.get();
  }
  return nullptr;
}

std::string Unquote(const std::string& quoted) {
  char quote = quoted.empty() ? '\0' : quoted.front();
  if (quote != '\'' && quote != '"' && quote != '`') return quoted;
  std::string plain;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] == quote && quoted[i + 1] == quote && i + 2 < quoted.size()) ++i;
    if (quote == '\'' && quoted[i] == '\\' && i + 2 < quoted.size()) {
      ++i;
      plain += quoted[i] == 'n' ? '\n' : quoted[i] == 't' ? '\t' : quoted[i];
      continue;
    }
    plain += quoted[i];
  }
  return plain;
}

NameParts PartsOf(const Node& table) {
  NameParts parts;
  for (const auto& child : table.children) parts.push_back(Unquote(child->string()));
  return parts;
}

/// The first table_name below a statement.
NameParts NameIn(const Node& node) {
  const Node* found = Child<table_name>(node);
  return found == nullptr ? NameParts() : PartsOf(*found);
}

std::optional<std::string> TextIn(const Node* node) {
  if (node == nullptr) return std::nullopt;
  const Node* found = Child<string_text>(*node);
  if (found == nullptr) return std::nullopt;
  return Unquote(found->string());
}

std::string Lower(std::string letters) {
  std::transform(letters.begin(), letters.end(), letters.begin(), ::tolower);
  return letters;
}

class TreeReader {
 public:
  explicit TreeReader(const std::string& source) : source_(source) {}

  Result<spec::Type> TypeOf(const Node& node) const {
    if (node.is_type<struct_type>()) {
      std::vector<spec::Field> fields;
      for (const auto& child : node.children) {
        if (!child->is_type<member>()) continue;
        FRAZIL_ASSIGN(spec::Field field, MemberOf(*child));
        fields.push_back(std::move(field));
      }
      return spec::Type::StructOf(std::move(fields));
    }
    if (node.is_type<array_type>()) {
      FRAZIL_ASSIGN(spec::Type element, TypeOf(*node.children[0]));
      return spec::Type::ListOf({spec::FieldId(0), "element", false, std::move(element)});
    }
    if (node.is_type<map_type>()) {
      FRAZIL_ASSIGN(spec::Type key, TypeOf(*node.children[0]));
      FRAZIL_ASSIGN(spec::Type value, TypeOf(*node.children[1]));
      return spec::Type::MapOf({spec::FieldId(0), "key", true, std::move(key)},
                               {spec::FieldId(0), "value", false, std::move(value)});
    }
    return SimpleTypeOf(node);
  }

  Result<statement::CreateTable> CreateTableOf(const Node& node) const {
    statement::CreateTable create;
    create.name = NameIn(node);
    create.if_not_exists = Child<if_not_exists>(node) != nullptr;
    for (const auto& child : node.children) {
      if (child->is_type<columns>()) {
        for (const auto& item : child->children) {
          FRAZIL_ASSIGN(ColumnDefinition definition, ColumnOf(*item));
          create.columns.push_back(std::move(definition));
        }
      } else if (child->is_type<using_clause>()) {
        std::string provider = Unquote(child->children.at(0)->string());
        if (Lower(provider) != "iceberg") {
          return Fail(ErrorCode::kNotSupported, "only USING iceberg is supported: {}", provider);
        }
      } else if (child->is_type<partition_clause>()) {
        for (const auto& item : child->children) {
          FRAZIL_ASSIGN(PartitionItem partition, PartitionOf(*item));
          create.partitioning.push_back(std::move(partition));
        }
      } else if (child->is_type<location_clause>()) {
        create.location = TextIn(child.get());
      } else if (child->is_type<comment_clause>()) {
        create.comment = TextIn(child.get());
      } else if (child->is_type<property>()) {
        AddProperty(*child, create.properties);
      }
    }
    return create;
  }

  static void AddProperty(const Node& node, std::map<std::string, std::string>& properties) {
    const Node& key = *node.children.at(0);
    std::string key_text;
    for (const auto& part : key.children) key_text += (key_text.empty() ? "" : ".") + Unquote(part->string());
    properties[key_text] = Unquote(node.children.at(1)->string());
  }

 private:
  std::string Place(const Node& node) const { return PlaceOf(source_, node.begin().byte); }

  Result<spec::Field> MemberOf(const Node& node) const {
    spec::Field field;
    field.id = spec::FieldId(0);
    field.name = Unquote(node.children.at(0)->string());
    FRAZIL_ASSIGN(field.type, TypeOf(*node.children.at(1)));
    field.required = Child<not_null>(node) != nullptr;
    field.doc = TextIn(Child<column_comment>(node));
    return field;
  }

  Result<ColumnDefinition> ColumnOf(const Node& node) const {
    ColumnDefinition definition;
    definition.name = Unquote(node.children.at(0)->string());
    FRAZIL_ASSIGN(definition.type, TypeOf(*node.children.at(1)));
    definition.required = Child<not_null>(node) != nullptr;
    definition.comment = TextIn(Child<column_comment>(node));
    if (const Node* given = Child<default_value>(node)) {
      const Node& value = *given->children.at(0);
      Literal parsed;
      parsed.offset = value.begin().byte;
      if (value.is_type<literal_call>()) {
        return tl::unexpected<Error>(
            Error(ErrorCode::kNotSupported,
                  fmt::format("DEFAULT must be a constant at {}: {}", Place(value), value.string()))
                .WithHint("Iceberg's defaults are constants; a pipeline can fill the column from $timestamp"));
      }
      if (!value.is_type<literal_null>()) parsed.text = Unquote(value.string());
      definition.default_value = std::move(parsed);
    }
    return definition;
  }

  Result<spec::Type> SimpleTypeOf(const Node& node) const {
    using spec::Type;
    using spec::TypeId;
    std::string word = Lower(node.children.at(0)->string());
    std::vector<int> parameters;
    for (size_t i = 1; i < node.children.size(); ++i) {
      std::string digits = node.children[i]->string();
      if (digits.size() > 9)
        return Fail(ErrorCode::kInvalidArgument, "number is too large at {}: {}", Place(*node.children[i]), digits);
      parameters.push_back(std::stoi(digits));
    }
    static const std::map<std::string, TypeId> plain = {{"boolean", TypeId::kBoolean},
                                                        {"bool", TypeId::kBoolean},
                                                        {"tinyint", TypeId::kInt},
                                                        {"byte", TypeId::kInt},
                                                        {"smallint", TypeId::kInt},
                                                        {"short", TypeId::kInt},
                                                        {"int", TypeId::kInt},
                                                        {"integer", TypeId::kInt},
                                                        {"bigint", TypeId::kLong},
                                                        {"long", TypeId::kLong},
                                                        {"float", TypeId::kFloat},
                                                        {"real", TypeId::kFloat},
                                                        {"double", TypeId::kDouble},
                                                        {"date", TypeId::kDate},
                                                        {"time", TypeId::kTime},
                                                        {"timestamp", TypeId::kTimestampTz},
                                                        {"timestamp_ltz", TypeId::kTimestampTz},
                                                        {"timestamptz", TypeId::kTimestampTz},
                                                        {"timestamp_ntz", TypeId::kTimestamp},
                                                        {"timestamp_ns", TypeId::kTimestampNs},
                                                        {"timestamptz_ns", TypeId::kTimestampTzNs},
                                                        {"string", TypeId::kString},
                                                        {"binary", TypeId::kBinary},
                                                        {"uuid", TypeId::kUuid},
                                                        {"variant", TypeId::kVariant},
                                                        {"void", TypeId::kUnknown},
                                                        {"unknown", TypeId::kUnknown}};
    if (auto found = plain.find(word); found != plain.end()) {
      if (!parameters.empty())
        return Fail(ErrorCode::kInvalidArgument, "type takes no parameters at {}: {}", Place(node), word);
      return Type::Primitive(found->second);
    }
    if (word == "decimal" || word == "dec" || word == "numeric") {
      int precision = parameters.empty() ? 10 : parameters[0];
      int scale = parameters.size() < 2 ? 0 : parameters[1];
      if (precision < 1 || precision > 38 || scale > precision) {
        return Fail(ErrorCode::kInvalidArgument, "decimal needs 1 <= precision <= 38 and scale <= precision at {}: {}",
                    Place(node), node.string());
      }
      return Type::DecimalOf(precision, scale);
    }
    if (word == "varchar" || word == "char" || word == "character") return Type::Primitive(TypeId::kString);
    if (word == "fixed") {
      if (parameters.size() != 1) return Fail(ErrorCode::kInvalidArgument, "fixed needs a length at {}", Place(node));
      return Type::FixedOf(parameters[0]);
    }
    std::vector<std::string> known = {"decimal", "varchar", "char", "fixed", "struct", "array", "map"};
    for (const auto& [text, id] : plain) known.push_back(text);
    Error error(ErrorCode::kInvalidArgument, fmt::format("unknown type at {}: {}", Place(node), word));
    std::string near = spec::NearestName(word, known);
    if (near.empty()) return tl::unexpected<Error>(std::move(error));
    return tl::unexpected<Error>(std::move(error).WithHint(fmt::format("did you mean {}?", near)));
  }

  Result<PartitionItem> PartitionOf(const Node& node) const {
    using spec::Transform;
    const Node& inner = *node.children.at(0);
    PartitionItem item;
    if (inner.is_type<table_name>()) {
      item.column = PartsOf(inner);
      return item;
    }
    std::string word = Lower(inner.children.at(0)->string());
    std::optional<int> parameter;
    for (size_t i = 1; i < inner.children.size(); ++i) {
      const Node& argument = *inner.children[i];
      if (argument.is_type<table_name>()) {
        item.column = PartsOf(argument);
      } else {
        std::string digits = argument.string();
        parameter = digits.size() > 9 ? 0 : std::stoi(digits);
      }
    }
    static const std::map<std::string, Transform::Kind> plain = {
        {"years", Transform::Kind::kYear},        {"year", Transform::Kind::kYear},
        {"months", Transform::Kind::kMonth},      {"month", Transform::Kind::kMonth},
        {"days", Transform::Kind::kDay},          {"day", Transform::Kind::kDay},
        {"date", Transform::Kind::kDay},          {"hours", Transform::Kind::kHour},
        {"hour", Transform::Kind::kHour},         {"date_hour", Transform::Kind::kHour},
        {"identity", Transform::Kind::kIdentity}, {"void", Transform::Kind::kVoid}};
    if (item.column.empty())
      return Fail(ErrorCode::kInvalidArgument, "transform needs a column at {}: {}", Place(node), word);
    if (word == "bucket" || word == "truncate") {
      if (!parameter || *parameter < 1) {
        return Fail(ErrorCode::kInvalidArgument, "{} needs a positive number at {}", word, Place(node));
      }
      item.transform = word == "bucket" ? Transform::Bucket(*parameter) : Transform::Truncate(*parameter);
      return item;
    }
    auto found = plain.find(word);
    if (found == plain.end())
      return Fail(ErrorCode::kInvalidArgument, "unknown transform at {}: {}", Place(node), word);
    if (parameter) return Fail(ErrorCode::kInvalidArgument, "{} takes no number at {}", word, Place(node));
    item.transform = Transform::Of(found->second);
    return item;
  }

  const std::string& source_;
};

Result<Statement> StatementOf(const Node& node, const std::string& source) {
  TreeReader reader(source);
  if (node.is_type<create_table>()) {
    if (Child<or_replace>(node)) return statement::NotBuilt{"CREATE OR REPLACE TABLE"};
    if (Child<as_query>(node)) return statement::NotBuilt{"CREATE TABLE AS SELECT"};
    if (Child<like_clause>(node)) return statement::NotBuilt{"CREATE TABLE LIKE"};
    if (const Node* other = Child<other_clause>(node))
      return statement::NotBuilt{"CREATE TABLE ... " + other->string()};
    FRAZIL_ASSIGN(auto create, reader.CreateTableOf(node));
    if (create.columns.empty())
      return Fail(ErrorCode::kInvalidArgument, "table needs columns: {}", NameText(create.name));
    return create;
  }
  if (node.is_type<create_namespace>()) {
    statement::CreateNamespace create;
    create.name = NameIn(node);
    create.if_not_exists = Child<if_not_exists>(node) != nullptr;
    create.comment = TextIn(Child<comment_clause>(node));
    create.location = TextIn(Child<location_clause>(node));
    for (const auto& child : node.children) {
      if (child->is_type<property>()) TreeReader::AddProperty(*child, create.properties);
    }
    return create;
  }
  if (node.is_type<drop_namespace>()) {
    return statement::DropNamespace{NameIn(node), Child<if_exists>(node) != nullptr, Child<cascade>(node) != nullptr};
  }
  if (node.is_type<drop_table>()) {
    return statement::DropTable{NameIn(node), Child<if_exists>(node) != nullptr, Child<purge>(node) != nullptr};
  }
  if (node.is_type<show_namespaces>()) {
    const Node* parent = Child<in_namespace>(node);
    return statement::ShowNamespaces{parent ? NameIn(*parent) : NameParts()};
  }
  if (node.is_type<show_tables>()) {
    const Node* in = Child<in_namespace>(node);
    return statement::ShowTables{in ? NameIn(*in) : NameParts()};
  }
  if (node.is_type<show_create_table>()) return statement::ShowCreateTable{NameIn(node)};
  if (node.is_type<describe_namespace>()) return statement::DescribeNamespace{NameIn(node)};
  if (node.is_type<describe_history>()) return statement::DescribeHistory{NameIn(node)};
  if (node.is_type<describe_table>()) return statement::Describe{NameIn(node), Child<extended>(node) != nullptr};
  if (node.is_type<use_namespace>()) return statement::Use{NameIn(node)};
  if (node.is_type<insert_into>()) {
    statement::Insert insert;
    insert.table = NameIn(node);
    if (const Node* list = Child<column_list>(node)) {
      for (const auto& child : list->children) insert.columns.push_back(Unquote(child->string()));
    }
    insert.source = Child<rest>(node)->string();
    return insert;
  }
  if (node.is_type<delete_from>()) {
    statement::Delete remove;
    remove.table = NameIn(node);
    if (const Node* other = Child<alias>(node)) remove.alias = Unquote(other->children.at(0)->string());
    if (const Node* where = Child<rest>(node)) remove.condition = where->string();
    return remove;
  }
  statement::SetIdentifierFields set;
  set.drop = Child<drop_word>(node) != nullptr;
  bool first = true;
  for (const auto& child : node.children) {
    if (!child->is_type<table_name>()) continue;
    if (first) {
      set.table = PartsOf(*child);
      first = false;
    } else {
      set.fields.push_back(PartsOf(*child));
    }
  }
  return set;
}

/// Statements of ours that are not built yet, by their leading words.
std::optional<statement::NotBuilt> NotBuiltYet(const std::string& source) {
  std::vector<std::string> words;
  for (const Token& token : Tokenize(source)) {
    if (IsBlank(token)) continue;
    if (token.kind != TokenKind::kWord || words.size() >= 4) break;
    words.push_back(std::string(token.text));
    std::transform(words.back().begin(), words.back().end(), words.back().begin(), ::toupper);
  }
  auto starts = [&](std::initializer_list<const char*> expected) {
    return words.size() >= expected.size() &&
           std::equal(expected.begin(), expected.end(), words.begin(),
                      [](const char* left, const std::string& right) { return right == left; });
  };
  for (const char* word : {"UPDATE", "MERGE", "CALL", "TRUNCATE"}) {
    if (starts({word})) return statement::NotBuilt{word};
  }
  if (starts({"ALTER", "TABLE"})) return statement::NotBuilt{"ALTER TABLE"};
  if (starts({"ALTER", "VIEW"})) return statement::NotBuilt{"ALTER VIEW"};
  if (starts({"ALTER", "NAMESPACE"}) || starts({"ALTER", "DATABASE"}) || starts({"ALTER", "SCHEMA"})) {
    return statement::NotBuilt{"ALTER " + words[1]};
  }
  if (starts({"INSERT", "OVERWRITE"})) return statement::NotBuilt{"INSERT OVERWRITE"};
  if (starts({"CREATE", "VIEW"}) || starts({"CREATE", "OR", "REPLACE", "VIEW"}))
    return statement::NotBuilt{"CREATE VIEW"};
  if (starts({"REPLACE", "TABLE"})) return statement::NotBuilt{"REPLACE TABLE"};
  if (starts({"DROP", "VIEW"})) return statement::NotBuilt{"DROP VIEW"};
  if (starts({"SHOW", "VIEWS"})) return statement::NotBuilt{"SHOW VIEWS"};
  return std::nullopt;
}

template <typename Rule>
Result<std::unique_ptr<Node>> Parse(const std::string& source) {
  peg::memory_input<> input(source, "");
  try {
    return peg::parse_tree::parse<Rule, Selected, peg::nothing, Control>(input);
  } catch (const peg::parse_error& error) {
    const auto& place = error.positions().front();
    return Fail(ErrorCode::kInvalidArgument, "expected {} at {}", error.message(), PlaceOf(source, place.byte));
  }
}

}  // namespace

Result<std::optional<Statement>> ParseStatement(const std::string& source) {
  FRAZIL_ASSIGN(auto tree, Parse<whole_statement>(source));
  if (tree) {
    FRAZIL_ASSIGN(Statement statement, StatementOf(*tree->children.at(0), source));
    return std::optional<Statement>(std::move(statement));
  }
  if (auto known = NotBuiltYet(source)) return std::optional<Statement>(*std::move(known));
  return std::optional<Statement>();
}

Result<spec::Type> ParseTypeText(const std::string& source) {
  FRAZIL_ASSIGN(auto tree, Parse<whole_type>(source));
  return TreeReader(source).TypeOf(*tree->children.at(0));
}

}  // namespace frazil::sql
