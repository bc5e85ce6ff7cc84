#include <set>

#include "frazil/cli/commands.h"
#include "frazil/cli/compact_options.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/plain_table.h"
#include "frazil/cli/units.h"
#include "frazil/maintain/expire_snapshots.h"
#include "frazil/maintain/procedures.h"
#include "frazil/maintain/remove_orphan_files.h"
#include "frazil/maintain/run_history.h"
#include "frazil/maintain/snapshot_ancestry.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::cli {
namespace {

/// The order of a safe pass (spec section 9.10).
const std::vector<std::string>& OperationsInOrder() {
  static const std::vector<std::string> all = {"compact", "deletes", "vectors", "manifests", "expire", "orphans"};
  return all;
}
/// Those that delete files: they need --yes.
bool Deletes(const std::string& operation) { return operation == "expire" || operation == "orphans"; }

struct MaintainCommand {
  CompactOptions compact;
  std::vector<std::string> operations;
  bool yes = false;
  int64_t max_runs = 20;
  std::string run_id;

  std::vector<std::string> Chosen() const {
    std::vector<std::string> chosen;
    const std::set<std::string> asked(operations.begin(), operations.end());
    for (const std::string& operation : OperationsInOrder()) {
      // Orphans are looked for when asked: their listing is long and there are rarely any.
      const bool is_usual = asked.empty() && operation != "orphans";
      if (is_usual || asked.contains(operation) || asked.contains("all")) chosen.push_back(operation);
    }
    return chosen;
  }
};

sql::MadeUpTable TableOf(std::initializer_list<std::pair<const char*, spec::TypeId>> columns) {
  sql::MadeUpTable table;
  for (const auto& [name, type] : columns) {
    table.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(type)});
  }
  return table;
}

/// What an operation would do.
struct Foreseen {
  std::optional<int64_t> count;  ///< of groups, snapshots, files
  std::string plan;
  std::optional<maintain::RewritePlanReport> rewrite;
};

std::string MinutesText(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.1f} min", seconds / 60);
}

Result<Foreseen> Foresee(const std::string& operation, table::Table& table, const MaintainCommand& command,
                         const MaintenanceSession& session) {
  if (operation == "compact") {
    FRAZIL_ASSIGN(const auto options, RewriteOptionsFor(command.compact, session, table));
    FRAZIL_ASSIGN(auto report, maintain::ExplainRewrite(table, options, session.context()));
    std::string plan =
        report.groups == 0
            ? "nothing to rewrite"
            : fmt::format("rewrite {} files ({}) into about {} ({}): {} of CPU, {}, {} of memory",
                          FormatCount(report.input_files), FormatBytes(report.input_bytes),
                          FormatCount(report.expected_output_files), FormatBytes(report.expected_output_bytes),
                          MinutesText(report.expected_cpu_seconds), MinutesText(report.expected_seconds),
                          FormatBytes(report.expected_peak_memory_bytes));
    const int64_t groups = report.groups;
    return Foreseen{groups, std::move(plan), std::move(report)};
  }
  if (operation == "expire") {
    maintain::ExpireOptions options;
    options.dry_run = true;
    FRAZIL_ASSIGN(const auto result, maintain::ExpireSnapshots(table, options, session.context()));
    return Foreseen{
        static_cast<int64_t>(result.expired.size()),
        fmt::format("expire {} snapshots and delete {} files", result.expired.size(), result.removal.deleted.size()),
        {}};
  }
  if (operation == "orphans") {
    maintain::OrphanOptions options;
    options.dry_run = true;
    FRAZIL_ASSIGN(const auto result, maintain::RemoveOrphanFiles(table, options, session.context()));
    return Foreseen{
        static_cast<int64_t>(result.orphans.size()), fmt::format("delete {} orphan files", result.orphans.size()), {}};
  }
  return Foreseen{{}, "decided on the newest state when it runs", {}};
}

Result<ExitCode> Plan(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.compact.table));
  sql::MadeUpTable rows = TableOf({{"operation", spec::TypeId::kString},
                                   {"count", spec::TypeId::kLong},
                                   {"plan", spec::TypeId::kString},
                                   {"bytes", spec::TypeId::kLong},
                                   {"cpu_ms", spec::TypeId::kLong},
                                   {"duration_ms", spec::TypeId::kLong},
                                   {"peak_memory_bytes", spec::TypeId::kLong}});
  for (const std::string& operation : command.Chosen()) {
    const auto foreseen = Foresee(operation, table, command, *session);
    if (!foreseen) return session->Failed(foreseen.error());
    sql::DatumRow row(rows.columns.size());
    row[0] = sql::TextDatum(operation);
    if (foreseen->count) row[1] = sql::LongDatum(*foreseen->count);
    row[2] = sql::TextDatum(foreseen->plan);
    if (const auto& rewrite = foreseen->rewrite) {
      row[3] = sql::LongDatum(rewrite->input_bytes);
      row[4] = sql::LongDatum(static_cast<int64_t>(rewrite->expected_cpu_seconds * 1000));
      row[5] = sql::LongDatum(static_cast<int64_t>(rewrite->expected_seconds * 1000));
      row[6] = sql::LongDatum(rewrite->expected_peak_memory_bytes);
    }
    rows.rows.push_back(std::move(row));
  }
  session->EndProgress();
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  return ExitCode::kOk;
}

