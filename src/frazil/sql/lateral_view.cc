#include "frazil/sql/lateral_view.h"

namespace frazil::sql {
namespace {

/// Steps through tokens, over blanks.
class Reader {
 public:
  Reader(std::string_view query, const std::vector<Token>& tokens, size_t at)
      : query_(query), tokens_(tokens), at_(at) {}

  const Token& token() const {
    static const Token kEnd;
    return at_ < tokens_.size() ? tokens_[at_] : kEnd;
  }
  /// The token after the next blanks.
  void Step() {
    end_ = ++at_;
    while (at_ < tokens_.size() && IsBlank(tokens_[at_])) ++at_;
  }
  bool Take(std::string_view word) {
    if (!IsWord(token(), word)) return false;
    Step();
    return true;
  }
  /// The text between parentheses.
  std::optional<std::string_view> TakeParentheses() {
    if (!IsSymbol(token(), "(")) return std::nullopt;
    const size_t begin = token().offset + 1;
    int depth = 0;
    for (; at_ < tokens_.size(); Step()) {
      if (IsSymbol(token(), "(")) ++depth;
      if (!IsSymbol(token(), ")") || --depth > 0) continue;
      const std::string_view text = query_.substr(begin, token().offset - begin);
      Step();
      return text;
    }
    return std::nullopt;
  }
  /// Behind the last token that was taken.
  size_t end() const { return end_; }
  std::string Place() const { return PlaceOf(query_, at_ < tokens_.size() ? token().offset : query_.size()); }

 private:
  std::string_view query_;
  const std::vector<Token>& tokens_;
  size_t at_;
  size_t end_ = 0;
};

/// Words that may follow a view without alias.
bool EndsView(const Token& token) {
  for (const char* word : {"where", "lateral", "group", "order", "having", "limit", "union", "intersect", "except",
                           "join", "inner", "left", "right", "full", "cross", "on", "window", "qualify", "as"}) {
    if (IsWord(token, word)) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<LateralView>> ReadLateralView(std::string_view query, const std::vector<Token>& tokens,
                                                   size_t at) {
  Reader reader(query, tokens, at);
  if (!reader.Take("lateral") || !reader.Take("view")) return std::nullopt;
  LateralView view;
  view.is_outer = reader.Take("outer");
  const std::string place = reader.Place();
  const std::string function(reader.token().text);
  for (const char* name : {"explode", "explode_outer", "posexplode", "posexplode_outer"}) {
    if (!IsWord(reader.token(), name)) continue;
    const std::string_view found = name;
    view.has_position = found.starts_with("pos");
    view.is_outer = view.is_outer || found.ends_with("outer");
    reader.Step();
    const auto argument = reader.TakeParentheses();
    if (!argument) return Fail(ErrorCode::kInvalidArgument, "expected (an array or map) at {}", reader.Place());
    view.argument = *argument;
    if (IsName(reader.token()) && !EndsView(reader.token())) {
      view.alias = NameOf(reader.token());
      reader.Step();
    }
    if (reader.Take("as")) {
      do {
        if (!view.columns.empty()) reader.Step();  // the comma
        if (!IsName(reader.token())) return Fail(ErrorCode::kInvalidArgument, "expected a name at {}", reader.Place());
        view.columns.push_back(NameOf(reader.token()));
        reader.Step();
      } while (IsSymbol(reader.token(), ","));
    }
    view.end = reader.end();
    return std::optional(std::move(view));
  }
  if (function.empty()) return Fail(ErrorCode::kInvalidArgument, "expected explode or posexplode at {}", place);
  return Fail(ErrorCode::kNotSupported, "LATERAL VIEW knows explode and posexplode at {}: {}", place, function);
}

std::string LateralView::Text(const std::string& argument_text) const {
  std::vector<std::string> names = columns;
  if (names.empty()) names = has_position ? std::vector<std::string>{"pos", "col"} : std::vector<std::string>{"col"};
  const bool is_map = names.size() == (has_position ? 3 : 2);
  std::string values = has_position ? fmt::format("unnest(range(len({}))), ", argument_text) : "";
  values += is_map ? fmt::format("unnest(map_keys({0})), unnest(map_values({0}))", argument_text)
                   : fmt::format("unnest({})", argument_text);
  std::string quoted;
  for (const std::string& name : names) quoted += (quoted.empty() ? "" : ", ") + QuoteName(name);
  return fmt::format("{} LATERAL (SELECT {}) AS {}({}){}", is_outer ? "LEFT JOIN" : ",", values,
                     QuoteName(alias.empty() ? "lateral_view" : alias), quoted, is_outer ? " ON true" : "");
}

}  // namespace frazil::sql
