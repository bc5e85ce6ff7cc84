#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/request_counters.h"
#include "frazil/base/result.h"
#include "frazil/catalog/catalog.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "frazil/ingest/schema_registry.h"
#include "frazil/service/pipeline_config.h"
#include "frazil/service/pipeline_set.h"
#include "frazil/table/table.h"

namespace frazil::service {

/// What the pipelines of a process share. Pointers may be null where ingest::PipelineOptions says so, and outlive the
/// pipelines.
struct PipelineResources {
  std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs;
  std::string default_catalog;
  /// Runs one statement of SQL: tables that are missing are created by it. Any thread.
  std::function<Status(const std::string& statement)> execute_sql;
  /// Runs a CALL of system.drain_landing, as ingest::LandingDrain says. Any thread; empty: people are told to do it.
  std::function<Result<int64_t>(const std::string& call, const std::atomic<bool>& stop)> drain_landing;
  /// Folder of a table's key index.
  std::function<std::string(const spec::TableMetadata&)> index_directory;
  Executor* executor = nullptr;
  MemoryBudget* budget = nullptr;
  int64_t num_pipelines = 1;  ///< that share the budget
  std::string writer;
  bool upgrade_table = false;
  bool is_bounded = false;  ///< all of them, whatever their configuration says
  ingest::Dedupe dedupe = ingest::Dedupe::kRefuse;
  std::function<void(const std::string& pipeline, const std::string& line)> on_notice;  ///< any thread
};

/// The table of a pipeline. kNotFound with the hint when it is not there; with `create` it is made where the configuration
/// says so, its columns from `sink.schema` or else from the newest schemas in the registry.
Result<table::Table> OpenPipelineTable(const PipelineConfig& config, const PipelineResources& resources, bool create);

/// The topic. kUnavailable, kInvalidArgument, kNotSupported naming properties of Kafka.
Result<std::unique_ptr<ingest::RecordSource>> OpenPipelineSource(
    const PipelineConfig& config, MemoryBudget* budget = nullptr,
    std::function<void(const std::string&)> on_notice = nullptr, int64_t num_sharers = 1);

/// Null where records need no registry.
Result<std::shared_ptr<ingest::SchemaRegistry>> OpenPipelineRegistry(
    const PipelineConfig& config, std::shared_ptr<RequestCounters> counters = nullptr);

/// `counters`: of requests to the registry; may be null.
Result<std::unique_ptr<ingest::RecordDecoder>> OpenPipelineDecoder(const PipelineConfig& config,
                                                                   spec::SchemaPtr table_schema,
                                                                   std::shared_ptr<RequestCounters> counters = nullptr);

/// Where records go that cannot be taken; null where none do. A table that is missing is made.
Result<std::unique_ptr<ingest::DeadLetters>> OpenDeadLetters(const PipelineConfig& config,
                                                             const PipelineResources& resources);

/// Everything together, ready to run.
Result<std::unique_ptr<ServedPipeline>> ConnectPipeline(const PipelineConfig& config,
                                                        const PipelineResources& resources);

/// How a process that runs it calls it. `config` and `resources` are kept by reference.
PipelineMember MemberOf(const PipelineConfig& config, const PipelineResources& resources);

}  // namespace frazil::service
