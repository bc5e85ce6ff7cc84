#pragma once

#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/parse_tree.hpp>

// What the grammars of our statements share: words, names, literals, types, properties, transforms, and how a parser says
// what it expected. Included by the parsers alone.

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
FRAZIL_KEYWORD(add); FRAZIL_KEYWORD(column); FRAZIL_KEYWORD(columns); FRAZIL_KEYWORD(to); FRAZIL_KEYWORD(type);
FRAZIL_KEYWORD(first); FRAZIL_KEYWORD(after); FRAZIL_KEYWORD(change); FRAZIL_KEYWORD(partition); FRAZIL_KEYWORD(field);
FRAZIL_KEYWORD(write); FRAZIL_KEYWORD(distributed); FRAZIL_KEYWORD(locally); FRAZIL_KEYWORD(ordered);
FRAZIL_KEYWORD(unordered); FRAZIL_KEYWORD(asc); FRAZIL_KEYWORD(nulls); FRAZIL_KEYWORD(last); FRAZIL_KEYWORD(branch);
FRAZIL_KEYWORD(tag); FRAZIL_KEYWORD(version); FRAZIL_KEYWORD(of); FRAZIL_KEYWORD(retain); FRAZIL_KEYWORD(days);
FRAZIL_KEYWORD(hours); FRAZIL_KEYWORD(minutes); FRAZIL_KEYWORD(snapshot); FRAZIL_KEYWORD(snapshots);
FRAZIL_KEYWORD(retention); FRAZIL_KEYWORD(unset); FRAZIL_KEYWORD(reset); FRAZIL_KEYWORD(partitions);
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

// --- literals, transforms, properties -----------------------------------------------------------------------------------

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
struct transform_call
    : peg::seq<type_name, symbol<'('>,
               peg::must<peg::list<peg::sor<integer, table_name>, symbol<','>>, symbol<')'>>> {};
struct partition_item : peg::sor<transform_call, table_name> {};
struct partition_name : peg::seq<k_as, peg::must<name>> {};
struct property_key : peg::sor<text, peg::list<name, symbol<'.'>>> {};
struct property_value : peg::sor<text, number, literal_truth> {};
struct property : peg::seq<property_key, peg::opt<symbol<'='>>, peg::must<property_value>> {};
struct property_list : peg::seq<symbol<'('>, peg::list<property, symbol<','>>, must_symbol<')'>> {};
struct location_clause : peg::if_must<k_location, text> {};
struct comment_clause : peg::if_must<k_comment, text> {};
struct if_not_exists : peg::seq<k_if, peg::must<k_not, k_exists>> {};
struct if_exists : peg::seq<k_if, peg::must<k_exists>> {};

// --- what was expected ------------------------------------------------------------------------------------------------

template <typename>
inline constexpr const char* kExpected = nullptr;
template <> inline constexpr const char* kExpected<table_name> = "a name";
template <> inline constexpr const char* kExpected<name> = "a name";
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
template <> inline constexpr const char* kExpected<partition_item> = "a column or transform";
template <> inline constexpr const char* kExpected<property_key> = "a key";
template <> inline constexpr const char* kExpected<k_to> = "TO";
template <> inline constexpr const char* kExpected<k_field> = "FIELD";
template <> inline constexpr const char* kExpected<k_with> = "WITH";
template <> inline constexpr const char* kExpected<k_partition> = "PARTITION";
template <> inline constexpr const char* kExpected<k_tblproperties> = "TBLPROPERTIES";
template <> inline constexpr const char* kExpected<k_set> = "SET";
template <> inline constexpr const char* kExpected<k_of> = "OF";
template <> inline constexpr const char* kExpected<k_version> = "VERSION";
template <> inline constexpr const char* kExpected<k_snapshot> = "SNAPSHOT";
template <> inline constexpr const char* kExpected<k_retention> = "RETENTION";
template <> inline constexpr const char* kExpected<peg::list<member, symbol<','>>> = "a member";
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

using Node = peg::parse_tree::node;

}  // namespace frazil::sql::grammar
