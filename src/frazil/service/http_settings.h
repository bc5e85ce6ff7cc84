#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/service/settings.h"

namespace frazil::service {

/// `http.*` of the configuration.
struct HttpSettings {
  bool is_enabled = true;
  std::string host = "127.0.0.1";
  int port = 8780;    ///< 0: any free one
  std::string token;  ///< `http.auth.token`; empty: not configured
};

/// kInvalidArgument naming the key.
Result<HttpSettings> ReadHttpSettings(const Settings& settings);

/// The token of a home folder, made (and readable by its owner only) when there is none yet: whoever can read the file may
/// command the process. kIo.
Result<std::string> TokenOfHome(const std::string& file);

}  // namespace frazil::service
