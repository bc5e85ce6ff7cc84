#include "frazil/cli/key_text.h"

#include <algorithm>

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
    if (std::ranges::find(names, part.name) == names.end()) {
      const std::string nearest = spec::NearestName(part.name, names);
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, fmt::format("not an identifier field of {}: '{}'", table, part.name))
              .WithHint(nearest.empty() ? "its identifier fields: " + FieldNames(names)
                                        : "did you mean " + nearest + "?"));
    }
    if (std::erase(missing, part.name) == 0) {
      return Fail(ErrorCode::kInvalidArgument, "key of {} names a field twice: '{}'", table, part.name);
    }
    const spec::Field& field = *schema.FindField(part.name);
    auto value = spec::ParseValue(field.type, part.value);
    if (!value || spec::IsNull(*value)) {
      return Fail(ErrorCode::kInvalidArgument, "not a value of {} {}: '{}'", field.type.ToString(), part.name,
                  part.value);
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
