#include "frazil/service/metrics.h"

#include <array>
#include <limits>
#include <regex>

#include <prometheus/text_serializer.h>

#include "frazil/base/version.h"
#include "frazil/service/process_metrics.h"

namespace frazil::service {
namespace {

using ingest::PipelineState;
using ingest::PipelineStatus;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<ClientMetric::Label>;

Labels operator+(Labels labels, ClientMetric::Label label) {
  labels.push_back(std::move(label));
  return labels;
}

/// A family under construction.
class Family {
 public:
  Family(MetricType type, std::string name, std::string help) : family_{std::move(name), std::move(help), type, {}} {}

  void Add(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    family_.metric.push_back(std::move(metric));
  }
  void Add(Labels labels, int64_t value) { Add(std::move(labels), static_cast<double>(value)); }
  void AddHistogram(Labels labels, const std::vector<std::pair<double, int64_t>>& buckets, double sum) {
    ClientMetric metric;
    metric.label = std::move(labels);
    uint64_t total = 0;
    for (const auto& [bound, count] : buckets) {
      total += static_cast<uint64_t>(count);
      metric.histogram.bucket.push_back({total, bound});
    }
    if (buckets.empty() || buckets.back().first != std::numeric_limits<double>::infinity()) {
      metric.histogram.bucket.push_back({total, std::numeric_limits<double>::infinity()});
    }
    metric.histogram.sample_count = total;
    metric.histogram.sample_sum = sum;
    family_.metric.push_back(std::move(metric));
  }
  MetricFamily Take() && { return std::move(family_); }

 private:
  MetricFamily family_;
};

Labels SourceLabels(const PipelineReport& report) { return {{"pipeline", report.id}, {"topic", report.topic}}; }

Labels TableLabels(const PipelineReport& report) {
  return {{"catalog", report.catalog}, {"namespace", report.namespace_text}, {"table", report.table}};
}

/// Age of what other engines see. Nothing waits to be committed: they see everything.
std::optional<double> FreshnessSeconds(const PipelineStatus& status, int64_t now_ms) {
  if (IsUpToDate(status)) return 0;
  if (!status.valid_through_ms) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(0, now_ms - *status.valid_through_ms)) / 1000;
}

double AgeSeconds(std::optional<int64_t> timestamp_ms, int64_t now_ms) {
  return timestamp_ms ? static_cast<double>(std::max<int64_t>(0, now_ms - *timestamp_ms)) / 1000 : 0;
}

/// None: records wait to be read, and nobody knows how old they are.
std::optional<double> SourceLagSeconds(const PipelineStatus& status, int64_t now_ms) {
  if (status.lag_records == 0) return 0;
  if (!status.lag_records || !status.read_through_ms) return std::nullopt;
  return AgeSeconds(status.read_through_ms, now_ms);
}

class Collector {
 public:
  Collector(const MetricsInput& input, const MetricsSettings& settings) : input_(input), settings_(settings) {}

  std::vector<MetricFamily> Collect() {
    AddSource();
    AddCommits();
    AddFreshness();
    AddServers();
    AddProcess();
    const std::regex allow(settings_.allow);
    std::erase_if(families_, [&](const MetricFamily& family) {
      return family.metric.empty() || !std::regex_match(family.name, allow);
    });
    return std::move(families_);
  }

 private:
  /// One family over all pipelines; `add` gets the family and a pipeline.
  template <typename Add>
  void PerPipeline(MetricType type, const char* name, const char* help, const Add& add) {
    Family family(type, name, help);
    for (const PipelineReport& report : input_.pipelines) add(family, report);
    families_.push_back(std::move(family).Take());
  }
  /// One number of the status, with the labels that `labels` gives.
  template <typename Number>
  void Numbers(MetricType type, const char* name, const char* help, Labels (*labels)(const PipelineReport&),
               Number PipelineStatus::*member) {
    PerPipeline(type, name, help, [&](Family& family, const PipelineReport& report) {
      family.Add(labels(report), report.status.*member);
    });
  }