/// The procedure behind an operation.
std::string ProcedureOf(const std::string& operation) {
  if (operation == "compact") return "rewrite_data_files";
  if (operation == "deletes") return "rewrite_position_delete_files";
  if (operation == "vectors") return "rewrite_deletion_vectors";
  if (operation == "manifests") return "rewrite_manifests";
  return operation == "expire" ? "expire_snapshots" : "remove_orphan_files";
}

/// "rewritten_data_files_count 20, added_data_files_count 1": what a procedure's row says that is not zero.
std::string TextOf(const table::Procedure& procedure, const std::vector<table::ProcedureRow>& rows) {
  if (procedure.columns().size() == 1) return fmt::format("{} files", rows.size());
  std::string text;
  for (const table::ProcedureRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const int64_t* number = std::get_if<int64_t>(&row[i]);
      if (number == nullptr || *number == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", procedure.columns()[i].name, *number);
    }
  }
  return text.empty() ? "nothing to do" : text;
}

Result<ExitCode> RunOperations(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.compact.table));
  const table::ProcedureSet procedures = maintain::AllProcedures();
  Summary summary;
  summary.Add("table", table.name().ToString());
  for (const std::string& operation : command.Chosen()) {
    if (Deletes(operation) && !command.yes) {
      const auto foreseen = Foresee(operation, table, command, *session);
      if (!foreseen) return session->Failed(foreseen.error());
      summary.Add(operation, "would " + foreseen->plan + " (--yes does it)");
      continue;
    }
    if (operation == "compact") {
      FRAZIL_TRY(table.Refresh());
      FRAZIL_ASSIGN(const auto options, RewriteOptionsFor(command.compact, *session, table));
      const auto result = maintain::RewriteWithHistory(table, options, session->context());
      if (!result) return session->Failed(result.error());
      summary.Add(operation,
                  fmt::format("rewrote {} files into {}", result->rewritten_data_files, result->added_data_files));
      continue;
    }
    const table::Procedure& procedure = *procedures.at(ProcedureOf(operation));
    const auto rows = procedure.Run(session->context(), {{"table", command.compact.table}});
    if (!rows) return session->Failed(rows.error());
    summary.Add(operation, TextOf(procedure, *rows));
  }
  session->EndProgress();
  FRAZIL_TRY(summary.Print(context));
  return ExitCode::kOk;
}

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

