#include <set>

#include "frazil/cli/commands.h"
#include "frazil/cli/maintain_command.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/positive_number.h"
#include "frazil/maintain/run_history.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::cli {
namespace {

Result<ExitCode> Explain(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(const table::Table table, session->Open(command.compact.table));
  const auto options = RewriteOptionsFor(command.compact, *session, table);
  if (!options) return session->RefusedOrFailed(options.error());
  const auto report = maintain::ExplainRewrite(table, *options, session->context());
  if (!report && report.error().code() == ErrorCode::kInvalidArgument) return session->Refused(report.error());
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
                                   {"deleted_rows", spec::TypeId::kLong},
                                   {"rank", spec::TypeId::kLong},
                                   {"benefit_ms", spec::TypeId::kLong},
                                   {"cost_ms", spec::TypeId::kLong},
                                   {"worth", spec::TypeId::kString}});
  for (const maintain::PartitionVerdict& verdict : report->partitions) {
    sql::DatumRow row = {sql::TextDatum(verdict.partition),       sql::BoolDatum(verdict.is_chosen),
                         sql::TextDatum(verdict.reason),          sql::LongDatum(verdict.groups),
                         sql::LongDatum(verdict.candidate_files), sql::LongDatum(verdict.files),
                         sql::LongDatum(verdict.bytes),           sql::LongDatum(verdict.rows),
                         sql::LongDatum(verdict.deleted_rows)};
    row.resize(rows.columns.size());
    if (verdict.rank > 0) {
      row[9] = sql::LongDatum(verdict.rank);
      row[10] = sql::LongDatum(static_cast<int64_t>(verdict.worth.benefit_seconds() * 1000));
      row[11] = sql::LongDatum(static_cast<int64_t>(verdict.worth.cost_seconds * 1000));
      row[12] = sql::TextDatum(verdict.worth.ToString());
    }
    rows.rows.push_back(std::move(row));
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
  maintain::RunRecorder recorder(session->context(), table, "undo");
  const Status done = table::CommitUpdates(table, make);
  recorder.Measure({{"snapshots", done ? 1 : 0}});
  recorder.Finish(done);
  FRAZIL_TRY(done);
  FRAZIL_TRY(Summary()
                 .Add("table", table.name().ToString())
                 .Add("undone_snapshot_id", undone.value())
                 .Add("current_snapshot_id", current.value())
                 .Print(context));
  return ExitCode::kOk;
}

}  // namespace

const std::vector<std::string>& OperationsInOrder() {
  static const std::vector<std::string> all = {"compact", "deletes", "vectors", "manifests", "expire", "orphans"};
  return all;
}

std::vector<std::string> MaintainCommand::Chosen() const {
  std::vector<std::string> chosen;
  const std::set<std::string> asked(operations.begin(), operations.end());
  for (const std::string& operation : OperationsInOrder()) {
    // Orphans are looked for when asked: their listing is long and there are rarely any.
    const bool is_usual = asked.empty() && operation != "orphans";
    if (is_usual || asked.contains(operation) || asked.contains("all")) chosen.push_back(operation);
  }
  return chosen;
}

sql::MadeUpTable TableOf(std::initializer_list<std::pair<const char*, spec::TypeId>> columns) {
  sql::MadeUpTable table;
  for (const auto& [name, type] : columns) {
    table.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(type)});
  }
  return table;
}

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
  CLI::App* plan = add("plan", "What a run would do; changes nothing", PlanMaintenance);
  add_operations(plan);
  plan->footer("Example:\n  frazil maintain plan demo.events");
  CLI::App* run = add("run", "Do it, in the order of a safe pass", RunMaintenance);
  add_operations(run);
  run->add_flag("--yes", options->yes, "Also expire snapshots and delete files");
  run->footer("Example:\n  frazil maintain run demo.events --yes -o json");
  CLI::App* history = add("history", "Earlier runs, with what was expected of them", ShowHistory);
  history->add_option("table", options->compact.table, "namespace.table")->required();
  history->add_option("--limit", options->max_runs, "Newest runs to show")->check(IsPositive())->capture_default_str();
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
