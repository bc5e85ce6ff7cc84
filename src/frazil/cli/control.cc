#include "frazil/cli/control.h"

#include <fstream>

namespace frazil::cli {

std::string ControlAddressFile(const Config& config) { return config.home() + "/state/http.address"; }

Result<service::ControlClient> OpenControlClient(Context& context) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_ASSIGN(const service::HttpSettings http, context.http_settings());
  std::string url;
  if (http.port != 0) {
    // An address that takes connections from everywhere is reached through this machine.
    const bool is_any = http.host == "0.0.0.0" || http.host == "::";
    const std::string host = is_any ? "127.0.0.1" : http.host;
    url = fmt::format("http://{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]", http.port);
  } else {
    std::ifstream file(ControlAddressFile(*config));
    std::getline(file, url);
  }
  if (!http.is_enabled || url.empty()) {
    return tl::unexpected(Error(ErrorCode::kUnavailable, "no running frazil is known to this configuration")
                              .WithHint("frazil run starts one"));
  }
  return service::ControlClient(url, http.token);
}

}  // namespace frazil::cli
