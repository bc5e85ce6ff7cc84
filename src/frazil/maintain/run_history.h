#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frazil/catalog/sqlite_database.h"
#include "frazil/maintain/removal_list.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// Begins the outcome of a run that has not ended; the process's number follows.
inline constexpr char kRunning[] = "running in process ";

/// One maintenance run: what was expected of it, and what it did.
struct RunRecord {
  std::string id;
  std::string operation;
  int64_t started_at_ms = 0;
  int64_t duration_ms = 0;
  std::string outcome;                       ///< "ok", the error, or that it runs ("running in process 12")
  std::map<std::string, int64_t> predicted;  ///< by name, which says the unit
  std::map<std::string, int64_t> measured;   ///< the same names where there is a prediction
  std::vector<RemovalCandidate> deleted;     ///< files, each with its reason
};

/// The runs of one table, in `<state>/<table uuid>/runs.db`. Can be deleted at any time. One thread at a time.
class RunHistory {
 public:
  /// kIo, kUnavailable, kCorruptData with the file.
  static Result<RunHistory> Open(const std::string& state_directory, const spec::TableMetadata& metadata);

  /// A run that begins. Its id must be new.
  Status Begin(const RunRecord& run);
  /// What has become of it; a run that was never begun is added.
  /// `deleted`: besides those that the record holds.
  Status End(const RunRecord& run, std::span<const std::span<const RemovalCandidate>> deleted = {});
  /// Files that a run which goes on has deleted.
  Status AddDeleted(const std::string& run_id, std::span<const RemovalCandidate> files);
  /// Newest first, without the files they deleted. Those of one operation, if one is named.
  Result<std::vector<RunRecord>> Latest(int64_t max_runs, const std::string& operation = "");
  /// Files that a run deleted. kNotFound: there is no such run.
  Result<std::vector<RemovalCandidate>> DeletedBy(const std::string& run_id);

 private:
  explicit RunHistory(catalog::SqliteDatabase database) : database_(std::move(database)) {}
  /// All that `change` writes, or nothing of it.
  Status InOneTransaction(const std::function<Status()>& change);
  Status InsertDeleted(const std::string& run_id, std::span<const RemovalCandidate> files);

  catalog::SqliteDatabase database_;
};

/// Writes one run to the history: that it begins, so that one that is killed is known as well, and how it ended. History is
/// a help, never a reason to fail: trouble with it is logged.
class RunRecorder {
 public:
  /// The run begins.
  RunRecorder(const table::ProcedureContext& context, const table::Table& table, std::string operation);

  /// Whether a history is kept at all.
  bool is_on() const { return !context_.state_directory.empty(); }
  void Predict(const std::map<std::string, int64_t>& numbers) { run_.predicted.insert(numbers.begin(), numbers.end()); }
  void Measure(std::map<std::string, int64_t> numbers) { run_.measured = std::move(numbers); }
  /// `files` stay where they are until Finish(): they may be many.
  void Deleted(std::span<const RemovalCandidate> files) { deleted_.push_back(files); }
  /// Writes them at once, and the run goes on: more files than have room at a time.
  void RecordDeleted(std::span<const RemovalCandidate> files);
  void Finish(const std::string& outcome);
  /// By how it ended.
  template <typename T>
  void Finish(const Result<T>& done) {
    Finish(done ? std::string("ok") : done.error().ToString());
  }

 private:
  void Write(const std::function<Status(RunHistory& history)>& how);

  const table::ProcedureContext& context_;
  const spec::TableMetadataPtr metadata_;
  RunRecord run_;
  std::vector<std::span<const RemovalCandidate>> deleted_;
};

}  // namespace frazil::maintain
