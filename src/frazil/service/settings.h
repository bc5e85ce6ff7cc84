#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::service {

/// One setting and where it came from ("/etc/frazil/frazil.yaml:12", "FRAZIL_LIMITS__MEMORY", "-X").
struct Setting {
  std::string value;
  std::string origin;
  bool is_secret = false;  ///< came out of a `${file:...}`: never to be shown
};

/// All settings of the process by dotted key.
using Settings = std::map<std::string, Setting>;

/// The value as it may be shown: "********" for secrets, and without the password where it holds a URL with one.
std::string ShownValue(const std::string& key, const Setting& setting);

/// A YAML sequence ("[a, b]", or one item a line), or a text divided at commas outside of parentheses and quotes:
/// "bucket(32, a), b" has two items. kInvalidArgument.
Result<std::vector<std::string>> ParseList(const std::string& text);

/// The settings below one dotted key, read as what they are. Errors are kInvalidArgument and name key and origin.
/// The settings must outlive it.
class SettingSection {
 public:
  /// `prefix` without its last dot: "pipelines.user-kv.commit".
  SettingSection(const Settings& settings, std::string prefix);
  const std::string& prefix() const { return prefix_; }

  bool Has(const std::string& key) const { return Find(key) != nullptr; }
  std::string Text(const std::string& key, const std::string& otherwise = "") const;
  Result<std::string> Required(const std::string& key) const;
  Result<bool> Boolean(const std::string& key, bool otherwise) const;
  Result<int64_t> Number(const std::string& key, int64_t otherwise) const;
  Result<int64_t> Bytes(const std::string& key, int64_t otherwise) const;
  Result<std::chrono::milliseconds> Duration(const std::string& key, std::chrono::milliseconds otherwise) const;
  Result<std::vector<std::string>> List(const std::string& key) const;
  /// Everything below `key`, by the rest of its key.
  std::map<std::string, std::string> Map(const std::string& key) const;
  /// Everything of this section, by the rest of its key.
  std::map<std::string, std::string> All() const { return Map(""); }
  SettingSection Below(const std::string& key) const { return {settings_, prefix_ + "." + key}; }

  /// `error` with key and origin in front: "pipelines.a.commit.interval: not a duration: '5' (file:3)".
  Error At(const std::string& key, Error error) const;

 private:
  const Setting* Find(const std::string& key) const;

  const Settings& settings_;
  std::string prefix_;
};

/// The different first parts of the keys below `prefix`: the names of catalogs, registries, pipelines.
std::vector<std::string> NamesBelow(const Settings& settings, const std::string& prefix);

}  // namespace frazil::service
