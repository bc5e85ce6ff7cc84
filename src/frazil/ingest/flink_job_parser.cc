#include <algorithm>

#include "frazil/ingest/flink_job.h"
#include "frazil/ingest/flink_token.h"
#include "frazil/spec/ascii.h"

namespace frazil::ingest {
namespace {

using Kind = FlinkToken::Kind;

class Parser {
 public:
  explicit Parser(std::vector<FlinkToken> tokens) : tokens_(std::move(tokens)) {}

  Result<FlinkJob> Run() {
    while (Peek().kind != Kind::kEnd) {
      if (TakeSymbol(';')) continue;
      FRAZIL_TRY(Statement());
    }
    return std::move(job_);
  }

 private:
  const FlinkToken& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const FlinkToken& Take() {
    const FlinkToken& token = Peek();
    if (token.kind != Kind::kEnd) ++at_;
    return token;
  }
  bool IsWord(std::string_view word, size_t ahead = 0) const {
    return Peek(ahead).kind == Kind::kWord && spec::EqualsAnyCase(Peek(ahead).text, word);
  }
  bool IsSymbol(char symbol, size_t ahead = 0) const {
    return Peek(ahead).kind == Kind::kSymbol && Peek(ahead).text[0] == symbol;
  }
  bool TakeWord(std::string_view word) {
    if (!IsWord(word)) return false;
    ++at_;
    return true;
  }
  /// All of them or nothing.
  bool TakeWords(std::initializer_list<std::string_view> words) {
    size_t ahead = 0;
    for (const std::string_view word : words) {
      if (!IsWord(word, ahead++)) return false;
    }
    at_ += words.size();
    return true;
  }
  bool TakeSymbol(char symbol) {
    if (!IsSymbol(symbol)) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Error> Expected(std::string_view what) const {
    return Fail(ErrorCode::kInvalidArgument, "line {}: expected {} instead of '{}'", Peek().line, what,
                Peek().kind == Kind::kEnd ? "the end" : Peek().text);
  }
  Status Need(char symbol) {
    if (!TakeSymbol(symbol)) return Expected(fmt::format("'{}'", symbol));
    return {};
  }
  Status NeedWord(std::string_view word) {
    if (!TakeWord(word)) return Expected(word);
    return {};
  }

  Status Statement();
  Status CreateTable();
  Status TableItem(FlinkTable& table);
  Status Column(FlinkTable& table);
  Status CreateCatalog();
  Status Insert(bool is_overwrite);
  Status SelectItem(FlinkInsert& insert);
  Status Set();
  void Note();
  void SkipStatement();

  Result<std::string> Name();
  Result<std::vector<std::string>> QualifiedName();
  Result<std::vector<std::string>> NameList();
  Result<std::string> Text();
  Result<std::map<std::string, std::string>> Options();
  Result<std::map<std::string, std::string>> Hints();
  Result<FlinkExpression> Expression();
  bool IsBareAlias() const;
  std::string SkipBalanced(std::initializer_list<std::string_view> stop_words);
  std::string TextBetween(size_t begin, size_t end) const;

  std::vector<FlinkToken> tokens_;
  size_t at_ = 0;
  std::vector<std::string> current_;  // catalog and database of USE
  FlinkJob job_;
};

Status Parser::Statement() {
  if (TakeWords({"EXECUTE", "STATEMENT", "SET", "BEGIN"}) || TakeWords({"BEGIN", "STATEMENT", "SET"}) ||
      TakeWord("END")) {
    return {};
  }
  if (TakeWords({"CREATE", "TABLE"}) || TakeWords({"CREATE", "TEMPORARY", "TABLE"})) return CreateTable();
  if (TakeWords({"CREATE", "CATALOG"})) return CreateCatalog();
  if (TakeWords({"INSERT", "INTO"}) || TakeWords({"EXECUTE", "INSERT", "INTO"})) return Insert(false);
  if (TakeWords({"INSERT", "OVERWRITE"})) return Insert(true);
  if (IsWord("SET") && Peek(1).kind == Kind::kText) return Set();
  if (TakeWords({"USE", "CATALOG"})) {
    FRAZIL_ASSIGN(std::string name, Name());
    current_ = {std::move(name)};
    return {};
  }
  if (TakeWord("USE")) {
    FRAZIL_ASSIGN(std::vector<std::string> name, QualifiedName());
    if (name.size() == 1 && !current_.empty()) name.insert(name.begin(), current_[0]);
    current_ = std::move(name);
    return {};
  }
  Note();
  return {};
}

/// A database is made with its first table, and jars are not ours; the rest is said.
void Parser::Note() {
  const size_t begin = at_;
  const int line = Peek().line;
  const bool is_silent = IsWord("CREATE") && IsWord("DATABASE", 1);
  SkipStatement();
  std::string text = TextBetween(begin, at_);
  constexpr size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  if (!is_silent) job_.notes.push_back(fmt::format("line {}: statement not carried over: {}", line, text));
}

void Parser::SkipStatement() {
  while (Peek().kind != Kind::kEnd && !IsSymbol(';')) ++at_;
}

std::string Parser::TextBetween(size_t begin, size_t end) const {
  std::string text;
  for (size_t i = begin; i < end; ++i) {
    const FlinkToken& token = tokens_[i];
    const bool is_tight =
        text.empty() || text.back() == '(' || text.back() == '.' || text.back() == '[' ||
        (token.kind == Kind::kSymbol && std::string_view(".,()[]").find(token.text[0]) != std::string_view::npos);
    if (!is_tight) text += ' ';
    text += token.kind == Kind::kText ? "'" + token.text + "'" : token.text;
  }
  return text;
}

Result<std::string> Parser::Name() {
  if (Peek().kind != Kind::kWord && Peek().kind != Kind::kQuotedName) return Expected("a name");
  return Take().text;
}

Result<std::vector<std::string>> Parser::QualifiedName() {
  std::vector<std::string> parts;
  do {
    FRAZIL_ASSIGN(std::string part, Name());
    parts.push_back(std::move(part));
  } while (TakeSymbol('.'));
  return parts;
}

Result<std::vector<std::string>> Parser::NameList() {
  FRAZIL_TRY(Need('('));
  std::vector<std::string> names;
  do {
    FRAZIL_ASSIGN(std::string name, Name());
    names.push_back(std::move(name));
  } while (TakeSymbol(','));
  FRAZIL_TRY(Need(')'));
  return names;
}

Result<std::string> Parser::Text() {
  if (Peek().kind != Kind::kText) return Expected("a text in quotes");
  return Take().text;
}

Result<std::map<std::string, std::string>> Parser::Options() {
  FRAZIL_TRY(Need('('));
  std::map<std::string, std::string> options;
  while (!TakeSymbol(')')) {
    FRAZIL_ASSIGN(const std::string key, Text());
    FRAZIL_TRY(Need('='));
    FRAZIL_ASSIGN(options[key], Text());
    if (!TakeSymbol(',') && !IsSymbol(')')) return Expected("',' or ')'");
  }
  return options;
}

/// `/*+ OPTIONS('a'='b') */`, if there is one.
Result<std::map<std::string, std::string>> Parser::Hints() {
  std::map<std::string, std::string> options;
  while (Peek().kind == Kind::kHintBegin) {
    ++at_;
    while (Peek().kind != Kind::kHintEnd) {
      if (Peek().kind == Kind::kEnd) return Expected("the end of a hint");
      if (TakeWord("OPTIONS")) {
        FRAZIL_ASSIGN(options, Options());
      } else {
        ++at_;
      }
    }
    ++at_;
  }
  return options;
}

/// Passes over what stands before a comma, a closing bracket or one of the words on this level; returns its text.
std::string Parser::SkipBalanced(std::initializer_list<std::string_view> stop_words) {
  const size_t begin = at_;
  int depth = 0;
  for (; Peek().kind != Kind::kEnd && !IsSymbol(';'); ++at_) {
    if (depth == 0) {
      const bool stops = IsSymbol(',') || IsSymbol(')') ||
                         std::any_of(stop_words.begin(), stop_words.end(), [&](auto word) { return IsWord(word); });
      if (stops) break;
    }
    if (IsSymbol('(') || IsSymbol('<') || IsSymbol('[')) ++depth;
    if (IsSymbol(')') || IsSymbol('>') || IsSymbol(']')) --depth;
  }
  return TextBetween(begin, at_);
}

Status Parser::CreateTable() {
  FlinkTable table;
  table.line = Peek().line;
  TakeWords({"IF", "NOT", "EXISTS"});
  FRAZIL_ASSIGN(table.name, QualifiedName());
  if (table.name.size() == 1) table.name.insert(table.name.begin(), current_.begin(), current_.end());
  FRAZIL_TRY(Need('('));
  do {
    FRAZIL_TRY(TableItem(table));
  } while (TakeSymbol(','));
  FRAZIL_TRY(Need(')'));
  while (Peek().kind != Kind::kEnd && !IsSymbol(';')) {
    if (TakeWord("WITH")) {
      FRAZIL_ASSIGN(table.options, Options());
    } else if (TakeWords({"PARTITIONED", "BY"})) {
      FRAZIL_ASSIGN(table.partitioned_by, NameList());
    } else if (TakeWord("COMMENT")) {
      FRAZIL_TRY(Text());
    } else {
      return Expected("WITH, PARTITIONED BY or COMMENT");
    }
  }
  job_.tables.push_back(std::move(table));
  return {};
}

Status Parser::TableItem(FlinkTable& table) {
  if (TakeWord("WATERMARK")) {
    SkipBalanced({});
    table.has_watermark = true;
    return {};
  }
  if (TakeWord("CONSTRAINT")) FRAZIL_TRY(Name());
  if (TakeWords({"PRIMARY", "KEY"})) {
    FRAZIL_ASSIGN(table.primary_key, NameList());
    TakeWords({"NOT", "ENFORCED"});
    return {};
  }
  return Column(table);
}

Status Parser::Column(FlinkTable& table) {
  FlinkColumn column;
  FRAZIL_ASSIGN(column.name, Name());
  if (TakeWord("AS")) {
    FRAZIL_ASSIGN(column.computed, Expression());
  } else {
    SkipBalanced({"METADATA", "PRIMARY", "COMMENT"});  // the type: the table's own counts
    if (TakeWord("METADATA")) {
      column.metadata = column.name;
      if (TakeWord("FROM")) {
        FRAZIL_ASSIGN(column.metadata, Text());
      }
      TakeWord("VIRTUAL");
    }
    if (TakeWords({"PRIMARY", "KEY"})) {
      TakeWords({"NOT", "ENFORCED"});
      table.primary_key = {column.name};
    }
  }
  if (TakeWord("COMMENT")) FRAZIL_TRY(Text());
  table.columns.push_back(std::move(column));
  return {};
}

Status Parser::CreateCatalog() {
  FlinkCatalog catalog;
  catalog.line = Peek().line;
  TakeWords({"IF", "NOT", "EXISTS"});
  FRAZIL_ASSIGN(catalog.name, Name());
  if (TakeWord("COMMENT")) FRAZIL_TRY(Text());
  FRAZIL_TRY(NeedWord("WITH"));
  FRAZIL_ASSIGN(catalog.options, Options());
  job_.catalogs.push_back(std::move(catalog));
  return {};
}

Status Parser::Set() {
  ++at_;
  FRAZIL_ASSIGN(const std::string key, Text());
  FRAZIL_TRY(Need('='));
  FRAZIL_ASSIGN(job_.settings[key], Text());
  return {};
}

/// A field, a header, or a cast of one; anything else is kept as text.
Result<FlinkExpression> Parser::Expression() {
  const size_t begin = at_;
  FlinkExpression expression;
  if (TakeWords({"CAST"}) || TakeWords({"TRY_CAST"})) {
    FRAZIL_TRY(Need('('));
    FRAZIL_ASSIGN(FlinkExpression inner, Expression());
    if (TakeWord("AS")) SkipBalanced({});
    FRAZIL_TRY(Need(')'));
    expression = std::move(inner);
    expression.is_cast = true;
  } else if (Peek().kind == Kind::kWord || Peek().kind == Kind::kQuotedName) {
    FRAZIL_ASSIGN(const std::vector<std::string> path, QualifiedName());
    expression.field = fmt::format("{}", fmt::join(path, "."));
    if (spec::EqualsAnyCase(expression.field, "headers") && TakeSymbol('[')) {
      FRAZIL_ASSIGN(const std::string header, Text());
      expression.field = "$headers." + header;
      FRAZIL_TRY(Need(']'));
    }
  }
  // Whatever is left before the next item makes it an expression that has to be computed.
  if (!IsBareAlias() && !SkipBalanced({"AS", "FROM", "COMMENT"}).empty()) expression.field.clear();
  expression.text = TextBetween(begin, at_);
  return expression;
}

/// A name without AS, behind which the item or the statement ends.
bool Parser::IsBareAlias() const {
  if (Peek().kind == Kind::kQuotedName || (Peek().kind == Kind::kWord && !IsWord("AS") && !IsWord("FROM"))) {
    return IsSymbol(',', 1) || IsSymbol(';', 1) || IsWord("FROM", 1) || Peek(1).kind == Kind::kEnd;
  }
  return false;
}

Status Parser::SelectItem(FlinkInsert& insert) {
  FlinkInsert::Item item;
  if (TakeSymbol('*')) {
    item.is_star = true;
    item.expression.text = "*";
  } else {
    FRAZIL_ASSIGN(item.expression, Expression());
    if (TakeWord("AS") || IsBareAlias()) {
      FRAZIL_ASSIGN(item.alias, Name());
    }
  }
  insert.items.push_back(std::move(item));
  return {};
}

Status Parser::Insert(bool is_overwrite) {
  FlinkInsert insert;
  insert.is_overwrite = is_overwrite;
  insert.line = Peek().line;
  FRAZIL_ASSIGN(insert.target, QualifiedName());
  if (insert.target.size() == 1) insert.target.insert(insert.target.begin(), current_.begin(), current_.end());
  FRAZIL_ASSIGN(insert.target_hints, Hints());
  if (IsSymbol('(')) {
    FRAZIL_ASSIGN(insert.target_columns, NameList());
  }
  if (!TakeWord("SELECT")) {
    SkipStatement();
    insert.rest = "no SELECT";
    job_.inserts.push_back(std::move(insert));
    return {};
  }
  do {
    FRAZIL_TRY(SelectItem(insert));
  } while (TakeSymbol(','));
  FRAZIL_TRY(NeedWord("FROM"));
  if (Peek().kind == Kind::kWord || Peek().kind == Kind::kQuotedName) {
    FRAZIL_ASSIGN(insert.source, QualifiedName());
    FRAZIL_ASSIGN(insert.source_hints, Hints());
    if (TakeWord("AS") || IsBareAlias()) {
      FRAZIL_ASSIGN(insert.source_alias, Name());
    }
  }
  const size_t begin = at_;
  SkipStatement();
  insert.rest = TextBetween(begin, at_);
  job_.inserts.push_back(std::move(insert));
  return {};
}

}  // namespace

Result<FlinkJob> ParseFlinkJob(std::string_view script) {
  FRAZIL_ASSIGN(std::vector<FlinkToken> tokens, TokenizeFlinkSql(script));
  return Parser(std::move(tokens)).Run();
}

}  // namespace frazil::ingest