/// For a terminal: a line a run, and below it a line a number, the expected one beside it.
std::string HistoryText(const std::vector<maintain::RunRecord>& runs) {
  const int64_t now_ms = Clock::System().NowMs();
  std::string text;
  for (const maintain::RunRecord& run : runs) {
    text += fmt::format("{}{}  {}  {:.1f} s  {}\n  run {}\n", text.empty() ? "" : "\n",
                        FormatTime(run.started_at_ms, now_ms), run.operation,
                        static_cast<double>(run.duration_ms) / 1000, run.outcome, run.id);
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

Result<ExitCode> History(Context& context, const MaintainCommand& command) {
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
  sql::MadeUpTable rows = TableOf({{"run", spec::TypeId::kString},
                                   {"operation", spec::TypeId::kString},
                                   {"started_at", spec::TypeId::kString},
                                   {"duration_ms", spec::TypeId::kLong},
                                   {"outcome", spec::TypeId::kString},
                                   {"result", spec::TypeId::kString}});
  const spec::Type timestamp = spec::Type::Primitive(spec::TypeId::kTimestampTz);
  for (const maintain::RunRecord& run : runs) {
    rows.rows.push_back({sql::TextDatum(run.id), sql::TextDatum(run.operation),
                         sql::TextDatum(spec::FormatValue(timestamp, run.started_at_ms * 1000)),
                         sql::LongDatum(run.duration_ms), sql::TextDatum(run.outcome),
                         sql::TextDatum(NumbersText(run))});
  }
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  return ExitCode::kOk;
}

Result<ExitCode> Explain(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(const table::Table table, session->Open(command.compact.table));
  FRAZIL_ASSIGN(const auto options, RewriteOptionsFor(command.compact, *session, table));
  const auto report = maintain::ExplainRewrite(table, options, session->context());
  if (!report) return session->Failed(report.error());
  session->EndProgress();
  sql::MadeUpTable rows = TableOf({{"partition", spec::TypeId::kString},
                                   {"chosen", spec::TypeId::kBoolean},
                                   {"reason", spec::TypeId::kString},
                                   {"groups", spec::TypeId::kLong},
                                   {"candidates", spec::TypeId::kLong},
                                   {"files", spec::TypeId::kLong},
                                   {"bytes", spec::TypeId::kLong},
                                   {"rows", spec::TypeId::kLong},
                                   {"deleted_rows", spec::TypeId::kLong}});
  for (const maintain::PartitionVerdict& verdict : report->partitions) {
    rows.rows.push_back(
        {sql::TextDatum(verdict.partition), sql::BoolDatum(verdict.is_chosen), sql::TextDatum(verdict.reason),
         sql::LongDatum(verdict.groups), sql::LongDatum(verdict.candidate_files), sql::LongDatum(verdict.files),
         sql::LongDatum(verdict.bytes), sql::LongDatum(verdict.rows), sql::LongDatum(verdict.deleted_rows)});
  }
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  return ExitCode::kOk;
}

/// Main goes back to before the head, if that is a commit of maintenance: no row changes by it.
Result<ExitCode> Undo(Context& context, const std::string& name) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(name));
  spec::SnapshotId undone;
  spec::SnapshotId current;
  const auto make = [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    const spec::Snapshot* head = metadata.current_snapshot();
    if (head == nullptr || head->operation != spec::Operation::kReplace) {
      return Fail(ErrorCode::kInvalidArgument, "the newest commit is none of maintenance, nothing is undone: {}",
                  table.name().ToString());
    }
    if (!head->parent_id || metadata.FindSnapshot(*head->parent_id) == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "the snapshot before the newest commit has expired: {}",
                  table.name().ToString());
    }
    undone = head->id;
    current = *head->parent_id;
    spec::SnapshotRef ref = metadata.refs.at(spec::kMainBranch);
    ref.snapshot_id = current;
    return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{spec::kMainBranch, ref}};
  };
  FRAZIL_TRY(table::CommitUpdates(table, make));
  FRAZIL_TRY(Summary()
                 .Add("table", table.name().ToString())
                 .Add("undone_snapshot_id", undone.value())
                 .Add("current_snapshot_id", current.value())
                 .Print(context));
  return ExitCode::kOk;
}

}  // namespace

void AddMaintainCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("maintain", "Maintenance of a table: plan, run, history, explain");
  command->require_subcommand(1);
  auto options = std::make_shared<MaintainCommand>();
  const auto add = [&](const char* verb, const char* help, Result<ExitCode> (*run)(Context&, const MaintainCommand&)) {
    CLI::App* subcommand = command->add_subcommand(verb, help);
    subcommand->callback(
        [&action, options, run] { action = [options, run](Context& context) { return run(context, *options); }; });
    return subcommand;
  };
  std::vector<std::string> operations = OperationsInOrder();
  operations.push_back("all");
  const auto add_operations = [&](CLI::App* subcommand) {
    AddCompactOptions(*subcommand, options->compact);
    subcommand
        ->add_option("--op", options->operations,
                     "compact, deletes, vectors, manifests, expire, orphans, all; default: all but orphans")
        ->check(CLI::IsMember(operations))
        ->allow_extra_args(false);
  };
  CLI::App* plan = add("plan", "What a run would do; changes nothing", Plan);
  add_operations(plan);
  plan->footer("Example:\n  frazil maintain plan demo.events");
  CLI::App* run = add("run", "Do it, in the order of a safe pass", RunOperations);
  add_operations(run);
  run->add_flag("--yes", options->yes, "Also expire snapshots and delete files");
  run->footer("Example:\n  frazil maintain run demo.events --yes -o json");
  CLI::App* history = add("history", "Earlier runs, with what was expected of them", History);
  history->add_option("table", options->compact.table, "namespace.table")->required();
  history->add_option("--limit", options->max_runs, "Newest runs to show")->capture_default_str();
  history->add_option("--run", options->run_id, "The files that this run deleted, with the reason of each");
  CLI::App* explain = add("explain", "Each partition: compacted or left alone, and why", Explain);
  AddCompactOptions(*explain, options->compact);

  CLI::App* undo = program.add_subcommand("undo", "Take back the newest commit if it is one of maintenance");
  auto name = std::make_shared<std::string>();
  undo->add_option("table", *name, "namespace.table")->required();
  undo->footer("Example:\n  frazil undo demo.events");
  undo->callback([&action, name] { action = [name](Context& context) { return Undo(context, *name); }; });
}

}  // namespace frazil::cli
