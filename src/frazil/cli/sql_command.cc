#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include <unistd.h>

#include "frazil/cli/commands.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/output.h"
#include "frazil/cli/sql_shell.h"

namespace frazil::cli {
namespace {

struct SqlOptions {
  std::vector<std::string> statements;
  std::string file;
  std::string database;
};

Result<std::string> ReadScript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, "cannot read SQL file: {}", path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<ExitCode> RunSql(Context& context, const SqlOptions& options) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(const std::unique_ptr<sql::Session> session, context.NewSession());
  InterruptGuard interrupt;
  interrupt.OnSignal([&session] { session->Cancel(); });
  if (!options.database.empty()) FRAZIL_TRY(session->Execute("USE " + options.database));
  Status status;
  if (!options.statements.empty()) {
    for (const std::string& text : options.statements) {
      status = RunSqlScript(*session, text, "", context, format, interrupt.stop());
      if (!status) break;
    }
  } else if (!options.file.empty() && options.file != "-") {
    FRAZIL_ASSIGN(const std::string script, ReadScript(options.file));
    status = RunSqlScript(*session, script, options.file, context, format, interrupt.stop());
  } else if (options.file.empty() && isatty(STDIN_FILENO)) {
    status = RunSqlShell(*session, context, format, interrupt);
  } else {
    const std::string script(std::istreambuf_iterator<char>(std::cin), {});
    status = RunSqlScript(*session, script, "standard input", context, format, interrupt.stop());
  }
  if (!status && interrupt.stop()) {
    fmt::print(stderr, "interrupted\n");
    return InterruptGuard::exit_code();
  }
  FRAZIL_TRY(status);
  return ExitCode::kOk;
}

}  // namespace

void AddSqlCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("sql", "Run SQL: statements, a file, standard input, or a prompt");
  auto options = std::make_shared<SqlOptions>();
  command->add_option("-e,--execute", options->statements, "Statements to run; may be given several times")
      ->allow_extra_args(false);
  command->add_option("-f,--file", options->file, "File of statements, - for standard input");
  command->add_option("--database", options->database, "Namespace to start in");
  command->footer(
      "Examples:\n"
      "  frazil sql -e \"SELECT count(*) FROM demo.flights\"\n"
      "  frazil sql -f examples/products.sql -o markdown\n"
      "  echo 'SHOW TABLES IN demo' | frazil sql -o json");
  command->callback([&action, options] { action = [options](Context& context) { return RunSql(context, *options); }; });
}

}  // namespace frazil::cli
