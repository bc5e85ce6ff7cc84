#pragma once

#include "frazil/sql/lexical_grammar.h"

// Rules for expressions and queries inside our statements: they are cut out as written, DuckDB reads them. Included by the
// grammars alone.

namespace frazil::sql::grammar {

// clang-format off

struct piece;
template <char Open, char Close>
struct group : peg::seq<peg::one<Open>, peg::until<peg::one<Close>, piece>> {};
struct word : peg::list<peg::plus<name_part>, peg::one<'.'>> {};
template <typename Text>
struct plain_word : peg::seq<Text, peg::not_at<name_part>> {};
struct case_expression : peg::seq<plain_word<TAO_PEGTL_ISTRING("case")>, peg::until<plain_word<TAO_PEGTL_ISTRING("end")>, piece>> {};
/// A token, or everything up to where what it opens is closed.
struct piece : peg::sor<single_quoted, double_quoted, back_quoted, line_comment, block_comment, group<'(', ')'>, group<'[', ']'>,
                        group<'{', '}'>, case_expression, word, peg::any> {};
/// Up to one of the words and symbols that may follow, which are not ones when something encloses them.
template <typename... Stops>
struct text_until : peg::plus<peg::seq<peg::not_at<peg::sor<Stops...>>, piece>> {};

struct rest_of_statement : peg::plus<peg::any> {};

// clang-format on

template <>
inline constexpr const char* kExpected<rest_of_statement> = "a condition";

}  // namespace frazil::sql::grammar
