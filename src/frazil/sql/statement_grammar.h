#pragma once

#include "frazil/sql/lexical_grammar.h"

// The grammar of CREATE TABLE; included by statement_parser.cc alone. What a rule matches decides how far a statement is
// ours: once its leading keywords have matched, the rest must follow ("must"), and what was expected is said with its
// place. Statements that define or show are in definition_grammar.h, those that write rows in write_grammar.h.

namespace frazil::sql::grammar {

// A grammar reads by its own lines.
// clang-format off

// --- CREATE TABLE -----------------------------------------------------------------------------------------------------

struct column : peg::seq<name, required_type, peg::star<peg::sor<not_null, column_comment, default_value>>> {};
struct columns : peg::if_must<symbol<'('>, peg::list<column, symbol<','>>, symbol<')'>> {};

struct partition_field : peg::seq<partition_item, peg::opt<partition_name>> {};
struct partition_clause
    : peg::if_must<k_partitioned, k_by, symbol<'('>, peg::list<partition_field, symbol<','>>, symbol<')'>> {};
struct using_name : name {};
struct using_clause : peg::if_must<k_using, using_name> {};
struct properties_clause : peg::if_must<peg::sor<k_tblproperties, k_options>, property_list> {};
struct query_text : peg::until<peg::eof> {};
struct as_query : peg::seq<peg::opt<k_as>, peg::at<peg::sor<k_select, k_with, k_values, k_from, symbol<'('>>>, query_text> {};
struct other_clause : peg::seq<peg::sor<k_cluster, k_stored>, peg::until<peg::eof>> {};
struct or_replace : peg::seq<k_or, peg::must<k_replace>> {};
struct table_clause : peg::sor<using_clause, partition_clause, location_clause, comment_clause, properties_clause> {};
struct like_clause : peg::seq<k_like, peg::must<table_name>, peg::star<table_clause>> {};
struct replace_word : k_replace {};
struct create_table
    : peg::seq<peg::sor<peg::seq<k_create, peg::opt<or_replace>, peg::opt<k_external>>, replace_word>, k_table, peg::opt<if_not_exists>,
               peg::must<table_name>, peg::opt<columns>, peg::star<table_clause>,
               peg::opt<peg::sor<as_query, like_clause, other_clause>>> {};

struct statement_rule : peg::sor<create_table> {};
struct whole_statement : peg::seq<skip, statement_rule, peg::opt<symbol<';'>>, peg::must<peg::eof>> {};
struct whole_type : peg::seq<skip, peg::must<type>, peg::must<peg::eof>> {};

// --- what was expected ------------------------------------------------------------------------------------------------

template <> inline constexpr const char* kExpected<using_name> = "a name";
template <> inline constexpr const char* kExpected<peg::list<column, symbol<','>>> = "a column";
template <> inline constexpr const char* kExpected<peg::list<partition_field, symbol<','>>> = "a column or transform";

template <typename Rule>
using Selected = peg::parse_tree::selector<
    Rule,
    peg::parse_tree::store_content::on<
        create_table, name_text, table_name, string_text, number_text, integer_text, struct_type,
        array_type, map_type, simple_type, type_name_text, member, not_null, column_comment, default_value, literal_null,
        literal_truth_text, literal_call, column, columns, transform_call, partition_item, partition_name,
        partition_field, partition_clause, using_clause,
        location_clause, comment_clause, property, property_key, if_not_exists, as_query, query_text, like_clause, replace_word, other_clause,
        or_replace>>;

}  // namespace frazil::sql::grammar
