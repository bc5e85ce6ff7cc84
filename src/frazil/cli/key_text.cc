#include "frazil/cli/key_text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "frazil/spec/ascii.h"
#include "frazil/spec/single_value.h"

namespace frazil::cli {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Reads words of a key text from front to back.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ == text_.size(); }

  /// The text up to `end` (or the end of all, when `may_end`), which is passed.
  Result<std::string> Next(char end, bool may_end) {
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    std::string word;
    if (!AtEnd() && (text_[at_] == '\'' || text_[at_] == '"')) {
      FRAZIL_ASSIGN(word, Quoted(text_[at_]));
      at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    } else {
      const size_t stop = std::min(text_.find_first_of(end == '=' ? "=," : ",", at_), text_.size());
      word = Trim(text_.substr(at_, stop - at_));
      at_ = stop;
    }
    if (AtEnd() ? !may_end : text_[at_] != end) return NotAKey();
    if (!AtEnd()) {
      ++at_;
      has_more_ = true;
    } else {
      has_more_ = false;
    }
    return word;
  }
  /// Whether the last word ended with its character: another must follow.
  bool has_more() const { return has_more_; }

  tl::unexpected<Error> NotAKey() const {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("not a key: {}", text_))
                              .WithHint("--key name=value,name='a, b'"));
  }

 private:
  Result<std::string> Quoted(char quote) {
    std::string word;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != quote) {
        word += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
        word += quote;
        ++at_;
      } else {
        ++at_;
        return word;
      }
    }
    return NotAKey();
  }

  const std::string_view text_;
  size_t at_ = 0;
  bool has_more_ = true;
};

/// A name as SQL finds it: as it is written, else whatever its case is. None: not there, or in several cases.
std::optional<std::string> FindName(const std::string& wanted, const std::vector<std::string>& names) {
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  const auto is_alike = [&](const std::string& name) { return spec::EqualsAnyCase(name, wanted); };
  if (std::ranges::count_if(names, is_alike) != 1) return std::nullopt;
  return *std::ranges::find_if(names, is_alike);
}

/// "-0.00012" of "-1.2E-4", as decimals are printed and written elsewhere. None: not of that form, or too long for any decimal.
std::optional<std::string> WithoutExponent(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos) return std::nullopt;
  std::string_view exponent_text = text.substr(e + 1);
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  int exponent = 0;
  const auto [end, failed] =
      std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  constexpr int kMostDigits = 100;
  if (failed != std::errc() || end != exponent_text.data() + exponent_text.size() || std::abs(exponent) > kMostDigits) {
    return std::nullopt;
  }
  std::string_view mantissa = text.substr(0, e);
  std::string sign;
  if (mantissa.starts_with('-') || mantissa.starts_with('+')) {
    sign = mantissa.substr(0, 1);
    mantissa.remove_prefix(1);
  }
  std::string digits(mantissa);
  const size_t point = std::min(digits.find('.'), digits.size());
  if (point < digits.size()) digits.erase(point, 1);
  if (digits.empty()) return std::nullopt;
  // Where the point stands in the digits.
  int at = static_cast<int>(point) + exponent;
  if (at <= 0) digits.insert(0, static_cast<size_t>(1 - at), '0'), at = 1;
  if (at > static_cast<int>(digits.size())) digits.append(static_cast<size_t>(at) - digits.size(), '0');
  std::string fraction = digits.substr(static_cast<size_t>(at));
  while (fraction.ends_with('0')) fraction.pop_back();
  return sign + digits.substr(0, static_cast<size_t>(at)) + (fraction.empty() ? "" : "." + fraction);
}

std::string FieldNames(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

Result<std::vector<KeyPart>> ParseKeyText(std::string_view text) {
  Words words(text);
  std::vector<KeyPart> parts;
  while (words.has_more()) {
    KeyPart part;
    FRAZIL_ASSIGN(part.name, words.Next('=', /*may_end=*/false));
    if (part.name.empty()) return words.NotAKey();
    FRAZIL_ASSIGN(part.value, words.Next(',', /*may_end=*/true));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<std::vector<KeyValue>> KeyOf(const std::vector<KeyPart>& parts, const spec::Schema& schema,
                                    const std::string& table) {
  std::vector<std::string> names;
  for (const spec::FieldId id : schema.identifier_field_ids()) names.push_back(schema.FullName(id));
  if (names.empty()) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "table has no identifier fields: " + table)
                              .WithHint("ALTER TABLE ... SET IDENTIFIER FIELDS"));
  }
  std::vector<std::string> missing = names;
  std::vector<KeyValue> key;
  for (const KeyPart& part : parts) {
    const std::optional<std::string> name = FindName(part.name, names);
    if (!name) {
      const std::string nearest = spec::NearestName(part.name, names);
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, fmt::format("not an identifier field of {}: '{}'", table, part.name))
              .WithHint(nearest.empty() ? "its identifier fields: " + FieldNames(names)
                                        : "did you mean " + nearest + "?"));
    }
    if (std::erase(missing, *name) == 0) {
      return Fail(ErrorCode::kInvalidArgument, "key of {} names a field twice: '{}'", table, *name);
    }
    const spec::Field& field = *schema.FindField(*name);
    auto value = spec::ParseValue(field.type, field.type.id() == spec::TypeId::kDecimal
                                                  ? WithoutExponent(part.value).value_or(part.value)
                                                  : part.value);
    if (!value || spec::IsNull(*value)) {
      return Fail(ErrorCode::kInvalidArgument, "not a value of {} {}: '{}'", field.type.ToString(), *name, part.value);
    }
    key.push_back({field, *std::move(value)});
  }
  if (!missing.empty()) {
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("key of {} lacks identifier field{}: {}", table,
                                                       missing.size() == 1 ? "" : "s", FieldNames(missing)))
            .WithHint("--key name=value,name=value"));
  }
  return key;
}

}  // namespace frazil::cli
