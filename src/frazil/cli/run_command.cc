#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

#include <arrow/api.h>
#include <unistd.h>

#include "frazil/base/heap_settings.h"
#include "frazil/base/log.h"
#include "frazil/cli/commands.h"
#include "frazil/cli/control.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/table_state.h"
#include "frazil/cli/units.h"
#include "frazil/service/http_server.h"
#include "frazil/service/metrics.h"
#include "frazil/service/pipeline_connection.h"
#include "frazil/service/pipeline_json.h"

namespace frazil::cli {
namespace {

struct RunOptions {
  std::vector<std::string> pipelines;
  std::string drain_timeout = "30s";
  std::string dedupe;
  bool upgrade_table = false;
  bool is_bounded = false;
};

/// The pipelines that were named, or all.
Result<std::vector<service::PipelineConfig>> ChosenPipelines(const Config& config, const std::string& default_catalog,
                                                             const RunOptions& options) {
  FRAZIL_ASSIGN(std::vector<service::PipelineConfig> all,
                service::ReadPipelineConfigs(config.values(), config.CatalogNames(), default_catalog));
  if (all.empty()) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "no pipelines are configured")
                              .WithHint("-c FILE with a section pipelines, see examples/user_kv.yaml"));
  }
  for (const std::string& id : options.pipelines) {
    if (std::none_of(all.begin(), all.end(), [&](const auto& pipeline) { return pipeline.id == id; })) {
      return Fail(ErrorCode::kInvalidArgument, "pipeline is not configured: '{}'", id);
    }
  }
  if (!options.pipelines.empty()) {
    std::erase_if(all, [&](const service::PipelineConfig& pipeline) {
      return std::find(options.pipelines.begin(), options.pipelines.end(), pipeline.id) == options.pipelines.end();
    });
  }
  return all;
}

std::string WriterName() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return fmt::format("frazil run on {}", host);
}

void LogEvent(const std::string& pipeline, const std::string& line) {
  const bool is_failure = line.starts_with("failed: ");
  const LogScope scope("pipeline", pipeline);
  Log::Write(is_failure ? LogLevel::kError : LogLevel::kInfo, line);
}

/// So soon it is noticed that a statement must stop.
constexpr std::chrono::milliseconds kLook{50};

/// The first cell of what the statement answers, a count; 0 where it answers nothing. kShuttingDown when `stop` came before.
Result<int64_t> FirstNumberOf(sql::Session& session, const std::string& statement, const std::atomic<bool>& stop) {
  auto running = std::async(std::launch::async, [&]() -> Result<int64_t> {
    FRAZIL_ASSIGN(const std::unique_ptr<sql::QueryResult> result, session.Execute(statement));
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, result->Next());
    if (rows == nullptr || rows->num_rows() == 0 || rows->num_columns() == 0) return 0;
    const auto cell = rows->column(0)->GetScalar(0);
    return cell.ok() ? std::strtoll((*cell)->ToString().c_str(), nullptr, 10) : 0;
  });
  // Told again and again: a session forgets what it was told before the statement began.
  while (running.wait_for(kLook) != std::future_status::ready) {
    if (stop) session.Cancel();
  }
  return running.get();
}

Result<service::PipelineResources> MakeResources(Context& context, const RunOptions& options, Executor& executor) {
  service::PipelineResources resources;
  FRAZIL_ASSIGN(resources.catalogs, context.catalogs());
  FRAZIL_ASSIGN(resources.default_catalog, context.default_catalog_name());
  FRAZIL_ASSIGN(resources.budget, context.budget());
  FRAZIL_ASSIGN(const Config* config, context.config());
  resources.index_directory = [config](const spec::TableMetadata& metadata) {
    return KeyIndexFolder(*config, metadata);
  };
  auto mutex = std::make_shared<std::mutex>();  // a Context serves one thread at a time
  resources.execute_sql = [&context, mutex](const std::string& statement) -> Status {
    const std::lock_guard lock(*mutex);
    FRAZIL_ASSIGN(const std::unique_ptr<sql::Session> session, context.NewSession());
    FRAZIL_TRY(session->Execute(statement));
    return {};
  };
  // It takes long, so it does not keep the context from other pipelines; and takes much, so it is one at a time.
  auto drains = std::make_shared<std::timed_mutex>();
  resources.drain_landing = [&context, mutex, drains](const std::string& call,
                                                      const std::atomic<bool>& stop) -> Result<int64_t> {
    std::unique_lock turn(*drains, std::defer_lock);
    while (!turn.try_lock_for(kLook)) {
      if (stop) return Fail(ErrorCode::kShuttingDown, "stopped while another table was drained");
    }
    std::unique_ptr<sql::Session> session;
    {
      const std::lock_guard lock(*mutex);
      FRAZIL_ASSIGN(session, context.NewSession());
    }
    return FirstNumberOf(*session, call, stop);
  };
  resources.executor = &executor;
  resources.writer = WriterName();
  resources.upgrade_table = options.upgrade_table;
  resources.is_bounded = options.is_bounded;
  resources.dedupe = options.dedupe == "newest" ? ingest::Dedupe::kNewest : ingest::Dedupe::kRefuse;
  resources.on_notice = LogEvent;
  return resources;
}

