#include "frazil/cli/maintenance_session.h"

#include <algorithm>

#include <unistd.h>

#include "frazil/cli/json_text.h"
#include "frazil/cli/progress_mode.h"
#include "frazil/cli/units.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/sql/made_up_result.h"

namespace frazil::cli {
namespace {

std::string JsonOf(const sql::Datum& datum) {
  if (datum.is_null) return "null";
  if (const bool* truth = std::get_if<bool>(&datum.value)) return *truth ? "true" : "false";
  if (const int64_t* number = std::get_if<int64_t>(&datum.value)) return std::to_string(*number);
  const std::string* text = std::get_if<std::string>(&datum.value);
  return text == nullptr ? "null" : JsonString(*text);
}

}  // namespace

MaintenanceSession::MaintenanceSession(const GlobalOptions& options) : line_(ProgressModeOf(options)) {}

Result<std::unique_ptr<MaintenanceSession>> MaintenanceSession::Make(Context& context) {
  auto session = std::unique_ptr<MaintenanceSession>(new MaintenanceSession(context.options()));
  table::ProcedureContext& procedures = session->procedures_;
  FRAZIL_ASSIGN(procedures.catalogs, context.catalogs());
  FRAZIL_ASSIGN(procedures.default_catalog, context.default_catalog_name());
  procedures.default_namespace = {"default"};
  FRAZIL_ASSIGN(procedures.executor, context.executor());
  FRAZIL_ASSIGN(procedures.budget, context.budget());
  FRAZIL_ASSIGN(const Config* config, context.config());
  procedures.state_directory = config->home() + "/state";
  const std::string temp = config->Get("limits.temp-dir");
  procedures.temp_directory = temp.empty() ? config->home() + "/tmp" : temp;
  procedures.stop = &session->interrupt_.stop();
  procedures.on_notice = [&context](const std::string& line) { context.Say(line); };
  procedures.on_progress = [self = session.get()](const table::ProcedureProgress& progress) { self->Show(progress); };
  procedures.parse_predicate = [self = session.get(), &context](
                                   const spec::Schema& schema,
                                   const std::string& predicate) -> Result<expr::ExpressionPtr> {
    if (!self->predicates_) {
      FRAZIL_ASSIGN(self->predicates_, context.NewSession());
    }
    return self->predicates_->ParsePredicate(schema, predicate);
  };
  return session;
}

Result<table::Table> MaintenanceSession::Open(const std::string& name) const {
  return maintain::OpenTable(procedures_, name);
}

Result<ExitCode> MaintenanceSession::Failed(const Error& error) {
  line_.Finish();
  if (error.code() == ErrorCode::kShuttingDown && interrupt_.stop()) {
    fmt::print(stderr, "interrupted\n");
    return InterruptGuard::exit_code();
  }
  return tl::unexpected(error);
}

ExitCode MaintenanceSession::Refused(const Error& error) {
  line_.Finish();
  fmt::print(stderr, "{}\n", ErrorLine(error));
  return ExitCode::kUsage;
}

Result<ExitCode> MaintenanceSession::RefusedOrFailed(const Error& error) {
  const bool is_usage = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kNotFound;
  return is_usage ? Refused(error) : Failed(error);
}

void MaintenanceSession::Show(const table::ProcedureProgress& progress) {
  const std::lock_guard lock(mutex_);
  if (!line_.enabled()) return;
  const double seconds = std::max(line_.elapsed_seconds(), 0.001);
  const auto rows_per_second = static_cast<int64_t>(static_cast<double>(progress.rows_done) / seconds);
  // By bytes where there are any: groups differ in size.
  const double done =
      progress.bytes > 0    ? static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes)
      : progress.groups > 0 ? static_cast<double>(progress.groups_done) / static_cast<double>(progress.groups)
                            : 0;
  const auto eta = static_cast<int64_t>(done > 0 ? seconds / done * (1 - done) : 0);
  const int64_t limit = procedures_.budget == nullptr ? 0 : procedures_.budget->limit_bytes();
  if (line_.is_json()) {
    line_.Update(fmt::format(
        R"({{"phase":{},"groups_done":{},"groups":{},"bytes_done":{},"bytes":{},"rows_done":{},"rows_per_second":{},)"
        R"("seconds":{:.3f},"eta_seconds":{},"memory_bytes":{},"memory_limit_bytes":{}}})",
        JsonString(progress.phase), progress.groups_done, progress.groups, progress.bytes_done, progress.bytes,
        progress.rows_done, rows_per_second, seconds, eta, MemoryBudget::ResidentBytes(), limit));
    return;
  }
  line_.Update(fmt::format("{} {} of {}  {} of {}  {} rows/s  memory {} of {}  {} s left", progress.phase,
                           FormatCount(progress.groups_done), FormatCount(progress.groups),
                           FormatBytes(progress.bytes_done), FormatBytes(progress.bytes), FormatCount(rows_per_second),
                           FormatBytes(MemoryBudget::ResidentBytes()), FormatBytes(limit), FormatCount(eta)));
}

Summary& Summary::Add(const std::string& name, int64_t number) {
  columns_.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kLong)});
  row_.push_back(sql::LongDatum(number));
  return *this;
}

Summary& Summary::Add(const std::string& name, const std::string& text) {
  columns_.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kString)});
  row_.push_back(sql::TextDatum(text));
  return *this;
}

Summary& Summary::Add(const std::string& name, bool truth) {
  columns_.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kBoolean)});
  row_.push_back(sql::BoolDatum(truth));
  return *this;
}

Summary& Summary::Add(const std::string& name, double number) {
  in_json_[columns_.size()] = fmt::format("{:.1f}", number);
  return Add(name, fmt::format("{:.1f}", number));
}

Summary& Summary::Add(const std::string& name, const std::string& text, const std::map<std::string, int64_t>& numbers,
                      const std::optional<Error>& error) {
  std::string json =
      fmt::format(R"({{"outcome":{},"text":{})", JsonString(error ? error->ToString() : "ok"), JsonString(text));
  for (const auto& [key, number] : numbers) json += fmt::format(",{}:{}", JsonString(key), number);
  in_json_[columns_.size()] = json + "}";
  return Add(name, text);
}

Status Summary::Print(Context& context) const {
  FRAZIL_ASSIGN(OutputFormat format, ParseOutputFormat(context.options().output));
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      line += (i == 0 ? "{" : ",") + JsonString(columns_[i].name) + ":" +
              (in_json_.contains(i) ? in_json_.at(i) : JsonOf(row_[i]));
    }
    fmt::print("{}}}\n", line);
    return {};
  }
  if (context.options().output.empty() && isatty(STDOUT_FILENO)) format = OutputFormat::kVertical;
  FRAZIL_ASSIGN(const auto result, sql::TableResult({columns_, {row_}}));
  return WriteResult(*result, format, true);
}

Status PrintRows(Context& context, sql::MadeUpTable table) {
  FRAZIL_ASSIGN(OutputFormat format, ParseOutputFormat(context.options().output));
  if (format == OutputFormat::kJson) format = OutputFormat::kJsonLines;
  FRAZIL_ASSIGN(const auto result, sql::TableResult(table));
  return WriteResult(*result, format, context.options().quiet);
}

}  // namespace frazil::cli
