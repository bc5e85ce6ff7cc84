#include "frazil/ingest/registry_client.h"

#include <mutex>
#include <string_view>

#include "frazil/ingest/registry_json.h"
#include "frazil/spec/ascii.h"

namespace frazil::ingest {
namespace {

constexpr long kFirstServerError = 500;
constexpr char kCredentialsHint[] = "see basic-auth.user-info or bearer-auth.token of the registry";
constexpr char kContentType[] = "application/vnd.schemaregistry.v1+json";

using SchemaPointer = std::shared_ptr<const RegisteredSchema>;

/// 408 and 429 are a server's ways to say later; 3xx is not followed.
bool MeansLater(long status) { return status >= kFirstServerError || status == 408 || status == 429; }

/// The answer is none of a registry's: a proxy whose server is away, or another server. No record is to blame for it.
tl::unexpected<Error> NoRegistry(const std::string& what) {
  return tl::unexpected(
      Error(ErrorCode::kUnavailable, what).WithHint("no schema registry answers so: look at its url, and at proxies"));
}

class RegistryClient final : public SchemaRegistry {
 public:
  explicit RegistryClient(RegistryOptions options)
      : urls_(std::move(options.urls)),
        http_(std::move(options.http)),
        counters_(options.counters ? std::move(options.counters) : std::make_shared<RequestCounters>()) {}

  Result<SchemaPointer> ById(int32_t id) override {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = by_id_.find(id); known != by_id_.end()) return known->second;
    }
    FRAZIL_ASSIGN(RegisteredSchema schema, SchemaAt(fmt::format("/schemas/ids/{}", id)));
    schema.id = id;
    return Keep(std::move(schema));
  }

  Result<SchemaPointer> BySubject(const std::string& subject, int version) override {
    return Version(subject, std::to_string(version));
  }
  Result<SchemaPointer> Latest(const std::string& subject) override { return Version(subject, "latest"); }

  Result<int32_t> Register(const std::string& subject, const RegisteredSchema& schema) override {
    FRAZIL_ASSIGN(const std::string body,
                  Ask("POST", fmt::format("/subjects/{}/versions", UrlEscape(subject)), WriteSchemaJson(schema)));
    return ParseSchemaId(body);
  }

 private:
  Result<RegisteredSchema> SchemaAt(const std::string& path) {
    FRAZIL_ASSIGN(const std::string body, Ask("GET", path, ""));
    auto schema = ParseRegisteredSchema(body);
    if (!schema) return NoRegistry(schema.error().message());  // a page of somebody who answers 200 to everything
    return schema;
  }
  Result<SchemaPointer> Version(const std::string& subject, const std::string& version) {
    FRAZIL_ASSIGN(RegisteredSchema schema,
                  SchemaAt(fmt::format("/subjects/{}/versions/{}", UrlEscape(subject), version)));
    if (schema.id == 0) return NoRegistry("the schema registry's answer has no id");
    return Keep(std::move(schema));
  }

  SchemaPointer Keep(RegisteredSchema schema) {
    auto kept = std::make_shared<const RegisteredSchema>(std::move(schema));
    const std::lock_guard lock(mutex_);
    return by_id_.try_emplace(kept->id, kept).first->second;
  }

  /// The body of a good answer; begins with the server that answered last.
  Result<std::string> Ask(const std::string& method, const std::string& path, const std::string& body) {
    size_t first = 0;
    {
      const std::lock_guard lock(mutex_);
      first = answering_;
    }
    Result<std::string> answer = Fail(ErrorCode::kInternal, "no schema registry");
    for (size_t i = 0; i < urls_.size(); ++i) {
      const size_t server = (first + i) % urls_.size();
      answer = Counted(*counters_, method, 0, [&] { return AskOne(urls_[server] + path, method, body); });
      if (answer || answer.error().code() != ErrorCode::kUnavailable) {
        const std::lock_guard lock(mutex_);
        answering_ = server;
        return answer;
      }
    }
    return answer;
  }

  Result<std::string> AskOne(const std::string& url, const std::string& method, const std::string& body) {
    HttpRequest request{method, url, {{"Accept", kContentType}}, body};
    if (!body.empty()) request.headers["Content-Type"] = kContentType;
    FRAZIL_ASSIGN(HttpResponse response, http_.Send(request));
    if (response.status >= 200 && response.status < 300) return std::move(response.body);
    std::string said = ErrorMessageOf(response.body);
    if (!said.empty()) said = ": " + said;
    const std::string what =
        fmt::format("schema registry says {} to {} {}{}", response.status, method, UrlToShow(url), said);
    if (response.status == 401 || response.status == 403) {
      return tl::unexpected(Error(ErrorCode::kUnavailable, what).WithHint(kCredentialsHint));
    }
    if (MeansLater(response.status)) return Fail(ErrorCode::kUnavailable, "{}", what);
    if (!IsRegistryError(response.body)) return NoRegistry(what);
    if (response.status == 404) return Fail(ErrorCode::kNotFound, "{}", what);
    return Fail(ErrorCode::kInvalidArgument, "{}", what);
  }

  const std::vector<std::string> urls_;
  HttpClient http_;
  const std::shared_ptr<RequestCounters> counters_;
  std::mutex mutex_;
  std::map<int32_t, SchemaPointer> by_id_;  // by mutex_
  size_t answering_ = 0;                    // by mutex_
};

