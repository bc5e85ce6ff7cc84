#include "frazil/sql/call_value.h"

#include <charconv>

#include "frazil/spec/ascii.h"
#include "frazil/spec/date_time.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/token.h"
#include "frazil/sql/tree_reader.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

using table::ProcedureType;
using table::ProcedureValue;

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> ParseTruth(std::string_view text) {
  if (spec::EqualsAnyCase(text, "true")) return true;
  if (spec::EqualsAnyCase(text, "false")) return false;
  return std::nullopt;
}

/// What a token says as a text; none: it is none. Double quotes hold a text as well, as in Spark: an argument has no columns.
std::optional<std::string> TextOf(const Token& token) {
  if (token.kind == TokenKind::kString) return Unquote(std::string(token.text));
  if (token.kind != TokenKind::kQuotedName || !token.text.starts_with('"')) return std::nullopt;
  return Unquote(QuoteText(NameOf(token)));
}

/// Spark writes `current_timestamp()`, the engine `now()`.
std::string WithSparkFunctions(const std::string& expression) {
  std::string text;
  const std::vector<Token> tokens = Tokenize(expression);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_call = IsWord(tokens[i], "current_timestamp") && i + 1 < tokens.size() && tokens[i + 1].text == "(";
    const bool is_text = tokens[i].kind == TokenKind::kQuotedName && TextOf(tokens[i]);
    text += is_call ? "now" : is_text ? QuotedText(*TextOf(tokens[i])) : std::string(tokens[i].text);
  }
  return text;
}

/// The value of one text for one parameter.
class ValueParser {
 public:
  ValueParser(const table::ProcedureParameter& parameter, const std::string& text, const Evaluate& evaluate)
      : parameter_(parameter), text_(text), evaluate_(evaluate) {
    for (const Token& token : Tokenize(text)) {
      if (!IsBlank(token)) tokens_.push_back(token);
    }
  }

  Result<ProcedureValue> Parse() const {
    if (tokens_.size() == 1 && IsWord(tokens_[0], "null")) return ProcedureValue();
    switch (parameter_.type) {
      case ProcedureType::kStringMap: return Map();
      case ProcedureType::kStringList:
      case ProcedureType::kLongList: return List();
      default: break;
    }
    FRAZIL_ASSIGN(const std::optional<std::string> scalar, Scalar(parameter_.type));
    if (!scalar) return ProcedureValue();
    switch (parameter_.type) {
      case ProcedureType::kString: return ProcedureValue(*scalar);
      case ProcedureType::kBoolean:
        if (const auto truth = ParseTruth(*scalar)) return ProcedureValue(*truth);
        break;
      case ProcedureType::kInt:
        if (const auto number = ParseWhole<int32_t>(*scalar)) return ProcedureValue(int64_t{*number});
        break;
      default:
        if (const auto number = ParseWhole<int64_t>(*scalar)) return ProcedureValue(*number);
    }
    return tl::unexpected(Wrong());
  }

