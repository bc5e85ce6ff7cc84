#include "frazil/base/number_text.h"
#include "frazil/cli/commands.h"
#include "frazil/cli/moment_text.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/positive_number.h"
#include "frazil/cli/snapshot_expiry.h"

namespace frazil::cli {
namespace {

struct ExpireCommand {
  std::string table;
  ExpiryRequest request;
};

/// A row a snapshot that would go.
Status PrintSnapshots(Context& context, const std::vector<maintain::ExpiredSnapshot>& snapshots) {
  sql::MadeUpTable rows;
  for (const auto& [name, type] :
       {std::pair{"snapshot_id", spec::TypeId::kLong}, std::pair{"committed_at", spec::TypeId::kString},
        std::pair{"operation", spec::TypeId::kString}, std::pair{"freed_files_count", spec::TypeId::kLong},
        std::pair{"reason", spec::TypeId::kString}}) {
    rows.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(type)});
  }
  for (const maintain::ExpiredSnapshot& snapshot : snapshots) {
    rows.rows.push_back({sql::LongDatum(snapshot.id.value()), sql::TextDatum(SnapshotTimeText(snapshot.timestamp_ms)),
                         sql::TextDatum(snapshot.operation), sql::LongDatum(snapshot.num_files),
                         sql::TextDatum(snapshot.reason)});
  }
  return PrintRows(context, std::move(rows));
}

Summary SummaryOf(const table::Table& table, const maintain::ExpireResult& result, bool is_dry_run) {
  std::map<maintain::FileKind, int64_t> counts = result.num_freed;
  using maintain::FileKind;
  Summary summary;
  summary.Add("table", table.name().ToString())
      .Add("dry_run", is_dry_run)
      .Add("expired_snapshots_count", static_cast<int64_t>(result.expired.size()))
      .Add("removed_refs_count", static_cast<int64_t>(result.removed_refs.size()))
      .Add("kept_for_markers_count", static_cast<int64_t>(result.kept.size()))
      .Add("deleted_data_files_count", counts[FileKind::kDataFile])
      .Add("deleted_position_delete_files_count", counts[FileKind::kPositionDeletes])
      .Add("deleted_equality_delete_files_count", counts[FileKind::kEqualityDeletes])
      .Add("deleted_manifest_files_count", counts[FileKind::kManifest])
      .Add("deleted_manifest_lists_count", counts[FileKind::kManifestList])
      .Add("deleted_statistics_files_count", counts[FileKind::kStatistics])
      .Add("files_of_earlier_runs_count", result.num_resumed)
      .Add("not_listed_snapshots_and_refs_count", result.num_not_asked_for)
      .Add("not_listed_files_count", result.num_left_out + result.num_files_taken_out);
  return summary;
}

Result<ExitCode> Run(Context& context, const ExpireCommand& command) {
  const ExpiryRequest& request = command.request;
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.table));
  const ExpiryList list(session->context().state_directory, *table.metadata());
  const auto shown = ReadShown(list, request);
  if (!shown) return session->RefusedOrFailed(shown.error());
  const auto result = ExpireSnapshots(context, *session, table, request, *shown);
  if (!result) return session->Failed(result.error());
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  const bool is_json = format == OutputFormat::kJson || format == OutputFormat::kJsonLines;
  // Two tables make no CSV: a dry run shows its snapshots, and says the sums to people.
  if (!request.yes) FRAZIL_TRY(PrintSnapshots(context, result->snapshots));
  if (request.yes || is_json) FRAZIL_TRY(SummaryOf(table, *result, !request.yes).Print(context));
  if (request.yes) return ExitCode::kOk;
  context.Say(fmt::format("{} snapshots and {} refs could go, and {} files with them", result->expired.size(),
                          result->removed_refs.size(), result->num_freed_files()));
  if (result->num_resumed > 0) {
    context.Say(fmt::format("{} files wait to be deleted that an earlier run had freed", result->num_resumed));
  }
  if (!result->expired.empty() || !result->removed_refs.empty() || result->num_resumed > 0) {
    context.Say(fmt::format(
        "nothing was changed: within a day, --yes expires these snapshots and no others; take out those that "
        "are to stay, or delete the list: {}",
        list.path()));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddExpireCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("expire", "Expire snapshots and delete the files only they needed");
  auto options = std::make_shared<ExpireCommand>();
  ExpiryRequest& request = options->request;
  command->add_option("table", options->table, "namespace.table")->required();
  command
      ->add_option("--older-than", request.older_than,
                   "Timestamp or age, such as 7d; default: history.expire.max-snapshot-age-ms")
      ->check(Parsed([](const std::string& text) { return ParseMoment(text, Clock::System().NowMs()); }));
  command->add_option("--retain-last", request.retain_last, "Snapshots to keep in each branch")->check(IsPositive());
  command->add_option("--snapshot-id", request.snapshot_ids, "Expire this one whatever its age, may be repeated")
      ->check(IsWhole())
      ->allow_extra_args(false);
  command->add_flag("--clean-metadata", request.clean_metadata, "Also forget schemas and specs that nothing uses");
  AddPaceOption(*command, request.max_deletes_per_second);
  command->add_flag(
      "--yes", request.yes,
      "Expire those that were listed, under the conditions of the list (all, if no list is younger than a "
      "day); without, it only lists them");
  command->footer(
      "Snapshots that hold the progress of pipelines, Flink or Kafka Connect are kept.\n"
      "Examples:\n"
      "  frazil expire demo.events --older-than 7d --retain-last 10\n"
      "  frazil expire demo.events --yes -o json");
  command->callback([&action, options] { action = [options](Context& context) { return Run(context, *options); }; });
}

}  // namespace frazil::cli
