#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/service/pipeline_set.h"

namespace frazil::service {

/// The reports as `{"pipelines": [...]}` on one line: GET /v1/pipelines and the exit report (docs/reference/cli.md). Members
/// are only ever added.
std::string WritePipelinesJson(const std::vector<PipelineReport>& reports, int64_t now_ms);
std::string WritePipelineJson(const PipelineReport& report, int64_t now_ms);

/// One pipeline of such a text, as far as lists of pipelines show it.
struct PipelineRow {
  std::string id;
  std::string topic;
  std::string table;  ///< catalog.namespace.table
  std::string state;
  std::string reason;
  std::optional<int64_t> lag_records;
  std::optional<int64_t> last_commit_ms;
  std::optional<int64_t> valid_through_ms;
  int64_t commit_interval_ms = 0;
  bool is_stale = false;
  std::map<int32_t, int64_t> committed;
};
/// kInvalidArgument when the text is none of ours.
Result<std::vector<PipelineRow>> ParsePipelinesJson(std::string_view json);
/// The same form, of rows that no running process gave.
std::string WritePipelineRowsJson(const std::vector<PipelineRow>& rows);

/// `{"error": "..."}`, and what such an answer says; the text itself when it is no such object.
std::string WriteErrorJson(const Error& error);
std::string ErrorOfJson(const std::string& text);

}  // namespace frazil::service
