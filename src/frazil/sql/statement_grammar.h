#pragma once

#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/parse_tree.hpp>

// The grammar of the Spark-style statements; included by statement_parser.cc alone. What a rule matches decides how far
// a statement is ours: once its leading keywords have matched, the rest must follow ("must"), and what was expected is
// said with its place.

namespace frazil::sql::grammar {

namespace peg = tao::pegtl;

// A grammar reads by its own lines.
// clang-format off

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

}  // namespace frazil::sql::grammar
