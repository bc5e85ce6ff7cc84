#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::sql {

enum class TokenKind {
  kWord,        ///< a keyword or plain identifier
  kQuotedName,  ///< "..." or `...`
  kString,      ///< '...' or $tag$...$tag$
  kNumber,
  kSymbol,   ///< one character of punctuation or operator
  kSpace,    ///< white space
  kComment,  ///< -- to the end of the line, or /* */ nested
};

/// A piece of SQL text. The tokens of a text cover it without gaps.
struct Token {
  TokenKind kind = TokenKind::kSpace;
  std::string_view text;
  size_t offset = 0;
  bool is_open = false;  ///< a quote or comment without its end; only the last token can be
};

/// Never fails: an open quote or comment reaches to the end of the text.
std::vector<Token> Tokenize(std::string_view sql);

/// kInvalidArgument with the place where it begins when a quote or comment of the text has no end.
Status CheckClosed(std::string_view sql);

/// Undoes the quotes of a name; a plain word as it is.
std::string NameOf(const Token& token);

/// In double quotes, as DuckDB takes any name.
std::string QuoteName(const std::string& name);

/// In single quotes, as DuckDB reads a text.
std::string QuoteText(const std::string& text);

inline bool IsName(const Token& token) {
  return token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedName;
}
inline bool IsSymbol(const Token& token, std::string_view symbol) {
  return token.kind == TokenKind::kSymbol && token.text == symbol;
}

/// Ignoring case.
bool IsWord(const Token& token, std::string_view keyword);
inline bool IsBlank(const Token& token) { return token.kind == TokenKind::kSpace || token.kind == TokenKind::kComment; }

/// "line:column" of an offset, both from 1.
std::string PlaceOf(std::string_view sql, size_t offset);

}  // namespace frazil::sql
