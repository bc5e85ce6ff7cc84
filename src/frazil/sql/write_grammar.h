#pragma once

#include "frazil/sql/text_grammar.h"

// The grammar of the statements that write rows; included by write_parser.cc alone. Expressions and queries are not
// parsed here: they are cut out as written, DuckDB reads them.

namespace frazil::sql::grammar::write {

// clang-format off

#define FRAZIL_KEYWORD(NAME) \
  struct k_##NAME : keyword<TAO_PEGTL_ISTRING(#NAME)> {}
FRAZIL_KEYWORD(matched); FRAZIL_KEYWORD(when); FRAZIL_KEYWORD(then); FRAZIL_KEYWORD(on); FRAZIL_KEYWORD(target);
FRAZIL_KEYWORD(source); FRAZIL_KEYWORD(name); FRAZIL_KEYWORD(for); FRAZIL_KEYWORD(system_version); FRAZIL_KEYWORD(timestamp);
FRAZIL_KEYWORD(system_time); FRAZIL_KEYWORD(and); FRAZIL_KEYWORD(evolution);
#undef FRAZIL_KEYWORD

// --- texts, and where they end ---------------------------------------------------------------------------------------------

struct assigned : text_until<symbol<','>, k_where, k_when> {};
struct inserted : text_until<symbol<','>, symbol<')'>> {};
struct clause_condition : text_until<k_then> {};
struct join_condition : text_until<k_when> {};

// --- INSERT -----------------------------------------------------------------------------------------------------------------

struct overwrite_word : k_overwrite {};
struct partition_item : peg::seq<name, peg::opt<symbol<'='>, peg::must<inserted>>> {};
struct static_partition : peg::if_must<peg::seq<k_partition, symbol<'('>>, peg::list<partition_item, symbol<','>>, symbol<')'>> {};
struct by_name : peg::seq<k_by, k_name> {};
struct column_names : peg::seq<symbol<'('>, peg::list<name, symbol<','>>, symbol<')'>, peg::not_at<peg::eof>> {};
struct with_evolution : peg::seq<k_with, k_schema, k_evolution> {};
struct rows : peg::seq<peg::at<peg::star<symbol<'('>>, peg::sor<k_values, k_select, k_with, k_from, k_table>>, rest_of_statement> {};
struct insert : peg::seq<k_insert, peg::opt<with_evolution>, peg::sor<k_into, overwrite_word>, peg::opt<k_table>,
                         peg::must<table_name>, peg::opt<static_partition>, peg::opt<if_not_exists>,
                         peg::opt<peg::sor<by_name, column_names>>, peg::must<rows>> {};

// --- DELETE, UPDATE, TRUNCATE -----------------------------------------------------------------------------------------------

struct target_alias : peg::seq<peg::opt<k_as>, peg::not_at<peg::sor<k_where, k_set, k_using>>, name> {};
struct where : peg::if_must<k_where, rest_of_statement> {};
struct delete_rows : peg::seq<k_delete, peg::must<k_from>, peg::must<table_name>, peg::opt<target_alias>, peg::opt<where>> {};
struct assignment : peg::seq<table_name, peg::must<symbol<'='>>, peg::must<assigned>> {};
struct assignments : peg::list<assignment, symbol<','>> {};
struct update : peg::seq<k_update, peg::must<table_name>, peg::opt<target_alias>, peg::must<k_set>, peg::must<assignments>,
                         peg::opt<where>> {};
struct truncate : peg::seq<k_truncate, peg::must<k_table>, peg::must<table_name>> {};

// --- MERGE ------------------------------------------------------------------------------------------------------------------

struct version_clause
    : peg::seq<peg::opt<k_for>, peg::sor<k_version, k_system_version, k_timestamp, k_system_time>, k_as, k_of,
               peg::sor<text, number, peg::seq<name, peg::opt<peg::sor<text, peg::seq<group<'(', ')'>, skip>>>>>> {};
struct source_query : group<'(', ')'> {};
struct source_name : peg::seq<table_name, peg::opt<group<'(', ')'>, skip>, peg::opt<version_clause>> {};
struct source_alias : peg::seq<peg::opt<k_as>, peg::not_at<k_on>, name> {};
/// As it stands in a FROM.
struct source_text : peg::seq<peg::sor<peg::seq<source_query, skip>, peg::seq<string_text, skip>, source_name>,
                              peg::opt<source_alias, peg::opt<column_names>>> {};
struct star : symbol<'*'> {};
struct delete_word : k_delete {};
struct set_clause : peg::seq<k_update, peg::must<k_set>, peg::must<peg::sor<star, assignments>>> {};
struct insert_column : table_name {};
struct insert_columns : peg::seq<symbol<'('>, peg::list<insert_column, symbol<','>>, symbol<')'>> {};
struct insert_values : peg::if_must<peg::seq<k_values, symbol<'('>>, peg::list<inserted, symbol<','>>, symbol<')'>> {};
struct insert_clause : peg::seq<k_insert, peg::must<peg::sor<star, peg::seq<peg::opt<insert_columns>, peg::must<insert_values>>>>> {};
struct and_condition : peg::if_must<k_and, clause_condition> {};
struct then_change : peg::sor<set_clause, delete_word> {};
struct when_matched : peg::seq<k_matched, peg::opt<and_condition>, peg::must<k_then>, peg::must<then_change>> {};
struct when_not_matched_by_source
    : peg::seq<k_not, k_matched, k_by, k_source, peg::opt<and_condition>, peg::must<k_then>, peg::must<then_change>> {};
struct when_not_matched : peg::seq<k_not, k_matched, peg::opt<k_by, peg::must<k_target>>, peg::opt<and_condition>,
                                   peg::must<k_then>, peg::must<insert_clause>> {};
struct when_clause : peg::sor<when_matched, when_not_matched_by_source, when_not_matched> {};
struct when : peg::seq<k_when, peg::must<when_clause>> {};
struct merge : peg::seq<k_merge, peg::opt<with_evolution>, peg::must<k_into>, peg::must<table_name>, peg::opt<target_alias>,
                        peg::must<k_using>, peg::must<source_text>, peg::must<k_on>, peg::must<join_condition>,
                        peg::must<peg::plus<when>>> {};

struct statement_rule : peg::sor<insert, delete_rows, update, truncate, merge> {};
struct whole_statement : peg::seq<skip, statement_rule, peg::must<peg::eof>> {};

template <typename Rule>
using Selected = peg::parse_tree::selector<
    Rule, peg::parse_tree::store_content::on<
              insert, delete_rows, update, truncate, merge, name_text, table_name, with_evolution, overwrite_word,
              static_partition, partition_item, inserted, if_not_exists, by_name, column_names, rows, target_alias, where,
              rest_of_statement, assignment, assigned, source_text, source_query, source_name, source_alias, string_text,
              join_condition, when_matched, when_not_matched_by_source, when_not_matched, and_condition, clause_condition,
              set_clause, delete_word, insert_clause, star, insert_column, insert_values>>;

}  // namespace frazil::sql::grammar::write

