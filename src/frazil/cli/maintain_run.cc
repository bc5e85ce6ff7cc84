#include <map>

#include "frazil/cli/maintain_command.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/cli/orphan_cleaning.h"
#include "frazil/cli/snapshot_expiry.h"
#include "frazil/cli/units.h"
#include "frazil/maintain/foreseen_work.h"
#include "frazil/maintain/procedures.h"

namespace frazil::cli {
namespace {

/// Those that delete files: they need --yes.
bool Deletes(const std::string& operation) { return operation == "expire" || operation == "orphans"; }

/// What an operation would do.
struct Foreseen {
  int64_t count = 0;  ///< of groups, snapshots, files
  std::string plan;
  std::optional<int64_t> bytes;
  double cpu_seconds = 0;
  double seconds = 0;
  std::optional<int64_t> peak_memory_bytes;
};

std::string DurationText(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.1f} min", seconds / 60);
}

/// A rewrite of `what` and its bytes, "into" which if that is known.
Foreseen ForeseenRewrite(int64_t count, const std::string& what, const std::string& into,
                         const maintain::ForeseenWork& work, std::optional<int64_t> peak_memory_bytes) {
  std::string plan = "nothing to rewrite";
  if (count > 0) {
    plan = fmt::format("rewrite {} {} ({}){}: {} of CPU, {}", FormatCount(work.files), what, FormatBytes(work.bytes),
                       into, DurationText(work.cpu_seconds), DurationText(work.seconds));
    if (peak_memory_bytes) plan += fmt::format(", {} of memory", FormatBytes(*peak_memory_bytes));
  }
  return {.count = count,
          .plan = std::move(plan),
          .bytes = work.bytes,
          .cpu_seconds = work.cpu_seconds,
          .seconds = work.seconds,
          .peak_memory_bytes = peak_memory_bytes};
}

Result<Foreseen> ForeseeCompact(const table::Table& table, const maintain::RewriteOptions& options,
                                const MaintenanceSession& session) {
  FRAZIL_ASSIGN(const auto report, maintain::ExplainRewrite(table, options, session.context()));
  const std::string into = fmt::format(" into about {} ({})", FormatCount(report.expected_output_files),
                                       FormatBytes(report.expected_output_bytes));
  return ForeseenRewrite(report.groups, "files", into,
                         {report.input_files, report.input_bytes, report.expected_cpu_seconds, report.expected_seconds},
                         report.expected_peak_memory_bytes);
}

Result<Foreseen> ForeseeFiles(const std::string& operation, const table::Table& table) {
  struct Kind {
    const char* what;
    Result<maintain::ForeseenWork> (*foresee)(const table::Table& table);
  };
  static const std::map<std::string, Kind> kinds = {
      {"manifests", {"manifests", maintain::ForeseeRewriteManifests}},
      {"deletes", {"delete files", maintain::ForeseeRewritePositionDeleteFiles}},
      {"vectors", {"Puffins", maintain::ForeseeRewriteDeletionVectors}},
  };
  const Kind& kind = kinds.at(operation);
  FRAZIL_ASSIGN(const maintain::ForeseenWork work, kind.foresee(table));
  return ForeseenRewrite(work.files, kind.what, "", work, std::nullopt);
}

/// What deletes files is worked out as it is done, so that its time is known: deleting looks twice.
Result<Foreseen> ForeseeDeletion(const std::string& operation, table::Table& table, const MaintenanceSession& session) {
  constexpr int kLooks = 2;
  const double begun = session.elapsed_seconds();
  Foreseen foreseen;
  if (operation == "expire") {
    maintain::ExpireOptions options;
    options.dry_run = true;
    FRAZIL_ASSIGN(const auto result, maintain::ExpireSnapshots(table, options, session.context()));
    foreseen.count = static_cast<int64_t>(result.expired.size());
    foreseen.plan = fmt::format("expire {} snapshots and delete {} files", result.expired.size(),
                                result.num_freed_files() + result.num_left_out);
  } else {
    maintain::OrphanOptions options;
    options.dry_run = true;
    FRAZIL_ASSIGN(const auto result, maintain::RemoveOrphanFiles(table, options, session.context()));
    foreseen.count = static_cast<int64_t>(result.orphans.size());
    foreseen.bytes = result.orphan_bytes;
    foreseen.plan = fmt::format("delete {} orphan files ({})", result.orphans.size(), FormatBytes(result.orphan_bytes));
  }
  foreseen.seconds = (session.elapsed_seconds() - begun) * kLooks;
  foreseen.cpu_seconds = foreseen.seconds;
  foreseen.peak_memory_bytes = MemoryBudget::PeakResidentBytes();
  return foreseen;
}

Result<Foreseen> Foresee(const std::string& operation, table::Table& table, const maintain::RewriteOptions& options,
                         const MaintenanceSession& session) {
  if (operation == "compact") return ForeseeCompact(table, options, session);
  return Deletes(operation) ? ForeseeDeletion(operation, table, session) : ForeseeFiles(operation, table);
}

/// What a step did.
struct Step {
  std::string text;  ///< for people
  std::map<std::string, int64_t> numbers;
  std::optional<Error> error;
};

/// The procedure behind an operation.
std::string ProcedureOf(const std::string& operation) {
  if (operation == "deletes") return "rewrite_position_delete_files";
  return operation == "vectors" ? "rewrite_deletion_vectors" : "rewrite_manifests";
}

Result<Step> Rewrite(const std::string& operation, const std::string& table, const MaintenanceSession& session) {
  const table::ProcedureSet procedures = maintain::AllProcedures();
  const table::Procedure& procedure = *procedures.at(ProcedureOf(operation));
  FRAZIL_ASSIGN(const auto rows, procedure.Run(session.context(), {{"table", table}}));
  Step step;
  for (const table::ProcedureRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const int64_t* number = std::get_if<int64_t>(&row[i]);
      if (number == nullptr) continue;
      const std::string& name = procedure.columns()[i].name;
      step.numbers[name] = *number;
      if (*number != 0) step.text += fmt::format("{}{} {}", step.text.empty() ? "" : ", ", name, *number);
    }
  }
  if (step.text.empty()) step.text = "nothing to do";
  return step;
}