/// Tells `frazil pipeline` of this home where we are; the file goes with the object.
class AddressFile {
 public:
  AddressFile(std::string path, const std::string& url) : path_(std::move(path)) {
    std::ofstream(path_) << url << '\n';
  }
  ~AddressFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

 private:
  std::string path_;
};

void PrintReport(Context& context, const service::PipelineReport& report) {
  const ingest::PipelineStatus& status = report.status;
  context.Say(fmt::format("{}: {}; {} records read, {} inserted, {} updated, {} deleted in {} commits", report.id,
                          service::PipelineStateName(status.state), FormatCount(status.records),
                          FormatCount(status.inserts), FormatCount(status.updates), FormatCount(status.deletes),
                          FormatCount(status.commits)));
  if (status.poison > 0) {
    context.Say(fmt::format("  {} records could not be taken, {} of them are dead letters; first: {}",
                            FormatCount(status.poison), FormatCount(status.dead_letters), status.first_poison));
  }
  for (const auto& [partition, offset] : status.committed) {
    const auto read = status.read.find(partition);
    const int64_t end = read == status.read.end() ? offset.next : std::max(read->second.next, offset.next);
    context.Say(end == offset.next
                    ? fmt::format("  partition {}: committed up to {}", partition, offset.next)
                    : fmt::format("  partition {}: committed up to {}; {} records read after it will be replayed",
                                  partition, offset.next, FormatCount(end - offset.next)));
  }
  if (report.error) fmt::print(stderr, "{}\n", ErrorLine(Error(*report.error).WithContext("running " + report.id)));
}

/// What the process did and what the next one will do again; the exit code is that of the first failure.
ExitCode Report(Context& context, const service::PipelineSet& set, OutputFormat format) {
  const std::vector<service::PipelineReport> reports = set.Reports();
  ExitCode code = ExitCode::kOk;
  for (const service::PipelineReport& report : reports) {
    PrintReport(context, report);
    if (report.error && code == ExitCode::kOk) code = ExitCodeOf(*report.error);
  }
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    fmt::print("{}\n", service::WritePipelinesJson(reports, set.NowMs()));
    std::fflush(stdout);
  }
  return code;
}

