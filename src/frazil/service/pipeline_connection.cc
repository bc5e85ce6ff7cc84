#include "frazil/service/pipeline_connection.h"

#include <algorithm>
#include <chrono>

#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/avro_schema_cache.h"
#include "frazil/ingest/avro_table_schema.h"
#include "frazil/ingest/dead_letter_table.h"
#include "frazil/ingest/dead_letter_topic.h"
#include "frazil/ingest/identifier_fields.h"
#include "frazil/ingest/json_record_decoder.h"
#include "frazil/ingest/kafka_source.h"
#include "frazil/ingest/moved_table.h"
#include "frazil/ingest/registry_client.h"
#include "frazil/ingest/start_commit.h"
#include "frazil/service/create_statement.h"
#include "frazil/sql/type_text.h"

namespace frazil::service {
namespace {

using ingest::RecordFormat;

/// A batch coexists with the one being committed and with what is made of it: the part of the memory limit that all
/// batches may take.
constexpr int64_t kBatchShareOfLimit = 8;

class IngestPipeline : public ServedPipeline {
 public:
  IngestPipeline(std::unique_ptr<ingest::Pipeline> pipeline, std::shared_ptr<RequestCounters> registry_requests)
      : pipeline_(std::move(pipeline)), registry_requests_(std::move(registry_requests)) {}
  Status Run() override { return pipeline_->Run(); }
  void Stop(std::chrono::milliseconds deadline) override { pipeline_->Stop(deadline); }
  void Pause() override { pipeline_->Pause(); }
  void Resume() override { pipeline_->Resume(); }
  void Drain() override { pipeline_->Drain(); }
  ingest::PipelineStatus status() const override {
    ingest::PipelineStatus status = pipeline_->status();
    status.registry_requests = {{"success", 0}, {"failure", 0}};
    for (const auto& [operation, counts] : registry_requests_->Read()) {
      status.registry_requests["success"] += counts.ok;
      status.registry_requests["failure"] += counts.failed;
    }
    return status;
  }

 private:
  const std::unique_ptr<ingest::Pipeline> pipeline_;
  const std::shared_ptr<RequestCounters> registry_requests_;
};

/// Columns may come from headers, and a dead letter keeps those of its record.
bool WantsHeaders(const PipelineConfig& config) {
  const std::map<std::string, std::string>& sources = config.columns.source_of;
  const bool has_letters = !config.dead_letter_topic.empty() || config.dead_letter_table;
  return has_letters || std::any_of(sources.begin(), sources.end(),
                                    [](const auto& entry) { return entry.second.starts_with("$headers."); });
}

/// `given` empty: the default one.
Result<std::shared_ptr<catalog::Catalog>> CatalogOf(const std::string& given, const PipelineResources& resources) {
  const std::string& name = given.empty() ? resources.default_catalog : given;
  const auto found = resources.catalogs.find(name);
  if (found == resources.catalogs.end()) return Fail(ErrorCode::kNotFound, "catalog not found: '{}'", name);
  return found->second;
}

/// The registry's newest schema of the topic's keys or values.
Result<format::AvroNodePtr> NewestSchema(const std::shared_ptr<ingest::SchemaRegistry>& registry,
                                         const std::string& subject) {
  auto newest = registry->Latest(subject);
  if (!newest) {
    Error error = std::move(newest).error();
    if (error.code() != ErrorCode::kNotFound) return tl::unexpected(std::move(error));
    return tl::unexpected(std::move(error).WithHint(
        "a table cannot be made before a schema is registered; value.avro-confluent.subject (key...) says where, or "
        "sink.schema its columns"));
  }
  return ingest::AvroSchemaCache(registry).Parse(**newest);
}

Status EnsureNamespace(catalog::Catalog& catalog, const catalog::Namespace& levels) {
  if (catalog.LoadNamespace(levels)) return {};
  Status created = catalog.CreateNamespace(levels, {});
  return !created && created.error().code() == ErrorCode::kAlreadyExists ? Status() : created;
}

Result<std::string> ColumnsOfNewTable(const PipelineConfig& config) {
  if (!config.schema.empty()) return config.schema;
  if (config.columns.value_format != RecordFormat::kAvroConfluent) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "the columns of a new table are not known: " + config.id)
                              .WithHint("sink.schema: \"id bigint, name string\""));
  }
  FRAZIL_ASSIGN(const auto registry, OpenPipelineRegistry(config));
  FRAZIL_ASSIGN(const format::AvroNodePtr value, NewestSchema(registry, config.value_subject));
  format::AvroNodePtr key;
  if (config.columns.key_format == RecordFormat::kAvroConfluent) {
    FRAZIL_ASSIGN(key, NewestSchema(registry, config.key_subject));
  }
  FRAZIL_ASSIGN(const spec::SchemaPtr schema,
                ingest::TableSchemaFor(*value, key.get(), config.columns, config.identifier_fields));
  return ColumnsText(*schema);
}

