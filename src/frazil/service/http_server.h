#pragma once

#include <functional>
#include <memory>
#include <string>

#include "frazil/base/result.h"
#include "frazil/service/http_settings.h"
#include "frazil/service/pipeline_set.h"

namespace frazil::service {

/// The process's HTTP endpoints, served on threads of their own until the object goes (docs/reference/cli.md):
///
///   GET  /metrics                        Prometheus's text form
///   GET  /livez                          200 while the process answers
///   GET  /healthz                        503 when a pipeline has failed
///   GET  /readyz                         503 when one has failed, is not connected or is stale; says which and why
///   GET  /v1/pipelines[/ID]              JSON
///   POST /v1/pipelines/ID/pause|resume|drain
///
/// Who may ask: http_access.h. Answers to errors are `{"error": "..."}`.
class HttpServer {
 public:
  /// `pipelines` must outlive it; `metrics` is called on its threads. kUnavailable when the address cannot be had.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpSettings& settings, PipelineSet& pipelines,
                                                   std::function<std::string()> metrics);
  ~HttpServer();

  /// "http://127.0.0.1:8780"; the port that was found when any was asked for.
  const std::string& url() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::service
