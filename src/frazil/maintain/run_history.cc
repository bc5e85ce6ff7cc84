#include "frazil/maintain/run_history.h"

#include <unistd.h>

#include "frazil/base/log.h"
#include "frazil/base/number_text.h"
#include "frazil/base/uuid.h"
#include "frazil/maintain/maintained_table.h"

namespace frazil::maintain {
namespace {

constexpr int kBusyTimeoutMs = 5000;

constexpr const char* kSchema[] = {
    "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, operation TEXT NOT NULL, started_at_ms INTEGER NOT NULL, "
    "duration_ms INTEGER NOT NULL, outcome TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS run_numbers (run_id TEXT NOT NULL, is_prediction INTEGER NOT NULL, name TEXT NOT NULL, "
    "number INTEGER NOT NULL, PRIMARY KEY (run_id, is_prediction, name))",
    "CREATE TABLE IF NOT EXISTS deleted_files (run_id TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, "
    "reason TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS deleted_files_of_run ON deleted_files (run_id)",
};

int64_t NumberOf(const std::optional<std::string>& cell) { return cell ? ReadNumber<int64_t>(*cell).value_or(0) : 0; }

}  // namespace

Result<RunHistory> RunHistory::Open(const std::string& state_directory, const spec::TableMetadata& metadata) {
  FRAZIL_ASSIGN(auto database,
                catalog::SqliteDatabase::Open(state_directory + "/" + metadata.table_uuid.ToString() + "/runs.db",
                                              kBusyTimeoutMs));
  for (const char* statement : kSchema) FRAZIL_TRY(database.Update(statement, {}));
  return RunHistory(std::move(database));
}

Status RunHistory::Begin(const RunRecord& run) {
  FRAZIL_TRY(database_.Update(
      "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
      {run.id, run.operation, std::to_string(run.started_at_ms), std::to_string(run.duration_ms), run.outcome}));
  return {};
}

Status RunHistory::InOneTransaction(const std::function<Status()>& change) {
  FRAZIL_TRY(database_.BeginImmediate());
  if (Status changed = change(); !changed) {
    database_.Rollback();
    return changed;
  }
  return database_.Commit();
}

Status RunHistory::InsertDeleted(const std::string& run_id, std::span<const RemovalCandidate> files) {
  for (const RemovalCandidate& file : files) {
    FRAZIL_TRY(database_.Update("INSERT INTO deleted_files VALUES (?, ?, ?, ?)",
                                {run_id, file.path, std::string(FileKindName(file.kind)), file.reason}));
  }
  return {};
}

Status RunHistory::AddDeleted(const std::string& run_id, std::span<const RemovalCandidate> files) {
  return InOneTransaction([&] { return InsertDeleted(run_id, files); });
}

Status RunHistory::End(const RunRecord& run, std::span<const std::span<const RemovalCandidate>> deleted) {
  return InOneTransaction([&]() -> Status {
    FRAZIL_TRY(database_.Update(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET duration_ms = excluded.duration_ms, "
        "outcome = excluded.outcome",
        {run.id, run.operation, std::to_string(run.started_at_ms), std::to_string(run.duration_ms), run.outcome}));
    for (const bool is_prediction : {true, false}) {
      for (const auto& [name, number] : is_prediction ? run.predicted : run.measured) {
        FRAZIL_TRY(database_.Update("INSERT INTO run_numbers VALUES (?, ?, ?, ?)",
                                    {run.id, is_prediction ? "1" : "0", name, std::to_string(number)}));
      }
    }
    for (const std::span<const RemovalCandidate>& files : deleted) FRAZIL_TRY(InsertDeleted(run.id, files));
    return InsertDeleted(run.id, run.deleted);
  });
}

Result<std::vector<RunRecord>> RunHistory::Latest(int64_t max_runs, const std::string& operation) {
  FRAZIL_ASSIGN(const auto rows, database_.Query("SELECT id, operation, started_at_ms, duration_ms, outcome FROM runs "
                                                 "WHERE ? = '' OR operation = ? "
                                                 "ORDER BY started_at_ms DESC, rowid DESC LIMIT CAST(? AS INTEGER)",
                                                 {operation, operation, std::to_string(max_runs)}));
  std::vector<RunRecord> runs;
  for (const auto& row : rows) {
    RunRecord run;
    run.id = row[0].value_or("");
    run.operation = row[1].value_or("");
    run.started_at_ms = NumberOf(row[2]);
    run.duration_ms = NumberOf(row[3]);
    run.outcome = row[4].value_or("");
    FRAZIL_ASSIGN(const auto numbers,
                  database_.Query("SELECT is_prediction, name, number FROM run_numbers WHERE run_id = ?", {run.id}));
    for (const auto& number : numbers) {
      auto& side = NumberOf(number[0]) != 0 ? run.predicted : run.measured;
      side[number[1].value_or("")] = NumberOf(number[2]);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<std::vector<RemovalCandidate>> RunHistory::DeletedBy(const std::string& run_id) {
  FRAZIL_ASSIGN(const auto rows,
                database_.Query("SELECT path, reason FROM deleted_files WHERE run_id = ? ORDER BY path", {run_id}));
  std::vector<RemovalCandidate> files;
  if (rows.empty()) {
    FRAZIL_ASSIGN(const auto runs, database_.Query("SELECT id FROM runs WHERE id = ?", {run_id}));
    if (runs.empty()) return Fail(ErrorCode::kNotFound, "there is no such run in the history: {}", run_id);
  }
  for (const auto& row : rows) files.push_back({row[0].value_or(""), FileKind::kUnknown, row[1].value_or("")});
  return files;
}

RunRecorder::RunRecorder(const table::ProcedureContext& context, const table::Table& table, std::string operation)
    : context_(context), metadata_(table.metadata()) {
  run_.id = Uuid::Random().ToString();
  run_.operation = std::move(operation);
  run_.started_at_ms = ClockOf(context).NowMs();
  run_.outcome = kRunning + std::to_string(getpid());
  Write([this](RunHistory& history) { return history.Begin(run_); });
}

void RunRecorder::RecordDeleted(std::span<const RemovalCandidate> files) {
  if (files.empty()) return;
  Write([&](RunHistory& history) { return history.AddDeleted(run_.id, files); });
}

void RunRecorder::Finish(const std::string& outcome) {
  run_.outcome = outcome;
  run_.duration_ms = ClockOf(context_).NowMs() - run_.started_at_ms;
  Write([this](RunHistory& history) { return history.End(run_, deleted_); });
}

void RunRecorder::Write(const std::function<Status(RunHistory& history)>& how) {
  if (!is_on()) return;
  auto history = RunHistory::Open(context_.state_directory, *metadata_);
  const Status added = history ? how(*history) : tl::unexpected(history.error());
  if (!added) Log::Warn("the run is not in the run history: {}", added.error().ToString());
}

}  // namespace frazil::maintain