Status CreateTable(const PipelineConfig& config, const PipelineResources& resources, catalog::Catalog& catalog) {
  FRAZIL_ASSIGN(const std::string columns, ColumnsOfNewTable(config));
  FRAZIL_TRY(EnsureNamespace(catalog, config.table.levels));
  PipelineConfig named = config;
  named.catalog = catalog.name();
  FRAZIL_TRY(resources.execute_sql(CreateTableStatement(named, columns)));
  if (resources.on_notice) resources.on_notice(config.id, "created table " + named.TableText());
  return {};
}

/// Both parts of the name in back quotes where they need them.
std::string DrainLandingStatement(const std::string& catalog, const catalog::TableName& name) {
  std::vector<std::string> parts = name.levels;
  parts.insert(parts.begin(), catalog);
  parts.push_back(name.name);
  for (std::string& part : parts) part = sql::QuotedIfNeeded(part);
  return fmt::format("CALL {}.system.drain_landing(table => {})", parts.front(),
                     sql::QuotedText(fmt::format("{}", fmt::join(parts, "."))));
}

/// A bounded run does not begin with what does not answer: all that a start asks for is asked.
Status CheckTheyAnswer(ingest::RecordSource& source, const PipelineConfig& config) {
  FRAZIL_TRY(source.Identity());
  FRAZIL_TRY(source.Bounds());
  FRAZIL_TRY(source.TombstoneRetention());
  if (config.registry.empty()) return {};
  FRAZIL_ASSIGN(const ingest::RegistryOptions registry, ingest::ParseRegistryOptions(config.registry));
  // Schemas may be registered under other subjects: any answer will do.
  return ingest::CheckRegistryAnswers(registry, config.topic + "-value");
}

}  // namespace

Result<table::Table> OpenPipelineTable(const PipelineConfig& config, const PipelineResources& resources, bool create) {
  FRAZIL_ASSIGN(const std::shared_ptr<catalog::Catalog> catalog, CatalogOf(config.catalog, resources));
  auto loaded = table::Table::Load(catalog, config.table);
  if (loaded) return loaded;
  const Error error = ingest::JudgeUnloadable(loaded.error());
  if (error.code() != ErrorCode::kNotFound) return tl::unexpected(error);
  if (!create) return loaded;
  if (!config.create_if_missing) {
    return tl::unexpected(std::move(loaded).error().WithHint("sink.create-if-missing: true makes it"));
  }
  FRAZIL_TRY(CreateTable(config, resources, *catalog));
  return table::Table::Load(catalog, config.table);
}

Result<std::unique_ptr<ingest::RecordSource>> OpenPipelineSource(const PipelineConfig& config, MemoryBudget* budget,
                                                                 std::function<void(const std::string&)> on_notice,
                                                                 int64_t num_sharers) {
  return ingest::MakeKafkaSource({.topic = config.topic,
                                  .properties = config.kafka_properties,
                                  .with_headers = WantsHeaders(config),
                                  .budget = budget,
                                  .num_sharers = num_sharers,
                                  .on_notice = std::move(on_notice)});
}

Result<std::shared_ptr<ingest::SchemaRegistry>> OpenPipelineRegistry(const PipelineConfig& config,
                                                                     std::shared_ptr<RequestCounters> counters) {
  if (config.registry.empty()) return nullptr;
  FRAZIL_ASSIGN(ingest::RegistryOptions options, ingest::ParseRegistryOptions(config.registry));
  options.counters = std::move(counters);
  FRAZIL_ASSIGN(auto registry, ingest::MakeRegistryClient(std::move(options)));
  return std::shared_ptr<ingest::SchemaRegistry>(std::move(registry));
}

Result<std::unique_ptr<ingest::RecordDecoder>> OpenPipelineDecoder(const PipelineConfig& config,
                                                                   spec::SchemaPtr table_schema,
                                                                   std::shared_ptr<RequestCounters> counters) {
  FRAZIL_ASSIGN(auto registry, OpenPipelineRegistry(config, std::move(counters)));
  if (config.columns.value_format == RecordFormat::kJson) {
    return ingest::MakeJsonRecordDecoder(std::move(table_schema), config.columns, std::move(registry));
  }
  return ingest::MakeAvroRecordDecoder(std::move(table_schema), config.columns, std::move(registry));
}