Result<Step> Compact(table::Table& table, const maintain::RewriteOptions& options, const MaintenanceSession& session) {
  FRAZIL_TRY(table.Refresh());
  FRAZIL_ASSIGN(const auto result, maintain::RewriteWithHistory(table, options, session.context()));
  Step step{.text = fmt::format("rewrote {} files into {}", result.rewritten_data_files, result.added_data_files),
            .numbers = {{"rewritten_data_files_count", result.rewritten_data_files},
                        {"added_data_files_count", result.added_data_files},
                        {"failed_data_files_count", result.failed_data_files},
                        {"groups", result.groups},
                        {"dropped_groups", result.dropped_groups},
                        {"failed_groups", result.failed_groups},
                        {"commits", result.commits}},
            .error = result.Failure()};
  if (step.error) step.text += "; " + step.error->ToString();
  return step;
}

Result<Step> Expire(Context& context, MaintenanceSession& session, table::Table& table) {
  const ExpiryList list(session.context().state_directory, *table.metadata());
  const ExpiryRequest request{.yes = true};
  FRAZIL_ASSIGN(const auto shown, ReadShown(list, request));
  FRAZIL_ASSIGN(const auto result, ExpireSnapshots(context, session, table, request, shown));
  const int64_t num_files = result.num_freed_files();
  const auto num_snapshots = static_cast<int64_t>(result.expired.size());
  return Step{.text = fmt::format("expired {} snapshots and deleted {} files", num_snapshots, num_files),
              .numbers = {{"expired_snapshots_count", num_snapshots},
                          {"deleted_files_count", num_files},
                          {"files_of_earlier_runs_count", result.num_resumed},
                          {"not_listed_files_count", result.num_files_taken_out}},
              .error = {}};
}

Result<Step> Clean(Context& context, MaintenanceSession& session, table::Table& table) {
  const CandidateList list(session.context().state_directory, *table.metadata());
  const OrphanRequest request{.yes = true};
  FRAZIL_ASSIGN(const auto shown, ReadShown(list, request));
  FRAZIL_TRY(CheckAge(request, shown));
  FRAZIL_ASSIGN(const auto result, CleanOrphans(context, session, table, request, shown));
  const auto num_files = static_cast<int64_t>(result.orphans.size());
  return Step{.text = fmt::format("deleted {} orphan files", num_files),
              .numbers = {{"deleted_files_count", num_files}, {"left_files_count", result.num_left_out}},
              .error = {}};
}

