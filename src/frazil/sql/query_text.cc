#include "frazil/sql/query_text.h"

#include "frazil/sql/lateral_view.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

namespace {

constexpr char kFolded = '\x01';
constexpr char kFoldSeparator = '\x1e';

/// Words that may follow a table and so cannot be its alias without AS.
bool EndsTable(const Token& token) {
  for (const char* word :
       {"where",   "join",   "inner",       "left",       "right",   "full",      "cross",  "natural",
        "semi",    "anti",   "asof",        "positional", "lateral", "on",        "using",  "group",
        "order",   "having", "limit",       "offset",     "union",   "intersect", "except", "window",
        "qualify", "sample", "tablesample", "pivot",      "unpivot", "fetch",     "for",    "set",
        "when",    "then",   "as",          "returning",  "select",  "values",    "with",   "at"}) {
    if (IsWord(token, word)) return true;
  }
  return false;
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view query) : query_(query), tokens_(Tokenize(query)) {}

  Result<std::string> Run() {
    while (at_ < tokens_.size()) {
      FRAZIL_ASSIGN(bool done, TimeTravel());
      if (done || FoldName() || TimeZone() || NullOrder() || ExplainMode() || Word() || Matches() || Array() ||
          TypedNumber())
        continue;
      FRAZIL_ASSIGN(done, Bytes());
      if (done) continue;
      FRAZIL_ASSIGN(done, View());
      if (done) continue;
      const Token& token = tokens_[at_++];
      // `default` is a word of DuckDB's grammar, and the name of our first namespace.
      bool is_name = token.kind == TokenKind::kQuotedName || (IsWord(token, "default") && IsSymbol(At(Skip(at_)), "."));
      out_ += is_name ? QuoteName(NameOf(token)) : std::string(token.text);
      if (!IsBlank(token)) previous_ = token;
    }
    return out_;
  }

 private:
  /// Index of the `count`-th token from `from` on that is not blank; size() when there is none.
  size_t Skip(size_t from) const {
    while (from < tokens_.size() && IsBlank(tokens_[from])) ++from;
    return from;
  }
  const Token& At(size_t index) const {
    static const Token kEnd;
    return index < tokens_.size() ? tokens_[index] : kEnd;
  }
  std::string Place(size_t index) const {
    return PlaceOf(query_, index < tokens_.size() ? tokens_[index].offset : query_.size());
  }

  /// At `[FOR] VERSION|SYSTEM_VERSION|TIMESTAMP|SYSTEM_TIME AS OF x [[AS] alias]`, right behind a table.
  Result<bool> TimeTravel() {
    if (!IsName(previous_)) return false;
    size_t at = at_;
    if (IsWord(At(at), "for")) at = Skip(at + 1);
    bool is_version = IsWord(At(at), "version") || IsWord(At(at), "system_version");
    bool is_time = IsWord(At(at), "timestamp") || IsWord(At(at), "system_time");
    if (!is_version && !is_time) return false;
    size_t as = Skip(at + 1);
    size_t of = Skip(as + 1);
    if (!IsWord(At(as), "as") || !IsWord(At(of), "of")) return false;
    size_t value = Skip(of + 1);
    FRAZIL_ASSIGN(size_t end, ValueEnd(value, is_version));
    std::string text(query_.substr(tokens_[value].offset,
                                   tokens_[end - 1].offset + tokens_[end - 1].text.size() - tokens_[value].offset));

    // DuckDB wants the alias before AT.
    size_t next = end;
    std::string alias;
    size_t name = Skip(next);
    bool has_as = IsWord(At(name), "as");
    if (has_as) name = Skip(name + 1);
    if (IsName(At(name)) && (has_as || !EndsTable(At(name)))) {
      alias = " AS " + QuoteName(NameOf(At(name)));
      next = name + 1;
      size_t open = Skip(next);
      if (IsSymbol(At(open), "(")) {  // column names: t AS a (x, y)
        size_t close = open;
        while (close < tokens_.size() && !IsSymbol(tokens_[close], ")")) ++close;
        if (close < tokens_.size()) {
          alias += std::string(query_.substr(tokens_[open].offset, tokens_[close].offset + 1 - tokens_[open].offset));
          next = close + 1;
        }
      }
    }
    out_ += alias + (is_version ? " AT (VERSION => " : " AT (TIMESTAMP => ") + text + ")";
    previous_ = Token();
    at_ = next;
    return true;
  }

