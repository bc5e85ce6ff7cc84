#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/service/settings.h"

namespace frazil::cli {

/// The process's settings: built-in < /etc/frazil/frazil.yaml < the user's file < -c FILE < FRAZIL_* < -X
/// (design surface.md 2.8). The user's file is $FRAZIL_HOME/frazil.yaml, else ~/.config/frazil/frazil.yaml.
///
/// Unknown keys are errors that name the nearest known one; settings that are designed but not built yet are
/// kNotSupported (config_keys.h). In values `${NAME}` is the environment's and `${file:/path}` what the file says, without
/// its last line break: for secrets. Immutable.
class Config {
 public:
  struct Sources {
    std::optional<std::string> file;     ///< -c
    std::vector<std::string> overrides;  ///< -X key=value
  };
  static Result<Config> Load(const Sources& sources);

  /// Folder of catalog, warehouse and local state: FRAZIL_HOME, else $XDG_DATA_HOME/frazil, else ~/.local/share/frazil.
  const std::string& home() const { return home_; }

  /// A value by dotted key; the default's when nobody set it. Empty when there is none.
  std::string Get(const std::string& key) const;
  /// Names under `catalogs`, `local` when none is configured.
  std::vector<std::string> CatalogNames() const;
  /// Properties of one catalog, e.g. {"type": "sql", "uri": ...}.
  std::map<std::string, std::string> CatalogProperties(const std::string& name) const;
  const service::Settings& values() const { return values_; }

 private:
  Config() = default;
  Status ReadFile(const std::string& path);
  Status Set(const std::string& key, const std::string& value, const std::string& origin);

  std::string home_;
  service::Settings values_;
};

}  // namespace frazil::cli
