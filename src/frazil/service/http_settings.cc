#include "frazil/service/http_settings.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "frazil/base/uuid.h"

namespace frazil::service {
namespace {

std::string ReadLine(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

Result<HttpSettings> ReadHttpSettings(const Settings& settings) {
  const SettingSection section(settings, "http");
  HttpSettings result;
  result.token = section.Text("auth.token");
  if (!section.Has("listen")) return result;
  const std::string listen = section.Text("listen");
  if (listen.empty()) {
    result.is_enabled = false;
    return result;
  }
  const size_t colon = listen.rfind(':');
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  result.host = listen.substr(0, std::min(colon, listen.size()));
  if (result.host.starts_with('[') && result.host.ends_with(']')) {
    result.host = result.host.substr(1, result.host.size() - 2);
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (error != std::errc() || end != port.data() + port.size() || result.port < 0 || result.port > 65535 ||
      result.host.empty()) {
    return tl::unexpected(section.At(
        "listen",
        Error(ErrorCode::kInvalidArgument, "not an address: '" + listen + "'").WithHint("for example 127.0.0.1:8780")));
  }
  return result;
}

Result<std::string> TokenOfHome(const std::string& file) {
  if (std::string token = ReadLine(file); !token.empty()) return token;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  // Made under another name and linked: two processes that start at once agree on one token.
  const std::string token = Uuid::Random().ToString();
  const std::string made = file + "." + Uuid::Random().ToString();
  const int descriptor = open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return Fail(ErrorCode::kIo, "cannot write the token file: {}: {}", file, std::strerror(errno));
  const std::string line = token + "\n";
  const bool is_written = write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(descriptor);
  const bool is_linked = is_written && link(made.c_str(), file.c_str()) == 0;
  const int link_error = errno;
  unlink(made.c_str());
  if (is_linked) return token;
  if (std::string other = ReadLine(file); !other.empty()) return other;
  return Fail(ErrorCode::kIo, "cannot write the token file: {}: {}", file, std::strerror(link_error));
}

}  // namespace frazil::service
