#include <algorithm>
#include <functional>
#include <memory>

#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/parse_tree.hpp>

#include "frazil/spec/schema.h"
#include "frazil/sql/statement.h"
#include "frazil/sql/token.h"

// The grammar of the Spark-style statements. What a rule matches decides how far a statement is ours: once its leading
// keywords have matched, the rest must follow ("must"), and what was expected is said with its place.

namespace frazil::sql {

namespace {

namespace peg = tao::pegtl;

// --- lexical ----------------------------------------------------------------------------------------------------------

struct line_comment : peg::seq<peg::string<'-', '-'>, peg::until<peg::eolf>> {};
struct block_comment : peg::seq<peg::string<'/', '*'>, peg::until<peg::string<'*', '/'>>> {};
struct skip : peg::star<peg::sor<peg::space, line_comment, block_comment>> {};

struct name_start : peg::sor<peg::identifier_first, peg::utf8::range<0x80, 0x10FFFF>> {};
struct name_part : peg::sor<peg::identifier_other, peg::utf8::range<0x80, 0x10FFFF>> {};

template <typename Text>
struct keyword : peg::seq<Text, peg::not_at<name_part>, skip> {};
template <char C>
struct symbol : peg::seq<peg::one<C>, skip> {};

#define FRAZIL_KEYWORD(NAME) \
  struct k_##NAME : keyword<TAO_PEGTL_ISTRING(#NAME)> {}
FRAZIL_KEYWORD(create); FRAZIL_KEYWORD(or); FRAZIL_KEYWORD(replace); FRAZIL_KEYWORD(external); FRAZIL_KEYWORD(table);
FRAZIL_KEYWORD(namespace); FRAZIL_KEYWORD(namespaces); FRAZIL_KEYWORD(database); FRAZIL_KEYWORD(databases);
FRAZIL_KEYWORD(schema); FRAZIL_KEYWORD(schemas); FRAZIL_KEYWORD(if); FRAZIL_KEYWORD(not); FRAZIL_KEYWORD(exists);
FRAZIL_KEYWORD(drop); FRAZIL_KEYWORD(purge); FRAZIL_KEYWORD(cascade); FRAZIL_KEYWORD(restrict); FRAZIL_KEYWORD(show);
FRAZIL_KEYWORD(tables); FRAZIL_KEYWORD(in); FRAZIL_KEYWORD(from); FRAZIL_KEYWORD(describe); FRAZIL_KEYWORD(desc);
FRAZIL_KEYWORD(extended); FRAZIL_KEYWORD(formatted); FRAZIL_KEYWORD(use); FRAZIL_KEYWORD(insert); FRAZIL_KEYWORD(into);
FRAZIL_KEYWORD(overwrite); FRAZIL_KEYWORD(delete); FRAZIL_KEYWORD(where); FRAZIL_KEYWORD(as); FRAZIL_KEYWORD(using);
FRAZIL_KEYWORD(partitioned); FRAZIL_KEYWORD(by); FRAZIL_KEYWORD(location); FRAZIL_KEYWORD(comment);
FRAZIL_KEYWORD(tblproperties); FRAZIL_KEYWORD(dbproperties); FRAZIL_KEYWORD(properties); FRAZIL_KEYWORD(with);
FRAZIL_KEYWORD(options); FRAZIL_KEYWORD(null); FRAZIL_KEYWORD(default); FRAZIL_KEYWORD(true); FRAZIL_KEYWORD(false);
FRAZIL_KEYWORD(struct); FRAZIL_KEYWORD(array); FRAZIL_KEYWORD(map); FRAZIL_KEYWORD(update); FRAZIL_KEYWORD(merge);
FRAZIL_KEYWORD(alter); FRAZIL_KEYWORD(set); FRAZIL_KEYWORD(identifier); FRAZIL_KEYWORD(fields); FRAZIL_KEYWORD(view);
FRAZIL_KEYWORD(views); FRAZIL_KEYWORD(call); FRAZIL_KEYWORD(truncate); FRAZIL_KEYWORD(select); FRAZIL_KEYWORD(like);
FRAZIL_KEYWORD(values); FRAZIL_KEYWORD(rename); FRAZIL_KEYWORD(cluster); FRAZIL_KEYWORD(temp);
FRAZIL_KEYWORD(temporary); FRAZIL_KEYWORD(history); FRAZIL_KEYWORD(refresh); FRAZIL_KEYWORD(stored);
#undef FRAZIL_KEYWORD

struct plain_name : peg::seq<name_start, peg::star<name_part>> {};
struct back_quoted : peg::seq<peg::one<'`'>, peg::until<peg::seq<peg::one<'`'>, peg::not_at<peg::one<'`'>>>,
                                                       peg::sor<peg::string<'`', '`'>, peg::any>>> {};
struct double_quoted : peg::seq<peg::one<'"'>, peg::until<peg::seq<peg::one<'"'>, peg::not_at<peg::one<'"'>>>,
                                                         peg::sor<peg::string<'"', '"'>, peg::any>>> {};
struct name_text : peg::sor<back_quoted, double_quoted, plain_name> {};
struct name : peg::seq<name_text, skip> {};
struct table_name : peg::list<name, symbol<'.'>> {};

struct single_quoted
    : peg::seq<peg::one<'\''>, peg::until<peg::seq<peg::one<'\''>, peg::not_at<peg::one<'\''>>>,
                                          peg::sor<peg::string<'\'', '\''>, peg::seq<peg::one<'\\'>, peg::any>, peg::any>>> {};
struct string_text : single_quoted {};
struct text : peg::seq<string_text, skip> {};

struct number_text : peg::seq<peg::opt<peg::one<'-', '+'>>, peg::plus<peg::digit>,
                              peg::opt<peg::one<'.'>, peg::star<peg::digit>>,
                              peg::opt<peg::one<'e', 'E'>, peg::opt<peg::one<'-', '+'>>, peg::plus<peg::digit>>> {};
struct number : peg::seq<number_text, skip> {};
struct integer_text : peg::plus<peg::digit> {};
struct integer : peg::seq<integer_text, skip> {};

// --- types ------------------------------------------------------------------------------------------------------------

struct type;
struct required_type : peg::must<type> {};
template <char C>
struct must_symbol : peg::must<symbol<C>> {};

struct not_null : peg::seq<k_not, peg::must<k_null>> {};
struct column_comment : peg::seq<k_comment, peg::must<text>> {};
struct member : peg::seq<name, peg::opt<symbol<':'>>, required_type, peg::star<peg::sor<not_null, column_comment>>> {};
struct struct_type : peg::if_must<peg::seq<k_struct, symbol<'<'>>, peg::list<member, symbol<','>>, symbol<'>'>> {};
struct array_type : peg::if_must<peg::seq<k_array, symbol<'<'>>, type, symbol<'>'>> {};
struct map_type : peg::if_must<peg::seq<k_map, symbol<'<'>>, type, symbol<','>, type, symbol<'>'>> {};
struct type_name_text : plain_name {};
struct type_name : peg::seq<type_name_text, skip> {};
struct simple_type
    : peg::seq<type_name, peg::opt<symbol<'('>, peg::must<integer>, peg::opt<symbol<','>, peg::must<integer>>, must_symbol<')'>>> {};
struct type : peg::sor<struct_type, array_type, map_type, simple_type> {};

// --- CREATE TABLE -----------------------------------------------------------------------------------------------------

struct literal_null : k_null {};
struct literal_truth_text : peg::sor<TAO_PEGTL_ISTRING("true"), TAO_PEGTL_ISTRING("false")> {};
struct literal_truth : peg::seq<literal_truth_text, peg::not_at<name_part>, skip> {};
struct literal_call : peg::seq<plain_name, skip, symbol<'('>, symbol<')'>> {};
struct literal_prefix
    : peg::sor<keyword<TAO_PEGTL_ISTRING("date")>, keyword<TAO_PEGTL_ISTRING("timestamp_ntz")>,
               keyword<TAO_PEGTL_ISTRING("timestamp_ltz")>, keyword<TAO_PEGTL_ISTRING("timestamp")>,
               keyword<TAO_PEGTL_ISTRING("time")>, peg::seq<peg::one<'x', 'X'>, peg::at<peg::one<'\''>>>> {};
struct literal : peg::sor<literal_null, literal_truth, peg::seq<peg::opt<literal_prefix>, text>, number, literal_call> {};
struct default_value : peg::seq<k_default, peg::must<literal>> {};
struct column : peg::seq<name, required_type, peg::star<peg::sor<not_null, column_comment, default_value>>> {};
struct columns : peg::if_must<symbol<'('>, peg::list<column, symbol<','>>, symbol<')'>> {};

struct transform_call
    : peg::seq<type_name, symbol<'('>,
               peg::must<peg::list<peg::sor<integer, table_name>, symbol<','>>, symbol<')'>>> {};
struct partition_item : peg::sor<transform_call, table_name> {};
struct partition_clause
    : peg::if_must<k_partitioned, k_by, symbol<'('>, peg::list<partition_item, symbol<','>>, symbol<')'>> {};
struct using_name : name {};
struct using_clause : peg::if_must<k_using, using_name> {};
struct location_clause : peg::if_must<k_location, text> {};
struct comment_clause : peg::if_must<k_comment, text> {};
struct property_key : peg::sor<text, peg::list<name, symbol<'.'>>> {};
struct property_value : peg::sor<text, number, literal_truth> {};
struct property : peg::seq<property_key, peg::opt<symbol<'='>>, peg::must<property_value>> {};
struct property_list : peg::seq<symbol<'('>, peg::list<property, symbol<','>>, must_symbol<')'>> {};
struct properties_clause : peg::if_must<peg::sor<k_tblproperties, k_options>, property_list> {};
struct if_not_exists : peg::seq<k_if, peg::must<k_not, k_exists>> {};
struct if_exists : peg::seq<k_if, peg::must<k_exists>> {};
struct as_query : peg::seq<peg::opt<k_as>, peg::at<peg::sor<k_select, k_with, k_values, k_from>>, peg::until<peg::eof>> {};
struct like_clause : peg::seq<k_like, peg::until<peg::eof>> {};
struct other_clause : peg::seq<peg::sor<k_cluster, k_stored>, peg::until<peg::eof>> {};
struct or_replace : peg::seq<k_or, peg::must<k_replace>> {};
struct table_clause : peg::sor<using_clause, partition_clause, location_clause, comment_clause, properties_clause> {};
struct create_table
    : peg::seq<k_create, peg::opt<or_replace>, peg::opt<k_external>, k_table, peg::opt<if_not_exists>,
               peg::must<table_name>, peg::opt<columns>, peg::star<table_clause>,
               peg::opt<peg::sor<as_query, like_clause, other_clause>>> {};

// --- the other statements -----------------------------------------------------------------------------------------------

struct namespace_word : peg::sor<k_namespace, k_database, k_schema> {};
struct namespaces_word : peg::sor<k_namespaces, k_databases, k_schemas> {};
struct with_properties : peg::seq<k_with, peg::must<peg::sor<k_dbproperties, k_properties>>, peg::must<property_list>> {};
struct create_namespace : peg::seq<k_create, namespace_word, peg::opt<if_not_exists>, peg::must<table_name>,
                                   peg::star<peg::sor<comment_clause, location_clause, with_properties>>> {};
struct cascade : k_cascade {};
struct drop_namespace : peg::seq<k_drop, namespace_word, peg::opt<if_exists>, peg::must<table_name>,
                                 peg::opt<peg::sor<cascade, k_restrict>>> {};
struct purge : k_purge {};
struct drop_table : peg::seq<k_drop, k_table, peg::opt<if_exists>, peg::must<table_name>, peg::opt<purge>> {};
struct in_namespace : peg::seq<peg::sor<k_in, k_from>, peg::must<table_name>> {};
struct show_namespaces : peg::seq<k_show, namespaces_word, peg::opt<in_namespace>> {};
struct show_tables : peg::seq<k_show, k_tables, peg::opt<in_namespace>> {};
struct show_create_table : peg::seq<k_show, k_create, k_table, peg::must<table_name>> {};
struct describe_namespace : peg::seq<peg::sor<k_describe, k_desc>, namespace_word, peg::opt<k_extended>, peg::must<table_name>> {};
struct extended : peg::sor<k_extended, k_formatted> {};
struct describe_table
    : peg::seq<peg::sor<k_describe, k_desc>, peg::not_at<peg::sor<k_select, k_with, k_values, k_from, k_insert, symbol<'('>>>,
               peg::not_at<k_history, name>, peg::opt<k_table>, peg::opt<extended>, peg::must<table_name>> {};
struct describe_history : peg::seq<peg::sor<k_describe, k_desc>, k_history, peg::at<name>, peg::must<table_name>> {};
struct use_namespace : peg::seq<k_use, peg::opt<namespace_word>, peg::must<table_name>> {};
struct rest : peg::seq<peg::until<peg::eof>> {};
struct column_list : peg::seq<symbol<'('>, peg::list<name, symbol<','>>, symbol<')'>, peg::not_at<peg::eof>> {};
struct insert_source : peg::seq<peg::at<peg::sor<k_values, k_select, k_with, k_from, k_table, symbol<'('>>>, rest> {};
struct insert_into : peg::seq<k_insert, k_into, peg::opt<k_table>, peg::must<table_name>, peg::opt<column_list>,
                              peg::must<insert_source>> {};
struct alias : peg::seq<peg::opt<k_as>, peg::not_at<k_where>, name> {};
struct condition : peg::seq<peg::not_at<peg::eof>, rest> {};
struct delete_from : peg::seq<k_delete, peg::must<k_from>, peg::must<table_name>, peg::opt<alias>,
                              peg::opt<k_where, peg::must<condition>>> {};
struct drop_word : k_drop {};
struct identifier_fields : peg::seq<k_alter, k_table, table_name, peg::sor<k_set, drop_word>, k_identifier,
                                    peg::must<k_fields>, peg::must<peg::list<table_name, symbol<','>>>> {};

struct statement_rule
    : peg::sor<create_table, create_namespace, drop_namespace, drop_table, show_namespaces, show_tables,
               show_create_table, describe_namespace, describe_history, describe_table, use_namespace, insert_into, delete_from,
               identifier_fields> {};
struct whole_statement : peg::seq<skip, statement_rule, peg::opt<symbol<';'>>, peg::must<peg::eof>> {};
struct whole_type : peg::seq<skip, peg::must<type>, peg::must<peg::eof>> {};

// --- what was expected ------------------------------------------------------------------------------------------------

template <typename>
inline constexpr const char* kExpected = nullptr;
template <> inline constexpr const char* kExpected<table_name> = "a name";
template <> inline constexpr const char* kExpected<name> = "a name";
template <> inline constexpr const char* kExpected<using_name> = "a name";
template <> inline constexpr const char* kExpected<type> = "a type";
template <> inline constexpr const char* kExpected<text> = "a 'text'";
template <> inline constexpr const char* kExpected<integer> = "a whole number";
template <> inline constexpr const char* kExpected<literal> = "a literal";
template <> inline constexpr const char* kExpected<property_value> = "a value";
template <> inline constexpr const char* kExpected<property_list> = "(key = value, ...)";
template <> inline constexpr const char* kExpected<symbol<'('>> = "(";
template <> inline constexpr const char* kExpected<symbol<')'>> = ", or )";
template <> inline constexpr const char* kExpected<symbol<'>'>> = ", or >";
template <> inline constexpr const char* kExpected<symbol<','>> = ",";
template <> inline constexpr const char* kExpected<k_by> = "BY";
template <> inline constexpr const char* kExpected<k_null> = "NULL";
template <> inline constexpr const char* kExpected<k_not> = "NOT EXISTS";
template <> inline constexpr const char* kExpected<k_exists> = "EXISTS";
template <> inline constexpr const char* kExpected<k_replace> = "REPLACE";
template <> inline constexpr const char* kExpected<k_from> = "FROM";
template <> inline constexpr const char* kExpected<k_fields> = "FIELDS";
template <> inline constexpr const char* kExpected<insert_source> = "VALUES or a query";
template <> inline constexpr const char* kExpected<condition> = "a condition";
template <> inline constexpr const char* kExpected<peg::list<column, symbol<','>>> = "a column";
template <> inline constexpr const char* kExpected<peg::list<member, symbol<','>>> = "a member";
template <> inline constexpr const char* kExpected<peg::list<partition_item, symbol<','>>> = "a column or transform";
template <> inline constexpr const char* kExpected<peg::list<peg::sor<integer, table_name>, symbol<','>>> = "a column";
template <> inline constexpr const char* kExpected<peg::list<table_name, symbol<','>>> = "a column";
template <> inline constexpr const char* kExpected<peg::sor<k_dbproperties, k_properties>> = "PROPERTIES";
template <> inline constexpr const char* kExpected<peg::eof> = "the end of the statement";

template <typename Rule>
struct Control : peg::normal<Rule> {
  template <typename Input, typename... States>
  static void raise(const Input& input, States&&...) {
    throw peg::parse_error(kExpected<Rule> != nullptr ? kExpected<Rule> : "something else", input);
  }
};

template <typename Rule>
using Selected = peg::parse_tree::selector<
    Rule,
    peg::parse_tree::store_content::on<
        create_table, create_namespace, drop_namespace, drop_table, show_namespaces, show_tables, show_create_table,
        describe_namespace, describe_history, describe_table, use_namespace, insert_into, delete_from, identifier_fields, name_text,
        table_name, string_text, number_text, integer_text, struct_type, array_type, map_type, simple_type,
        type_name_text, member, not_null, column_comment, default_value, literal_null, literal_truth_text, literal_call,
        column, columns, transform_call, partition_item, partition_clause, using_clause, location_clause, comment_clause,
        property, property_key, if_not_exists, if_exists, as_query, like_clause, other_clause, or_replace, cascade,
        purge, in_namespace, extended, rest, column_list, alias, drop_word>>;

using Node = peg::parse_tree::node;

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
            Error(ErrorCode::kNotSupported, fmt::format("DEFAULT must be a constant at {}: {}", Place(value), value.string()))
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
      if (digits.size() > 9) return Fail(ErrorCode::kInvalidArgument, "number is too large at {}: {}", Place(*node.children[i]), digits);
      parameters.push_back(std::stoi(digits));
    }
    static const std::map<std::string, TypeId> plain = {
        {"boolean", TypeId::kBoolean}, {"bool", TypeId::kBoolean}, {"tinyint", TypeId::kInt}, {"byte", TypeId::kInt},
        {"smallint", TypeId::kInt}, {"short", TypeId::kInt}, {"int", TypeId::kInt}, {"integer", TypeId::kInt},
        {"bigint", TypeId::kLong}, {"long", TypeId::kLong}, {"float", TypeId::kFloat}, {"real", TypeId::kFloat},
        {"double", TypeId::kDouble}, {"date", TypeId::kDate}, {"time", TypeId::kTime},
        {"timestamp", TypeId::kTimestampTz}, {"timestamp_ltz", TypeId::kTimestampTz}, {"timestamptz", TypeId::kTimestampTz},
        {"timestamp_ntz", TypeId::kTimestamp}, {"timestamp_ns", TypeId::kTimestampNs},
        {"timestamptz_ns", TypeId::kTimestampTzNs}, {"string", TypeId::kString}, {"binary", TypeId::kBinary},
        {"uuid", TypeId::kUuid}, {"variant", TypeId::kVariant}, {"void", TypeId::kUnknown}, {"unknown", TypeId::kUnknown}};
    if (auto found = plain.find(word); found != plain.end()) {
      if (!parameters.empty()) return Fail(ErrorCode::kInvalidArgument, "type takes no parameters at {}: {}", Place(node), word);
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
        {"years", Transform::Kind::kYear},   {"year", Transform::Kind::kYear},   {"months", Transform::Kind::kMonth},
        {"month", Transform::Kind::kMonth},  {"days", Transform::Kind::kDay},    {"day", Transform::Kind::kDay},
        {"date", Transform::Kind::kDay},     {"hours", Transform::Kind::kHour},  {"hour", Transform::Kind::kHour},
        {"date_hour", Transform::Kind::kHour}, {"identity", Transform::Kind::kIdentity}, {"void", Transform::Kind::kVoid}};
    if (item.column.empty()) return Fail(ErrorCode::kInvalidArgument, "transform needs a column at {}: {}", Place(node), word);
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

  const std::string& source_;
};

Result<Statement> StatementOf(const Node& node, const std::string& source) {
  TreeReader reader(source);
  if (node.is_type<create_table>()) {
    if (Child<or_replace>(node)) return statement::NotBuilt{"CREATE OR REPLACE TABLE"};
    if (Child<as_query>(node)) return statement::NotBuilt{"CREATE TABLE AS SELECT"};
    if (Child<like_clause>(node)) return statement::NotBuilt{"CREATE TABLE LIKE"};
    if (const Node* other = Child<other_clause>(node)) return statement::NotBuilt{"CREATE TABLE ... " + other->string()};
    FRAZIL_ASSIGN(auto create, reader.CreateTableOf(node));
    if (create.columns.empty()) return Fail(ErrorCode::kInvalidArgument, "table needs columns: {}", NameText(create.name));
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
           std::equal(expected.begin(), expected.end(), words.begin(), [](const char* left, const std::string& right) { return right == left; });
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
  if (starts({"CREATE", "VIEW"}) || starts({"CREATE", "OR", "REPLACE", "VIEW"})) return statement::NotBuilt{"CREATE VIEW"};
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