  /// The token behind a version or a time: a literal, or any expression for times up to where a table may end.
  Result<size_t> ValueEnd(size_t from, bool is_version) const {
    const Token& first = At(from);
    if (first.kind == TokenKind::kNumber || first.kind == TokenKind::kString) return from + 1;
    if (is_version || from >= tokens_.size()) {
      return Fail(ErrorCode::kInvalidArgument, "expected {} at {}",
                  is_version ? "a snapshot id or 'branch or tag'" : "a time", Place(from));
    }
    if (IsSymbol(first, "(")) return ParenthesisEnd(from);
    if (first.kind == TokenKind::kWord) {
      size_t next = Skip(from + 1);
      if (At(next).kind == TokenKind::kString) return next + 1;  // TIMESTAMP '...'
      if (IsSymbol(At(next), "(")) return ParenthesisEnd(next);  // current_timestamp()
      return from + 1;
    }
    return Fail(ErrorCode::kInvalidArgument, "expected a time at {}", Place(from));
  }

  size_t ParenthesisEnd(size_t from) const {
    int depth = 0;
    for (size_t i = from; i < tokens_.size(); ++i) {
      if (IsSymbol(tokens_[i], "(")) ++depth;
      if (IsSymbol(tokens_[i], ")") && --depth == 0) return i + 1;
    }
    return tokens_.size();
  }

  /// At a name of four or more parts where a table is expected: DuckDB's grammar knows three.
  bool FoldName() {
    if (!IsWord(previous_, "from") && !IsWord(previous_, "join") && !IsWord(previous_, "summarize")) return false;
    std::vector<std::string> parts;
    size_t end = at_;
    for (size_t i = at_; IsName(At(i));) {
      parts.push_back(NameOf(At(i)));
      end = i + 1;
      size_t dot = Skip(end);
      if (!IsSymbol(At(dot), ".")) break;
      i = Skip(dot + 1);
    }
    if (parts.size() < 4) return false;
    std::string folded(1, kFolded);
    for (size_t i = 0; i < parts.size(); ++i) folded += (i > 0 ? std::string(1, kFoldSeparator) : "") + parts[i];
    out_ += QuoteName(folded);
    previous_ = tokens_[end - 1];
    previous_.kind = TokenKind::kQuotedName;
    at_ = end;
    return true;
  }

  bool TimeZone() {
    if (!out_.empty() || !IsWord(At(at_), "set")) return false;
    size_t time = Skip(at_ + 1);
    size_t zone = Skip(time + 1);
    if (!IsWord(At(time), "time") || !IsWord(At(zone), "zone")) return false;
    const size_t value = Skip(zone + 1);
    const bool is_local = IsWord(At(value), "local");  // the machine's, which is what DuckDB begins with
    out_ += is_local ? "RESET TimeZone" : "SET TimeZone =";
    at_ = is_local ? value + 1 : zone + 1;
    return true;
  }

  /// At `RESET [GLOBAL | SESSION] default_null_order`: DuckDB would go back to what it begins with.
  bool NullOrder() {
    if (!out_.empty() || !IsWord(At(at_), "reset")) return false;
    size_t key = Skip(at_ + 1);
    if (IsWord(At(key), "global") || IsWord(At(key), "session")) key = Skip(key + 1);
    if (!IsWord(At(key), "default_null_order") && !IsWord(At(key), "null_order")) return false;
    out_ += fmt::format("SET default_null_order = '{}'", kSparkNullOrder);
    at_ = key + 1;
    return true;
  }

  /// At words that DuckDB spells otherwise: `LEFT SEMI JOIN`, `LEFT ANTI JOIN`, `a DIV b`, `* EXCEPT (a, b)`.
  bool Word() {
    const Token& word = At(at_);
    const Token& next = At(Skip(at_ + 1));
    if (IsWord(word, "left") && (IsWord(next, "semi") || IsWord(next, "anti"))) {
      at_ = Skip(at_ + 1);
      previous_ = word;
      return true;
    }
    const bool ends_value = IsName(previous_) || previous_.kind == TokenKind::kNumber ||
                            previous_.kind == TokenKind::kString || IsSymbol(previous_, ")") ||
                            IsSymbol(previous_, "]");
    const bool begins_value = IsName(next) || next.kind == TokenKind::kNumber || IsSymbol(next, "(") ||
                              IsSymbol(next, "-") || IsSymbol(next, "+");
    const bool is_division = IsWord(word, "div") && ends_value && begins_value && !IsWord(previous_, "select") &&
                             !IsWord(previous_, "as") && !IsWord(next, "from");
    const bool is_exclusion = IsWord(word, "except") && IsSymbol(previous_, "*") && IsSymbol(next, "(");
    if (!is_division && !is_exclusion) return false;
    out_ += is_division ? "//" : "EXCLUDE";
    previous_ = word;
    if (is_division) previous_.kind = TokenKind::kSymbol;
    ++at_;
    return true;
  }

  /// At `EXPLAIN EXTENDED` and the like: there is one form of a plan here.
  bool ExplainMode() {
    if (!IsWord(previous_, "explain")) return false;
    for (const char* mode : {"extended", "formatted", "codegen", "cost"}) {
      if (!IsWord(At(at_), mode)) continue;
      ++at_;
      return true;
    }
    return false;
  }

