#include "frazil/ingest/flink_token.h"

#include <algorithm>
#include <cctype>

namespace frazil::ingest {
namespace {

using Kind = FlinkToken::Kind;

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view script) : rest_(script) {}

  Result<std::vector<FlinkToken>> Run() {
    while (!rest_.empty()) FRAZIL_TRY(Next());
    tokens_.push_back({Kind::kEnd, "", line_});
    return std::move(tokens_);
  }

 private:
  Status Next() {
    const char c = rest_[0];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      Drop(1);
    } else if (rest_.starts_with("--")) {
      Drop(std::min(rest_.find('\n'), rest_.size()));
    } else if (rest_.starts_with("/*+")) {
      in_hint_ = true;
      Take(Kind::kHintBegin, 3);
    } else if (in_hint_ && rest_.starts_with("*/")) {
      in_hint_ = false;
      Take(Kind::kHintEnd, 2);
    } else if (rest_.starts_with("/*")) {
      const size_t end = rest_.find("*/", 2);
      if (end == std::string_view::npos) return NeverEnds("comment");
      Drop(end + 2);
    } else if (c == '\'' || c == '`') {
      return Quoted(c);
    } else if (IsNameStart(c)) {
      Take(Kind::kWord, Length([](char x) { return IsNameStart(x) || IsDigit(x); }));
    } else if (IsDigit(c)) {
      Take(Kind::kNumber, Length([](char x) { return IsDigit(x) || x == '.'; }));
    } else {
      Take(Kind::kSymbol, 1);
    }
    return {};
  }

  template <typename Belongs>
  size_t Length(Belongs belongs) const {
    size_t length = 1;
    while (length < rest_.size() && belongs(rest_[length])) ++length;
    return length;
  }

  Status Quoted(char quote) {
    std::string text;
    const int begin = line_;
    size_t at = 1;
    for (;; ++at) {
      if (at >= rest_.size()) return NeverEnds("quoted text");
      if (rest_[at] == quote) {
        if (at + 1 >= rest_.size() || rest_[at + 1] != quote) break;
        ++at;
      }
      text += rest_[at];
    }
    tokens_.push_back({quote == '`' ? Kind::kQuotedName : Kind::kText, std::move(text), begin});
    Drop(at + 1);
    return {};
  }

  void Take(Kind kind, size_t length) {
    tokens_.push_back({kind, std::string(rest_.substr(0, length)), line_});
    Drop(length);
  }
  void Drop(size_t length) {
    line_ += static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    rest_.remove_prefix(length);
  }
  Status NeverEnds(const char* what) const {
    return Fail(ErrorCode::kInvalidArgument, "{} never ends, from line {}", what, line_);
  }

  std::string_view rest_;
  int line_ = 1;
  bool in_hint_ = false;
  std::vector<FlinkToken> tokens_;
};

}  // namespace

Result<std::vector<FlinkToken>> TokenizeFlinkSql(std::string_view script) { return Tokenizer(script).Run(); }

}  // namespace frazil::ingest
