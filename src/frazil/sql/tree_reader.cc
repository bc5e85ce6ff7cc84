#include "frazil/sql/tree_reader.h"

#include <algorithm>

#include "frazil/spec/schema.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

using namespace grammar;  // the rules name the nodes of the tree

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

std::string Trimmed(std::string text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

std::string Lower(std::string letters) {
  std::transform(letters.begin(), letters.end(), letters.begin(), ::tolower);
  return letters;
}

NameParts PartsOf(const Node& table) {
  NameParts parts;
  for (const auto& child : table.children) parts.push_back(Unquote(child->string()));
  return parts;
}

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

std::string TreeReader::Place(const Node& node) const { return PlaceOf(source_, node.begin().byte); }

Result<spec::Type> TreeReader::TypeOf(const Node& node) const {
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

Result<spec::Field> TreeReader::MemberOf(const Node& node) const {
  spec::Field field;
  field.id = spec::FieldId(0);
  field.name = Unquote(node.children.at(0)->string());
  FRAZIL_ASSIGN(field.type, TypeOf(*node.children.at(1)));
  field.required = Child<not_null>(node) != nullptr;
  field.doc = TextIn(Child<column_comment>(node));
  return field;
}

Result<ColumnDefinition> TreeReader::ColumnOf(const Node& node) const {
  ColumnDefinition definition;
  const Node& named = *node.children.at(0);
  definition.name = named.is_type<table_name>() ? PartsOf(named).back() : Unquote(named.string());
  FRAZIL_ASSIGN(definition.type, TypeOf(*node.children.at(1)));
  definition.required = Child<not_null>(node) != nullptr;
  definition.comment = TextIn(Child<column_comment>(node));
  if (const Node* given = Child<default_value>(node)) {
    FRAZIL_ASSIGN(definition.default_value, LiteralOf(*given->children.at(0)));
  }
  return definition;
}

Result<Literal> TreeReader::LiteralOf(const Node& value) const {
  Literal parsed;
  parsed.offset = value.begin().byte;
  if (value.is_type<literal_call>()) {
    return tl::unexpected<Error>(
        Error(ErrorCode::kNotSupported,
              fmt::format("DEFAULT must be a constant at {}: {}", Place(value), value.string()))
            .WithHint("Iceberg's defaults are constants; a pipeline can fill the column from $timestamp"));
  }
  if (!value.is_type<literal_null>()) parsed.text = Unquote(value.string());
  return parsed;
}

Result<spec::Type> TreeReader::SimpleTypeOf(const Node& node) const {
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

Result<PartitionItem> TreeReader::PartitionOf(const Node& node) const {
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
  if (found == plain.end()) return Fail(ErrorCode::kInvalidArgument, "unknown transform at {}: {}", Place(node), word);
  if (parameter) return Fail(ErrorCode::kInvalidArgument, "{} takes no number at {}", word, Place(node));
  item.transform = Transform::Of(found->second);
  return item;
}

std::optional<std::string> TreeReader::PartitionNameIn(const Node& node) {
  const Node* name = Child<partition_name>(node);
  if (name == nullptr) return std::nullopt;
  return Unquote(name->children.at(0)->string());
}

std::string TreeReader::KeyOf(const Node& key) {
  std::string text;
  for (const auto& part : key.children) text += (text.empty() ? "" : ".") + Unquote(part->string());
  return text;
}

void TreeReader::AddProperty(const Node& node, std::map<std::string, std::string>& properties) {
  properties[KeyOf(*node.children.at(0))] = Unquote(node.children.at(1)->string());
}

}  // namespace frazil::sql
