#include "frazil/sql/token.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil::sql {

namespace {

bool IsNameStart(char letter) {
  auto byte = static_cast<unsigned char>(letter);
  return std::isalpha(byte) || letter == '_' || byte >= 0x80;
}
bool IsNamePart(char letter) {
  return IsNameStart(letter) || std::isdigit(static_cast<unsigned char>(letter)) || letter == '$';
}

/// The end of a quote or comment that has none.
constexpr size_t kOpen = std::string_view::npos;

/// End of a text quoted by `quote` that starts at `from`; a doubled quote stays inside.
size_t QuoteEnd(std::string_view sql, size_t from, char quote) {
  for (size_t i = from + 1; i < sql.size(); ++i) {
    if (sql[i] != quote) continue;
    if (i + 1 < sql.size() && sql[i + 1] == quote) {
      ++i;
      continue;
    }
    return i + 1;
  }
  return kOpen;
}

size_t BlockCommentEnd(std::string_view sql, size_t from) {
  int depth = 0;
  for (size_t i = from; i + 1 < sql.size(); ++i) {
    if (sql[i] == '/' && sql[i + 1] == '*') {
      ++depth;
      ++i;
    } else if (sql[i] == '*' && sql[i + 1] == '/') {
      ++i;
      if (--depth == 0) return i + 1;
    }
  }
  return kOpen;
}

/// End of $tag$...$tag$ that starts at `from`; `from` itself when it is no such quote.
size_t DollarEnd(std::string_view sql, size_t from) {
  size_t tag_end = from + 1;
  while (tag_end < sql.size() && sql[tag_end] != '$' && IsNamePart(sql[tag_end])) ++tag_end;
  if (tag_end >= sql.size() || sql[tag_end] != '$') return from;
  if (tag_end > from + 1 && !IsNameStart(sql[from + 1])) return from;  // $1 is a parameter
  std::string_view tag = sql.substr(from, tag_end + 1 - from);
  size_t close = sql.find(tag, tag_end + 1);
  return close == std::string_view::npos ? kOpen : close + tag.size();
}

size_t NumberEnd(std::string_view sql, size_t from) {
  size_t i = from;
  auto digits = [&] {
    while (i < sql.size() && (std::isalnum(static_cast<unsigned char>(sql[i])) || sql[i] == '_')) ++i;
  };
  digits();
  if (i < sql.size() && sql[i] == '.') {
    ++i;
    digits();
  }
  if (i < sql.size() && (sql[i] == '+' || sql[i] == '-') && (sql[i - 1] == 'e' || sql[i - 1] == 'E')) {
    ++i;
    digits();
  }
  return i;
}

std::string Quoted(const std::string& text, char quote) {
  std::string quoted(1, quote);
  for (const char letter : text) quoted.append(letter == quote ? 2 : 1, letter);
  return quoted + quote;
}

}  // namespace

std::vector<Token> Tokenize(std::string_view sql) {
  std::vector<Token> tokens;
  size_t at = 0;
  while (at < sql.size()) {
    char letter = sql[at];
    char next = at + 1 < sql.size() ? sql[at + 1] : '\0';
    TokenKind kind = TokenKind::kSymbol;
    size_t end = at + 1;
    if (std::isspace(static_cast<unsigned char>(letter))) {
      kind = TokenKind::kSpace;
      while (end < sql.size() && std::isspace(static_cast<unsigned char>(sql[end]))) ++end;
    } else if (letter == '-' && next == '-') {
      kind = TokenKind::kComment;
      end = std::min(sql.find('\n', at), sql.size());
    } else if (letter == '/' && next == '*') {
      kind = TokenKind::kComment;
      end = BlockCommentEnd(sql, at);
    } else if (letter == '\'') {
      kind = TokenKind::kString;
      end = QuoteEnd(sql, at, '\'');
    } else if (letter == '"' || letter == '`') {
      kind = TokenKind::kQuotedName;
      end = QuoteEnd(sql, at, letter);
    } else if (letter == '$' && DollarEnd(sql, at) > at) {
      kind = TokenKind::kString;
      end = DollarEnd(sql, at);
    } else if (std::isdigit(static_cast<unsigned char>(letter)) ||
               (letter == '.' && std::isdigit(static_cast<unsigned char>(next)) &&
                (tokens.empty() ||
                 (tokens.back().kind != TokenKind::kWord && tokens.back().kind != TokenKind::kQuotedName)))) {
      kind = TokenKind::kNumber;
      end = NumberEnd(sql, at);
    } else if (IsNameStart(letter)) {
      kind = TokenKind::kWord;
      while (end < sql.size() && IsNamePart(sql[end])) ++end;
      // E'...' is a string with backslash escapes.
      if (end == at + 1 && (letter == 'e' || letter == 'E') && next == '\'') {
        kind = TokenKind::kString;
        for (++end; end < sql.size() && sql[end] != '\''; ++end) {
          if (sql[end] == '\\') ++end;
        }
        end = end < sql.size() ? end + 1 : kOpen;
      }
    }
    const bool is_open = end == kOpen;
    if (is_open) end = sql.size();
    tokens.push_back({kind, sql.substr(at, end - at), at, is_open});
    at = end;
  }
  return tokens;
}

Status CheckClosed(std::string_view sql) {
  const std::vector<Token> tokens = Tokenize(sql);
  if (tokens.empty() || !tokens.back().is_open) return {};
  const Token& open = tokens.back();
  const bool is_comment = open.kind == TokenKind::kComment;
  // A back slash may have kept a quote inside, as our own grammars read texts.
  if (!is_comment && sql.find("\\'") != std::string_view::npos) return {};
  const char* what = is_comment ? "comment" : open.kind == TokenKind::kQuotedName ? "quoted name" : "quoted text";
  const char* wanted = is_comment ? "*/" : open.text.front() == '"' ? "\"" : open.text.front() == '`' ? "`" : "'";
  if (open.text.front() == '$') wanted = "the closing $...$";
  return Fail(ErrorCode::kInvalidArgument, "{} without its end ({}) begins at {}", what, wanted,
              PlaceOf(sql, open.offset));
}

std::string NameOf(const Token& token) {
  if (token.kind != TokenKind::kQuotedName) return std::string(token.text);
  char quote = token.text.front();
  std::string name;
  size_t end = token.text.size() > 1 && token.text.back() == quote ? token.text.size() - 1 : token.text.size();
  for (size_t i = 1; i < end; ++i) {
    name += token.text[i];
    if (token.text[i] == quote) ++i;
  }
  return name;
}

std::string QuoteName(const std::string& name) { return Quoted(name, '"'); }

std::string QuoteText(const std::string& text) { return Quoted(text, '\''); }

bool IsWord(const Token& token, std::string_view keyword) {
  return token.kind == TokenKind::kWord &&
         std::equal(token.text.begin(), token.text.end(), keyword.begin(), keyword.end(), [](char left, char right) {
           return std::tolower(static_cast<unsigned char>(left)) == std::tolower(static_cast<unsigned char>(right));
         });
}

std::string PlaceOf(std::string_view sql, size_t offset) {
  std::string_view before = sql.substr(0, offset);
  auto line = std::count(before.begin(), before.end(), '\n') + 1;
  size_t line_start = before.rfind('\n');
  size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
  return fmt::format("{}:{}", line, column);
}

}  // namespace frazil::sql
