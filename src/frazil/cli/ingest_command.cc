#include <chrono>
#include <mutex>

#include "frazil/cli/commands.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/positive_number.h"
#include "frazil/cli/progress_mode.h"
#include "frazil/cli/table_state.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/file_ingest.h"
#include "frazil/ingest/identifier_fields.h"
#include "frazil/ingest/infer_columns.h"

namespace frazil::cli {
namespace {

struct IngestOptions {
  std::string from;
  std::string table;
  std::vector<std::string> identifier_fields;
  std::string format;
  std::string op_column;
  bool create = false;
  std::string columns;
  std::string partition_by;
  std::vector<std::string> properties;
  int64_t commit_every = 100'000;
  std::string on_error = "fail";
  std::string reset_offsets;
  std::string dedupe;
};

Result<ingest::JsonForm> FormOf(const IngestOptions& options) {
  std::string format = options.format;
  if (format.empty()) {
    const size_t dot = options.from.find_last_of('.');
    const std::string suffix = dot == std::string::npos ? "" : options.from.substr(dot + 1);
    format = suffix == "csv" || suffix == "avro" || suffix == "parquet" ? suffix : "json";
  }
  if (format == "json") return ingest::JsonForm::kFlat;
  if (format == "json-kv") return ingest::JsonForm::kKeyValue;
  if (format == "csv" || format == "avro" || format == "parquet") {
    return tl::unexpected(Error(ErrorCode::kNotSupported, "ingest of " + format + " input: " + options.from)
                              .WithHint("json and json-kv lines can be ingested"));
  }
  return tl::unexpected(
      Error(ErrorCode::kInvalidArgument, "unknown input format '" + format + "'").WithHint("json or json-kv"));
}

std::string QuoteName(const std::string& name) {
  std::string quoted = "`";
  for (const char c : name) quoted += c == '`' ? "``" : std::string(1, c);
  return quoted + "`";
}

std::string QuoteText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

/// CREATE TABLE as the user could have typed it: the same statement, the same rules.
Result<std::string> CreateStatement(const IngestOptions& options, const ingest::JsonDecoderOptions& decoder,
                                    const catalog::TableName& name) {
  std::string columns = options.columns;
  if (columns.empty()) {
    FRAZIL_ASSIGN(const std::vector<ingest::InferredColumn> inferred, ingest::InferColumns(options.from, decoder));
    for (const ingest::InferredColumn& column : inferred) {
      columns += (columns.empty() ? "" : ", ") + QuoteName(column.name) + " " + column.type;
    }
  }
  std::vector<std::string> parts = name.levels;
  parts.push_back(name.name);
  for (std::string& part : parts) part = QuoteName(part);
  std::string statement =
      fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) USING iceberg", fmt::join(parts, "."), columns);
  if (!options.partition_by.empty()) statement += " PARTITIONED BY (" + options.partition_by + ")";
  std::vector<std::string> properties = {"'format-version' = '3'"};
  for (const std::string& property : options.properties) {
    const size_t equals = property.find('=');
    if (equals == std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument, "--property needs key=value: '{}'", property);
    }
    properties.push_back(QuoteText(property.substr(0, equals)) + " = " + QuoteText(property.substr(equals + 1)));
  }
  return statement + fmt::format(" TBLPROPERTIES ({})", fmt::join(properties, ", "));
}

/// A missing namespace is made with the table: --create means "have it there".
Status CreateTable(Context& context, catalog::Catalog& catalog, const IngestOptions& options,
                   const ingest::JsonDecoderOptions& decoder, const catalog::TableName& name) {
  if (catalog.LoadTable(name)) return {};
  if (!catalog.LoadNamespace(name.levels)) {
    Status created = catalog.CreateNamespace(name.levels, {});
    if (!created && created.error().code() != ErrorCode::kAlreadyExists) return created;
  }
  FRAZIL_ASSIGN(const std::string statement, CreateStatement(options, decoder, name));
  FRAZIL_ASSIGN(const std::unique_ptr<sql::Session> session, context.NewSession());
  FRAZIL_TRY(session->Execute(statement));
  context.Say("created table " + name.ToString());
  return {};
}

