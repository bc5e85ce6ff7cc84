#include "frazil/cli/candidate_list.h"
#include "frazil/cli/commands.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/moment_text.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/positive_number.h"
#include "frazil/maintain/remove_orphan_files.h"

namespace frazil::cli {
namespace {

struct CleanOrphansCommand {
  std::string table;
  std::string older_than;
  std::string location;
  double max_orphan_ratio = 0.5;
  int64_t max_deletes_per_second = 0;
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
  options.pace.max_per_second = command.max_deletes_per_second;
  options.dry_run = !command.yes;
  CandidateList list(session->context().state_directory, *table.metadata());
  if (command.yes) {
    FRAZIL_ASSIGN(options.only, list.Read(options.location, Clock::System().NowMs()));
  }
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
  // An empty list too: then nothing was seen, and nothing goes.
  if (options.dry_run) FRAZIL_TRY(list.Write(options.location, result->orphans));
  if (options.dry_run && !result->orphans.empty()) {
    context.Say(
        fmt::format("nothing was deleted: within a day, --yes deletes these and no others, if they are orphans "
                    "still; take out what is to stay, or delete the list: {}",
                    list.path()));
  }
  if (!options.dry_run) {
    FRAZIL_TRY(list.Forget());
    if (options.only && result->orphans.size() < options.only->size()) {
      context.Say(fmt::format("{} of the files that were listed are in use or gone",
                              options.only->size() - result->orphans.size()));
    }
    if (result->num_not_asked_for > 0) {
      context.Say(fmt::format("{} more have become orphans since the list was made: list them again",
                              result->num_not_asked_for));
    }
  }
  return ExitCode::kOk;
}

}  // namespace

void AddCleanOrphansCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("clean-orphans", "Find, and with --yes delete, files that no state of a table needs");
  auto options = std::make_shared<CleanOrphansCommand>();
  command->add_option("table", options->table, "namespace.table")->required();
  command->add_option("--older-than", options->older_than, "Timestamp or age of at least a day; default 3d")
      ->check(Parsed([](const std::string& text) { return ParseMoment(text, Clock::System().NowMs()); }));
  command->add_option("--location", options->location, "Folder to search; default: the table's");
  command
      ->add_option("--max-orphan-ratio", options->max_orphan_ratio,
                   "More than 1,000 orphans and more than this part of the live files stop it (exit 5)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddPaceOption(*command, options->max_deletes_per_second);
  command->add_flag("--yes", options->yes, "Delete those that were listed (all, if no list is younger than a day)");
  command->footer(
      "Examples:\n"
      "  frazil clean-orphans demo.events\n"
      "  frazil clean-orphans demo.events --older-than 7d --yes -o json");
  command->callback(
      [&action, options] { action = [options](Context& context) { return CleanOrphans(context, *options); }; });
}

}  // namespace frazil::cli
