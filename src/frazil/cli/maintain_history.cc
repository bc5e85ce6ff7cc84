#include <cerrno>
#include <csignal>
#include <set>

#include "frazil/base/number_text.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/maintain_command.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/plain_table.h"
#include "frazil/cli/units.h"
#include "frazil/maintain/run_history.h"
#include "frazil/spec/single_value.h"

namespace frazil::cli {
namespace {

/// "files 20 (expected 21)".
std::string NumbersText(const maintain::RunRecord& run) {
  std::string text;
  for (const auto& [name, number] : run.measured) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, number);
    const auto predicted = run.predicted.find(name);
    if (predicted != run.predicted.end()) text += fmt::format(" (expected {})", predicted->second);
  }
  return text;
}

/// A run that says it runs and whose process is gone was killed.
std::string OutcomeOf(const maintain::RunRecord& run) {
  const std::string_view outcome = run.outcome;
  if (!outcome.starts_with(maintain::kRunning)) return run.outcome;
  const auto process = ReadNumber<pid_t>(outcome.substr(std::string_view(maintain::kRunning).size()));
  const bool is_gone = process && kill(*process, 0) != 0 && errno == ESRCH;
  return is_gone ? fmt::format("killed: process {} is gone", *process) : run.outcome;
}

std::string TimeText(const maintain::RunRecord& run) {
  return spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTimestampTz), run.started_at_ms * 1000);
}

std::string JsonOf(const std::map<std::string, int64_t>& numbers) {
  std::string json;
  for (const auto& [name, number] : numbers) {
    json += fmt::format("{}{}:{}", json.empty() ? "" : ",", JsonString(name), number);
  }
  return "{" + json + "}";
}

std::string JsonOf(const maintain::RunRecord& run) {
  return fmt::format(
      R"({{"run":{},"operation":{},"started_at":{},"duration_ms":{},"outcome":{},"measured":{},"predicted":{}}})",
      JsonString(run.id), JsonString(run.operation), JsonString(TimeText(run)), run.duration_ms,
      JsonString(OutcomeOf(run)), JsonOf(run.measured), JsonOf(run.predicted));
}

/// For a terminal: a line a run, and below it a line a number, the expected one beside it.
std::string HistoryText(const std::vector<maintain::RunRecord>& runs) {
  const int64_t now_ms = Clock::System().NowMs();
  std::string text;
  for (const maintain::RunRecord& run : runs) {
    text += fmt::format("{}{}  {}  {:.1f} s  {}\n  run {}\n", text.empty() ? "" : "\n",
                        FormatTime(run.started_at_ms, now_ms), run.operation,
                        static_cast<double>(run.duration_ms) / 1000, OutcomeOf(run), run.id);
    std::set<std::string> names;
    for (const auto* numbers : {&run.measured, &run.predicted}) {
      for (const auto& [name, number] : *numbers) names.insert(name);
    }
    for (const std::string& name : names) {
      const auto number = [&](const std::map<std::string, int64_t>& numbers) -> std::string {
        const auto found = numbers.find(name);
        if (found == numbers.end()) return "-";
        if (name.ends_with("bytes")) return FormatBytes(found->second);
        if (!name.ends_with("_ms")) return FormatCount(found->second);
        return fmt::format("{:.2f} s", static_cast<double>(found->second) / 1000);
      };
      const bool is_nothing =
          run.measured.contains(name) && run.measured.at(name) == 0 && !run.predicted.contains(name);
      if (is_nothing) continue;
      const std::string title = name.ends_with("_ms") ? name.substr(0, name.size() - 3) : name;
      text += fmt::format("  {:<22}{:>12}", title, number(run.measured));
      if (run.predicted.contains(name)) text += fmt::format("   expected {}", number(run.predicted));
      text += "\n";
    }
  }
  return text;
}

}  // namespace

Result<ExitCode> ShowHistory(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(const table::Table table, session->Open(command.compact.table));
  FRAZIL_ASSIGN(auto history, maintain::RunHistory::Open(session->context().state_directory, *table.metadata()));
  if (!command.run_id.empty()) {
    FRAZIL_ASSIGN(const auto files, history.DeletedBy(command.run_id));
    sql::MadeUpTable rows = TableOf({{"file", spec::TypeId::kString}, {"reason", spec::TypeId::kString}});
    for (const auto& file : files) rows.rows.push_back({sql::TextDatum(file.path), sql::TextDatum(file.reason)});
    FRAZIL_TRY(PrintRows(context, std::move(rows)));
    return ExitCode::kOk;
  }
  FRAZIL_ASSIGN(const auto runs, history.Latest(command.max_runs));
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  if (format == OutputFormat::kTable || format == OutputFormat::kVertical) {
    fmt::print("{}", runs.empty() ? "no runs yet\n" : HistoryText(runs));
    return ExitCode::kOk;
  }
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    for (const maintain::RunRecord& run : runs) fmt::print("{}\n", JsonOf(run));
    return ExitCode::kOk;
  }
  sql::MadeUpTable rows = TableOf({{"run", spec::TypeId::kString},
                                   {"operation", spec::TypeId::kString},
                                   {"started_at", spec::TypeId::kString},
                                   {"duration_ms", spec::TypeId::kLong},
                                   {"outcome", spec::TypeId::kString},
                                   {"result", spec::TypeId::kString}});
  for (const maintain::RunRecord& run : runs) {
    rows.rows.push_back({sql::TextDatum(run.id), sql::TextDatum(run.operation), sql::TextDatum(TimeText(run)),
                         sql::LongDatum(run.duration_ms), sql::TextDatum(OutcomeOf(run)),
                         sql::TextDatum(NumbersText(run))});
  }
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  return ExitCode::kOk;
}

}  // namespace frazil::cli
