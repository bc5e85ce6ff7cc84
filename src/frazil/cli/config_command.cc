#include "frazil/cli/commands.h"
#include "frazil/cli/config_keys.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/output.h"
#include "frazil/service/http_settings.h"
#include "frazil/service/metrics.h"
#include "frazil/service/pipeline_config.h"

namespace frazil::cli {
namespace {

struct ConfigCommandOptions {
  std::string key;
  bool show_secrets = false;
};

std::string Shown(const ConfigCommandOptions& options, const std::string& key, const service::Setting& setting) {
  return options.show_secrets ? setting.value : service::ShownValue(key, setting);
}

Result<bool> WantsJson(Context& context) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  return format == OutputFormat::kJson || format == OutputFormat::kJsonLines;
}

Result<ExitCode> ShowConfig(Context& context, const ConfigCommandOptions& options) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_ASSIGN(const bool as_json, WantsJson(context));
  if (as_json) {
    std::string members = fmt::format("\"home\":{}", JsonString(config->home()));
    for (const auto& [key, setting] : config->values()) {
      members += fmt::format(",{}:{}", JsonString(key), JsonString(Shown(options, key, setting)));
    }
    fmt::print("{{{}}}\n", members);
    return ExitCode::kOk;
  }
  fmt::print("home = {}\n", config->home());
  for (const std::string& name : config->CatalogNames()) {
    if (config->CatalogProperties(name).empty()) fmt::print("catalogs.{} = SQLite in home (built-in)\n", name);
  }
  for (const auto& [key, setting] : config->values()) {
    fmt::print("{} = {}  # {}\n", key, Shown(options, key, setting), setting.origin);
  }
  return ExitCode::kOk;
}

Result<ExitCode> ExplainConfig(Context& context, const ConfigCommandOptions& options) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_TRY(CheckConfigKey(options.key));
  const ConfigKey* known = FindConfigKey(options.key);
  const auto found = config->values().find(options.key);
  if (found != config->values().end()) {
    fmt::print("{} = {}\nset by {}\n", options.key, Shown(options, options.key, found->second), found->second.origin);
  } else {
    fmt::print("{} is not set; the built-in default holds: {}\n", options.key,
               known->default_text.empty() ? "none" : known->default_text);
  }
  fmt::print("{}\n", known->help);
  return ExitCode::kOk;
}

Result<ExitCode> ListKeys() {
  for (const ConfigKey& key : AllConfigKeys()) {
    fmt::print("{}\n    {}{}\n", key.pattern, key.help,
               key.default_text.empty() ? "" : fmt::format(" [{}]", key.default_text));
  }
  return ExitCode::kOk;
}

/// Everything that can be known without connecting to anything.
Result<ExitCode> ValidateConfig(Context& context) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_TRY(context.default_catalog_name());
  FRAZIL_TRY(context.threads());
  FRAZIL_TRY(context.budget());
  FRAZIL_TRY(service::ReadHttpSettings(config->values()));
  FRAZIL_TRY(service::ReadMetricsSettings(config->values()));
  int wrong = 0;
  const std::vector<std::string> ids = service::NamesBelow(config->values(), "pipelines");
  for (const std::string& id : ids) {
    const auto pipeline = service::ReadPipelineConfig(config->values(), id, config->CatalogNames());
    if (pipeline) continue;
    fmt::print(stderr, "{}\n", ErrorLine(pipeline.error()));
    ++wrong;
  }
  if (wrong > 0) return ExitCode::kUsage;
  const std::string default_catalog = context.default_catalog_name().value_or("");
  if (const auto all = service::ReadPipelineConfigs(config->values(), config->CatalogNames(), default_catalog); !all) {
    fmt::print(stderr, "{}\n", ErrorLine(all.error()));
    return ExitCode::kUsage;
  }
  context.Say(
      fmt::format("the configuration is valid: {} settings, {} pipelines", config->values().size(), ids.size()));
  return ExitCode::kOk;
}

}  // namespace

void AddConfigCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("config", "Settings in force and where they come from");
  command->require_subcommand(1);
  auto options = std::make_shared<ConfigCommandOptions>();
  const auto add = [&](const char* verb, const char* help, auto run) {
    CLI::App* subcommand = command->add_subcommand(verb, help);
    subcommand->callback([&action, run] { action = run; });
    return subcommand;
  };
  add("show", "All settings", [options](Context& context) {
    return ShowConfig(context, *options);
  })->add_flag("--show-secrets", options->show_secrets, "Print passwords and tokens, too");
  CLI::App* explain = add("explain", "One setting and its origin",
                          [options](Context& context) { return ExplainConfig(context, *options); });
  explain->add_option("key", options->key, "For example limits.memory")->required();
  explain->add_flag("--show-secrets", options->show_secrets, "Print passwords and tokens, too");
  add("validate", "Check all settings and pipelines; connects to nothing",
      [](Context& context) { return ValidateConfig(context); });
  add("list", "All settings that there are", [](Context&) { return ListKeys(); });
}

}  // namespace frazil::cli
