#include "frazil/cli/commands.h"
#include "frazil/cli/expiry_list.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/moment_text.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/positive_number.h"
#include "frazil/maintain/expire_snapshots.h"

namespace frazil::cli {
namespace {

struct ExpireCommand {
  std::string table;
  std::string older_than;
  int64_t retain_last = 0;
  std::vector<int64_t> snapshot_ids;
  bool clean_metadata = false;
  int64_t max_deletes_per_second = 0;
  bool yes = false;
};

Result<ExitCode> Expire(Context& context, const ExpireCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.table));
  maintain::ExpireOptions options;
  if (!command.older_than.empty()) {
    FRAZIL_ASSIGN(options.older_than_ms, ParseMoment(command.older_than, Clock::System().NowMs()));
  }
  if (command.retain_last > 0) options.retain_last = command.retain_last;
  for (const int64_t id : command.snapshot_ids) options.snapshot_ids.emplace_back(id);
  options.clean_expired_metadata = command.clean_metadata;
  options.dry_run = !command.yes;
  options.pace.max_per_second = command.max_deletes_per_second;
  const ExpiryList list(session->context().state_directory, *table.metadata());
  // Snapshots that are named are what they are, whatever was listed.
  if (command.yes && command.snapshot_ids.empty()) {
    FRAZIL_ASSIGN(options.only, list.Read(Clock::System().NowMs()));
  }
  const auto result = maintain::ExpireSnapshots(table, options, session->context());
  if (!result) return session->Failed(result.error());
  session->EndProgress();
  std::map<maintain::FileKind, int64_t> counts = result->removal.CountByKind();
  using maintain::FileKind;
  FRAZIL_TRY(Summary()
                 .Add("table", table.name().ToString())
                 .Add("dry_run", options.dry_run)
                 .Add("expired_snapshots_count", static_cast<int64_t>(result->expired.size()))
                 .Add("removed_refs_count", static_cast<int64_t>(result->removed_refs.size()))
                 .Add("kept_for_markers_count", static_cast<int64_t>(result->kept.size()))
                 .Add("deleted_data_files_count", counts[FileKind::kDataFile])
                 .Add("deleted_position_delete_files_count", counts[FileKind::kPositionDeletes])
                 .Add("deleted_equality_delete_files_count", counts[FileKind::kEqualityDeletes])
                 .Add("deleted_manifest_files_count", counts[FileKind::kManifest])
                 .Add("deleted_manifest_lists_count", counts[FileKind::kManifestList])
                 .Add("deleted_statistics_files_count", counts[FileKind::kStatistics])
                 .Print(context));
  // An empty list too: then nothing was seen, and nothing goes.
  if (options.dry_run) FRAZIL_TRY(list.Write(*result));
  if (options.dry_run && (!result->expired.empty() || !result->removed_refs.empty())) {
    context.Say(fmt::format(
        "nothing was changed: within a day, --yes expires these snapshots and no others; take out those that "
        "are to stay, or delete the list: {}",
        list.path()));
  }
  if (!options.dry_run) {
    FRAZIL_TRY(list.Forget());
    if (result->num_not_asked_for > 0) {
      context.Say(fmt::format("{} more could go since the list was made: list them again", result->num_not_asked_for));
    }
  }
  return ExitCode::kOk;
}

}  // namespace

void AddExpireCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("expire", "Expire snapshots and delete the files only they needed");
  auto options = std::make_shared<ExpireCommand>();
  command->add_option("table", options->table, "namespace.table")->required();
  command
      ->add_option("--older-than", options->older_than,
                   "Timestamp or age, such as 7d; default: history.expire.max-snapshot-age-ms")
      ->check(Parsed([](const std::string& text) { return ParseMoment(text, Clock::System().NowMs()); }));
  command->add_option("--retain-last", options->retain_last, "Snapshots to keep in each branch")->check(IsPositive());
  command->add_option("--snapshot-id", options->snapshot_ids, "Expire this one whatever its age, may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--clean-metadata", options->clean_metadata, "Also forget schemas and specs that nothing uses");
  AddPaceOption(*command, options->max_deletes_per_second);
  command->add_flag(
      "--yes", options->yes,
      "Expire those that were listed (all, if no list is younger than a day); without, it only lists them");
  command->footer(
      "Snapshots that hold the progress of pipelines, Flink or Kafka Connect are kept.\n"
      "Examples:\n"
      "  frazil expire demo.events --older-than 7d\n"
      "  frazil expire demo.events --older-than 7d --retain-last 10 --yes -o json");
  command->callback([&action, options] { action = [options](Context& context) { return Expire(context, *options); }; });
}

}  // namespace frazil::cli
