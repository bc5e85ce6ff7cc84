#include <algorithm>
#include <charconv>

#include "frazil/cli/commands.h"
#include "frazil/cli/configured_pipeline.h"
#include "frazil/cli/control.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/pipeline_resync.h"
#include "frazil/cli/plain_table.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/offset_decision.h"
#include "frazil/ingest/pipeline_start.h"
#include "frazil/service/offset_text.h"
#include "frazil/service/pipeline_connection.h"
#include "frazil/service/pipeline_json.h"
#include "frazil/service/pipeline_rest_state.h"
#include "frazil/table/marker.h"

namespace frazil::cli {
namespace {

struct PipelineCommandOptions {
  std::string id;
  std::string to;
  std::string from;
  bool delete_extra = false;
};

Result<service::PipelineResources> ResourcesFor(Context& context) {
  service::PipelineResources resources;
  FRAZIL_ASSIGN(resources.catalogs, context.catalogs());
  FRAZIL_ASSIGN(resources.default_catalog, context.default_catalog_name());
  resources.writer = "frazil pipeline";
  return resources;
}

/// As the running process says; where none runs, as table and broker say.
Result<std::vector<service::PipelineRow>> RowsOf(Context& context) {
  if (const auto client = OpenControlClient(context)) {
    auto rows = client->Pipelines();
    if (rows || rows.error().code() != ErrorCode::kUnavailable) return rows;
  }
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_ASSIGN(const std::string default_catalog, context.default_catalog_name());
  FRAZIL_ASSIGN(const auto configs,
                service::ReadPipelineConfigs(config->values(), config->CatalogNames(), default_catalog));
  FRAZIL_ASSIGN(const service::PipelineResources resources, ResourcesFor(context));
  std::vector<service::PipelineRow> rows;
  for (const service::PipelineConfig& pipeline : configs) {
    rows.push_back(service::StateAtRest(pipeline, resources, Clock::System().NowMs()));
  }
  return rows;
}

std::string OffsetsText(const std::map<int32_t, int64_t>& offsets) {
  std::string text;
  for (const auto& [partition, next] : offsets)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", partition, next);
  return text;
}

void PrintPipelines(const std::vector<service::PipelineRow>& rows, OutputFormat format) {
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    fmt::print("{}\n", service::WritePipelineRowsJson(rows));
    return;
  }
  const int64_t now = Clock::System().NowMs();
  const bool is_for_people = format == OutputFormat::kTable || format == OutputFormat::kVertical;
  const auto time = [&](const std::optional<int64_t>& ms) {
    if (!ms) return std::string(is_for_people ? "-" : "");
    return is_for_people ? FormatTime(*ms, now) : std::to_string(*ms);
  };
  std::vector<std::vector<std::string>> cells;
  for (const service::PipelineRow& row : rows) {
    const std::string lag = !row.lag_records ? ""
                            : is_for_people  ? FormatCount(*row.lag_records)
                                             : std::to_string(*row.lag_records);
    cells.push_back({row.id, row.state, row.is_stale ? "stale" : "", row.topic, row.table, lag,
                     time(row.last_commit_ms), time(row.valid_through_ms), OffsetsText(row.committed), row.reason});
  }
  const std::vector<std::string> header = {"pipeline",    "state",       "stale",         "topic",   "table",
                                           "lag_records", "last_commit", "valid_through", "offsets", "reason"};
  fmt::print("{}", RowsText(header, cells, format));
}

ExitCode HealthCode(const std::vector<service::PipelineRow>& rows) {
  const bool is_unhealthy = std::any_of(
      rows.begin(), rows.end(), [](const service::PipelineRow& row) { return row.is_stale || row.state == "failed"; });
  return is_unhealthy ? ExitCode::kUnhealthy : ExitCode::kOk;
}

Result<ExitCode> ListPipelines(Context& context, const std::string& only) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(std::vector<service::PipelineRow> rows, RowsOf(context));
  if (!only.empty()) {
    std::erase_if(rows, [&](const service::PipelineRow& row) { return row.id != only; });
    if (rows.empty()) return Fail(ErrorCode::kNotFound, "pipeline not found: '{}'", only);
  }
  PrintPipelines(rows, format);
  return HealthCode(rows);
}

Result<ExitCode> Tell(Context& context, const std::string& id, const std::string& command) {
  FRAZIL_ASSIGN(const service::ControlClient client, OpenControlClient(context));
  FRAZIL_TRY(client.Tell(id, command));
  context.Say(command + ": " + id);
  return ExitCode::kOk;
}

/// A decision about offsets while somebody ingests would only fence them: they have to be stopped first.
Status CheckNotRunning(Context& context, const std::string& id) {
  const auto client = OpenControlClient(context);
  if (!client) return {};
  const auto rows = client->Pipelines();
  if (!rows) return {};
  for (const service::PipelineRow& row : *rows) {
    if (row.id != id || row.state == "stopped" || row.state == "failed") continue;
    return tl::unexpected(
        Error(ErrorCode::kFenced, "pipeline is running: '" + id + "'").WithHint("stop frazil run first"));
  }
  return {};
}

std::map<int32_t, int64_t> NextOf(const ingest::SourcePositions& positions) {
  std::map<int32_t, int64_t> offsets;
  for (const auto& [partition, offset] : positions) offsets[partition] = offset.next;
  return offsets;
}