/// Takes "user:password@" out of a URL.
std::string TakeUserInfo(std::string& url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t path = std::min(url.find('/', begin), url.size());
  const size_t at = url.rfind('@', path);
  if (at == std::string::npos || at < begin || at > path) return "";
  std::string user_info = url.substr(begin, at - begin);
  url.erase(begin, at + 1 - begin);
  return user_info;
}

}  // namespace

Result<RegistryOptions> ParseRegistryOptions(const std::map<std::string, std::string>& options) {
  RegistryOptions parsed;
  for (const auto& [name, value] : options) {
    if (name == "url") {
      for (std::string_view rest = value; !rest.empty();) {
        std::string url(spec::Trim(rest.substr(0, rest.find(','))));
        rest.remove_prefix(
            std::min(rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
        if (url.empty()) continue;
        if (!url.starts_with("http://") && !url.starts_with("https://")) {
          return Fail(ErrorCode::kInvalidArgument, "url of a schema registry has to begin with http:// or https://: {}",
                      UrlToShow(url));
        }
        if (std::string user = TakeUserInfo(url); !user.empty() && parsed.http.user_info.empty()) {
          parsed.http.user_info = std::move(user);
        }
        while (url.ends_with('/')) url.pop_back();
        parsed.urls.push_back(std::move(url));
      }
    } else if (name == "basic-auth.user-info") {
      parsed.http.user_info = value;
    } else if (name == "bearer-auth.token") {
      parsed.http.bearer_token = value;
    } else if (name == "basic-auth.credentials-source") {
      if (value != "USER_INFO" && value != "URL") {
        return Fail(ErrorCode::kNotSupported, "basic-auth.credentials-source {}: USER_INFO and URL can be used", value);
      }
    } else if (name == "bearer-auth.credentials-source") {
      if (value != "STATIC_TOKEN") {
        return Fail(ErrorCode::kNotSupported, "bearer-auth.credentials-source {}: STATIC_TOKEN can be used", value);
      }
    } else if (name == "ssl.ca.location" || name == "ssl.truststore.location") {
      if (name == "ssl.truststore.location" && !spec::ToLower(value).ends_with(".pem")) {
        return tl::unexpected(
            Error(ErrorCode::kInvalidArgument,
                  fmt::format("ssl.truststore.location of a schema registry has to be a PEM file: {}", value))
                .WithHint("keytool -list -rfc -keystore FILE > ca.pem"));
      }
      parsed.http.ca_file = value;
    } else if (name == "ssl.certificate.location") {
      parsed.http.certificate_file = value;
    } else if (name == "ssl.key.location") {
      parsed.http.key_file = value;
    } else if (name == "ssl.key.password") {
      parsed.http.key_password = value;
    } else if (name == "ssl.keystore.location" || name == "ssl.keystore.password" || name == "ssl.keystore.type") {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, fmt::format("{} of a schema registry cannot be used", name))
              .WithHint("PEM files: openssl pkcs12 -in FILE -nodes -out client.pem, and ssl.certificate.location and "
                        "ssl.key.location: client.pem"));
    } else if (name == "ssl.truststore.password" || name == "ssl.truststore.type") {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, fmt::format("{} of a schema registry cannot be used", name))
              .WithHint("ssl.truststore.location is a PEM file, which needs none: remove it"));
    } else {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, fmt::format("unknown option of a schema registry: {}", name))
              .WithHint("url, basic-auth.user-info, bearer-auth.token, ssl.ca.location, ssl.certificate.location, "
                        "ssl.key.location and ssl.key.password can be used"));
    }
  }
  if (parsed.urls.empty()) return Fail(ErrorCode::kInvalidArgument, "url of the schema registry is missing");
  if (!parsed.http.user_info.empty() && !parsed.http.bearer_token.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "a schema registry takes basic-auth or bearer-auth, not both");
  }
  return parsed;
}

Status JudgeRegistryAnswer(const HttpResponse& answer, const std::string& url) {
  const bool is_good = answer.status >= 200 && answer.status < 300;
  const bool answers =
      answer.status == 403 || (is_good ? ParseRegisteredSchema(answer.body).has_value() : IsRegistryError(answer.body));
  if (answer.status != 401 && !MeansLater(answer.status) && answers) return {};
  std::string said = ErrorMessageOf(answer.body);
  if (!said.empty()) said = ": " + said;
  const std::string what = fmt::format("schema registry says {} to GET {}{}", answer.status, UrlToShow(url), said);
  if (answer.status != 401 && !MeansLater(answer.status)) return NoRegistry(what);
  Error error(ErrorCode::kUnavailable, what);
  return tl::unexpected(answer.status == 401 ? std::move(error).WithHint(kCredentialsHint) : std::move(error));
}

Status CheckRegistryAnswers(const RegistryOptions& options, const std::string& subject) {
  HttpClient http(options.http);
  Status judged = Fail(ErrorCode::kInvalidArgument, "url of the schema registry is missing");
  for (const std::string& server : options.urls) {
    const std::string url = fmt::format("{}/subjects/{}/versions/latest", server, UrlEscape(subject));
    const Result<HttpResponse> answer = http.Send({"GET", url, {{"Accept", kContentType}}, ""});
    judged = answer ? JudgeRegistryAnswer(*answer, url) : tl::unexpected(answer.error());
    if (judged || judged.error().code() != ErrorCode::kUnavailable) return judged;
  }
  return judged;
}

Result<std::unique_ptr<SchemaRegistry>> MakeRegistryClient(RegistryOptions options) {
  if (options.urls.empty()) return Fail(ErrorCode::kInvalidArgument, "url of the schema registry is missing");
  return std::make_unique<RegistryClient>(std::move(options));
}

}  // namespace frazil::ingest
