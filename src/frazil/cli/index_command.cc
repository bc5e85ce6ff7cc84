#include <algorithm>
#include <mutex>

#include <unistd.h>

#include "frazil/cli/commands.h"
#include "frazil/cli/named_table.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/progress_mode.h"
#include "frazil/cli/table_state.h"
#include "frazil/cli/units.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/index_status.h"
#include "frazil/index/key_index.h"
#include "frazil/index/key_seed.h"
#include "frazil/sql/made_up_result.h"

namespace frazil::cli {
namespace {

// ---- status

std::string_view StateName(index::IndexFolderStatus::State state) {
  using State = index::IndexFolderStatus::State;
  switch (state) {
    case State::kNone: return "none";
    case State::kWhole: return "whole";
    case State::kDamaged: return "damaged";
    case State::kForeign: return "foreign";
  }
  return "";
}

sql::MadeUpTable StatusTable(const std::string& table, const std::string& directory,
                             const index::IndexFolderStatus& status) {
  sql::MadeUpTable made_up;
  sql::DatumRow& row = made_up.rows.emplace_back();
  const auto add = [&](const char* name, spec::Type type, sql::Datum cell) {
    made_up.columns.push_back({.name = name, .type = std::move(type)});
    row.push_back(std::move(cell));
  };
  const auto text = [&](const char* name, const std::string& value) {
    add(name, spec::Type::Primitive(spec::TypeId::kString), value.empty() ? sql::Datum() : sql::TextDatum(value));
  };
  const auto number = [&](const char* name, int64_t value) {
    add(name, spec::Type::Primitive(spec::TypeId::kLong), status.num_shards > 0 ? sql::LongDatum(value) : sql::Datum());
  };
  text("table", table);
  text("state", std::string(StateName(status.state)));
  text("reason", status.reason);
  text("locked_by", status.locked_by);
  text("directory", directory);
  std::optional<int64_t> snapshot_id;
  if (status.snapshot_id) snapshot_id = status.snapshot_id->value();
  add("snapshot_id", spec::Type::Primitive(spec::TypeId::kLong), sql::OptionalLongDatum(snapshot_id));
  add("snapshots_behind", spec::Type::Primitive(spec::TypeId::kLong), sql::OptionalLongDatum(status.snapshots_behind));
  const auto bytes_per = [&](const char* name, int64_t count) {
    const double bytes = static_cast<double>(status.run_bytes) / static_cast<double>(std::max<int64_t>(count, 1));
    text(name, count == 0 ? "" : fmt::format("{:.1f}", bytes));
  };
  number("keys", status.num_live_rows);
  bytes_per("bytes_per_key", status.num_live_rows);
  number("entries", status.num_entries);
  bytes_per("bytes_per_entry", status.num_entries);
  number("run_bytes", status.run_bytes);
  number("runs", status.num_runs);
  number("shards", status.num_shards);
  number("live_files", status.num_live_files);
  number("gone_files", status.num_gone_files);
  number("row_maps", status.num_row_maps);
  return made_up;
}

Result<ExitCode> ShowStatus(Context& context, const std::string& name) {
  FRAZIL_ASSIGN(OutputFormat format, ParseOutputFormat(context.options().output));
  // One row of many columns: people read it downwards.
  if (context.options().output.empty() && isatty(STDOUT_FILENO)) format = OutputFormat::kVertical;
  FRAZIL_ASSIGN(const table::Table table, LoadNamedTable(context, name));
  FRAZIL_ASSIGN(const Config* config, context.config());
  const std::string directory = KeyIndexFolder(*config, *table.metadata());
  FRAZIL_ASSIGN(const index::IndexFolderStatus status, index::ReadIndexFolderStatus(directory, *table.metadata()));
  FRAZIL_ASSIGN(const std::unique_ptr<sql::QueryResult> result,
                sql::TableResult(StatusTable(table.name().ToString(), directory, status)));
  FRAZIL_TRY(WriteResult(*result, format, context.options().quiet));
  if (table.metadata()->schema()->identifier_field_ids().empty()) {
    context.Say(
        fmt::format("{} has no identifier fields, so it cannot have a key index; set them with ALTER TABLE {} SET "
                    "IDENTIFIER FIELDS ...",
                    table.name().ToString(), table.name().ToString()));
  } else if (status.state == index::IndexFolderStatus::State::kNone && status.locked_by.empty()) {
    context.Say(fmt::format("{} has no key index; the next `frazil ingest`, or `frazil index rebuild`, builds it",
                            table.name().ToString()));
  } else if (status.state == index::IndexFolderStatus::State::kNone) {
    context.Say(fmt::format("{} has no key index on disk yet; {} keeps one and writes it with the first commit",
                            table.name().ToString(), status.locked_by));
  }
  return ExitCode::kOk;
}

// ---- rebuild and verify

/// "rows done" as a line for people or a JSON object. Called by any thread.
class RowProgress {
 public:
  RowProgress(const Context& context, std::string doing)
      : doing_(std::move(doing)), line_(ProgressModeOf(context.options())) {}