Result<ExitCode> ResetOffsets(Context& context, const PipelineCommandOptions& options) {
  FRAZIL_ASSIGN(const service::OffsetTarget target, service::ParseOffsetTarget(options.to));
  FRAZIL_ASSIGN(const service::PipelineConfig config, ConfiguredPipeline(context, options.id));
  FRAZIL_TRY(CheckNotRunning(context, options.id));
  FRAZIL_ASSIGN(const service::PipelineResources resources, ResourcesFor(context));
  FRAZIL_ASSIGN(table::Table table, service::OpenPipelineTable(config, resources, false));
  FRAZIL_ASSIGN(const auto source, service::OpenPipelineSource(config));
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, spec::kMainBranch));
  FRAZIL_ASSIGN(const auto bounds, source->Bounds());
  FRAZIL_ASSIGN(const ingest::SourcePositions positions,
                service::ResolveOffsetTarget(target, options.id, effective, bounds));
  ingest::PipelineIdentity identity{.id = options.id,
                                    .writer = resources.writer,
                                    .source = {},
                                    .num_partitions = static_cast<int32_t>(bounds.size())};
  FRAZIL_ASSIGN(identity.source, source->Identity());
  FRAZIL_ASSIGN(const std::string forgotten,
                ingest::ForgottenTombstonesText(*source, effective, options.id, bounds, Clock::System()));
  FRAZIL_ASSIGN(const ingest::SourcePositions before,
                ingest::DecideOffsets(table, identity, positions, Clock::System()));
  context.Say(fmt::format("{}: offsets were {}, are {}", options.id,
                          before.empty() ? "none" : OffsetsText(NextOf(before)), OffsetsText(NextOf(positions))));
  if (!forgotten.empty()) context.Say(forgotten);
  return ExitCode::kOk;
}

Result<ExitCode> Adopt(Context& context, const PipelineCommandOptions& options) {
  FRAZIL_ASSIGN(const service::PipelineConfig config, ConfiguredPipeline(context, options.id));
  FRAZIL_TRY(CheckNotRunning(context, options.id));
  FRAZIL_TRY(CheckNotRunning(context, options.from));
  FRAZIL_ASSIGN(const service::PipelineResources resources, ResourcesFor(context));
  FRAZIL_ASSIGN(table::Table table, service::OpenPipelineTable(config, resources, false));
  FRAZIL_ASSIGN(const ingest::SourcePositions positions,
                ingest::AdoptPipeline(table, options.from, options.id, resources.writer, Clock::System()));
  context.Say(fmt::format("{} goes on where {} stood: {}", options.id, options.from, OffsetsText(NextOf(positions))));
  return ExitCode::kOk;
}

Result<ExitCode> Resync(Context& context, const PipelineCommandOptions& options) {
  FRAZIL_ASSIGN(const service::PipelineConfig config, ConfiguredPipeline(context, options.id));
  FRAZIL_TRY(CheckNotRunning(context, options.id));
  FRAZIL_ASSIGN(const service::PipelineResources resources, ResourcesFor(context));
  return ResyncPipeline(context, config, resources, options.delete_extra);
}

}  // namespace

void AddPipelineCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("pipeline", "Look at pipelines and command them");
  command->require_subcommand(1);
  auto options = std::make_shared<PipelineCommandOptions>();
  const auto add = [&](const char* verb, const char* help, auto run) {
    CLI::App* subcommand = command->add_subcommand(verb, help);
    subcommand->callback(
        [&action, options, run] { action = [options, run](Context& context) { return run(context, *options); }; });
    return subcommand;
  };
  const auto add_named = [&](const char* verb, const char* help, auto run) {
    CLI::App* subcommand = add(verb, help, run);
    subcommand->add_option("pipeline", options->id, "Its name in the configuration")->required();
    return subcommand;
  };
  add("list", "All of them: state, lag, offsets; exit code 10 when one has failed or is stale",
      [](Context& context, const PipelineCommandOptions&) { return ListPipelines(context, ""); });
  add_named("show", "One of them",
            [](Context& context, const PipelineCommandOptions& given) { return ListPipelines(context, given.id); });
  for (const auto& [verb, help] : {std::pair("pause", "Commit what was read, then read nothing until resumed"),
                                   std::pair("resume", "Read on"), std::pair("drain", "Commit what was read now")}) {
    add_named(verb, help, [verb = std::string(verb)](Context& context, const PipelineCommandOptions& given) {
      return Tell(context, given.id, verb);
    });
  }
  add_named("reset-offsets", "Decide where the next start reads on, in a commit of its own", ResetOffsets)
      ->add_option("--to", options->to, "property, earliest, latest, N (all partitions) or PARTITION:OFFSET,...")
      ->check(Parsed(service::ParseOffsetTarget))
      ->required();
  add_named("adopt", "Go on where a pipeline of another name stood", Adopt)
      ->add_option("--from", options->from, "Name of the other one in the table's marker")
      ->required();
  add_named("resync", "Make the table equal to its topic: repair rows that differ, delete keys that the topic lacks",
            Resync)
      ->add_flag(
          "--delete-extra", options->delete_extra,
          "Rows whose keys the topic has no record of go even if other pipelines or frazil ingest write to the table");
  command->footer(
      "pause, resume and drain talk to the running process (http.listen); list and show ask table and broker when "
      "none\n"
      "runs. Example:\n"
      "  frazil pipeline reset-offsets user-kv --to earliest -c user_kv.yaml");
}

}  // namespace frazil::cli
