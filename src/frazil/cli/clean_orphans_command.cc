#include "frazil/cli/commands.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/moment_text.h"
#include "frazil/maintain/remove_orphan_files.h"

namespace frazil::cli {
namespace {

struct CleanOrphansCommand {
  std::string table;
  std::string older_than;
  std::string location;
  double max_orphan_ratio = 0.5;
  bool yes = false;
};

Result<ExitCode> CleanOrphans(Context& context, const CleanOrphansCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.table));
  maintain::OrphanOptions options;
  if (!command.older_than.empty()) {
    FRAZIL_ASSIGN(options.older_than_ms, ParseMoment(command.older_than, Clock::System().NowMs()));
  }
  options.location = command.location;
  options.max_orphan_ratio = command.max_orphan_ratio;
  options.dry_run = !command.yes;
  const auto result = maintain::RemoveOrphanFiles(table, options, session->context());
  if (!result) return session->Failed(result.error());
  session->EndProgress();
  sql::MadeUpTable rows;
  for (const char* name : {"orphan_file_location", "reason"}) {
    rows.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kString)});
  }
  for (const maintain::RemovalCandidate& orphan : result->orphans) {
    rows.rows.push_back({sql::TextDatum(orphan.path), sql::TextDatum(orphan.reason)});
  }
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    FRAZIL_TRY(PrintRows(context, std::move(rows)));
    FRAZIL_TRY(Summary()
                   .Add("table", table.name().ToString())
                   .Add("dry_run", options.dry_run)
                   .Add("orphan_files_count", static_cast<int64_t>(result->orphans.size()))
                   .Add("listed_files_count", result->num_listed)
                   .Add("live_files_count", result->num_live)
                   .Print(context));
  } else {
    FRAZIL_TRY(PrintRows(context, std::move(rows)));
  }
  context.Say(fmt::format("{} orphan files {} beside {} live ones", result->orphans.size(),
                          options.dry_run ? "found" : "deleted", result->num_live));
  if (options.dry_run && !result->orphans.empty()) context.Say("nothing was deleted: --yes deletes");
  return ExitCode::kOk;
}

}  // namespace

void AddCleanOrphansCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("clean-orphans", "Find, and with --yes delete, files that no state of a table needs");
  auto options = std::make_shared<CleanOrphansCommand>();
  command->add_option("table", options->table, "namespace.table")->required();
  command->add_option("--older-than", options->older_than, "Timestamp or age of at least a day; default 3d");
  command->add_option("--location", options->location, "Folder to search; default: the table's");
  command
      ->add_option("--max-orphan-ratio", options->max_orphan_ratio,
                   "More than 1,000 orphans and more than this part of the live files stop it (exit 5)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--yes", options->yes, "Delete them; without, they are only listed");
  command->footer(
      "Examples:\n"
      "  frazil clean-orphans demo.events\n"
      "  frazil clean-orphans demo.events --older-than 7d --yes -o json");
  command->callback(
      [&action, options] { action = [options](Context& context) { return CleanOrphans(context, *options); }; });
}

}  // namespace frazil::cli