  void Update(int64_t rows, int64_t total_rows) {
    const std::lock_guard lock(mutex_);
    rows_ = std::max(rows_, rows);
    if (!line_.enabled()) return;
    const double seconds = std::max(line_.elapsed_seconds(), 0.001);
    const double rate = static_cast<double>(rows_) / seconds;
    const int64_t left = std::max<int64_t>(total_rows - rows_, 0);
    const auto eta = static_cast<int64_t>(rows_ == 0 ? 0 : static_cast<double>(left) / rate);
    if (line_.is_json()) {
      line_.Update(fmt::format(R"({{"rows":{},"total_rows":{},"seconds":{:.3f},"eta_seconds":{},"memory_bytes":{}}})",
                               rows_, total_rows, seconds, eta, MemoryBudget::ResidentBytes()));
    } else {
      line_.Update(fmt::format("{} {} of {} rows  {} rows/s  {} s left  {}", doing_, FormatCount(rows_),
                               FormatCount(total_rows), FormatCount(static_cast<int64_t>(rate)), FormatCount(eta),
                               FormatBytes(MemoryBudget::ResidentBytes())));
    }
  }
  void Finish() { line_.Finish(); }
  int64_t rows() const { return rows_; }
  double seconds() const { return line_.elapsed_seconds(); }

