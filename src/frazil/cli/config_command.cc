#include "frazil/cli/commands.h"
#include "frazil/spec/schema.h"

namespace frazil::cli {
namespace {

/// Secrets never leave through a dump.
std::string Redacted(const std::string& key, const std::string& value) {
  for (const char* secret : {"secret", "password", "token", "credential", "access-key"}) {
    if (key.find(secret) != std::string::npos) return "********";
  }
  return value;
}

Result<ExitCode> ShowConfig(Context& context) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  fmt::print("home = {}\n", config->home());
  for (const std::string& name : config->CatalogNames()) {
    if (config->CatalogProperties(name).empty()) fmt::print("catalogs.{} = SQLite in home (built-in)\n", name);
  }
  for (const auto& [key, value] : config->values())
    fmt::print("{} = {}  # {}\n", key, Redacted(key, value.value), value.origin);
  return ExitCode::kOk;
}

Result<ExitCode> ExplainConfig(Context& context, const std::string& key) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  const auto found = config->values().find(key);
  if (found == config->values().end()) {
    fmt::print("{} is not set; the built-in default holds\n", key);
  } else {
    fmt::print("{} = {}\nset by {}\n", key, Redacted(key, found->second.value), found->second.origin);
  }
  return ExitCode::kOk;
}

}  // namespace

void AddConfigCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("config", "Settings in force and where they come from");
  command->require_subcommand(1);
  command->add_subcommand("show", "All settings")->callback([&action] { action = ShowConfig; });
  auto key = std::make_shared<std::string>();
  CLI::App* explain = command->add_subcommand("explain", "One setting and its origin");
  explain->add_option("key", *key, "For example limits.memory")->required();
  explain->callback([&action, key] { action = [key](Context& context) { return ExplainConfig(context, *key); }; });
}

}  // namespace frazil::cli