Result<std::unique_ptr<ingest::DeadLetters>> OpenDeadLetters(const PipelineConfig& config,
                                                             const PipelineResources& resources) {
  if (!config.dead_letter_topic.empty()) {
    return ingest::MakeDeadLetterTopic(
        {.topic = config.dead_letter_topic, .source_topic = config.topic, .properties = config.kafka_properties});
  }
  if (!config.dead_letter_table) return nullptr;
  const catalog::TableName& name = *config.dead_letter_table;
  FRAZIL_ASSIGN(const std::shared_ptr<catalog::Catalog> catalog, CatalogOf(config.dead_letter_catalog, resources));
  auto table = table::Table::Load(catalog, name);
  if (!table && table.error().code() == ErrorCode::kNotFound) {
    FRAZIL_TRY(EnsureNamespace(*catalog, name.levels));
    const auto created = catalog->CreateTable(name, ingest::DeadLetterTableRequest());
    if (!created && created.error().code() != ErrorCode::kAlreadyExists) return tl::unexpected(created.error());
    table = table::Table::Load(catalog, name);
  }
  if (!table) return tl::unexpected(std::move(table).error());
  return ingest::MakeDeadLetterTable(*std::move(table), {.pipeline_id = config.id, .source_topic = config.topic});
}

Result<std::unique_ptr<ServedPipeline>> ConnectPipeline(const PipelineConfig& config,
                                                        const PipelineResources& resources) {
  std::function<void(const std::string&)> on_notice;
  if (resources.on_notice) {
    on_notice = [id = config.id, say = resources.on_notice](const std::string& line) { say(id, line); };
  }
  FRAZIL_ASSIGN(auto source, OpenPipelineSource(config, resources.budget, on_notice, resources.num_pipelines));
  if (resources.is_bounded) FRAZIL_TRY(CheckTheyAnswer(*source, config));
  FRAZIL_ASSIGN(table::Table table, OpenPipelineTable(config, resources, true));
  if (!resources.upgrade_table) FRAZIL_TRY(ingest::CheckFormat(table, ingest::kUpgradeTableHint));
  FRAZIL_ASSIGN(const spec::SchemaPtr schema, ingest::SchemaWithIdentifierFields(table, config.identifier_fields));
  auto registry_requests = std::make_shared<RequestCounters>();
  FRAZIL_ASSIGN(auto decoder, OpenPipelineDecoder(config, schema, registry_requests));
  FRAZIL_ASSIGN(auto dead_letters, OpenDeadLetters(config, resources));

  ingest::PipelineOptions options = config.ToOptions();
  options.writer = resources.writer;
  options.dedupe = resources.dedupe;
  options.upgrade_table = resources.upgrade_table;
  options.identifier_fields = config.identifier_fields;
  options.is_bounded = options.is_bounded || resources.is_bounded;
  options.index_directory = resources.index_directory ? resources.index_directory(*table.metadata()) : "";
  options.executor = resources.executor;
  options.budget = resources.budget;
  if (options.budget != nullptr) {
    options.commit_max_bytes = std::min(options.commit_max_bytes,
                                        options.budget->limit_bytes() / kBatchShareOfLimit / resources.num_pipelines);
  }
  options.on_notice = std::move(on_notice);
  if (resources.drain_landing) {
    options.drain_landing = [&resources, call = DrainLandingStatement(table.catalog()->name(), config.table)](
                                const std::atomic<bool>& stop) { return resources.drain_landing(call, stop); };
  }
  return std::make_unique<IngestPipeline>(
      std::make_unique<ingest::Pipeline>(std::move(table), std::move(source), std::move(decoder),
                                         std::move(dead_letters), std::move(options)),
      std::move(registry_requests));
}

PipelineMember MemberOf(const PipelineConfig& config, const PipelineResources& resources) {
  return {.id = config.id,
          .topic = config.topic,
          .catalog = config.catalog.empty() ? resources.default_catalog : config.catalog,
          .namespace_text = catalog::NamespaceText(config.table.levels),
          .table = config.table.name,
          .commit_interval = config.commit_interval,
          .open = [&config, &resources] { return ConnectPipeline(config, resources); }};
}

}  // namespace frazil::service
