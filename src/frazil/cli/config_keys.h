#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::cli {

/// One setting that exists.
struct ConfigKey {
  /// By parts: `*` is a name that the user chose, a last `**` any rest ("pipelines.*.source.properties.**").
  std::string_view pattern;
  std::string_view default_text;  ///< for people; empty: none
  std::string_view help;
};

/// All of them, in the order of the reference.
std::span<const ConfigKey> AllConfigKeys();

/// The entry that `key` belongs to; null when there is none.
const ConfigKey* FindConfigKey(std::string_view key);

/// Ok when the key exists. kInvalidArgument with the nearest one; kNotSupported for what is designed and not built: better
/// a clear word than a setting that does nothing.
Status CheckConfigKey(const std::string& key);

}  // namespace frazil::cli
