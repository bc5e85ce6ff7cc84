#include "frazil/catalog/table_name.h"

#include <fmt/ranges.h>

namespace frazil::catalog {
namespace {

bool IsQuote(char c) { return c == '`' || c == '"'; }

void AppendPart(std::string& text, const std::string& part) {
  if (!part.empty() && part.find_first_of(".`\"") == std::string::npos) {
    text += part;
    return;
  }
  text += '`';
  for (const char c : part) text.append(c == '`' ? 2 : 1, c);
  text += '`';
}

tl::unexpected<Error> Refuse(std::string_view why, std::string_view text) {
  return Fail(ErrorCode::kInvalidArgument, "not a table name, {}: {}", why, text);
}

// Reads the part that begins at `at` and moves `at` behind it.
Result<std::string> ReadPart(std::string_view text, size_t& at) {
  std::string part;
  if (at < text.size() && IsQuote(text[at])) {
    const char quote = text[at++];
    while (true) {
      if (at == text.size()) return Refuse("a quote is not closed", text);
      const char c = text[at++];
      if (c == quote) {
        if (at == text.size() || text[at] != quote) break;
        ++at;  // doubled: the quote itself
      }
      part += c;
    }
    if (at < text.size() && text[at] != '.') return Refuse("a dot must follow a closing quote", text);
  } else {
    while (at < text.size() && text[at] != '.') {
      if (IsQuote(text[at])) return Refuse("a quote stands inside a part", text);
      part += text[at++];
    }
  }
  if (part.empty()) return Refuse("a part is empty", text);
  return part;
}

}  // namespace

std::string NamespaceText(const Namespace& levels) { return fmt::format("{}", fmt::join(levels, ".")); }

Namespace NamespaceFromText(std::string_view text) {
  Namespace levels;
  size_t begin = 0;
  while (true) {
    const size_t dot = text.find('.', begin);
    levels.emplace_back(text.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return levels;
    begin = dot + 1;
  }
}

std::string TableName::ToString() const {
  std::string text;
  for (const std::string& level : levels) {
    AppendPart(text, level);
    text += '.';
  }
  AppendPart(text, name);
  return text;
}

Result<TableName> TableName::Parse(std::string_view text, const Namespace& default_namespace) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (true) {
    FRAZIL_ASSIGN(std::string part, ReadPart(text, at));
    parts.push_back(std::move(part));
    if (at == text.size()) break;
    ++at;  // the dot
  }
  TableName name;
  name.name = std::move(parts.back());
  parts.pop_back();
  name.levels = parts.empty() ? default_namespace : std::move(parts);
  if (name.levels.empty()) return Refuse("it needs a namespace", text);
  return name;
}

}  // namespace frazil::catalog