 private:
  Error Wrong() const {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("argument {} must be {}: {}", parameter_.name, ProcedureTypeText(parameter_.type), text_));
  }

  /// The text of the literal that all of the argument is; none: an expression.
  std::optional<std::string> Literal() const {
    if (tokens_.size() == 1) {
      const Token& only = tokens_[0];
      if (auto text = TextOf(only)) return text;
      if (only.kind == TokenKind::kNumber || ParseTruth(only.text)) return std::string(only.text);
    }
    if (tokens_.size() == 2 && tokens_[1].kind == TokenKind::kNumber) {
      if (tokens_[0].text == "-" || tokens_[0].text == "+") {
        return std::string(tokens_[0].text) + std::string(tokens_[1].text);
      }
    }
    return std::nullopt;
  }

  /// Microseconds of a timestamp as text, whatever its spelling; everything else as it is written.
  Result<std::optional<std::string>> Scalar(ProcedureType type) const {
    const std::optional<std::string> literal = Literal();
    if (type == ProcedureType::kTimestamp) return Timestamp(literal);
    if (literal) return literal;
    const char* engine_type = type == ProcedureType::kString    ? "VARCHAR"
                              : type == ProcedureType::kBoolean ? "BOOLEAN"
                                                                : "BIGINT";
    return Evaluated(text_, engine_type);
  }

  Result<std::optional<std::string>> Timestamp(std::optional<std::string> literal) const {
    const bool is_typed =
        tokens_.size() == 2 && TextOf(tokens_[1]) &&
        (IsWord(tokens_[0], "timestamp") || IsWord(tokens_[0], "timestamp_ltz") ||
         IsWord(tokens_[0], "timestamp_ntz") || IsWord(tokens_[0], "timestamptz") || IsWord(tokens_[0], "date"));
    if (is_typed) literal = TextOf(tokens_[1]);
    if (literal) {
      if (!spec::ParseTimestamp(*literal, spec::Precision::kMicros, spec::SeparatorRule::kAny,
                                spec::OffsetRule::kAny)) {
        return tl::unexpected(Wrong());
      }
      // The engine knows the session's time zone.
      return Evaluated("epoch_us(CAST('" + *literal + "' AS TIMESTAMPTZ))", "BIGINT");
    }
    return Evaluated("epoch_us(CAST((" + text_ + ") AS TIMESTAMPTZ))", "BIGINT");
  }

  Result<std::optional<std::string>> Evaluated(const std::string& expression, const std::string& type) const {
    FRAZIL_ASSIGN(const std::string query_text, RewriteQuery(WithSparkFunctions(expression)));
    auto value = evaluate_(query_text, type);
    if (!value) {
      return Fail(ErrorCode::kInvalidArgument, "{}: {}", Wrong().message(), value.error().message());
    }
    return value;
  }

  /// The texts between the brackets of `name(...)`, divided by commas; none when the argument is something else.
  std::optional<std::vector<std::string>> ItemsOf(std::string_view name) const {
    if (tokens_.size() < 3 || !IsWord(tokens_[0], name) || tokens_[1].text != "(" || tokens_.back().text != ")") {
      return std::nullopt;
    }
    std::vector<std::string> items;
    if (tokens_.size() == 3) return items;
    int depth = 0;
    size_t begin = tokens_[2].offset;
    for (size_t i = 2; i < tokens_.size(); ++i) {
      const std::string_view text = tokens_[i].text;
      const bool is_last = i + 1 == tokens_.size();
      if ((text == "," && depth == 0) || is_last) {
        items.push_back(Trimmed(text_.substr(begin, tokens_[i].offset - begin)));
        begin = is_last ? begin : tokens_[i + 1].offset;
      } else if (text == "(") {
        ++depth;
      } else if (text == ")") {
        --depth;
      }
    }
    return items;
  }

  Result<std::vector<std::string>> TextsOf(const std::vector<std::string>& items, ProcedureType type) const {
    std::vector<std::string> texts;
    for (const std::string& item : items) {
      FRAZIL_ASSIGN(const std::optional<std::string> text, ValueParser(parameter_, item, evaluate_).Scalar(type));
      if (!text) return tl::unexpected(Wrong());
      texts.push_back(*text);
    }
    return texts;
  }

  Result<ProcedureValue> Map() const {
    const auto items = ItemsOf("map");
    if (!items || items->size() % 2 != 0) return tl::unexpected(Wrong());
    FRAZIL_ASSIGN(const auto texts, TextsOf(*items, ProcedureType::kString));
    std::map<std::string, std::string> map;
    for (size_t i = 0; i < texts.size(); i += 2) {
      if (!map.emplace(texts[i], texts[i + 1]).second) {
        return Fail(ErrorCode::kInvalidArgument, "argument {} has a key twice: {}", parameter_.name, texts[i]);
      }
    }
    return ProcedureValue(std::move(map));
  }

  Result<ProcedureValue> List() const {
    const auto items = ItemsOf("array");
    if (!items) return tl::unexpected(Wrong());
    if (parameter_.type == ProcedureType::kStringList) {
      FRAZIL_ASSIGN(auto texts, TextsOf(*items, ProcedureType::kString));
      return ProcedureValue(std::move(texts));
    }
    FRAZIL_ASSIGN(const auto texts, TextsOf(*items, ProcedureType::kLong));
    std::vector<int64_t> numbers;
    for (const std::string& text : texts) {
      const auto number = ParseWhole<int64_t>(text);
      if (!number) return tl::unexpected(Wrong());
      numbers.push_back(*number);
    }
    return ProcedureValue(std::move(numbers));
  }

  const table::ProcedureParameter& parameter_;
  const std::string& text_;
  const Evaluate& evaluate_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string ProcedureTypeText(table::ProcedureType type) {
  switch (type) {
    case ProcedureType::kBoolean: return "true or false";
    case ProcedureType::kInt: return "an int";
    case ProcedureType::kLong: return "a bigint";
    case ProcedureType::kString: return "a string";
    case ProcedureType::kTimestamp: return "a timestamp";
    case ProcedureType::kStringMap: return "map('key', 'value', ...)";
    case ProcedureType::kStringList: return "array('text', ...)";
    case ProcedureType::kLongList: return "array(number, ...)";
  }
  return "a value";
}

Result<ProcedureValue> ParseCallValue(const table::ProcedureParameter& parameter, const std::string& text,
                                      const Evaluate& evaluate) {
  return ValueParser(parameter, text, evaluate).Parse();
}

}  // namespace frazil::sql
