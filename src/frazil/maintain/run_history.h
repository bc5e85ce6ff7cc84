#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frazil/catalog/sqlite_database.h"
#include "frazil/maintain/removal_list.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// One maintenance run: what was expected of it, and what it did.
struct RunRecord {
  std::string id;
  std::string operation;
  int64_t started_at_ms = 0;
  int64_t duration_ms = 0;
  std::string outcome;                       ///< "ok", or the error
  std::map<std::string, int64_t> predicted;  ///< by name, which says the unit
  std::map<std::string, int64_t> measured;   ///< the same names where there is a prediction
  std::vector<RemovalCandidate> deleted;     ///< files, each with its reason
};

/// The runs of one table, in `<state>/<table uuid>/runs.db`. Can be deleted at any time. One thread at a time.
class RunHistory {
 public:
  /// kIo, kUnavailable, kCorruptData with the file.
  static Result<RunHistory> Open(const std::string& state_directory, const spec::TableMetadata& metadata);

  Status Add(const RunRecord& run);
  /// Newest first, without the files they deleted.
  Result<std::vector<RunRecord>> Latest(int64_t max_runs);
  /// Files that a run deleted.
  Result<std::vector<RemovalCandidate>> DeletedBy(const std::string& run_id);

 private:
  explicit RunHistory(catalog::SqliteDatabase database) : database_(std::move(database)) {}

  catalog::SqliteDatabase database_;
};

/// Writes one run to the history when it is over. History is a help, never a reason to fail: trouble with it is logged.
class RunRecorder {
 public:
  RunRecorder(const table::ProcedureContext& context, const table::Table& table, std::string operation);

  /// Whether a history is kept at all.
  bool is_on() const { return !context_.state_directory.empty(); }
  void Predict(std::map<std::string, int64_t> numbers) { run_.predicted = std::move(numbers); }
  void Measure(std::map<std::string, int64_t> numbers) { run_.measured = std::move(numbers); }
  void Deleted(const std::vector<RemovalCandidate>& files) {
    run_.deleted.insert(run_.deleted.end(), files.begin(), files.end());
  }
  void Finish(const std::string& outcome);

 private:
  const table::ProcedureContext& context_;
  const spec::TableMetadataPtr metadata_;
  RunRecord run_;
};

}  // namespace frazil::maintain
