#include "frazil/cli/program.h"

#include <algorithm>
#include <csignal>

#include <unistd.h>
#include <CLI/CLI.hpp>

#include "frazil/base/log.h"
#include "frazil/cli/commands.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/positive_number.h"
#include "frazil/cli/units.h"
#include "frazil/spec/schema.h"

namespace frazil::cli {
namespace {

void AddGlobalOptions(CLI::App& program, GlobalOptions& options) {
  program.add_option("-c,--config", options.config_file, "Configuration file");
  program.add_option("-X", options.overrides, "Setting key=value, may be repeated")
      ->allow_extra_args(false)
      ->check(IsKeyValue());
  program.add_option("--catalog", options.catalog, "Catalog that names without one mean");
  program.add_option("-o,--output", options.output, "table, csv, tsv, json, jsonl, arrow, markdown, vertical, none")
      ->check(Parsed(ParseOutputFormat));
  program.add_option("--log-level", options.log_level, "debug, info, warn, error, off; default warn, of run info")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  program.add_option("--log-format", options.log_format, "text or json")->check(CLI::IsMember({"text", "json"}));
  program.add_option("--progress", options.progress, "auto, off or json")
      ->check(CLI::IsMember({"auto", "off", "json"}));
  program.add_option("--memory-limit", options.memory_limit, "For example 4GB; default 60 % of the machine")
      ->check(Parsed(ParseBytes));
  program.add_option("--threads", options.threads, "Default: CPUs of the machine or cgroup")->check(IsPositive());
  program.add_flag("-q,--quiet", options.quiet, "Only results and errors");
}

/// What to say when the first word is no command; empty when it is one or there is none.
std::string UnknownCommand(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return "";
  const std::string nearest = spec::NearestName(argv[1], names);
  const std::string hint = nearest.empty() ? "see frazil --help" : "did you mean " + nearest + "?";
  return fmt::format("unknown command '{}' ({})", argv[1], hint);
}

/// Configuration is the user's command line in another place: what is wrong there is a usage error, and so is a limit that
/// cannot be worked with or a catalog that is not configured.
ExitCode CodeFor(Context& context, const Error& error) {
  const bool is_usable = context.config() && context.threads() && context.budget() && context.default_catalog_name();
  return is_usable ? ExitCodeOf(error) : ExitCode::kUsage;
}

}  // namespace

int RunProgram(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, not a silent death
  CLI::App program("frazil: exactly-once upserts into Apache Iceberg v3 tables, and SQL over them", "frazil");
  program.require_subcommand(1);
  program.fallthrough();  // global options may follow the command
  GlobalOptions options;
  Action action;
  AddGlobalOptions(program, options);
  AddSqlCommand(program, action);
  AddIngestCommand(program, action);
  AddRunCommand(program, action);
  AddPipelineCommand(program, action);
  AddVerifyCommand(program, action);
  AddGetCommand(program, action);
  AddTableCommand(program, action);
  AddIndexCommand(program, action);
  AddCompactCommand(program, action);
  AddExpireCommand(program, action);
  AddCleanOrphansCommand(program, action);
  AddMaintainCommand(program, action);
  AddDoctorCommand(program, action);
  AddInspectCommand(program, action);
  AddTopicCommand(program, action);
  AddBenchCommand(program, action);
  AddImportCommand(program, action);
  AddConfigCommand(program, action);
  AddVersionCommand(program, action);
  program.footer(
      "Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 unreachable or fenced (retry), 4 commit conflict\n"
      "(retry), 5 stopped by a limit, 10 not as it should be (pipeline list, verify), 130/143 interrupted.");
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help
    const std::string unknown = UnknownCommand(program, argc, argv);
    fmt::print(stderr, "error: {}\n", unknown.empty() ? fmt::format("{} (see frazil --help)", error.what()) : unknown);
    return static_cast<int>(ExitCode::kUsage);
  }
  Context context(options);
  context.ConfigureLog(LogLevel::kWarn);
  const Result<ExitCode> code = action(context);
  if (code) return static_cast<int>(*code);
  fmt::print(stderr, "{}\n", ErrorLine(code.error()));
  return static_cast<int>(CodeFor(context, code.error()));
}

}  // namespace frazil::cli
