#pragma once

#include <string>

namespace frazil::service {

/// What of a request decides whether it may be answered.
struct HttpRequestOrigin {
  bool is_read = true;        ///< GET or HEAD
  std::string peer_address;   ///< of the connection
  std::string host;           ///< `Host` header
  std::string authorization;  ///< `Authorization` header
};

/// Whether a request may be answered: it carries the token, or it reads and comes from this machine (decisions.md,
/// "Endpoints"). A page of a foreign site that a browser on this machine has open also comes from this machine, but under
/// the foreign site's name in `Host`.
bool IsAllowed(const HttpRequestOrigin& origin, const std::string& token);

/// "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1".
bool IsLoopback(const std::string& address);

}  // namespace frazil::service
