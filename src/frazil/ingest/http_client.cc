#include "frazil/ingest/http_client.h"

#include <curl/curl.h>

#include <cctype>
#include <mutex>

namespace frazil::ingest {
namespace {

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeHeaders>;

/// Once for the process, before the first handle: libcurl's own initialisation is not thread-safe in all its parts.
void InitialiseLibrary() {
  static const CURLcode kDone = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(kDone);
}

size_t AppendBody(char* data, size_t size, size_t count, void* target) {
  auto& body = *static_cast<std::string*>(target);
  if (body.size() + size * count > HttpClient::kMaxBodyBytes) return 0;  // ends the transfer
  body.append(data, size * count);
  return size * count;
}

ErrorCode CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE: return ErrorCode::kInvalidArgument;
    case CURLE_WRITE_ERROR: return ErrorCode::kCorruptData;
    default: return ErrorCode::kUnavailable;
  }
}

void SetText(CURL* handle, CURLoption option, const std::string& value) {
  if (!value.empty()) curl_easy_setopt(handle, option, value.c_str());
}

}  // namespace

struct HttpClient::Impl {
  const HttpOptions options;
  std::mutex mutex;
  std::unique_ptr<CURL, FreeHandle> handle;
};

HttpClient::HttpClient(HttpOptions options) : impl_(new Impl{std::move(options), {}, nullptr}) {
  InitialiseLibrary();
  impl_->handle.reset(curl_easy_init());
}

HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::Send(const HttpRequest& request) {
  const HttpOptions& options = impl_->options;
  const std::lock_guard lock(impl_->mutex);
  CURL* handle = impl_->handle.get();
  if (handle == nullptr) return Fail(ErrorCode::kInternal, "libcurl gives no handle");
  curl_easy_reset(handle);  // connections stay

  HttpResponse response;
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method != "GET" && request.method != "DELETE") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
  }
  Headers headers;
  for (const auto& [name, value] : request.headers) {
    headers.reset(curl_slist_append(headers.release(), fmt::format("{}: {}", name, value).c_str()));
  }
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &AppendBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &response.body);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
  // Credentials never go to another host than the one that was named: redirects are not followed.
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  if (!options.user_info.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(handle, CURLOPT_USERPWD, options.user_info.c_str());
  } else if (!options.bearer_token.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(handle, CURLOPT_XOAUTH2_BEARER, options.bearer_token.c_str());
  }
  SetText(handle, CURLOPT_CAINFO, options.ca_file);
  SetText(handle, CURLOPT_SSLCERT, options.certificate_file);
  SetText(handle, CURLOPT_SSLKEY, options.key_file);
  SetText(handle, CURLOPT_KEYPASSWD, options.key_password);
  if (!options.verify_host) curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);

  const CURLcode code = curl_easy_perform(handle);
  if (code != CURLE_OK) {
    if (code == CURLE_WRITE_ERROR) {
      return Fail(ErrorCode::kCorruptData, "answer longer than {} MiB from {}", kMaxBodyBytes >> 20,
                  UrlToShow(request.url));
    }
    return Fail(CodeOf(code), "no answer from {}: {}", UrlToShow(request.url),
                *reason == '\0' ? curl_easy_strerror(code) : reason);
  }
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &response.status);
  return response;
}

std::string UrlToShow(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = shown.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t path = std::min(shown.find('/', begin), shown.size());
  // The last '@' before the path: a password may hold one that nobody escaped.
  if (const size_t at = shown.rfind('@', path); at != std::string::npos && at >= begin && at < path) {
    shown.erase(begin, at + 1 - begin);
  }
  return shown;
}

std::string UrlEscape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte) != 0) || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", byte);
    }
  }
  return escaped;
}

}  // namespace frazil::ingest
