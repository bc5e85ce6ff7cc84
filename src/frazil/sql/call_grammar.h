#pragma once

#include "frazil/sql/text_grammar.h"

// The grammar of CALL, and of what Trino and Athena say for it; included by call_parser.cc alone. Arguments are cut out as
// written: their parameters say what they must be.

namespace frazil::sql::grammar::call {

// clang-format off

#define FRAZIL_KEYWORD(NAME) \
  struct k_##NAME : keyword<TAO_PEGTL_ISTRING(#NAME)> {}
FRAZIL_KEYWORD(execute); FRAZIL_KEYWORD(optimize); FRAZIL_KEYWORD(rewrite); FRAZIL_KEYWORD(data); FRAZIL_KEYWORD(bin_pack);
FRAZIL_KEYWORD(vacuum);
#undef FRAZIL_KEYWORD

struct arrow : peg::seq<peg::string<'=', '>'>, skip> {};
struct argument_name : name {};
struct argument_text : text_until<symbol<','>, symbol<')'>> {};
struct argument : peg::seq<peg::opt<argument_name, arrow>, peg::must<argument_text>> {};
struct arguments : peg::seq<symbol<'('>, peg::opt<peg::not_at<peg::one<')'>>, peg::list_must<argument, symbol<','>>>, must_symbol<')'>> {};
struct where : peg::if_must<k_where, rest_of_statement> {};

struct call : peg::if_must<k_call, table_name, arguments> {};

/// Trino: ALTER TABLE t EXECUTE optimize(file_size_threshold => '128MB') WHERE ...
struct executed : name {};
struct execute : peg::seq<k_alter, k_table, table_name, k_execute, peg::must<executed>, peg::opt<arguments>, peg::opt<where>> {};

/// Athena: OPTIMIZE t REWRITE DATA USING BIN_PACK WHERE ...; VACUUM t
struct optimize : peg::if_must<k_optimize, table_name, k_rewrite, k_data, k_using, k_bin_pack, peg::opt<where>> {};
struct vacuum : peg::seq<k_vacuum, table_name, peg::at<peg::eof>> {};

struct statement_rule : peg::sor<call, execute, optimize, vacuum> {};
struct whole_statement : peg::seq<skip, statement_rule, peg::must<peg::eof>> {};

template <typename Rule>
using Selected = peg::parse_tree::selector<
    Rule, peg::parse_tree::store_content::on<call, execute, optimize, vacuum, name_text, table_name, arguments, argument,
                                             argument_name, argument_text, executed, where, rest_of_statement>>;

}  // namespace frazil::sql::grammar::call

namespace frazil::sql::grammar {

template <> inline constexpr const char* kExpected<call::arguments> = "(argument => value, ...)";
template <> inline constexpr const char* kExpected<call::argument> = "an argument";
template <> inline constexpr const char* kExpected<call::argument_text> = "a value";
template <> inline constexpr const char* kExpected<call::executed> = "optimize, expire_snapshots or remove_orphan_files";
template <> inline constexpr const char* kExpected<call::k_rewrite> = "REWRITE DATA USING BIN_PACK";
template <> inline constexpr const char* kExpected<call::k_data> = "DATA USING BIN_PACK";
template <> inline constexpr const char* kExpected<k_using> = "USING";
template <> inline constexpr const char* kExpected<call::k_bin_pack> = "BIN_PACK";

// clang-format on

}  // namespace frazil::sql::grammar