  /// At `X'0102'`: bytes. DuckDB would read the text x0102.
  Result<bool> Bytes() {
    const Token& text = At(at_ + 1);
    if (!IsWord(At(at_), "x") || text.kind != TokenKind::kString || text.text.front() != '\'') return false;
    if (IsSymbol(previous_, ".")) return false;
    std::string digits(text.text.substr(1, text.text.size() - 2));
    if (digits.size() % 2 == 1) digits.insert(0, "0");  // as Spark does
    std::string bytes;
    for (size_t i = 0; i < digits.size(); i += 2) {
      if (!std::isxdigit(static_cast<unsigned char>(digits[i])) ||
          !std::isxdigit(static_cast<unsigned char>(digits[i + 1]))) {
        return Fail(ErrorCode::kInvalidArgument, "X'...' takes hexadecimal digits: X{}", text.text);
      }
      bytes += "\\x" + digits.substr(i, 2);
    }
    out_ += "'" + bytes + "'::BLOB";
    previous_ = text;
    at_ += 2;
    return true;
  }

  /// At a number with Spark's suffix: 1L, 1S, 1Y, 1BD, 1.5F, 1.5D. DuckDB would take the letters for an alias.
  bool TypedNumber() {
    const Token& number = At(at_);
    if (number.kind != TokenKind::kNumber) return false;
    size_t end = number.text.size();
    while (end > 0 && std::isalpha(static_cast<unsigned char>(number.text[end - 1]))) --end;
    const std::string_view digits = number.text.substr(0, end);
    std::string suffix(number.text.substr(end));
    for (char& letter : suffix) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return false;
    const bool is_whole = digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (suffix == "BD") {
      out_ += digits;  // a number with a point is a decimal
      if (is_whole) out_ += ".";
    } else if (suffix == "F" || suffix == "D") {
      out_ += fmt::format("CAST({} AS {})", digits, suffix == "F" ? "FLOAT" : "DOUBLE");
    } else if (is_whole && (suffix == "L" || suffix == "S" || suffix == "Y")) {
      const std::string_view largest = suffix == "L" ? "9223372036854775807" : suffix == "S" ? "32767" : "127";
      const std::string_view type = suffix == "L" ? "BIGINT" : suffix == "S" ? "SMALLINT" : "TINYINT";
      // The smallest number of a type is written as the negative of one that is too large.
      const bool fits = digits.size() < largest.size() || (digits.size() == largest.size() && digits <= largest);
      out_ += fits ? fmt::format("CAST({} AS {})", digits, type) : std::string(digits);
    } else {
      return false;
    }
    previous_ = number;
    ++at_;
    return true;
  }

  /// At `[NOT] RLIKE 'pattern'`.
  bool Matches() {
    size_t at = at_;
    const bool is_negated = IsWord(At(at), "not");
    if (is_negated) at = Skip(at + 1);
    const Token& word = At(at);
    if (!IsWord(word, "rlike") && !IsWord(word, "regexp")) return false;
    if (At(Skip(at + 1)).kind != TokenKind::kString || IsSymbol(previous_, ".")) return false;
    out_ += is_negated ? "<!~>" : "<~>";
    previous_ = word;
    at_ = at + 1;
    return true;
  }

  /// At `array(`; DuckDB knows ARRAY(SELECT ...).
  bool Array() {
    if (!IsWord(At(at_), "array") || IsSymbol(previous_, ".")) return false;
    const size_t open = Skip(at_ + 1);
    if (!IsSymbol(At(open), "(")) return false;
    for (const char* word : {"select", "with", "from", "values"}) {
      if (IsWord(At(Skip(open + 1)), word)) return false;
    }
    out_ += "list_value";
    previous_ = tokens_[at_++];
    return true;
  }

  Result<bool> View() {
    FRAZIL_ASSIGN(const auto view, ReadLateralView(query_, tokens_, at_));
    if (!view) return false;
    FRAZIL_ASSIGN(const std::string argument, RewriteQuery(view->argument));
    out_ += view->Text(argument);
    previous_ = Token();
    at_ = view->end;
    return true;
  }

  std::string_view query_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Token previous_;  ///< last token that is not blank
  std::string out_;
};

}  // namespace

Result<std::string> RewriteQuery(std::string_view query) { return Rewriter(query).Run(); }

std::optional<std::vector<std::string>> UnfoldName(const std::string& name) {
  if (name.empty() || name[0] != kFolded) return std::nullopt;
  std::vector<std::string> parts(1);
  for (char letter : name.substr(1)) {
    if (letter == kFoldSeparator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

}  // namespace frazil::sql
