#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include <unistd.h>

#include "frazil/cli/commands.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/output.h"

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

/// Runs a script to its first failure and says which statement that was.
Status RunScript(sql::Session& session, const std::string& script, const std::string& name, Context& context,
                 OutputFormat format) {
  const std::vector<sql::ScriptStatement> statements = sql::SplitScript(script);
  for (const sql::ScriptStatement& statement : statements) {
    auto place = [&](Error error) -> Status {
      if (statements.size() == 1 && name.empty()) return tl::unexpected(std::move(error));
      return tl::unexpected(std::move(error).WithContext(
          fmt::format("running the statement at {}line {}", name.empty() ? "" : name + ", ", statement.line)));
    };
    auto result = session.Execute(statement.text);
    if (!result) return place(std::move(result).error());
    if (Status written = WriteResult(**result, format, context.options().quiet); !written) {
      return place(std::move(written).error());
    }
  }
  return {};
}

/// A plain prompt: statements end with a semicolon, may span lines; an error does not end the session.
Status RunInteractive(sql::Session& session, Context& context, OutputFormat format) {
  context.Say("frazil SQL. Statements end with ';'. Ctrl-D leaves.");
  std::string pending;
  for (std::string line;;) {
    fmt::print(stderr, "{}", pending.empty() ? "frazil> " : "     -> ");
    if (!std::getline(std::cin, line)) break;
    if (pending.empty() && (line == "quit" || line == "exit" || line == ".quit" || line == ".exit")) break;
    pending += line + "\n";
    const size_t last = pending.find_last_not_of(" \t\r\n");
    if (last == std::string::npos) {
      pending.clear();
      continue;
    }
    if (pending[last] != ';') continue;
    if (Status status = RunScript(session, pending, "", context, format); !status) {
      fmt::print(stderr, "{}\n", ErrorLine(status.error()));
    }
    pending.clear();
  }
  fmt::print(stderr, "\n");
  return pending.empty() ? Status() : RunScript(session, pending, "", context, format);
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
      status = RunScript(*session, text, "", context, format);
      if (!status) break;
    }
  } else if (!options.file.empty() && options.file != "-") {
    FRAZIL_ASSIGN(const std::string script, ReadScript(options.file));
    status = RunScript(*session, script, options.file, context, format);
  } else if (options.file.empty() && isatty(STDIN_FILENO)) {
    status = RunInteractive(*session, context, format);
  } else {
    const std::string script(std::istreambuf_iterator<char>(std::cin), {});
    status = RunScript(*session, script, "standard input", context, format);
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
