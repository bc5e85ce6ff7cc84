#include "frazil/maintain/sort_order_text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "frazil/spec/ascii.h"

namespace frazil::maintain {
namespace {

std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> SplitOutsideBrackets(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(Stripped(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

/// Takes the words off the end; whether they stood there.
bool TakeFromEnd(std::string_view& text, std::string_view word) {
  if (text.size() <= word.size() || !spec::EqualsAnyCase(text.substr(text.size() - word.size()), word)) return false;
  const std::string_view rest = text.substr(0, text.size() - word.size());
  if (rest.back() != ' ' && rest.back() != '\t' && rest.back() != '\n') return false;
  text = Stripped(rest);
  return true;
}

std::string ColumnName(std::string_view text) {
  std::string name(Stripped(text));
  if (name.size() >= 2 && name.front() == name.back() && (name.front() == '`' || name.front() == '"')) {
    return name.substr(1, name.size() - 2);
  }
  return name;
}

Error WrongPart(std::string_view part) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("sort_order has a part that is none: '{}'", part))
      .WithHint("column or transform(column), ASC or DESC, NULLS FIRST or LAST");
}

/// "bucket(8, key)", "days(at)": the name as the format writes it, and the column.
Result<spec::Transform> ParseTransform(std::string_view call, std::string& column) {
  const size_t open = call.find('(');
  if (!call.ends_with(')')) return tl::unexpected(WrongPart(call));
  std::string name(Stripped(call.substr(0, open)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (name == "zorder") {
    return Fail(ErrorCode::kNotSupported, "sort_order zorder(...) is not supported yet: {}", call);
  }
  const auto arguments = SplitOutsideBrackets(call.substr(open + 1, call.size() - open - 2));
  for (const char* plural : {"years", "months", "days", "hours"}) {
    if (name == plural) name.pop_back();
  }
  std::string text = name;
  column = ColumnName(arguments.back());
  if (arguments.size() == 2) {
    // bucket(8, key), and truncate(key, 4) as some write it.
    const bool number_first = !arguments[0].empty() && std::isdigit(static_cast<unsigned char>(arguments[0][0])) != 0;
    if (!number_first) column = ColumnName(arguments[0]);
    text += "[" + std::string(number_first ? arguments[0] : arguments[1]) + "]";
  }
  const spec::Transform transform = spec::Transform::Parse(text);
  if (arguments.size() > 2 || transform.kind() == spec::Transform::Kind::kUnknown) {
    return tl::unexpected(WrongPart(call));
  }
  return transform;
}

Result<spec::SortField> ParsePart(std::string_view part, const spec::Schema& schema) {
  const std::string_view whole = part;
  std::optional<spec::NullOrder> nulls;
  if (TakeFromEnd(part, "nulls first")) nulls = spec::NullOrder::kFirst;
  if (!nulls && TakeFromEnd(part, "nulls last")) nulls = spec::NullOrder::kLast;
  spec::SortField field;
  if (TakeFromEnd(part, "desc")) {
    field.direction = spec::SortDirection::kDescending;
  } else {
    TakeFromEnd(part, "asc");
  }
  const bool is_ascending = field.direction == spec::SortDirection::kAscending;
  field.null_order = nulls.value_or(is_ascending ? spec::NullOrder::kFirst : spec::NullOrder::kLast);
  std::string column = ColumnName(part);
  if (part.find('(') != std::string_view::npos) {
    FRAZIL_ASSIGN(field.transform, ParseTransform(part, column));
  }
  if (column.empty()) return tl::unexpected(WrongPart(whole));
  const spec::Field* source = schema.FindFieldAnyCase(column);
  if (source == nullptr) {
    std::vector<std::string> names;
    for (const auto& [known, name] : schema.AllFields()) names.push_back(name);
    const std::string nearest = spec::NearestName(column, names);
    Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found: sort_order '{}'", column, whole));
    return tl::unexpected(nearest.empty() ? std::move(error)
                                          : std::move(error).WithHint("did you mean " + nearest + "?"));
  }
  if (!source->type.is_primitive() || !field.transform.CanApplyTo(source->type)) {
    return Fail(ErrorCode::kInvalidArgument, "cannot sort by this column of type {}: '{}'", source->type.ToString(),
                whole);
  }
  field.source_id = source->id;
  return field;
}

}  // namespace

Result<spec::SortOrder> ParseSortOrder(const std::string& text, const spec::Schema& schema) {
  spec::SortOrder order;
  for (const std::string_view part : SplitOutsideBrackets(text)) {
    FRAZIL_ASSIGN(spec::SortField field, ParsePart(part, schema));
    order.fields.push_back(std::move(field));
  }
  // Not one of the table's: it has no id there until it is added.
  order.id = spec::SortOrderId{0};
  return order;
}

}  // namespace frazil::maintain