  void AddSource();
  void AddCommits();
  void AddFreshness();
  void AddRequests(const std::string& prefix, const std::string& help, const RequestCounters& counters);
  void AddServers();
  void AddProcess();

  const MetricsInput& input_;
  const MetricsSettings& settings_;
  std::vector<MetricFamily> families_;
};

void Collector::AddSource() {
  constexpr MetricType kCounter = MetricType::Counter;
  constexpr MetricType kGauge = MetricType::Gauge;
  Numbers(kCounter, "frazil_source_records_total", "Records read", SourceLabels, &PipelineStatus::records);
  Numbers(kCounter, "frazil_source_bytes_total", "Bytes of keys and values read", SourceLabels, &PipelineStatus::bytes);
  PerPipeline(kGauge, "frazil_source_lag_records", "Records in the topic that have not been read",
              [](Family& family, const PipelineReport& report) {
                if (report.status.lag_records) family.Add(SourceLabels(report), *report.status.lag_records);
              });
  PerPipeline(kGauge, "frazil_source_lag_seconds", "How far reading is behind in time; 0 when everything was read",
              [this](Family& family, const PipelineReport& report) {
                const std::optional<double> lag = SourceLagSeconds(report.status, input_.now_ms);
                if (lag) family.Add(SourceLabels(report), *lag);
              });
  PerPipeline(kGauge, "frazil_stage_lag_seconds", "Age of the oldest record that waits in a stage; 0 when none waits",
              [this](Family& family, const PipelineReport& report) {
                const PipelineStatus& status = report.status;
                const auto add = [&](const char* stage, std::optional<double> age) {
                  if (age) family.Add(SourceLabels(report) + ClientMetric::Label{"stage", stage}, *age);
                };
                add("source", SourceLagSeconds(status, input_.now_ms));
                add("buffer", AgeSeconds(status.oldest_buffered_ms, input_.now_ms));
                add("commit", AgeSeconds(status.oldest_committing_ms, input_.now_ms));
              });
  if (settings_.by_partition) {
    PerPipeline(
        kGauge, "frazil_source_offset", "Next offset that is not in the table",
        [](Family& family, const PipelineReport& report) {
          for (const auto& [partition, offset] : report.status.committed) {
            family.Add(SourceLabels(report) + ClientMetric::Label{"partition", std::to_string(partition)}, offset.next);
          }
        });
  }
  Numbers(kCounter, "frazil_poison_records_total", "Records that could not be taken, of all kinds", SourceLabels,
          &PipelineStatus::poison);
  PerPipeline(kCounter, "frazil_decode_errors_total", "Records that could not be taken, by kind",
              [](Family& family, const PipelineReport& report) {
                for (const auto& [reason, count] : report.status.poison_reasons) {
                  family.Add(SourceLabels(report) + ClientMetric::Label{"reason", reason}, count);
                }
              });
  Numbers(kCounter, "frazil_dlq_records_total", "Records sent to the dead letters", SourceLabels,
          &PipelineStatus::dead_letters);
  PerPipeline(kCounter, "frazil_schema_registry_requests_total", "Requests to the schema registry",
              [](Family& family, const PipelineReport& report) {
                for (const auto& [outcome, count] : report.status.registry_requests) {
                  family.Add(SourceLabels(report) + ClientMetric::Label{"status", outcome}, count);
                }
              });
  Numbers(kGauge, "frazil_buffer_bytes", "Bytes of records that wait for a commit", SourceLabels,
          &PipelineStatus::buffered_bytes);
  Numbers(kGauge, "frazil_buffer_records", "Records that wait for a commit", SourceLabels,
          &PipelineStatus::buffered_records);
  Numbers(kCounter, "frazil_backpressure_seconds_total", "Time in which reading was held back for want of memory",
          SourceLabels, &PipelineStatus::backpressure_seconds);
  PerPipeline(kCounter, "frazil_stage_cpu_seconds_total", "CPU time by stage of the pipeline",
              [](Family& family, const PipelineReport& report) {
                for (const auto& [stage, seconds] : report.status.stage_cpu_seconds) {
                  family.Add(SourceLabels(report) + ClientMetric::Label{"stage", stage}, seconds);
                }
              });
  PerPipeline(
      kGauge, "frazil_pipeline_state", "1 for the state that the pipeline is in",
      [](Family& family, const PipelineReport& report) {
        for (const PipelineState state :
             {PipelineState::kStarting, PipelineState::kRunning, PipelineState::kPaused, PipelineState::kWaiting,
              PipelineState::kDraining, PipelineState::kStopped, PipelineState::kFailed}) {
          family.Add(SourceLabels(report) + ClientMetric::Label{"state", PipelineStateName(state)},
                     int64_t{report.status.state == state ? 1 : 0});
        }
      });
}

void Collector::AddCommits() {
  constexpr MetricType kCounter = MetricType::Counter;
  PerPipeline(
      kCounter, "frazil_commits_total", "Commits, by how they ended", [](Family& family, const PipelineReport& report) {
        family.Add(TableLabels(report) + ClientMetric::Label{"status", "success"}, report.status.commits);
        family.Add(TableLabels(report) + ClientMetric::Label{"status", "failure"}, report.status.commit_failures);
      });
  PerPipeline(MetricType::Histogram, "frazil_commit_duration_seconds", "From the cut of a batch to its commit",
              [](Family& family, const PipelineReport& report) {
                const PipelineStatus& status = report.status;
                family.AddHistogram(TableLabels(report),
                                    {status.commit_seconds_histogram.begin(), status.commit_seconds_histogram.end()},
                                    status.commit_seconds_sum);
              });
  Numbers(kCounter, "frazil_commit_retries_total", "Attempts after the first", TableLabels,
          &PipelineStatus::commit_retries);
  Numbers(kCounter, "frazil_commit_conflicts_total", "Attempts that somebody else was faster than", TableLabels,
          &PipelineStatus::commit_conflicts);
  PerPipeline(kCounter, "frazil_commit_records_total", "Rows changed, by kind",
              [](Family& family, const PipelineReport& report) {
                family.Add(TableLabels(report) + ClientMetric::Label{"kind", "insert"}, report.status.inserts);
                family.Add(TableLabels(report) + ClientMetric::Label{"kind", "update"}, report.status.updates);
                family.Add(TableLabels(report) + ClientMetric::Label{"kind", "delete"}, report.status.deletes);
              });
  Numbers(kCounter, "frazil_commit_data_files_total", "Data files added", TableLabels, &PipelineStatus::data_files);
  Numbers(kCounter, "frazil_commit_dvs_total", "Deletion vectors added", TableLabels, &PipelineStatus::vectors);
  PerPipeline(kCounter, "frazil_commit_bytes_total", "Bytes added, of rows and of vectors",
              [](Family& family, const PipelineReport& report) {
                family.Add(TableLabels(report) + ClientMetric::Label{"kind", "rows"}, report.status.row_bytes);
                family.Add(TableLabels(report) + ClientMetric::Label{"kind", "vectors"}, report.status.vector_bytes);
              });
}

void Collector::AddFreshness() {
  constexpr MetricType kGauge = MetricType::Gauge;
  const auto seconds_of = [](const char* name, const char* help, std::optional<int64_t> PipelineStatus::*member) {
    return std::tuple(name, help, member);
  };
  for (const auto& [name, help, member] :
       {seconds_of("frazil_commit_last_success_timestamp_seconds", "Newest commit, seconds since 1970 UTC",
                   &PipelineStatus::last_commit_ms),
        seconds_of("frazil_valid_through_timestamp_seconds", "Every record up to this time is in the table",
                   &PipelineStatus::valid_through_ms)}) {
    PerPipeline(kGauge, name, help, [member = member](Family& family, const PipelineReport& report) {
      const std::optional<int64_t>& ms = report.status.*member;
      if (ms) family.Add(TableLabels(report), static_cast<double>(*ms) / 1000);
    });
  }
  PerPipeline(kGauge, "frazil_freshness_seconds", "Age of what other engines see; 0 when they see everything",
              [this](Family& family, const PipelineReport& report) {
                const std::optional<double> age = FreshnessSeconds(report.status, input_.now_ms);
                if (age) family.Add(TableLabels(report), *age);
              });
  Numbers(kGauge, "frazil_tail_records", "Records accepted and not yet in a snapshot", TableLabels,
          &PipelineStatus::buffered_records);
}

/// `<prefix>_requests_total{op,status}` and `<prefix>_request_duration_seconds{op}`.
void Collector::AddRequests(const std::string& prefix, const std::string& help, const RequestCounters& counters) {
  Family requests(MetricType::Counter, prefix + "_requests_total", help);
  Family durations(MetricType::Histogram, prefix + "_request_duration_seconds", "How long they took");
  for (const auto& [operation, counts] : counters.Read()) {
    const ClientMetric::Label op{"op", operation};
    requests.Add({op, {"status", "success"}}, counts.ok);
    requests.Add({op, {"status", "failure"}}, counts.failed);
    std::vector<std::pair<double, int64_t>> buckets;
    for (size_t bucket = 0; bucket < counts.by_duration.size(); ++bucket) {
      const bool is_last = bucket == RequestCounters::kBounds.size();
      buckets.emplace_back(is_last ? std::numeric_limits<double>::infinity() : RequestCounters::kBounds[bucket],
                           counts.by_duration[bucket]);
    }
    durations.AddHistogram({op}, buckets, counts.seconds);
  }
  for (Family* family : {&requests, &durations}) families_.push_back(std::move(*family).Take());
}

void Collector::AddServers() {
  if (input_.catalog != nullptr) AddRequests("frazil_catalog", "Requests to the catalogs", *input_.catalog);
  if (input_.storage == nullptr) return;
  AddRequests("frazil_storage", "Requests to the store of the tables' files", *input_.storage);
  Family bytes(MetricType::Counter, "frazil_storage_bytes_total", "Bytes read and written");
  for (const auto& [operation, counts] : input_.storage->Read()) {
    if (operation == "read" || operation == "write") bytes.Add({{"direction", operation}}, counts.bytes);
  }
  families_.push_back(std::move(bytes).Take());
}

void Collector::AddProcess() {
  if (input_.budget != nullptr) {
    Family used(MetricType::Gauge, "frazil_memory_bytes", "Memory in use, by what it is counted in");
    used.Add({{"pool", "reserved"}}, input_.budget->used_bytes());
    used.Add({{"pool", "resident"}}, MemoryBudget::ResidentBytes());
    Family limit(MetricType::Gauge, "frazil_memory_limit_bytes", "The limit that --memory-limit sets");
    limit.Add({}, input_.budget->limit_bytes());
    for (Family* family : {&used, &limit}) families_.push_back(std::move(*family).Take());
  }
  Family build(MetricType::Gauge, "frazil_build_info", "1; version and commit are labels");
  build.Add({{"version", kVersion}, {"commit", kCommit}}, int64_t{1});
  families_.push_back(std::move(build).Take());
  for (MetricFamily& family : CollectProcessMetrics()) families_.push_back(std::move(family));
}

}  // namespace

Result<MetricsSettings> ReadMetricsSettings(const Settings& settings) {
  const SettingSection section(settings, "metrics");
  MetricsSettings result;
  const std::string detail = section.Text("detail", "table");
  if (detail != "table" && detail != "partition") {
    return tl::unexpected(section.At(
        "detail",
        Error(ErrorCode::kInvalidArgument, "not a level of detail: '" + detail + "'").WithHint("table or partition")));
  }
  result.by_partition = detail == "partition";
  result.allow = section.Text("allow", result.allow);
  try {
    const std::regex compiled(result.allow);
  } catch (const std::regex_error&) {
    return tl::unexpected(
        section.At("allow", Error(ErrorCode::kInvalidArgument, "not a regular expression: '" + result.allow + "'")));
  }
  return result;
}

std::vector<MetricFamily> CollectMetrics(const MetricsInput& input, const MetricsSettings& settings) {
  return Collector(input, settings).Collect();
}

std::string MetricsText(const MetricsInput& input, const MetricsSettings& settings) {
  return prometheus::TextSerializer().Serialize(CollectMetrics(input, settings));
}

}  // namespace frazil::service
