#include "frazil/service/settings.h"

#include <charconv>
#include <set>

#include <yaml-cpp/yaml.h>

#include "frazil/ingest/kafka_properties.h"
#include "frazil/service/quantity.h"

namespace frazil::service {
namespace {

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

/// "https://me:secret@host/x" -> "https://me:********@host/x".
std::string WithoutPasswords(std::string text) {
  for (size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    const size_t end = text.find_first_of("/?# ,;", at);
    const size_t sign = text.substr(0, end).rfind('@');
    const size_t colon = text.find(':', at);
    if (sign == std::string::npos || sign < at || colon == std::string::npos || colon > sign) continue;
    text.replace(colon + 1, sign - colon - 1, "********");
  }
  return text;
}

Result<std::vector<std::string>> ParseYamlList(const std::string& text) {
  std::vector<std::string> items;
  try {
    const YAML::Node node = YAML::Load(text);
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) return Fail(ErrorCode::kInvalidArgument, "not a list of plain values: '{}'", text);
      items.push_back(item.Scalar());
    }
  } catch (const YAML::Exception&) {
    return Fail(ErrorCode::kInvalidArgument, "not a list: '{}'", text);
  }
  return items;
}

}  // namespace

std::string ShownValue(const std::string& key, const Setting& setting) {
  return setting.is_secret || ingest::IsSecretProperty(key) ? "********" : WithoutPasswords(setting.value);
}

Result<std::vector<std::string>> ParseList(const std::string& text) {
  const std::string trimmed = Trimmed(text);
  if (trimmed.starts_with('[') || trimmed.starts_with("- ")) return ParseYamlList(trimmed);
  std::vector<std::string> items;
  int depth = 0;
  char quote = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= trimmed.size(); ++at) {
    const char c = at < trimmed.size() ? trimmed[at] : ',';
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (at < trimmed.size()) continue;
    }
    if (c == '`' || c == '"' || c == '\'') quote = c;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c != ',' || (depth > 0 && at < trimmed.size())) continue;
    if (std::string item = Trimmed(std::string_view(trimmed).substr(begin, at - begin)); !item.empty()) {
      items.push_back(std::move(item));
    }
    begin = at + 1;
  }
  if (depth != 0 || quote != 0) return Fail(ErrorCode::kInvalidArgument, "not a list: '{}'", text);
  return items;
}

SettingSection::SettingSection(const Settings& settings, std::string prefix)
    : settings_(settings), prefix_(std::move(prefix)) {}

const Setting* SettingSection::Find(const std::string& key) const {
  const auto found = settings_.find(prefix_ + "." + key);
  return found == settings_.end() ? nullptr : &found->second;
}

Error SettingSection::At(const std::string& key, Error error) const {
  const Setting* setting = Find(key);
  std::string place = setting == nullptr ? "" : " (" + setting->origin + ")";
  Error named(error.code(), fmt::format("{}.{}: {}{}", prefix_, key, error.message(), place));
  return error.hint().empty() ? named : std::move(named).WithHint(error.hint());
}

std::string SettingSection::Text(const std::string& key, const std::string& otherwise) const {
  const Setting* setting = Find(key);
  return setting == nullptr ? otherwise : setting->value;
}

Result<std::string> SettingSection::Required(const std::string& key) const {
  const Setting* setting = Find(key);
  if (setting != nullptr && !setting->value.empty()) return setting->value;
  return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("setting is missing: {}.{}", prefix_, key)));
}

Result<bool> SettingSection::Boolean(const std::string& key, bool otherwise) const {
  const Setting* setting = Find(key);
  if (setting == nullptr) return otherwise;
  if (setting->value == "true") return true;
  if (setting->value == "false") return false;
  return tl::unexpected(
      At(key, Error(ErrorCode::kInvalidArgument, fmt::format("not true or false: '{}'", setting->value))));
}

Result<int64_t> SettingSection::Number(const std::string& key, int64_t otherwise) const {
  const Setting* setting = Find(key);
  if (setting == nullptr) return otherwise;
  const std::string& text = setting->value;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  return tl::unexpected(
      At(key, Error(ErrorCode::kInvalidArgument, fmt::format("not a whole number from 0 up: '{}'", text))));
}

Result<int64_t> SettingSection::Bytes(const std::string& key, int64_t otherwise) const {
  const Setting* setting = Find(key);
  if (setting == nullptr) return otherwise;
  Result<int64_t> bytes = ParseBytes(setting->value);
  if (!bytes) return tl::unexpected(At(key, std::move(bytes).error()));
  return bytes;
}

Result<std::chrono::milliseconds> SettingSection::Duration(const std::string& key,
                                                           std::chrono::milliseconds otherwise) const {
  const Setting* setting = Find(key);
  if (setting == nullptr) return otherwise;
  Result<std::chrono::milliseconds> duration = ParseDuration(setting->value);
  if (!duration) return tl::unexpected(At(key, std::move(duration).error()));
  return duration;
}

Result<std::vector<std::string>> SettingSection::List(const std::string& key) const {
  const Setting* setting = Find(key);
  if (setting == nullptr) return std::vector<std::string>{};
  Result<std::vector<std::string>> items = ParseList(setting->value);
  if (!items) return tl::unexpected(At(key, std::move(items).error()));
  return items;
}

std::map<std::string, std::string> SettingSection::Map(const std::string& key) const {
  const std::string prefix = prefix_ + "." + (key.empty() ? "" : key + ".");
  std::map<std::string, std::string> values;
  for (auto it = settings_.lower_bound(prefix); it != settings_.end() && it->first.starts_with(prefix); ++it) {
    values.emplace(it->first.substr(prefix.size()), it->second.value);
  }
  return values;
}

std::vector<std::string> NamesBelow(const Settings& settings, const std::string& prefix) {
  const std::string start = prefix + ".";
  std::set<std::string> names;
  for (auto it = settings.lower_bound(start); it != settings.end() && it->first.starts_with(start); ++it) {
    names.insert(it->first.substr(start.size(), it->first.find('.', start.size()) - start.size()));
  }
  return {names.begin(), names.end()};
}

}  // namespace frazil::service
