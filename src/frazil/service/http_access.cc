#include "frazil/service/http_access.h"

#include <string_view>

namespace frazil::service {
namespace {

/// Takes equally long wherever the texts differ.
bool AreEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

/// The name in "localhost:8780" or "[::1]:8780".
std::string HostName(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') == std::string::npos ? 0 : host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

bool IsLoopback(const std::string& address) {
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view text(address);
  const std::string_view plain = text.starts_with(kMapped) ? text.substr(kMapped.size()) : text;
  return address == "::1" ||
         (plain.starts_with("127.") && plain.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool IsAllowed(const HttpRequestOrigin& origin, const std::string& token) {
  constexpr std::string_view kBearer = "Bearer ";
  if (!token.empty() && origin.authorization.starts_with(kBearer) &&
      AreEqual(std::string_view(origin.authorization).substr(kBearer.size()), token)) {
    return true;
  }
  const std::string name = HostName(origin.host);
  return origin.is_read && IsLoopback(origin.peer_address) && (name == "localhost" || IsLoopback(name));
}

}  // namespace frazil::service
