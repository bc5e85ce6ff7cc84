#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/executor.h"
#include "frazil/base/log.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/request_counters.h"
#include "frazil/base/result.h"
#include "frazil/catalog/catalog.h"
#include "frazil/cli/config.h"
#include "frazil/service/http_settings.h"
#include "frazil/sql/session.h"

namespace frazil::cli {

/// The options that every command takes.
struct GlobalOptions {
  std::optional<std::string> config_file;
  std::vector<std::string> overrides;
  std::string catalog;
  std::string output;     ///< empty: by whether stdout is a terminal
  std::string log_level;  ///< empty: as the command wants it
  std::string log_format = "text";
  std::string progress = "auto";
  std::string color = "auto";
  std::string memory_limit;
  int threads = 0;
  bool quiet = false;
};

/// What commands work with, made when first asked for: `frazil version` opens nothing. One thread.
class Context {
 public:
  explicit Context(const GlobalOptions& options) : options_(options) {}

  const GlobalOptions& options() const { return options_; }
  Result<const Config*> config();
  /// The catalog that names without one mean.
  Result<std::shared_ptr<catalog::Catalog>> default_catalog();
  /// All configured ones, by name.
  Result<std::map<std::string, std::shared_ptr<catalog::Catalog>>> catalogs();
  Result<std::string> default_catalog_name();
  /// So long a request waits for a catalog that another process holds; for those who tell of it and ask again. Before
  /// catalogs().
  void set_catalog_patience(std::chrono::milliseconds patience) { catalog_patience_ = patience; }
  Result<int> threads();
  Result<MemoryBudget*> budget();
  /// Threads for maintenance and whatever else works in parallel; lives as long as the context.
  Result<Executor*> executor();
  Result<std::unique_ptr<sql::Session>> NewSession();
  /// With a token: the configured one, else the home's (made when there is none).
  Result<service::HttpSettings> http_settings();
  /// Requests to stores and catalogs.
  struct Counters {
    RequestCounters storage;
    RequestCounters catalog;
  };
  /// From now on they are counted; to be called before catalogs are opened.
  std::shared_ptr<const Counters> CountRequests();

  /// `otherwise` counts where --log-level was not given; -q makes that warnings only.
  void ConfigureLog(LogLevel otherwise) const;
  /// One line on stderr, unless quiet.
  void Say(const std::string& line) const;

 private:
  const GlobalOptions& options_;
  std::optional<Config> config_;
  std::unique_ptr<MemoryBudget> budget_;  // of the catalogs too
  std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs_;
  std::unique_ptr<Executor> executor_;
  std::shared_ptr<Counters> counters_;
  std::chrono::milliseconds catalog_patience_{30'000};
};

}  // namespace frazil::cli
