#include "frazil/cli/config.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include "frazil/spec/schema.h"

namespace frazil::cli {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"version", "default-catalog", "limits.memory", "limits.threads",
                                                   "limits.temp-dir"};
/// Designed, not built: better a clear word than a setting that does nothing.
constexpr std::array<std::string_view, 8> kLaterSections = {
    "pipelines", "schema-registries", "maintenance", "http", "metrics", "alerts", "lineage", "profiles"};
template <size_t N>
bool Contains(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string FindHome() {
  if (std::string home = Environment("FRAZIL_HOME"); !home.empty()) return std::filesystem::absolute(home).string();
  if (std::string data = Environment("XDG_DATA_HOME"); !data.empty()) return data + "/frazil";
  return Environment("HOME") + "/.local/share/frazil";
}

/// `${NAME}` -> the environment's value, FRAZIL_HOME included when it was not set.
Result<std::string> Expand(const std::string& text, const std::string& home) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t begin = text.find("${", at);
    if (begin == std::string::npos) return out + text.substr(at);
    const size_t end = text.find('}', begin);
    if (end == std::string::npos) return Fail(ErrorCode::kInvalidArgument, "'${{' without '}}': '{}'", text);
    const std::string name = text.substr(begin + 2, end - begin - 2);
    out += text.substr(at, begin - at);
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) {
      out += value;
    } else if (name == "FRAZIL_HOME") {
      out += home;
    } else {
      return Fail(ErrorCode::kInvalidArgument, "environment variable '{}' is not set, wanted by '{}'", name, text);
    }
    at = end + 1;
  }
}

tl::unexpected<Error> UnknownKey(const std::string& key, std::vector<std::string> known) {
  const std::string nearest = spec::NearestName(key, known);
  Error error(ErrorCode::kInvalidArgument, fmt::format("unknown setting '{}'", key));
  return tl::unexpected(nearest.empty() ? std::move(error)
                                        : std::move(error).WithHint("did you mean " + nearest + "?"));
}

/// FRAZIL_LIMITS__MEMORY -> limits.memory: two underscores nest, one is a dash (PyIceberg's rule).
std::string KeyOfVariable(const std::string& variable) {
  std::string key;
  for (size_t i = std::string_view("FRAZIL_").size(); i < variable.size(); ++i) {
    if (variable[i] != '_') {
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(variable[i])));
    } else if (i + 1 < variable.size() && variable[i + 1] == '_') {
      key += '.';
      ++i;
    } else {
      key += '-';
    }
  }
  return key;
}

void Flatten(const YAML::Node& node, const std::string& prefix, const std::string& file,
             std::vector<std::pair<std::string, ConfigValue>>& out) {
  for (const auto& member : node) {
    const std::string key = prefix + member.first.as<std::string>();
    if (member.second.IsMap()) {
      Flatten(member.second, key + ".", file, out);
    } else {
      const std::string value = member.second.IsScalar() ? member.second.Scalar() : YAML::Dump(member.second);
      out.emplace_back(key, ConfigValue{value, fmt::format("{}:{}", file, member.first.Mark().line + 1)});
    }
  }
}

}  // namespace

Status Config::Set(const std::string& key, const std::string& value, const std::string& origin) {
  const std::string section = key.substr(0, key.find('.'));
  if (Contains(kLaterSections, section)) {
    return Fail(ErrorCode::kNotSupported, "configuration section '{}' ({})", section, origin);
  }
  if (section == "catalogs") {
    const size_t name_end = key.find('.', 9);
    if (key.size() <= 9 || name_end == std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument, "a catalog is a mapping of properties: '{}' ({})", key, origin);
    }
  } else if (!Contains(kKeys, key)) {
    auto error = UnknownKey(key, {kKeys.begin(), kKeys.end()});
    return tl::unexpected(std::move(error.value()).WithContext("reading " + origin));
  }
  auto expanded = Expand(value, home_);
  if (!expanded) return tl::unexpected(std::move(expanded).error().WithContext("reading " + origin));
  values_[key] = {*expanded, origin};
  return {};
}

Status Config::ReadFile(const std::string& path) {
  std::vector<std::pair<std::string, ConfigValue>> found;
  try {
    const YAML::Node root = YAML::LoadFile(path);
    if (root.IsNull()) return {};
    if (!root.IsMap()) return Fail(ErrorCode::kInvalidArgument, "a configuration file is a mapping: {}", path);
    Flatten(root, "", path, found);
  } catch (const YAML::BadFile&) {
    return Fail(ErrorCode::kNotFound, "cannot read configuration file: {}", path);
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument, "configuration file is not valid YAML: {}:{}: {}", path,
                error.mark.line + 1, error.msg);
  }
  for (const auto& [key, value] : found) FRAZIL_TRY(Set(key, value.value, value.origin));
  return {};
}

Result<Config> Config::Load(const Sources& sources) {
  Config config;
  config.home_ = FindHome();
  std::vector<std::string> files = {"/etc/frazil/frazil.yaml", config.home_ + "/frazil.yaml"};
  std::error_code ignored;
  if (!std::filesystem::exists(files[1], ignored)) {
    const std::string xdg = Environment("XDG_CONFIG_HOME");
    files[1] = (xdg.empty() ? Environment("HOME") + "/.config" : xdg) + "/frazil/frazil.yaml";
  }
  for (const std::string& file : files) {
    if (std::filesystem::exists(file, ignored)) FRAZIL_TRY(config.ReadFile(file));
  }
  if (sources.file) FRAZIL_TRY(config.ReadFile(*sources.file));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (!name.starts_with("FRAZIL_") || equals == std::string::npos) continue;
    // Other tools of the project have variables of their own (FRAZIL_HOME, FRAZIL_JOBS): only a nested key that nobody
    // knows is surely a misspelt setting.
    const std::string key = KeyOfVariable(name);
    if (name.find("__") == std::string::npos && !Contains(kKeys, key)) continue;
    FRAZIL_TRY(config.Set(key, text.substr(equals + 1), name));
  }
  for (const std::string& text : sources.overrides) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument, "-X needs key=value: '" + text + "'")
                                .WithHint("for example -X limits.memory=1GB"));
    }
    FRAZIL_TRY(config.Set(text.substr(0, equals), text.substr(equals + 1), "-X"));
  }
  return config;
}

std::string Config::Get(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second.value;
}

std::vector<std::string> Config::CatalogNames() const {
  std::set<std::string> names;
  for (const auto& [key, value] : values_) {
    if (key.starts_with("catalogs.")) names.insert(key.substr(9, key.find('.', 9) - 9));
  }
  if (names.empty()) names.insert("local");
  return {names.begin(), names.end()};
}

std::map<std::string, std::string> Config::CatalogProperties(const std::string& name) const {
  std::map<std::string, std::string> properties;
  const std::string prefix = "catalogs." + name + ".";
  for (const auto& [key, value] : values_) {
    if (key.starts_with(prefix)) properties[key.substr(prefix.size())] = value.value;
  }
  return properties;
}

}  // namespace frazil::cli
