#include "frazil/cli/commands.h"
#include "frazil/cli/compact_options.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/units.h"

namespace frazil::cli {
namespace {

struct CompactCommand {
  CompactOptions options;
  bool discard_unfinished = false;
};

Result<ExitCode> Compact(Context& context, const CompactCommand& command) {
  const CompactOptions& options = command.options;
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(options.table));
  if (command.discard_unfinished) {
    FRAZIL_ASSIGN(const int64_t num_groups, maintain::DiscardUnfinishedRewrites(table, session->context()));
    FRAZIL_TRY(Summary().Add("table", table.name().ToString()).Add("discarded_groups", num_groups).Print(context));
    return ExitCode::kOk;
  }
  const auto rewrite = RewriteOptionsFor(options, *session, table);
  if (!rewrite) return session->RefusedOrFailed(rewrite.error());
  const auto result = maintain::RewriteWithHistory(table, *rewrite, session->context());
  // Of what they were told, planning refuses what does not go with the table.
  if (!result && result.error().code() == ErrorCode::kInvalidArgument) return session->Refused(result.error());
  if (!result) return session->Failed(result.error());
  session->EndProgress();
  for (const std::string& reason : result->dropped_reasons) context.Say("left for the next run: " + reason);
  const std::optional<Error> failure = result->Failure();
  FRAZIL_TRY(Summary()
                 .Add("table", table.name().ToString())
                 .Add("rewritten_data_files_count", result->rewritten_data_files)
                 .Add("added_data_files_count", result->added_data_files)
                 .Add("rewritten_bytes_count", result->rewritten_bytes)
                 .Add("failed_data_files_count", result->failed_data_files)
                 .Add("removed_delete_files_count", result->removed_delete_files)
                 .Add("groups", result->groups)
                 .Add("dropped_groups", result->dropped_groups)
                 .Add("failed_groups", result->failed_groups)
                 .Add("failure", failure ? failure->ToString() : std::string())
                 .Add("rows", result->rows_carried)
                 .Add("written_bytes", result->written_bytes)
                 .Add("commits", result->commits)
                 .Add("seconds", session->elapsed_seconds())
                 .Add("peak_memory_bytes", result->peak_memory_bytes)
                 .Print(context));
  if (failure) return session->Failed(*failure);
  return ExitCode::kOk;
}

}  // namespace

void AddCompactCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("compact", "Rewrite small, badly sorted or half-deleted data files of a table");
  auto options = std::make_shared<CompactCommand>();
  AddCompactOptions(*command, options->options);
  command->add_flag(
      "--discard-unfinished", options->discard_unfinished,
      "Only forget what a stopped run had finished and not committed: the next one would commit it first");
  command->footer(
      "Finished file groups are committed as it goes and kept when it is stopped. Undo: frazil undo TABLE.\n"
      "Files are merged level by level: a large one waits until there are as many bytes of smaller ones, landing files "
      "until\n"
      "they fill their partitions (--option landing-fill-bytes=...) or are an hour old (--option "
      "landing-max-age-ms=...).\n"
      "--option leveled=false takes everything at once, as CALL does.\n"
      "Examples:\n"
      "  frazil compact demo.events\n"
      "  frazil compact demo.events --where \"day >= DATE '2026-11-01'\" --option min-input-files=2 -o json");
  command->callback(
      [&action, options] { action = [options](Context& context) { return Compact(context, *options); }; });
}

}  // namespace frazil::cli