Result<Step> RunStep(Context& context, MaintenanceSession& session, table::Table& table, const std::string& operation,
                     const maintain::RewriteOptions& options, const MaintainCommand& command) {
  if (Deletes(operation) && !command.yes) {
    FRAZIL_ASSIGN(const Foreseen foreseen, Foresee(operation, table, options, session));
    return Step{
        .text = "would " + foreseen.plan + " (--yes does it)", .numbers = {{"count", foreseen.count}}, .error = {}};
  }
  if (operation == "compact") return Compact(table, options, session);
  if (operation == "expire") return Expire(context, session, table);
  if (operation == "orphans") return Clean(context, session, table);
  return Rewrite(operation, command.compact.table, session);
}

}  // namespace

Result<ExitCode> PlanMaintenance(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.compact.table));
  const auto options = RewriteOptionsFor(command.compact, *session, table);
  if (!options) return session->RefusedOrFailed(options.error());
  sql::MadeUpTable rows = TableOf({{"operation", spec::TypeId::kString},
                                   {"count", spec::TypeId::kLong},
                                   {"plan", spec::TypeId::kString},
                                   {"bytes", spec::TypeId::kLong},
                                   {"cpu_ms", spec::TypeId::kLong},
                                   {"duration_ms", spec::TypeId::kLong},
                                   {"peak_memory_bytes", spec::TypeId::kLong}});
  std::optional<Error> failure;
  bool is_refused = false;
  int64_t num_failed = 0;
  for (const std::string& operation : command.Chosen()) {
    const auto foreseen = Foresee(operation, table, *options, *session);
    sql::DatumRow row(rows.columns.size());
    row[0] = sql::TextDatum(operation);
    if (foreseen) {
      row[1] = sql::LongDatum(foreseen->count);
      row[2] = sql::TextDatum(foreseen->plan);
      if (foreseen->bytes) row[3] = sql::LongDatum(*foreseen->bytes);
      row[4] = sql::LongDatum(static_cast<int64_t>(foreseen->cpu_seconds * 1000));
      row[5] = sql::LongDatum(static_cast<int64_t>(foreseen->seconds * 1000));
      if (foreseen->peak_memory_bytes) row[6] = sql::LongDatum(*foreseen->peak_memory_bytes);
    } else {
      if (foreseen.error().code() == ErrorCode::kShuttingDown) return session->Failed(foreseen.error());
      row[2] = sql::TextDatum("fails: " + foreseen.error().ToString());
      ++num_failed;
      // Options are those of compact: what does not go with the table is refused there.
      is_refused |= operation == "compact" && foreseen.error().code() == ErrorCode::kInvalidArgument;
      if (!failure) failure = Error(foreseen.error()).WithContext("planning " + operation);
    }
    rows.rows.push_back(std::move(row));
  }
  session->EndProgress();
  const auto num_steps = static_cast<int64_t>(rows.rows.size());
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    FRAZIL_TRY(Summary()
                   .Add("table", table.name().ToString())
                   .Add("steps", num_steps)
                   .Add("failed_steps", num_failed)
                   .Print(context));
  }
  if (is_refused) return session->Refused(*failure);
  if (failure) return session->Failed(*failure);
  return ExitCode::kOk;
}

Result<ExitCode> RunMaintenance(Context& context, const MaintainCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  FRAZIL_ASSIGN(table::Table table, session->Open(command.compact.table));
  const auto options = RewriteOptionsFor(command.compact, *session, table);
  if (!options) return session->RefusedOrFailed(options.error());
  Summary summary;
  summary.Add("table", table.name().ToString());
  std::optional<Error> failure;
  int64_t num_failed = 0;
  for (const std::string& operation : command.Chosen()) {
    auto done = RunStep(context, *session, table, operation, *options, command);
    Step step = done ? *std::move(done)
                     : Step{.text = "failed: " + done.error().ToString(), .numbers = {}, .error = done.error()};
    num_failed += step.error ? 1 : 0;
    // What a later step fails for may follow from the first.
    if (step.error && !failure) failure = Error(*step.error).WithContext("step " + operation);
    summary.Add(operation, step.text, step.numbers, step.error);
    if (step.error && step.error->code() == ErrorCode::kShuttingDown) break;
  }
  session->EndProgress();
  FRAZIL_TRY(summary.Add("failed_steps", num_failed).Print(context));
  if (failure) return session->Failed(*failure);
  return ExitCode::kOk;
}

}  // namespace frazil::cli