 private:
  const std::string doing_;
  std::mutex mutex_;
  ProgressLine line_;
  int64_t rows_ = 0;
};

Result<index::KeyIndexOptions> IndexOptions(Context& context, const table::Table& table, const std::string& directory,
                                            uint64_t seed, Executor& executor) {
  index::KeyIndexOptions options;
  options.directory = directory;
  options.table_uuid = table.metadata()->table_uuid.ToString();
  options.schema = table.metadata()->schema();
  options.seed = seed;
  options.executor = &executor;
  FRAZIL_ASSIGN(options.budget, context.budget());
  return options;
}

/// Where what was written beside the old index did not fit, say how to go on.
Error WithRoomHint(Error error, const std::string& directory) {
  if (error.code() != ErrorCode::kIo) return error;
  return std::move(error).WithHint("the index of before is unchanged; where the disk has no room for two, delete " +
                                   directory + " first");
}

/// Beside the index that is there, which stays until the new one is whole.
Result<ExitCode> Rebuild(Context& context, const std::string& name) {
  FRAZIL_ASSIGN(table::Table table, LoadNamedTable(context, name));
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_ASSIGN(const int threads, context.threads());
  FRAZIL_TRY(context.budget());
  // Nothing is written to a table that cannot have an index.
  FRAZIL_TRY(index::CanonicalKey::Make(*table.metadata()->schema(), 0));
  const std::string directory = KeyIndexFolder(*config, *table.metadata());
  const std::optional<uint64_t> local = index::SeedOfIndex(directory, table.metadata()->table_uuid);
  FRAZIL_ASSIGN(const uint64_t seed, index::EnsureKeySeed(table, local, Clock::System()));
  Executor executor(threads);
  FRAZIL_ASSIGN(index::KeyIndexOptions options, IndexOptions(context, table, directory, seed, executor));
  options.from_nothing = true;
  RowProgress progress(context, "indexing");
  options.on_notice = [&](const std::string& line) { context.Say(line); };
  options.on_progress = [&](int64_t rows, int64_t total_rows) { progress.Update(rows, total_rows); };
  FRAZIL_ASSIGN(const std::unique_ptr<index::KeyIndex> index, index::OpenKeyIndex(std::move(options)));
  const auto build = [&]() -> Status {
    FRAZIL_TRY(index->FollowTo(table, table.metadata()->current_snapshot(), {}));
    FRAZIL_TRY(index->WaitForMerges());
    return index->Checkpoint();
  };
  const Status built = build();
  progress.Finish();
  if (!built) return tl::unexpected(WithRoomHint(built.error(), directory));
  const index::KeyIndexStatus status = index->status();
  context.Say(fmt::format(
      "the key index of {} is built: {} keys in {} entries of {} files in {:.1f} s ({} on disk, {:.1f} bytes an "
      "entry); peak memory {}",
      table.name().ToString(), FormatCount(status.num_live_rows), FormatCount(status.num_entries),
      FormatCount(status.num_live_files), progress.seconds(), FormatBytes(status.run_bytes), status.bytes_per_entry(),
      FormatBytes(MemoryBudget::PeakResidentBytes())));
  return ExitCode::kOk;
}

/// The snapshot that the index says it mirrors; the head when that is gone.
const spec::Snapshot* MirroredSnapshot(const index::KeyIndex& index, const spec::TableMetadata& metadata) {
  if (index.snapshot_id()) {
    if (const spec::Snapshot* mirrored = metadata.FindSnapshot(*index.snapshot_id())) return mirrored;
  }
  return metadata.current_snapshot();
}

Result<ExitCode> Verify(Context& context, const std::string& name) {
  FRAZIL_ASSIGN(const table::Table table, LoadNamedTable(context, name));
  FRAZIL_ASSIGN(const Config* config, context.config());
  const std::string directory = KeyIndexFolder(*config, *table.metadata());
  FRAZIL_ASSIGN(const index::IndexFolderStatus status, index::ReadIndexFolderStatus(directory, *table.metadata()));
  using State = index::IndexFolderStatus::State;
  if (status.state == State::kNone && status.locked_by.empty()) {
    return tl::unexpected(Error(ErrorCode::kNotFound, fmt::format("{} has no key index", table.name().ToString()))
                              .WithHint("the next `frazil ingest`, or `frazil index rebuild`, builds it"));
  }
  // Where only runs are damaged the rest is compared, after what was in them is read from the table again.
  if (!status.reason.empty() && (status.state != State::kDamaged || status.num_shards == 0)) {
    context.Say("error: " + status.reason);
    return ExitCode::kFailed;
  }
  FRAZIL_ASSIGN(const std::optional<uint64_t> property, index::FindKeySeed(*table.metadata()));
  const std::optional<uint64_t> local = index::SeedOfIndex(directory, table.metadata()->table_uuid);
  const uint64_t seed = property ? *property : local.value_or(0);
  FRAZIL_ASSIGN(const int threads, context.threads());
  Executor executor(threads);
  FRAZIL_ASSIGN(index::KeyIndexOptions options, IndexOptions(context, table, directory, seed, executor));
  options.merge_in_background = false;
  std::vector<std::string> differences;
  options.on_notice = [&](const std::string& line) { differences.push_back(line); };
  FRAZIL_ASSIGN(const std::unique_ptr<index::KeyIndex> index, index::OpenKeyIndex(std::move(options)));
  const spec::Snapshot* snapshot = MirroredSnapshot(*index, *table.metadata());
  FRAZIL_TRY(index->FollowTo(table, snapshot, {}));
  RowProgress progress(context, "verifying");
  const Status verified = index->Verify(table, [&](int64_t rows, int64_t total) { progress.Update(rows, total); });
  progress.Finish();
  if (!verified && verified.error().code() != ErrorCode::kCorruptData) return tl::unexpected(verified.error());
  if (!verified) differences.push_back(verified.error().ToString());
  for (const std::string& line : differences) fmt::print(stderr, "error: {}\n", line);
  if (!differences.empty()) {
    context.Say(verified ? "what was lost has been read from the table again: the index is right now"
                         : "`frazil index rebuild` builds it again from the table");
    return ExitCode::kFailed;
  }
  const index::KeyIndexStatus found = index->status();
  context.Say(fmt::format("the key index of {} is right: {} entries and {} rows of {} files compared in {:.1f} s{}",
                          table.name().ToString(), FormatCount(found.num_entries), FormatCount(progress.rows()),
                          FormatCount(found.num_live_files), progress.seconds(),
                          snapshot == table.metadata()->current_snapshot()
                              ? ""
                              : fmt::format(", at snapshot {}, which is not the head", snapshot->id)));
  return ExitCode::kOk;
}

}  // namespace

void AddIndexCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("index", "The key index of a table: status, rebuild, verify");
  command->require_subcommand(1);
  auto name = std::make_shared<std::string>();
  const auto add = [&](const char* verb, const char* help, const char* footer,
                       Result<ExitCode> (*run)(Context&, const std::string&)) {
    CLI::App* subcommand = command->add_subcommand(verb, help);
    subcommand->add_option("table", *name, "[catalog.]namespace.table")->required()->check(IsTableName());
    subcommand->footer(footer);
    subcommand->callback(
        [&action, name, run] { action = [name, run](Context& context) { return run(context, *name); }; });
  };
  add("status", "What the index holds and which snapshot it mirrors; works while others use it",
      "Example:\n  frazil index status shop.customers -o json", ShowStatus);
  add("rebuild", "Build the index again from the table",
      "The index that is there stays until the new one is whole, so the disk needs room for both.\n"
      "Example:\n  frazil index rebuild shop.customers",
      Rebuild);
  add("verify", "Compare every entry with the table; exit code 1 when they differ",
      "Shards whose runs are lost or damaged are said, and read from the table again.\n"
      "Example:\n  frazil index verify shop.customers",
      Verify);
}

}  // namespace frazil::cli
