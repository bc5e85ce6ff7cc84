// CALL system.rewrite_data_files: the arguments of Spark's procedure for RewriteDataFiles(); and drain_landing, which does it
// with landing files alone.

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/maintain/rewrite_options_of.h"
#include "frazil/maintain/rewrite_run.h"
#include "frazil/maintain/run_history.h"
#include "frazil/maintain/sort_order_text.h"
#include "frazil/spec/ascii.h"

namespace frazil::maintain {

Result<RewriteOptions> RewriteOptionsOf(const table::ProcedureContext& context, const Arguments& arguments,
                                        const table::Table& table) {
  FRAZIL_ASSIGN(RewriteOptions options, RewriteOptions::Parse(arguments.Map("options")));
  const std::string strategy = arguments.Text("strategy").value_or("");
  const std::optional<std::string> sort_order = arguments.Text("sort_order");
  if (spec::EqualsAnyCase(strategy, "sort") || (strategy.empty() && sort_order)) {
    options.strategy = RewriteOptions::Strategy::kSort;
  } else if (!strategy.empty() && !spec::EqualsAnyCase(strategy, "binpack")) {
    return Fail(ErrorCode::kInvalidArgument, "unsupported strategy: {}. Only binpack or sort is supported", strategy);
  } else if (sort_order) {
    return Fail(ErrorCode::kInvalidArgument, "Must use only one rewriter type (bin-pack, sort, zorder): {}",
                *sort_order);
  }
  if (sort_order) {
    FRAZIL_ASSIGN(options.sort_order, ParseSortOrder(*sort_order, *table.metadata()->schema()));
  }
  if (options.strategy == RewriteOptions::Strategy::kSort && !options.sort_order &&
      !table.metadata()->default_sort_order().is_sorted()) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set strategy to sort: the table has no sort order: {}",
                table.name().ToString());
  }
  if (const auto where = arguments.Text("where")) {
    FRAZIL_ASSIGN(options.where, ParseWhere(context, table, *where));
    options.where_text = *where;
  }
  options.branch = arguments.Text("branch").value_or(spec::kMainBranch);
  return options;
}

Result<RewriteResult> RewriteWithHistory(table::Table& table, const RewriteOptions& options,
                                         const table::ProcedureContext& context) {
  RunRecorder recorder(context, table, "rewrite_data_files");
  if (recorder.is_on()) {
    if (const auto plan = ExplainRewrite(table, options, context)) {
      recorder.Predict({{"groups", plan->groups},
                        {"input_files", plan->input_files},
                        {"input_bytes", plan->input_bytes},
                        {"output_files", plan->expected_output_files},
                        {"output_bytes", plan->expected_output_bytes},
                        {"cpu_ms", static_cast<int64_t>(plan->expected_cpu_seconds * 1000)},
                        {"duration_ms", static_cast<int64_t>(plan->expected_seconds * 1000)},
                        {"peak_memory_bytes", plan->expected_peak_memory_bytes}});
    }
  }
  const int64_t start_ms = ClockOf(context).NowMs();
  RewriteRun run(table, options, context);
  auto result = run.Run();
  const RewriteResult& done = run.result();
  recorder.Measure({{"groups", done.groups},
                    {"input_files", done.rewritten_data_files},
                    {"input_bytes", done.rewritten_bytes},
                    {"output_files", done.added_data_files},
                    {"output_bytes", done.written_bytes},
                    {"cpu_ms", static_cast<int64_t>(done.cpu_seconds * 1000)},
                    {"duration_ms", ClockOf(context).NowMs() - start_ms},
                    {"peak_memory_bytes", done.peak_memory_bytes},
                    {"rows", done.rows_carried},
                    {"commits", done.commits},
                    {"dropped_groups", done.dropped_groups},
                    {"failed_groups", done.failed_groups},
                    {"failed_files", done.failed_data_files},
                    {"removed_delete_files", done.removed_delete_files}});
  const std::optional<Error> failure = result ? result->Failure() : result.error();
  recorder.Finish(failure ? failure->ToString() : "ok");
  return result;
}

std::vector<table::ProcedureParameter> RewriteParameters() {
  using table::ProcedureType;
  return {TableParameter(),
          {"strategy", ProcedureType::kString},
          {"sort_order", ProcedureType::kString},
          {"options", ProcedureType::kStringMap},
          {"where", ProcedureType::kString},
          {"branch", ProcedureType::kString}};
}

namespace {

std::vector<table::ProcedureColumn> ResultColumns() {
  using table::ProcedureType;
  return {{"rewritten_data_files_count", ProcedureType::kInt},
          {"added_data_files_count", ProcedureType::kInt},
          {"rewritten_bytes_count", ProcedureType::kLong},
          {"failed_data_files_count", ProcedureType::kInt},
          {"removed_delete_files_count", ProcedureType::kInt}};
}

std::vector<table::ProcedureRow> RowsOf(const RewriteResult& result) {
  return {{result.rewritten_data_files, result.added_data_files, result.rewritten_bytes, result.failed_data_files,
           result.removed_delete_files}};
}

}  // namespace

ProcedureDefinition RewriteDataFilesDefinition() {
  ProcedureDefinition definition;
  definition.name = "rewrite_data_files";
  definition.parameters = RewriteParameters();
  definition.columns = ResultColumns();
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    FRAZIL_ASSIGN(const RewriteOptions options, RewriteOptionsOf(context, arguments, table));
    FRAZIL_ASSIGN(const RewriteResult result, RewriteWithHistory(table, options, context));
    return RowsOf(result);
  };
  return definition;
}

ProcedureDefinition DrainLandingDefinition() {
  ProcedureDefinition definition;
  definition.name = "drain_landing";
  definition.parameters = {TableParameter()};
  definition.columns = ResultColumns();
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    RewriteOptions options;
    options.landing_only = true;
    FRAZIL_ASSIGN(const RewriteResult result, RewriteWithHistory(table, options, context));
    return RowsOf(result);
  };
  return definition;
}

}  // namespace frazil::maintain
