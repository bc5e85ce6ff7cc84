#include "frazil/service/http_server.h"

#include <thread>

#include <httplib.h>

#include "frazil/service/http_access.h"
#include "frazil/service/pipeline_json.h"

namespace frazil::service {
namespace {

using ingest::PipelineState;

constexpr char kJson[] = "application/json";
constexpr char kText[] = "text/plain; charset=utf-8";

int HttpStatus(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kInvalidArgument: return 409;
    case ErrorCode::kUnavailable: return 503;
    default: return 500;
  }
}

void AnswerError(httplib::Response& response, const Error& error) {
  response.status = HttpStatus(error);
  response.set_content(WriteErrorJson(error), kJson);
}

/// Lines "pipeline: what is wrong"; empty when all is well.
std::string WhatIsWrong(const PipelineSet& pipelines, bool asks_ready) {
  std::string lines;
  for (const PipelineReport& report : pipelines.Reports()) {
    const PipelineState state = report.status.state;
    const bool has_failed = state == PipelineState::kFailed;
    const bool is_connecting = state == PipelineState::kStarting || state == PipelineState::kWaiting;
    const bool is_stale = report.IsStale(pipelines.NowMs());
    if (!has_failed && !(asks_ready && (is_connecting || is_stale))) continue;
    const std::string reason = report.status.reason.empty() ? "" : ": " + report.status.reason;
    const std::string what = has_failed ? "failed"
                             : is_stale ? "the last commit is older than 12 intervals"
                                        : PipelineStateName(state);
    lines += fmt::format("{}: {}{}\n", report.id, what, reason);
  }
  return lines;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(std::string token, PipelineSet& pipelines, std::function<std::string()> metrics)
      : token_(std::move(token)), pipelines_(pipelines), metrics_(std::move(metrics)) {
    constexpr size_t kThreads = 4;
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };  // httplib owns it
    server_.set_keep_alive_timeout(5);
    // The library's own choice (SO_REUSEPORT) lets a second process listen on the same port, each hearing half the requests.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) { return Admit(request, response); });
    AddRoutes();
  }

  Status Listen(const HttpSettings& settings) {
    const int port = settings.port == 0                                   ? server_.bind_to_any_port(settings.host)
                     : server_.bind_to_port(settings.host, settings.port) ? settings.port
                                                                          : -1;
    if (port < 0) {
      return tl::unexpected(
          Error(ErrorCode::kUnavailable, fmt::format("cannot listen on {}:{}", settings.host, settings.port))
              .WithHint("another process has it? set http.listen to another address, or to '' for none"));
    }
    const bool is_v6 = settings.host.find(':') != std::string::npos;
    url_ = fmt::format("http://{}:{}", is_v6 ? "[" + settings.host + "]" : settings.host, port);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // The socket takes connections already; but stop() is heard only by a server that runs.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }

  ~Impl() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  const std::string& url() const { return url_; }

 private:
  httplib::Server::HandlerResponse Admit(const httplib::Request& request, httplib::Response& response) const {
    const HttpRequestOrigin origin{.is_read = request.method == "GET" || request.method == "HEAD",
                                   .peer_address = request.remote_addr,
                                   .host = request.get_header_value("Host"),
                                   .authorization = request.get_header_value("Authorization")};
    if (IsAllowed(origin, token_)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 401;
    response.set_header("WWW-Authenticate", "Bearer");
    response.set_content(WriteErrorJson(Error(ErrorCode::kInvalidArgument, "the token is needed")
                                            .WithHint("Authorization: Bearer ..., see http.auth.token")),
                         kJson);
    return httplib::Server::HandlerResponse::Handled;
  }

  void AddRoutes() {
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics_(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.Get("/livez",
                [](const httplib::Request&, httplib::Response& response) { response.set_content("ok\n", kText); });
    AddHealth("/healthz", false);
    AddHealth("/readyz", true);
    server_.Get("/v1/pipelines", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(WritePipelinesJson(pipelines_.Reports(), pipelines_.NowMs()) + "\n", kJson);
    });
    server_.Get("/v1/pipelines/([^/]+)", [this](const httplib::Request& request, httplib::Response& response) {
      Show(request.matches[1], response);
    });
    server_.Post("/v1/pipelines/([^/]+)/(pause|resume|drain)",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   Tell(request.matches[1], request.matches[2], response);
                 });
    server_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      response.set_content(
          WriteErrorJson(Error(ErrorCode::kNotFound, request.method + " " + request.path + ": no such endpoint")),
          kJson);
    });
  }

  void AddHealth(const char* path, bool asks_ready) {
    server_.Get(path, [this, asks_ready](const httplib::Request&, httplib::Response& response) {
      const std::string wrong = WhatIsWrong(pipelines_, asks_ready);
      response.status = wrong.empty() ? 200 : 503;
      response.set_content(wrong.empty() ? "ok\n" : wrong, kText);
    });
  }

  void Show(const std::string& id, httplib::Response& response) const {
    for (const PipelineReport& report : pipelines_.Reports()) {
      if (report.id != id) continue;
      response.set_content(WritePipelineJson(report, pipelines_.NowMs()) + "\n", kJson);
      return;
    }
    AnswerError(response, Error(ErrorCode::kNotFound, "pipeline not found: '" + id + "'"));
  }

  void Tell(const std::string& id, const std::string& command, httplib::Response& response) {
    using Command = PipelineSet::Command;
    const Command what = command == "pause"    ? Command::kPause
                         : command == "resume" ? Command::kResume
                                               : Command::kDrain;
    const Status told = pipelines_.Tell(id, what);
    if (!told) return AnswerError(response, told.error());
    response.status = 202;
    Show(id, response);
  }

  const std::string token_;
  PipelineSet& pipelines_;
  const std::function<std::string()> metrics_;
  httplib::Server server_;
  std::string url_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
const std::string& HttpServer::url() const { return impl_->url(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpSettings& settings, PipelineSet& pipelines,
                                                      std::function<std::string()> metrics) {
  auto impl = std::make_unique<Impl>(settings.token, pipelines, std::move(metrics));
  FRAZIL_TRY(impl->Listen(settings));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace frazil::service
