#include "frazil/service/control_client.h"

#include <httplib.h>

namespace frazil::service {
namespace {

ErrorCode CodeOf(int status) {
  switch (status) {
    case 404: return ErrorCode::kNotFound;
    case 401:
    case 409: return ErrorCode::kInvalidArgument;
    case 503: return ErrorCode::kUnavailable;
    default: return ErrorCode::kInternal;
  }
}

httplib::Client ClientFor(const std::string& url) {
  httplib::Client client(url);
  client.set_connection_timeout(2);
  client.set_read_timeout(30);
  return client;
}

httplib::Headers HeadersWith(const std::string& token) {
  if (token.empty()) return {};
  return {{"Authorization", "Bearer " + token}};
}

Result<std::string> Body(const httplib::Result& answer, const std::string& url) {
  if (!answer) {
    return tl::unexpected(Error(ErrorCode::kUnavailable,
                                fmt::format("no frazil answers at {}: {}", url, httplib::to_string(answer.error())))
                              .WithHint("is frazil run running with this configuration?"));
  }
  if (answer->status >= 200 && answer->status < 300) return answer->body;
  return Fail(CodeOf(answer->status), "{}", ErrorOfJson(answer->body));
}

}  // namespace

Result<std::string> ControlClient::Get(const std::string& path) const {
  return Body(ClientFor(url_).Get(path, HeadersWith(token_)), url_);
}

Result<std::vector<PipelineRow>> ControlClient::Pipelines() const {
  FRAZIL_ASSIGN(const std::string body, Get("/v1/pipelines"));
  return ParsePipelinesJson(body);
}

Status ControlClient::Tell(const std::string& pipeline, const std::string& command) const {
  const std::string path = "/v1/pipelines/" + pipeline + "/" + command;
  FRAZIL_TRY(Body(ClientFor(url_).Post(path, HeadersWith(token_), "", "application/json"), url_));
  return {};
}

}  // namespace frazil::service
