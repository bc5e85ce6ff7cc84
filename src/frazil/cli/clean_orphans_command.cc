#include "frazil/cli/commands.h"
#include "frazil/cli/moment_text.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/orphan_cleaning.h"
#include "frazil/cli/positive_number.h"

namespace frazil::cli {
namespace {

struct CleanOrphansCommand {
  std::string table;
  OrphanRequest request;
};

Result<ExitCode> Run(Context& context, const CleanOrphansCommand& command) {
  const OrphanRequest& request = command.request;
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.table));
  const CandidateList list(session->context().state_directory, *table.metadata());
  const auto shown = ReadShown(list, request);
  if (!shown) return session->RefusedOrFailed(shown.error());
  if (const Status old_enough = CheckAge(request, *shown); !old_enough) return session->Refused(old_enough.error());
  const auto result = CleanOrphans(context, *session, table, request, *shown);
  if (!result) return session->Failed(result.error());
  sql::MadeUpTable rows;
  for (const char* name : {"orphan_file_location", "reason"}) {
    rows.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kString)});
  }
  for (const maintain::RemovalCandidate& orphan : result->orphans) {
    rows.rows.push_back({sql::TextDatum(orphan.path), sql::TextDatum(orphan.reason)});
  }
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    FRAZIL_TRY(Summary()
                   .Add("table", table.name().ToString())
                   .Add("dry_run", !request.yes)
                   .Add("orphan_files_count", static_cast<int64_t>(result->orphans.size()))
                   .Add("listed_files_count", result->num_listed)
                   .Add("live_files_count", result->num_live)
                   .Add("not_listed_before_count", result->num_not_asked_for)
                   .Add("left_files_count", result->num_left_out)
                   .Print(context));
  }
  context.Say(fmt::format("{} orphan files {} beside {} live ones", result->orphans.size(),
                          request.yes ? "deleted" : "found", result->num_live));
  if (!request.yes && !result->orphans.empty()) {
    OrphanRequest deleting = request;
    deleting.yes = true;
    context.Say(
        fmt::format("nothing was deleted: within a day, {} deletes these and no others, if they are orphans "
                    "still; take out what is to stay, or delete the list: {}",
                    CheckAge(deleting, std::nullopt) ? "--yes" : "--yes --force", list.path()));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddCleanOrphansCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("clean-orphans", "Find, and with --yes delete, files that no state of a table needs");
  auto options = std::make_shared<CleanOrphansCommand>();
  OrphanRequest& request = options->request;
  command->add_option("table", options->table, "namespace.table")->required();
  command->add_option("--older-than", request.older_than, "Timestamp or age, to delete of at least a day; default 3d")
      ->check(Parsed([](const std::string& text) { return ParseMoment(text, Clock::System().NowMs()); }));
  command->add_option("--location", request.location, "Folder to search; default: the table's");
  command
      ->add_option(
          "--max-orphan-ratio", request.max_orphan_ratio,
          "More than 1,000 orphans and more than this part of the live files stop it (exit 5); default 0.5, and ten "
          "times what the newest runs deleted")
      ->check(Parsed([](const std::string& text) -> Result<double> {
        const auto ratio = ReadNumber<double>(text);
        if (ratio && *ratio >= 0) return *ratio;
        return Fail(ErrorCode::kInvalidArgument, "must be a number of at least 0: {}", text);
      }));
  AddPaceOption(*command, request.max_deletes_per_second);
  command->add_flag(
      "--yes", request.yes,
      "Delete those that were listed, under the conditions of the list (all, if no list is younger than a day)");
  command->add_flag(
      "--force", request.force,
      "Delete what is younger than a day, too: files of writers that have not committed yet may be among it");
  command->footer(
      "Examples:\n"
      "  frazil clean-orphans demo.events --older-than 7d\n"
      "  frazil clean-orphans demo.events --yes -o json");
  command->callback([&action, options] { action = [options](Context& context) { return Run(context, *options); }; });
}

}  // namespace frazil::cli
