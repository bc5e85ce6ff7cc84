#include "frazil/cli/pipeline_resync.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "frazil/cli/comparison_progress.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/output.h"
#include "frazil/cli/table_state.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/resync.h"

namespace frazil::cli {
namespace {

std::string OffsetsText(const ingest::SourcePositions& positions) {
  std::string text;
  for (const auto& [partition, offset] : positions) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", partition, offset.next);
  }
  return text;
}

}  // namespace

Result<ExitCode> ResyncPipeline(Context& context, const service::PipelineConfig& config,
                                const service::PipelineResources& resources, bool delete_extra) {
  FRAZIL_ASSIGN(const OutputFormat format,
                ParseOutputFormat(context.options().output.empty() ? "none" : context.options().output));
  FRAZIL_ASSIGN(const Config* settings, context.config());
  FRAZIL_ASSIGN(MemoryBudget* const budget, context.budget());
  FRAZIL_ASSIGN(table::Table table, service::OpenPipelineTable(config, resources, false));
  FRAZIL_ASSIGN(const auto source, service::OpenPipelineSource(config, budget));
  FRAZIL_ASSIGN(const auto decoder, service::OpenPipelineDecoder(config, table.metadata()->schema()));
  FRAZIL_ASSIGN(const auto dead_letters, service::OpenDeadLetters(config, resources));

  InterruptGuard interrupt;
  ProgressLine line(ProgressModeOf(context.options()));
  ingest::ResyncOptions resync{.pipeline_id = config.id,
                               .writer = resources.writer,
                               .poison = config.poison,
                               .dead_letters = dead_letters.get(),
                               .landing = config.landing,
                               .index = {.directory = KeyIndexFolder(*settings, *table.metadata()),
                                         .dedupe = ingest::Dedupe::kNewest,  // all rows become what the topic says
                                         .executor = nullptr,
                                         .budget = budget,
                                         .on_notice = [&](const std::string& text) { context.Say(text); },
                                         .on_progress = {}},
                               .memory_bytes = budget->limit_bytes() / 4,
                               .commit_max_bytes = std::min(config.commit_max_bytes, budget->limit_bytes() / 8),
                               .temp_directory = TempDirectory(*settings),
                               .delete_extra = delete_extra,
                               .stop = &interrupt.stop(),
                               .on_progress = [&](const ingest::ComparisonProgress& progress) {
                                 line.Update(ComparisonProgressText(progress, line.is_json()));
                               }};
  FRAZIL_ASSIGN(resync.index.executor, context.executor());
  const auto report = ingest::ResyncTable(table, *source, *decoder, resync, Clock::System());
  line.Finish();
  if (!report) {
    if (interrupt.stop()) return InterruptGuard::exit_code();
    return tl::unexpected(report.error());
  }
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    fmt::print(
        "{{\"pipeline\":{},\"records\":{},\"poison\":{},\"keys\":{},\"upserts\":{},\"deletes\":{},"
        "\"rows_without_key\":{},\"rows_left\":{}}}\n",
        JsonString(config.id), report->records, report->poison, report->keys, report->upserts, report->deletes,
        report->rows_without_key, report->rows_left);
  }
  if (report->rows_left > 0) {
    context.Say(
        fmt::format("{} rows stay whose keys the topic has no record of: they may be of {}; --delete-extra deletes "
                    "them for good",
                    FormatCount(report->rows_left), fmt::join(report->other_writers, ", ")));
  }
  if (report->rows_without_key > 0) {
    context.Say(fmt::format("{} rows stay whose key is null", FormatCount(report->rows_without_key)));
  }
  context.Say(fmt::format("{}: {} keys of {} records compared; {} rows written, {} deleted; offsets were {}, are {}",
                          config.id, FormatCount(report->keys), FormatCount(report->records),
                          FormatCount(report->upserts), FormatCount(report->deletes), OffsetsText(report->before),
                          OffsetsText(report->after)));
  return ExitCode::kOk;
}

}  // namespace frazil::cli
