#include <fmt/ranges.h>

#include "frazil/cli/commands.h"
#include "frazil/cli/comparison_progress.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/plain_table.h"
#include "frazil/cli/positive_number.h"
#include "frazil/cli/table_state.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/verify.h"
#include "frazil/service/pipeline_connection.h"

namespace frazil::cli {
namespace {

using ingest::VerifyDifference;
using ingest::VerifyReport;

struct VerifyCommandOptions {
  std::string table;
  std::string pipeline;
  int64_t sample = 0;
  size_t limit = 1'000;
};

const char* KindName(VerifyDifference::Kind kind) {
  switch (kind) {
    case VerifyDifference::Kind::kMissing: return "missing";
    case VerifyDifference::Kind::kExtra: return "extra";
    case VerifyDifference::Kind::kDifferent: return "different";
  }
  return "";
}

/// The pipeline that feeds the table. A name with and without its catalog is the same table.
Result<service::PipelineConfig> PipelineOf(Context& context, const VerifyCommandOptions& options) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_ASSIGN(const std::string default_catalog, context.default_catalog_name());
  FRAZIL_ASSIGN(const auto all,
                service::ReadPipelineConfigs(config->values(), config->CatalogNames(), default_catalog));
  for (const service::PipelineConfig& pipeline : all) {
    const std::string name = pipeline.table.ToString();
    const std::string full = (pipeline.catalog.empty() ? default_catalog : pipeline.catalog) + "." + name;
    const bool is_default = pipeline.catalog.empty() || pipeline.catalog == default_catalog;
    const bool is_it = options.table == full || (is_default && options.table == name);
    if (is_it && (options.pipeline.empty() || options.pipeline == pipeline.id)) return pipeline;
  }
  return tl::unexpected(Error(ErrorCode::kNotFound, "no configured pipeline feeds the table: " + options.table)
                            .WithHint("-c FILE with a section pipelines"));
}

std::string SummaryJson(const VerifyReport& report) {
  std::string offsets;
  for (const auto& [partition, offset] : report.positions) {
    offsets += fmt::format("{}\"{}\":{}", offsets.empty() ? "" : ",", partition, offset.next);
  }
  std::string differences;
  for (const VerifyDifference& difference : report.differences) {
    differences += fmt::format("{}{{\"kind\":\"{}\",\"key\":{},\"detail\":{}}}", differences.empty() ? "" : ",",
                               KindName(difference.kind), JsonString(difference.key), JsonString(difference.detail));
  }
  return fmt::format(
      "{{\"is_equal\":{},\"snapshot_id\":{},\"offsets\":{{{}}},\"records\":{},\"poison\":{},\"keys\":{},\"rows\":{},"
      "\"rows_not_judged\":{},\"moved_keys\":{},\"missing\":{},\"extra\":{},\"different\":{},\"differences\":[{}]}}",
      report.is_equal(), report.snapshot_id.value(), offsets, report.records, report.poison, report.keys, report.rows,
      report.rows_not_judged, report.moved_keys, report.missing, report.extra, report.different, differences);
}

void PrintReport(Context& context, const VerifyReport& report, OutputFormat format) {
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    fmt::print("{}\n", SummaryJson(report));
  } else if (!report.differences.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const VerifyDifference& difference : report.differences) {
      rows.push_back({KindName(difference.kind), difference.key, difference.detail});
    }
    fmt::print("{}", RowsText({"difference", "key", "detail"}, rows, format));
  }
  const int64_t total = report.missing + report.extra + report.different;
  if (static_cast<size_t>(total) > report.differences.size()) {
    context.Say(fmt::format("{} differences are not listed",
                            FormatCount(total - static_cast<int64_t>(report.differences.size()))));
  }
  if (report.rows_not_judged > 0) {
    context.Say(fmt::format("{} rows are not judged: the topic no longer has records of their keys",
                            FormatCount(report.rows_not_judged)));
  }
  if (report.moved_keys > 0) {
    context.Say(fmt::format("{} keys have records in several partitions: the newest by timestamp counts",
                            FormatCount(report.moved_keys)));
  }
  if (report.extra > 0 && !report.other_writers.empty()) {
    context.Say(
        fmt::format("extra rows may be of others that write to this table: {}", fmt::join(report.other_writers, ", ")));
  }
  if (report.poison > 0) context.Say(fmt::format("{} records cannot be taken", FormatCount(report.poison)));
  context.Say(
      fmt::format("{}: {} keys of {} records against {} rows of snapshot {}: {} missing, {} extra, {} different",
                  report.is_equal() ? "equal" : "NOT EQUAL", FormatCount(report.keys), FormatCount(report.records),
                  FormatCount(report.rows), report.snapshot_id.value(), FormatCount(report.missing),
                  FormatCount(report.extra), FormatCount(report.different)));
}

Result<ExitCode> Verify(Context& context, const VerifyCommandOptions& options) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(const service::PipelineConfig config, PipelineOf(context, options));
  service::PipelineResources resources;
  FRAZIL_ASSIGN(resources.catalogs, context.catalogs());
  FRAZIL_ASSIGN(resources.default_catalog, context.default_catalog_name());
  FRAZIL_ASSIGN(MemoryBudget* const budget, context.budget());
  FRAZIL_ASSIGN(const table::Table table, service::OpenPipelineTable(config, resources, false));
  FRAZIL_ASSIGN(const auto source, service::OpenPipelineSource(config, budget));
  FRAZIL_ASSIGN(const auto decoder, service::OpenPipelineDecoder(config, table.metadata()->schema()));

  InterruptGuard interrupt;
  ProgressLine line(ProgressModeOf(context.options()));
  FRAZIL_ASSIGN(const Config* settings, context.config());
  FRAZIL_ASSIGN(Executor* const executor, context.executor());
  const auto report = ingest::VerifyTable(table, *source, *decoder,
                                          {.pipeline_id = config.id,
                                           .sample_keys = options.sample,
                                           .memory_bytes = budget->limit_bytes() / 4,
                                           .temp_directory = TempDirectory(*settings),
                                           .max_listed = options.limit,
                                           .executor = executor,
                                           .stop = &interrupt.stop(),
                                           .on_progress = [&](const ingest::ComparisonProgress& progress) {
                                             line.Update(ComparisonProgressText(progress, line.is_json()));
                                           }});
  line.Finish();
  if (!report) {
    if (interrupt.stop()) return InterruptGuard::exit_code();
    return tl::unexpected(report.error());
  }
  PrintReport(context, *report, format);
  return report->is_equal() ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddVerifyCommand(CLI::App& program, Action& action) {
  auto options = std::make_shared<VerifyCommandOptions>();
  CLI::App* command = program.add_subcommand(
      "verify", "Replay a topic and compare the last value of each key with the table; exit code 10 when they differ");
  command->add_option("table", options->table, "[catalog.]namespace.table")->required()->check(IsTableName());
  command->add_option("--pipeline", options->pipeline, "The pipeline that feeds it; default: the configured one");
  command->add_option("--sample", options->sample, "So many keys, chosen by hash, in place of all")
      ->check(IsPositive());
  command->add_option("--limit", options->limit, "List so many differences; all are counted")
      ->check(IsAtLeast(0))
      ->capture_default_str();
  command->footer(
      "Compared are the records before the offsets that the table's head stands at, with that snapshot. Keys that the\n"
      "topic no longer has records of are not judged.\n"
      "Example:\n"
      "  frazil verify apps.user_kv -c examples/user_kv.yaml");
  command->callback([&action, options] { action = [options](Context& context) { return Verify(context, *options); }; });
}

}  // namespace frazil::cli
