#include "frazil/service/pipeline_json.h"

#include <nlohmann/json.hpp>

#include "frazil/base/number_text.h"

namespace frazil::service {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(nullptr); }

Json OffsetsJson(const ingest::SourcePositions& positions) {
  Json offsets = Json::object();
  for (const auto& [partition, offset] : positions) offsets[std::to_string(partition)] = offset.next;
  return offsets;
}

/// Records read and not committed: the next start reads them again.
Json ReplayJson(const ingest::PipelineStatus& status) {
  Json replay = Json::object();
  for (const auto& [partition, offset] : status.read) {
    const auto committed = status.committed.find(partition);
    const int64_t from = committed == status.committed.end() ? 0 : committed->second.next;
    if (offset.next > from) replay[std::to_string(partition)] = {{"from", from}, {"to", offset.next}};
  }
  return replay;
}

Json ReportJson(const PipelineReport& report, int64_t now_ms) {
  const ingest::PipelineStatus& status = report.status;
  return {{"id", report.id},
          {"topic", report.topic},
          {"table", report.catalog + "." + report.namespace_text + "." + report.table},
          {"state", PipelineStateName(status.state)},
          {"reason", status.reason},
          {"is_stale", report.IsStale(now_ms)},
          {"commit_interval_ms", report.commit_interval.count()},
          {"started_ms", report.started_ms},
          {"last_commit_ms", OrNull(status.last_commit_ms)},
          {"valid_through_ms", OrNull(status.valid_through_ms)},
          {"lag_records", OrNull(status.lag_records)},
          {"records", status.records},
          {"bytes", status.bytes},
          {"inserts", status.inserts},
          {"updates", status.updates},
          {"deletes", status.deletes},
          {"poison", status.poison},
          {"poison_reasons", status.poison_reasons},
          {"first_poison", status.first_poison},
          {"dead_letters", status.dead_letters},
          {"commits", status.commits},
          {"commit_conflicts", status.commit_conflicts},
          {"commit_retries", status.commit_retries},
          {"commit_failures", status.commit_failures},
          {"last_commit_seconds", status.last_commit_seconds},
          {"commit_seconds", status.commit_seconds_sum},
          {"longest_commit_seconds", status.longest_commit_seconds},
          {"data_files", status.data_files},
          {"vectors", status.vectors},
          {"row_bytes", status.row_bytes},
          {"vector_bytes", status.vector_bytes},
          {"buffered_records", status.buffered_records},
          {"buffered_bytes", status.buffered_bytes},
          {"backpressure_seconds", status.backpressure_seconds},
          {"stage_cpu_seconds", status.stage_cpu_seconds},
          {"committed", OffsetsJson(status.committed)},
          {"read", OffsetsJson(status.read)},
          {"replay", ReplayJson(status)}};
}

/// Texts come from brokers and records: bytes that are not UTF-8 are replaced.
std::string Dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<int64_t> Number(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<int64_t>();
}

std::string Text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

}  // namespace

std::string WritePipelineJson(const PipelineReport& report, int64_t now_ms) {
  return Dumped(ReportJson(report, now_ms));
}

std::string WritePipelinesJson(const std::vector<PipelineReport>& reports, int64_t now_ms) {
  Json pipelines = Json::array();
  for (const PipelineReport& report : reports) pipelines.push_back(ReportJson(report, now_ms));
  return Dumped({{"pipelines", std::move(pipelines)}});
}

Result<std::vector<PipelineRow>> ParsePipelinesJson(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  const auto list = root.is_object() ? root.find("pipelines") : root.end();
  if (!root.is_object() || list == root.end() || !list->is_array()) {
    return Fail(ErrorCode::kInvalidArgument, "not an answer of frazil: '{}'", json.substr(0, 200));
  }
  std::vector<PipelineRow> rows;
  for (const Json& object : *list) {
    if (!object.is_object()) return Fail(ErrorCode::kInvalidArgument, "not a pipeline of frazil: '{}'", Dumped(object));
    PipelineRow row{.id = Text(object, "id"),
                    .topic = Text(object, "topic"),
                    .table = Text(object, "table"),
                    .state = Text(object, "state"),
                    .reason = Text(object, "reason"),
                    .lag_records = Number(object, "lag_records"),
                    .last_commit_ms = Number(object, "last_commit_ms"),
                    .valid_through_ms = Number(object, "valid_through_ms"),
                    .commit_interval_ms = Number(object, "commit_interval_ms").value_or(0),
                    .is_stale = object.value("is_stale", Json(false)) == Json(true),
                    .committed = {}};
    if (const auto committed = object.find("committed"); committed != object.end() && committed->is_object()) {
      for (const auto& [partition, next] : committed->items()) {
        const auto number = ReadNumber<int32_t>(partition);
        if (number && next.is_number()) row.committed[*number] = next.get<int64_t>();
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string WritePipelineRowsJson(const std::vector<PipelineRow>& rows) {
  Json pipelines = Json::array();
  for (const PipelineRow& row : rows) {
    Json committed = Json::object();
    for (const auto& [partition, next] : row.committed) committed[std::to_string(partition)] = next;
    pipelines.push_back({{"id", row.id},
                         {"topic", row.topic},
                         {"table", row.table},
                         {"state", row.state},
                         {"reason", row.reason},
                         {"is_stale", row.is_stale},
                         {"commit_interval_ms", row.commit_interval_ms},
                         {"last_commit_ms", OrNull(row.last_commit_ms)},
                         {"valid_through_ms", OrNull(row.valid_through_ms)},
                         {"lag_records", OrNull(row.lag_records)},
                         {"committed", std::move(committed)}});
  }
  return Dumped({{"pipelines", std::move(pipelines)}});
}

std::string WriteErrorJson(const Error& error) { return Dumped({{"error", error.ToString()}}); }

std::string ErrorOfJson(const std::string& text) {
  const Json root = Json::parse(text, nullptr, false);
  const std::string error = root.is_object() ? Text(root, "error") : "";
  return error.empty() ? text : error;
}

}  // namespace frazil::service
