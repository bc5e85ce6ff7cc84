#pragma once

#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/service/pipeline_json.h"

namespace frazil::service {

/// Talks to a running `frazil run` (http_server.h). One thread.
///
/// Errors: kUnavailable (nobody answers at `url`), and what the answer says: kNotFound, kInvalidArgument, ...
class ControlClient {
 public:
  /// `url`: "http://127.0.0.1:8780".
  ControlClient(std::string url, std::string token) : url_(std::move(url)), token_(std::move(token)) {}

  Result<std::vector<PipelineRow>> Pipelines() const;
  /// `command`: "pause", "resume" or "drain".
  Status Tell(const std::string& pipeline, const std::string& command) const;
  /// The answer to a GET, as it is.
  Result<std::string> Get(const std::string& path) const;

 private:
  std::string url_;
  std::string token_;
};

}  // namespace frazil::service