std::string ProgressText(const ingest::IngestProgress& progress, std::optional<int64_t> size_bytes, double seconds) {
  const auto rate = static_cast<int64_t>(static_cast<double>(progress.records) / std::max(seconds, 0.001));
  std::string text;
  if (size_bytes && *size_bytes > 0) text = fmt::format("{:3}%  ", progress.bytes * 100 / *size_bytes);
  return text + fmt::format("{} events  {} events/s  {} commits  {}", FormatCount(progress.records), FormatCount(rate),
                            progress.commits, FormatBytes(MemoryBudget::ResidentBytes()));
}

std::string ProgressJson(const ingest::IngestProgress& progress, double seconds) {
  return fmt::format(
      "{{\"events\":{},\"bytes\":{},\"committed\":{},\"commits\":{},\"inserts\":{},\"updates\":{},\"deletes\":{},"
      "\"poison\":{},\"seconds\":{:.3f},\"peak_memory_bytes\":{}}}",
      progress.records, progress.bytes, progress.committed_records, progress.commits, progress.inserts,
      progress.updates, progress.deletes, progress.poison, seconds, MemoryBudget::PeakResidentBytes());
}

void PrintSummary(Context& context, const ingest::IngestProgress& progress, double seconds, OutputFormat format) {
  if (progress.poison > 0) {
    context.Say(fmt::format("warning: {} records were skipped; first: {}", FormatCount(progress.poison),
                            progress.first_poison));
  }
  for (const auto& [name, count] : progress.ignored_members) {
    context.Say(
        fmt::format("warning: member '{}' is no column of the table; ignored in {} records", name, FormatCount(count)));
  }
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    fmt::print("{}\n", ProgressJson(progress, seconds));
    return;
  }
  context.Say(fmt::format(
      "{} events in {:.1f} s ({} events/s): {} inserted, {} updated, {} deleted in {} commits; peak memory {}",
      FormatCount(progress.records), seconds,
      FormatCount(static_cast<int64_t>(static_cast<double>(progress.records) / std::max(seconds, 0.001))),
      FormatCount(progress.inserts), FormatCount(progress.updates), FormatCount(progress.deletes), progress.commits,
      FormatBytes(MemoryBudget::PeakResidentBytes())));
}

Result<ingest::FileIngestOptions> MakeIngestOptions(const IngestOptions& options) {
  ingest::FileIngestOptions result;
  FRAZIL_ASSIGN(result.decoder.form, FormOf(options));
  result.decoder.op_column = options.op_column;
  if (!options.op_column.empty() && result.decoder.form != ingest::JsonForm::kFlat) {
    return Fail(ErrorCode::kInvalidArgument, "--op-column is for json input, a json-kv delete has a null value");
  }
  result.commit_every = options.commit_every;
  result.on_poison = options.on_error == "skip" ? ingest::PoisonPolicy::kSkip : ingest::PoisonPolicy::kFail;
  result.reset_offsets = options.reset_offsets == "earliest"   ? ingest::ResetOffsets::kEarliest
                         : options.reset_offsets == "property" ? ingest::ResetOffsets::kProperty
                                                               : ingest::ResetOffsets::kRefuse;
  result.dedupe = options.dedupe == "newest" ? ingest::Dedupe::kNewest : ingest::Dedupe::kRefuse;
  return result;
}