/// Waits until all pipelines have ended. After a signal they have `drain` to commit what they have; one that hangs longer
/// than that does not hold the process: false.
bool WaitUntilEnded(service::PipelineSet& set, const InterruptGuard& interrupt, std::chrono::milliseconds drain) {
  constexpr std::chrono::milliseconds kStep{200};
  constexpr std::chrono::milliseconds kGrace{5'000};
  while (!set.WaitFor(kStep)) {
    if (interrupt.stop()) return set.WaitFor(drain + kGrace);
  }
  return true;
}

/// A catalog that another process holds is a reason to show; pipelines ask again.
constexpr std::chrono::milliseconds kCatalogPatience{3'000};
/// A bounded run ends, so it does not wait for long for what does not answer at its start: it may just be starting.
constexpr std::chrono::milliseconds kBoundedPatience{15'000};

Result<ExitCode> RunPipelines(Context& context, const RunOptions& options) {
  KeepFreedHeapSmall();
  FRAZIL_ASSIGN(const OutputFormat format,
                ParseOutputFormat(context.options().output.empty() ? "none" : context.options().output));
  FRAZIL_ASSIGN(const std::chrono::milliseconds drain, ParseDuration(options.drain_timeout));
  context.ConfigureLog(LogLevel::kInfo);
  FRAZIL_ASSIGN(const Config* config, context.config());
  const auto configs = ChosenPipelines(*config, context.default_catalog_name().value_or(""), options);
  if (!configs) {
    fmt::print(stderr, "{}\n", ErrorLine(configs.error()));
    return ExitCode::kUsage;
  }
  context.set_catalog_patience(kCatalogPatience);
  const auto counters = context.CountRequests();
  FRAZIL_ASSIGN(const service::MetricsSettings metrics, service::ReadMetricsSettings(config->values()));
  FRAZIL_ASSIGN(const service::HttpSettings http, context.http_settings());
  FRAZIL_ASSIGN(const int threads, context.threads());
  FRAZIL_ASSIGN(MemoryBudget* const budget, context.budget());
  Executor executor(threads);
  FRAZIL_ASSIGN(service::PipelineResources resources, MakeResources(context, options, executor));
  resources.num_pipelines = std::max<int64_t>(1, static_cast<int64_t>(configs->size()));

  std::vector<service::PipelineMember> members;
  for (const service::PipelineConfig& pipeline : *configs) members.push_back(service::MemberOf(pipeline, resources));
  service::PipelineSet set(
      std::move(members),
      {.clock = nullptr,
       .connection_patience = options.is_bounded ? kBoundedPatience : std::chrono::milliseconds::max(),
       .first_retry = std::chrono::milliseconds(1'000),
       .on_event = LogEvent});
  std::unique_ptr<service::HttpServer> server;
  std::unique_ptr<AddressFile> address;
  if (http.is_enabled) {
    FRAZIL_ASSIGN(server, service::HttpServer::Start(http, set, [&] {
                    return service::MetricsText({.pipelines = set.Reports(),
                                                 .now_ms = set.NowMs(),
                                                 .storage = &counters->storage,
                                                 .catalog = &counters->catalog,
                                                 .budget = budget},
                                                metrics);
                  }));
    address = std::make_unique<AddressFile>(ControlAddressFile(*config), server->url());
    Log::Info("listening on {}", server->url());
  }
  InterruptGuard interrupt;
  interrupt.OnSignal([&] {
    Log::Info("stopping: pipelines have {} s to commit what they have read", drain.count() / 1000);
    set.Stop(drain);
  });
  set.Start();
  const bool have_all_ended = WaitUntilEnded(set, interrupt, drain);
  const ExitCode code = Report(context, set, format);
  ExitCode result = code;
  if (code == ExitCode::kOk && interrupt.stop()) {
    result = service::HaveCommittedAll(set.Reports()) ? InterruptGuard::exit_code() : ExitCode::kLimit;
  }
  if (!have_all_ended) {
    // Nothing that hangs (a broker, a store) may keep the process; what is not committed is replayed, as after a kill.
    context.Say("gave up waiting: " + std::to_string(drain.count() / 1000) + " s are over (--drain-timeout)");
    address.reset();
    std::fflush(nullptr);
    _exit(static_cast<int>(result == InterruptGuard::exit_code() ? ExitCode::kLimit : result));
  }
  return result;
}

}  // namespace

void AddRunCommand(CLI::App& program, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = program.add_subcommand("run", "Run the configured pipelines: topics into tables, until stopped");
  command->add_option("pipelines", options->pipelines, "Only these");
  command
      ->add_option("--drain-timeout", options->drain_timeout,
                   "After SIGTERM or SIGINT: time to commit what has been read; the rest is replayed at the next start")
      ->check(Parsed(ParseDuration))
      ->capture_default_str();
  command->add_flag("--upgrade-table", options->upgrade_table,
                    "Upgrade tables of format version 2 (take-over from Flink): row-level deletes become vectors");
  command->add_flag("--bounded", options->is_bounded, "End where the topics end now: backfills");
  command
      ->add_option("--dedupe", options->dedupe,
                   "Where keys of a table have several rows: newest keeps the newest and deletes the others")
      ->check(CLI::IsMember({"newest"}));
  command->footer(
      "Stopped or killed at any moment, the same command continues after the last committed record. -o json ends with\n"
      "one line of JSON: what is committed and what will be replayed, by partition.\n"
      "Example:\n"
      "  frazil run -c examples/user_kv.yaml");
  command->callback(
      [&action, options] { action = [options](Context& context) { return RunPipelines(context, *options); }; });
}

}  // namespace frazil::cli
