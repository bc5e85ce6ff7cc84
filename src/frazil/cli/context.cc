#include "frazil/cli/context.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "frazil/base/heap_settings.h"
#include "frazil/catalog/counting_catalog.h"
#include "frazil/catalog/faults_from_environment.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/cli/table_state.h"
#include "frazil/cli/units.h"
#include "frazil/cli/writing_progress.h"
#include "frazil/io/counting_file_io.h"
#include "frazil/maintain/procedures.h"
#include "frazil/spec/schema.h"

namespace frazil::cli {
namespace {

/// DuckDB gets this part of the memory limit; the rest is for metadata, vectors and results on their way out.
constexpr int64_t kSqlShareNumerator = 3;
constexpr int64_t kSqlShareDenominator = 4;
/// Below this limit it matters more what freed memory stays behind than what giving it back costs.
constexpr int64_t kSmallLimitBytes = int64_t{1} << 30;

Result<std::string> SqlitePath(const std::string& catalog, const std::string& uri) {
  constexpr std::string_view kScheme = "sqlite:///";
  if (!uri.starts_with(kScheme)) {
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("catalogs.{}.uri is not a SQLite URI: '{}'", catalog, uri))
            .WithHint("sqlite:///relative or sqlite:////absolute/path.db"));
  }
  // SQLAlchemy's rule, which PyIceberg follows: what comes behind the three slashes is the path.
  std::string path = uri.substr(kScheme.size());
  return path;
}

Result<std::shared_ptr<catalog::Catalog>> OpenCatalog(const Config& config, const std::string& name,
                                                      std::shared_ptr<io::FileIO> io, MemoryBudget* budget,
                                                      std::chrono::milliseconds patience) {
  std::map<std::string, std::string> properties = config.CatalogProperties(name);
  properties.try_emplace("type", "sql");
  properties.try_emplace("uri", "sqlite:///" + config.home() + "/catalog.db");
  properties.try_emplace("warehouse", "file://" + config.home() + "/warehouse");
  for (const auto& [key, value] : properties) {
    if (key == "type" || key == "uri" || key == "warehouse") continue;
    return Fail(ErrorCode::kNotSupported, "catalog property '{}' of catalog '{}'", key, name);
  }
  const std::string& type = properties["type"];
  if (type != "sql") return Fail(ErrorCode::kNotSupported, "catalog type '{}' of catalog '{}'", type, name);
  FRAZIL_ASSIGN(const std::string file, SqlitePath(name, properties["uri"]));
  FRAZIL_ASSIGN(auto catalog, catalog::OpenSqliteCatalog({.name = name,
                                                          .file = file,
                                                          .warehouse = properties["warehouse"],
                                                          .busy_timeout_ms = static_cast<int>(patience.count()),
                                                          .budget = budget},
                                                         std::move(io)));
  return catalog::WithFaultsFromEnvironment(std::move(catalog));
}

}  // namespace

Result<const Config*> Context::config() {
  if (!config_) {
    FRAZIL_ASSIGN(config_, Config::Load({.file = options_.config_file, .overrides = options_.overrides}));
  }
  return &*config_;
}

Result<std::map<std::string, std::shared_ptr<catalog::Catalog>>> Context::catalogs() {
  if (catalogs_.empty()) {
    FRAZIL_ASSIGN(const Config* settings, config());
    FRAZIL_ASSIGN(MemoryBudget* const memory, budget());
    for (const std::string& name : settings->CatalogNames()) {
      std::shared_ptr<io::FileIO> io = io::MakeLocalFileIO();
      if (counters_) {
        io = std::make_shared<io::CountingFileIO>(std::move(io),
                                                  std::shared_ptr<RequestCounters>(counters_, &counters_->storage));
      }
      FRAZIL_ASSIGN(auto catalog, OpenCatalog(*settings, name, std::move(io), memory, catalog_patience_));
      if (counters_) {
        catalog = catalog::MakeCountingCatalog(std::move(catalog),
                                               std::shared_ptr<RequestCounters>(counters_, &counters_->catalog));
      }
      catalogs_[name] = std::move(catalog);
    }
  }
  return catalogs_;
}

Result<std::string> Context::default_catalog_name() {
  FRAZIL_ASSIGN(const Config* settings, config());
  const std::vector<std::string> names = settings->CatalogNames();
  std::string name = !options_.catalog.empty() ? options_.catalog : settings->Get("default-catalog");
  if (name.empty()) {
    if (names.size() > 1 && std::find(names.begin(), names.end(), "local") == names.end()) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, "several catalogs are configured and none is the default")
              .WithHint("set default-catalog or pass --catalog"));
    }
    name = names.size() == 1 ? names[0] : "local";
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string nearest = spec::NearestName(name, names);
    Error error(ErrorCode::kNotFound, fmt::format("catalog not found: '{}'", name));
    return tl::unexpected(nearest.empty() ? std::move(error)
                                          : std::move(error).WithHint("did you mean " + nearest + "?"));
  }
  return name;
}

