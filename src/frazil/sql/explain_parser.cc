#include "frazil/sql/explain_parser.h"

#include <algorithm>

#include "frazil/sql/token.h"

namespace frazil::sql {
namespace {

bool IsAnyOf(const Token& token, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return IsWord(token, word); });
}

std::string Upper(std::string_view word) {
  std::string upper(word);
  std::ranges::transform(upper, upper.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return upper;
}

/// The rest of `source` at the place where it stands, so that errors name that.
std::string BlankUpTo(const std::string& source, size_t offset) {
  std::string rest = source;
  std::replace_if(
      rest.begin(), rest.begin() + static_cast<ptrdiff_t>(offset), [](char letter) { return letter != '\n'; }, ' ');
  return rest;
}

/// What an explained statement is; none: it does not write rows.
std::optional<statement::ExplainWrite> WriteOf(Statement parsed) {
  return std::visit(
      []<typename Parsed>(Parsed&& written) -> std::optional<statement::ExplainWrite> {
        if constexpr (std::is_constructible_v<decltype(statement::ExplainWrite::write), Parsed>) {
          return statement::ExplainWrite{std::forward<Parsed>(written)};
        } else {
          return std::nullopt;
        }
      },
      std::move(parsed));
}

}  // namespace

Result<std::optional<Statement>> ParseExplain(const std::string& source) {
  std::vector<Token> tokens = Tokenize(source);
  std::erase_if(tokens, IsBlank);
  if (tokens.size() < 2 || !IsWord(tokens[0], "explain")) return std::nullopt;
  const bool is_analyze = IsWord(tokens[1], "analyze");
  const bool has_mode = is_analyze || IsAnyOf(tokens[1], {"extended", "formatted", "codegen", "cost"});
  if (has_mode && tokens.size() < 3) return std::nullopt;
  const Token& first = tokens[has_mode ? 2 : 1];
  const bool may_be_query = IsWord(first, "with");
  if (!may_be_query && !IsAnyOf(first, {"insert", "delete", "update", "merge", "create", "replace", "truncate"})) {
    return std::nullopt;
  }
  FRAZIL_ASSIGN(auto parsed, ParseStatement(BlankUpTo(source, first.offset)));
  if (!parsed && may_be_query) return std::nullopt;
  auto write = parsed ? WriteOf(*std::move(parsed)) : std::nullopt;
  if (!write) {
    return statement::NotBuilt{"EXPLAIN " + Upper(first.text),
                               "of queries and of INSERT, DELETE, UPDATE, MERGE, TRUNCATE and CREATE TABLE AS alone"};
  }
  if (is_analyze) {
    return statement::NotBuilt{"EXPLAIN ANALYZE " + Upper(may_be_query ? "insert" : first.text),
                               "EXPLAIN shows what it would do, and does not do it"};
  }
  return *std::move(write);
}

}  // namespace frazil::sql
