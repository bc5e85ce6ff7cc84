#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::ingest {

/// How servers are reached and who we are there. Nothing of it that is secret ever stands in a message.
struct HttpOptions {
  std::string user_info;  ///< "user:password" for basic authentication; empty: none
  std::string bearer_token;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds timeout{20'000};  ///< of a whole request
  /// PEM files; empty: the system's certificates, no client certificate.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string key_password;
  bool verify_host = true;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::map<std::string, std::string> headers;
  std::string body;
};

struct HttpResponse {
  long status = 0;
  std::string body;
};

/// One request at a time over connections that are kept. Thread-safe: callers wait for each other.
class HttpClient {
 public:
  static constexpr size_t kMaxBodyBytes = size_t{64} << 20;

  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Any answer of a server, whatever its status. kUnavailable when none came, with reason and URL; kInvalidArgument for a
  /// URL that is none and for files that cannot be used; kCorruptData for a body over kMaxBodyBytes.
  Result<HttpResponse> Send(const HttpRequest& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The URL without user, password, query and fragment: what may be shown.
std::string UrlToShow(const std::string& url);
/// The text with every byte that is not unreserved in a URL's path segment escaped.
std::string UrlEscape(const std::string& text);

}  // namespace frazil::ingest
