#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "frazil/base/bytes.h"
#include "frazil/cli/shown_list.h"

namespace frazil::cli {
namespace {

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;
constexpr char kConditions[] = "conditions";
constexpr char kOlderThan[] = "older-than-ms";

Status ReadHeader(const std::string& text, const std::string& path, ShownList& list) {
  const nlohmann::json header = nlohmann::json::parse(text, nullptr, false);
  const auto conditions = header.is_object() ? header.find(kConditions) : header.end();
  if (conditions == header.end() || !conditions->is_object()) {
    return tl::unexpected(Error(ErrorCode::kCorruptData, "a list does not begin with its conditions: " + path)
                              .WithHint("delete it and list again"));
  }
  for (const auto& [option, value] : conditions->items()) {
    if (value.is_string()) list.conditions[option] = value.get<std::string>();
  }
  const auto older_than = header.find(kOlderThan);
  if (older_than != header.end() && older_than->is_number_integer()) list.older_than_ms = older_than->get<int64_t>();
  return {};
}

}  // namespace

Result<std::optional<ShownList>> ShownList::Read(const std::string& path, int64_t now_ms) {
  const auto io = io::MakeLocalFileIO();
  FRAZIL_ASSIGN(const auto files, io->List(path.substr(0, path.rfind('/'))));
  const auto own =
      std::find_if(files.begin(), files.end(), [&](const io::FileInfo& file) { return file.path == path; });
  if (own == files.end() || own->modified_ms < now_ms - kDayMs) return std::nullopt;
  FRAZIL_ASSIGN(const Bytes bytes, io->ReadFile(path));
  ShownList list;
  bool is_header = true;
  std::string_view rest = AsText(bytes);
  while (is_header || !rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    if (is_header) FRAZIL_TRY(ReadHeader(line, path, list));
    if (!is_header && !line.empty()) list.lines.push_back(line);
    is_header = false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return list;
}

Status ShownList::Write(const std::string& path, const ShownConditions& conditions,
                        std::optional<int64_t> older_than_ms, const std::string& lines) {
  FRAZIL_TRY(Forget(path));
  nlohmann::json header = {{kConditions, nlohmann::json::object()}};
  for (const auto& [option, text] : conditions) header[kConditions][option] = text;
  if (older_than_ms) header[kOlderThan] = *older_than_ms;
  const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" + lines;
  return io::MakeLocalFileIO()->WriteFile(path, AsBytes(text));
}

std::string TextOf(const ShownConditions& conditions, const std::string& option) {
  const auto found = conditions.find(option);
  return found == conditions.end() ? std::string() : found->second;
}

Status CheckSameConditions(const ShownConditions& given, const ShownConditions& listed, const std::string& path) {
  for (const auto& [option, text] : given) {
    const auto found = listed.find(option);
    if (found != listed.end() && found->second == text) continue;
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("--yes does what was listed, and that was {} {}, not with {} {}",
                          found == listed.end() ? "without" : "with",
                          found == listed.end() ? option : option + " " + found->second, option, text))
            .WithHint("leave the option out, or list again, or delete " + path));
  }
  return {};
}

}  // namespace frazil::cli