namespace frazil::sql::grammar {

template <> inline constexpr const char* kExpected<write::rows> = "VALUES or a query";
template <> inline constexpr const char* kExpected<write::clause_condition> = "a condition";
template <> inline constexpr const char* kExpected<write::join_condition> = "a condition";
template <> inline constexpr const char* kExpected<write::assigned> = "a value";
template <> inline constexpr const char* kExpected<write::inserted> = "a value";
template <> inline constexpr const char* kExpected<peg::list<write::inserted, symbol<','>>> = "a value";
template <> inline constexpr const char* kExpected<peg::list<write::partition_item, symbol<','>>> = "a partition column";
template <> inline constexpr const char* kExpected<symbol<'='>> = "=";
template <> inline constexpr const char* kExpected<write::assignments> = "column = value";
template <> inline constexpr const char* kExpected<peg::sor<write::star, write::assignments>> = "column = value or *";
template <> inline constexpr const char* kExpected<k_table> = "TABLE";
template <> inline constexpr const char* kExpected<k_into> = "INTO";
template <> inline constexpr const char* kExpected<k_using> = "USING";
template <> inline constexpr const char* kExpected<write::source_text> = "a table or (query)";
template <> inline constexpr const char* kExpected<write::k_on> = "ON";
template <> inline constexpr const char* kExpected<write::k_then> = "THEN";
template <> inline constexpr const char* kExpected<write::k_target> = "TARGET or SOURCE";
template <> inline constexpr const char* kExpected<write::then_change> = "UPDATE SET or DELETE";
template <> inline constexpr const char* kExpected<write::insert_clause> = "INSERT";
template <> inline constexpr const char* kExpected<write::insert_values> = "VALUES (...)";
template <> inline constexpr const char*
    kExpected<peg::sor<write::star, peg::seq<peg::opt<write::insert_columns>, peg::must<write::insert_values>>>> = "* or (columns) VALUES (...)";
template <> inline constexpr const char* kExpected<write::when_clause> = "MATCHED or NOT MATCHED";
template <> inline constexpr const char* kExpected<peg::plus<write::when>> = "WHEN";

// clang-format on

}  // namespace frazil::sql::grammar
