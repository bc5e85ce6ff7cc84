#include "frazil/cli/config.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include "frazil/cli/config_keys.h"

namespace frazil::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string FindHome() {
  if (std::string home = Environment("FRAZIL_HOME"); !home.empty()) return std::filesystem::absolute(home).string();
  if (std::string data = Environment("XDG_DATA_HOME"); !data.empty()) return data + "/frazil";
  return Environment("HOME") + "/.local/share/frazil";
}

Result<std::string> ReadSecret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return Fail(ErrorCode::kInvalidArgument, "cannot read the file of '${{file:...}}': {}", path);
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

/// `${NAME}` -> the environment's value, FRAZIL_HOME included when it was not set; `${file:/path}` -> what it holds.
Result<service::Setting> Expand(const std::string& text, const std::string& home) {
  service::Setting out;
  for (size_t at = 0;;) {
    const size_t begin = text.find("${", at);
    if (begin == std::string::npos) {
      out.value += text.substr(at);
      return out;
    }
    const size_t end = text.find('}', begin);
    if (end == std::string::npos) return Fail(ErrorCode::kInvalidArgument, "'${{' without '}}': '{}'", text);
    const std::string name = text.substr(begin + 2, end - begin - 2);
    out.value += text.substr(at, begin - at);
    const char* value = std::getenv(name.c_str());
    if (name.starts_with("file:")) {
      FRAZIL_ASSIGN(const std::string secret, ReadSecret(name.substr(5)));
      out.value += secret;
      out.is_secret = true;
    } else if (value != nullptr) {
      out.value += value;
    } else if (name == "FRAZIL_HOME") {
      out.value += home;
    } else {
      return Fail(ErrorCode::kInvalidArgument, "environment variable '{}' is not set, wanted by '{}'", name, text);
    }
    at = end + 1;
  }
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
             std::vector<std::pair<std::string, service::Setting>>& out) {
  for (const auto& member : node) {
    const std::string key = prefix + member.first.as<std::string>();
    if (member.second.IsMap()) {
      Flatten(member.second, key + ".", file, out);
    } else {
      const std::string value = member.second.IsScalar() ? member.second.Scalar()
                                : member.second.IsNull() ? ""
                                                         : YAML::Dump(member.second);
      const std::string origin = fmt::format("{}:{}", file, member.first.Mark().line + 1);
      out.emplace_back(key, service::Setting{value, origin, false});
    }
  }
}

}  // namespace

Status Config::Set(const std::string& key, const std::string& value, const std::string& origin) {
  Status known = CheckConfigKey(key);
  if (!known) return tl::unexpected(std::move(known).error().WithContext("reading " + origin));
  auto expanded = Expand(value, home_);
  if (!expanded) return tl::unexpected(std::move(expanded).error().WithContext("reading " + origin));
  expanded->origin = origin;
  values_[key] = *std::move(expanded);
  return {};
}

Status Config::ReadFile(const std::string& path) {
  std::vector<std::pair<std::string, service::Setting>> found;
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
    if (name.find("__") == std::string::npos && FindConfigKey(key) == nullptr) continue;
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
  if (const std::string version = config.Get("version"); !version.empty() && version != "1") {
    return Fail(ErrorCode::kNotSupported, "configuration of version '{}' ({})", version,
                config.values_.at("version").origin);
  }
  return config;
}

std::string Config::Get(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second.value;
}

std::vector<std::string> Config::CatalogNames() const {
  std::vector<std::string> names = service::NamesBelow(values_, "catalogs");
  if (names.empty()) names.emplace_back("local");
  return names;
}

std::map<std::string, std::string> Config::CatalogProperties(const std::string& name) const {
  return service::SettingSection(values_, "catalogs." + name).All();
}

}  // namespace frazil::cli