Result<std::shared_ptr<catalog::Catalog>> Context::default_catalog() {
  FRAZIL_ASSIGN(const std::string name, default_catalog_name());
  FRAZIL_ASSIGN(const auto all, catalogs());
  return all.at(name);
}

Result<int> Context::threads() {
  if (options_.threads > 0) return options_.threads;
  FRAZIL_ASSIGN(const Config* settings, config());
  const std::string text = settings->Get("limits.threads");
  if (text.empty()) return Executor::DefaultThreads();
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    return Fail(ErrorCode::kInvalidArgument, "limits.threads is not a number of threads: '{}'", text);
  }
  return number;
}

Result<MemoryBudget*> Context::budget() {
  if (!budget_) {
    FRAZIL_ASSIGN(const Config* settings, config());
    const std::string text = !options_.memory_limit.empty() ? options_.memory_limit : settings->Get("limits.memory");
    int64_t limit = MemoryBudget::DefaultLimitBytes();
    if (!text.empty()) {
      FRAZIL_ASSIGN(limit, ParseBytes(text));
    }
    if (limit < int64_t{64} << 20) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, "the memory limit is too small: " + text).WithHint("at least 64MB"));
    }
    budget_ = std::make_unique<MemoryBudget>(limit);
  }
  return budget_.get();
}

Result<Executor*> Context::executor() {
  if (!executor_) {
    FRAZIL_ASSIGN(const int num_threads, threads());
    executor_ = std::make_unique<Executor>(num_threads);
  }
  return executor_.get();
}

Result<std::unique_ptr<sql::Session>> Context::NewSession() {
  sql::SessionOptions session;
  FRAZIL_ASSIGN(session.catalogs, catalogs());
  FRAZIL_ASSIGN(session.default_catalog, default_catalog_name());
  FRAZIL_ASSIGN(session.threads, threads());
  FRAZIL_ASSIGN(MemoryBudget* const memory, budget());
  if (memory->limit_bytes() < kSmallLimitBytes) KeepFreedHeapSmall();
  session.memory_limit_bytes = memory->limit_bytes() / kSqlShareDenominator * kSqlShareNumerator;
  FRAZIL_ASSIGN(const Config* settings, config());
  session.temp_directory = TempDirectory(*settings);
  session.key_index_directory = [settings](const spec::TableMetadata& metadata) {
    return KeyIndexFolder(*settings, metadata);
  };
  session.procedures = maintain::AllProcedures();
  FRAZIL_ASSIGN(session.executor, executor());
  session.budget = memory;
  session.state_directory = settings->home() + "/state";
  session.on_notice = [this](const std::string& line) { Say(line); };
  session.on_writing = ShowWriting(options_, memory->limit_bytes());
  return sql::Session::Make(std::move(session));
}

Result<service::HttpSettings> Context::http_settings() {
  FRAZIL_ASSIGN(const Config* settings, config());
  FRAZIL_ASSIGN(service::HttpSettings http, service::ReadHttpSettings(settings->values()));
  if (http.is_enabled && http.token.empty()) {
    FRAZIL_ASSIGN(http.token, service::TokenOfHome(settings->home() + "/state/http.token"));
  }
  return http;
}

std::shared_ptr<const Context::Counters> Context::CountRequests() {
  if (counters_) return counters_;
  counters_ = std::make_shared<Counters>();
  counters_->storage.Begin({"open", "read", "create", "write", "delete", "list", "exists"});
  counters_->catalog.Begin({"load_table", "commit_table"});
  return counters_;
}

void Context::ConfigureLog(LogLevel otherwise) const {
  const std::string& text = options_.log_level;
  const LogLevel level = text == "debug"   ? LogLevel::kDebug
                         : text == "info"  ? LogLevel::kInfo
                         : text == "warn"  ? LogLevel::kWarn
                         : text == "error" ? LogLevel::kError
                         : text == "off"   ? LogLevel::kOff
                         : options_.quiet  ? LogLevel::kWarn
                                           : otherwise;
  Log::Configure(level, options_.log_format == "json" ? Log::Format::kJson : Log::Format::kText);
}

void Context::Say(const std::string& line) const {
  if (!options_.quiet) fmt::print(stderr, "{}\n", line);
}

}  // namespace frazil::cli