Result<ExitCode> RunIngest(Context& context, const IngestOptions& options) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(ingest::FileIngestOptions ingest_options, MakeIngestOptions(options));
  FRAZIL_ASSIGN(const catalog::TableName name, catalog::TableName::Parse(options.table));
  FRAZIL_ASSIGN(const std::shared_ptr<catalog::Catalog> catalog, context.default_catalog());
  FRAZIL_ASSIGN(const std::unique_ptr<ingest::FileSource> source, ingest::FileSource::Open(options.from));
  if (options.create) FRAZIL_TRY(CreateTable(context, *catalog, options, ingest_options.decoder, name));
  auto loaded = table::Table::Load(catalog, name);
  if (!loaded) {
    Error error = std::move(loaded).error();
    const bool can_create = error.code() == ErrorCode::kNotFound && error.hint().empty();
    return tl::unexpected(can_create ? std::move(error).WithHint("--create makes it") : std::move(error));
  }
  table::Table table = *std::move(loaded);
  FRAZIL_TRY(ingest::SchemaWithIdentifierFields(table, options.identifier_fields));
  ingest_options.identifier_fields = options.identifier_fields;

  FRAZIL_ASSIGN(const int threads, context.threads());
  FRAZIL_ASSIGN(ingest_options.budget, context.budget());
  FRAZIL_ASSIGN(const Config* config, context.config());
  ingest_options.index_directory = KeyIndexFolder(*config, *table.metadata());
  Executor executor(threads);
  ingest_options.executor = &executor;
  InterruptGuard interrupt;
  ingest_options.stop = &interrupt.stop();
  ProgressLine line(ProgressModeOf(context.options()));
  ingest::IngestProgress last;
  ingest_options.on_progress = [&](const ingest::IngestProgress& progress) {
    last = progress;
    line.Update(line.is_json() ? ProgressJson(progress, line.elapsed_seconds())
                               : ProgressText(progress, source->size_bytes(), line.elapsed_seconds()));
  };
  std::mutex index_mutex;
  ingest_options.on_index_progress = [&](int64_t rows, int64_t total_rows) {
    const std::lock_guard lock(index_mutex);
    line.Update(line.is_json()
                    ? fmt::format(R"({{"indexed":{},"to_index":{}}})", rows, total_rows)
                    : fmt::format("indexing keys: {} of {} rows", FormatCount(rows), FormatCount(total_rows)));
  };
  ingest_options.on_notice = [&](const std::string& text) { context.Say(text); };

  auto done = ingest::IngestFile(table, *source, ingest_options);
  line.Update(ProgressText(last, source->size_bytes(), line.elapsed_seconds()), !line.is_json());
  line.Finish();
  PrintSummary(context, last, line.elapsed_seconds(), format);
  if (!done) {
    if (done.error().code() != ErrorCode::kShuttingDown) return tl::unexpected(std::move(done).error());
    context.Say(
        fmt::format("stopped: {} records are committed, the same command goes on from there", last.committed_records));
    return InterruptGuard::exit_code();
  }
  return ExitCode::kOk;
}

}  // namespace

void AddIngestCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("ingest", "Upsert change records of a file into a table, exactly once");
  auto options = std::make_shared<IngestOptions>();
  command->add_option("--from", options->from, "File of JSON lines, - for standard input")->required();
  command->add_option("--table", options->table, "namespace.table")->required()->check(IsTableName());
  command->add_option("--identifier-fields", options->identifier_fields, "Primary key, comma-separated")
      ->delimiter(',');
  command
      ->add_option("--format", options->format, "json (flat rows) or json-kv ({\"key\": {...}, \"value\": {...}|null})")
      ->check(CLI::IsMember({"json", "json-kv", "csv", "avro", "parquet"}));
  command->add_option("--op-column", options->op_column,
                      "Member of json records that says what to do: upsert, delete, ...");
  command->add_flag("--create", options->create, "Create namespace and table when missing");
  command->add_option("--columns", options->columns,
                      "With --create: \"id bigint, name string\"; else inferred from the file");
  command->add_option("--partition-by", options->partition_by, "With --create: \"months(ts), bucket(4, id)\"");
  command->add_option("--property", options->properties, "With --create: table property key=value, may be repeated")
      ->allow_extra_args(false)
      ->check(IsKeyValue());
  command->add_option("--commit-every", options->commit_every, "Records a commit")
      ->check(IsPositive())
      ->capture_default_str();
  command->add_option("--on-error", options->on_error, "What to do with a record that cannot be taken: fail or skip")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->capture_default_str();
  command
      ->add_option("--reset-offsets", options->reset_offsets,
                   "Where to begin when the table proves no progress: earliest or property")
      ->check(CLI::IsMember({"earliest", "property"}));
  command
      ->add_option("--dedupe", options->dedupe,
                   "Where keys of the table have several rows: newest keeps the newest and deletes the others")
      ->check(CLI::IsMember({"newest"}));
  command->footer(
      "Stopped or killed at any moment, the same command continues after the last committed record.\n"
      "Example:\n"
      "  frazil ingest --from changes.jsonl --format json-kv --table shop.customers --identifier-fields id --create");
  command->callback(
      [&action, options] { action = [options](Context& context) { return RunIngest(context, *options); }; });
}

}  // namespace frazil::cli
