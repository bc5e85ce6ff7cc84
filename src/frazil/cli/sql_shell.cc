#include "frazil/cli/sql_shell.h"

#include <chrono>
#include <sstream>

#include "frazil/base/stop_flag.h"
#include "frazil/cli/line_editor.h"
#include "frazil/sql/token.h"

namespace frazil::cli {
namespace {

constexpr char kHelp[] =
    "Statements end with ';' and may span lines.\n"
    "  .tables [NAMESPACE]   tables of the current, or of another namespace\n"
    "  .schema TABLE         the statements that make a table\n"
    "  .mode FORMAT          table, csv, tsv, json, jsonl, arrow, markdown, vertical\n"
    "  .timer on|off         how long statements take\n"
    "  .help                 this\n"
    "  .quit                 leaves, as Ctrl-D does";

/// Whether a semicolon ends the text, not one inside quotes or a comment.
bool IsComplete(const std::string& text) {
  const std::vector<sql::Token> tokens = sql::Tokenize(text);
  if (!tokens.empty() && tokens.back().is_open) return false;
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) {
    if (!sql::IsBlank(*token)) return token->kind == sql::TokenKind::kSymbol && token->text == ";";
  }
  return false;
}

bool IsBlankText(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

class Shell {
 public:
  Shell(sql::Session& session, Context& context, OutputFormat format, InterruptGuard& interrupt, LineEditor& editor)
      : session_(session), context_(context), format_(format), interrupt_(interrupt), editor_(editor) {}

  Status Run() {
    context_.Say("frazil SQL. Statements end with ';', .help says more, Ctrl-D leaves.");
    while (!is_done_) {
      const std::optional<std::string> line = editor_.Read(pending_.empty() ? "frazil> " : "     -> ");
      if (interrupt_.stop()) {
        // Ctrl-C while typing: begin anew.
        interrupt_.Forget();
        fmt::print(stderr, "\n");
        pending_.clear();
        continue;
      }
      if (!line) break;
      Take(*line);
    }
    fmt::print(stderr, "\n");
    return IsBlankText(pending_) ? Status()
                                 : RunSqlScript(session_, pending_, "", context_, format_, interrupt_.stop());
  }

 private:
  void Take(const std::string& line) {
    if (pending_.empty() && IsBlankText(line)) return;
    if (pending_.empty() && (line == "quit" || line == "exit")) {
      is_done_ = true;
      return;
    }
    if (pending_.empty() && line.starts_with('.')) {
      editor_.Remember(line);
      DotCommand(line);
      return;
    }
    pending_ += line + "\n";
    if (!IsComplete(pending_)) return;
    editor_.Remember(pending_);
    const std::string script = std::move(pending_);
    pending_.clear();
    RunStatement(script);
  }

  void RunStatement(const std::string& script) {
    const auto started = std::chrono::steady_clock::now();
    const Status status = RunSqlScript(session_, script, "", context_, format_, interrupt_.stop());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    const bool is_interrupted = interrupt_.stop();
    if (is_interrupted) interrupt_.Forget();
    if (!status && is_interrupted) {
      fmt::print(stderr, "interrupted\n");
    } else if (!status) {
      fmt::print(stderr, "{}\n", ErrorLine(status.error()));
    } else if (has_timer_) {
      fmt::print(stderr, "{:.3f} s\n", took.count());
    }
  }

  void DotCommand(const std::string& line) {
    std::istringstream words(line);
    std::string command, argument;
    words >> command >> argument;
    if (command == ".quit" || command == ".exit") {
      is_done_ = true;
    } else if (command == ".help") {
      fmt::print(stderr, "{}\n", kHelp);
    } else if (command == ".tables") {
      RunStatement(argument.empty() ? "SHOW TABLES" : "SHOW TABLES IN " + argument);
    } else if (command == ".schema" && !argument.empty()) {
      RunStatement("SHOW CREATE TABLE " + argument);
    } else if (command == ".timer" || command == ".timing") {
      has_timer_ = argument != "off";
    } else if (command == ".mode" && !argument.empty()) {
      if (auto format = ParseOutputFormat(argument)) {
        format_ = *format;
      } else {
        fmt::print(stderr, "{}\n", ErrorLine(format.error()));
      }
    } else {
      fmt::print(stderr, "error: not a command of the shell: {} (.help lists them)\n", line);
    }
  }

  sql::Session& session_;
  Context& context_;
  OutputFormat format_;
  InterruptGuard& interrupt_;
  LineEditor& editor_;
  std::string pending_;
  bool has_timer_ = true;
  bool is_done_ = false;
};

}  // namespace

Status RunSqlScript(sql::Session& session, const std::string& script, const std::string& name, Context& context,
                    OutputFormat format, const std::atomic<bool>& stop) {
  const std::vector<sql::ScriptStatement> statements = sql::SplitScript(script);
  for (const sql::ScriptStatement& statement : statements) {
    FRAZIL_TRY(CheckStop(&stop, "script"));
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

Status RunSqlShell(sql::Session& session, Context& context, OutputFormat format, InterruptGuard& interrupt) {
  FRAZIL_ASSIGN(const Config* settings, context.config());
  LineEditor editor(settings->home() + "/sql_history", interrupt.stop());
  interrupt.OnSignal([&] {
    session.Cancel();
    editor.Wake();
  });
  const Status status = Shell(session, context, format, interrupt, editor).Run();
  interrupt.OnSignal([&session] { session.Cancel(); });
  return status;
}

}  // namespace frazil::cli
