#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frazil/cli/context.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/output.h"
#include "frazil/cli/progress_line.h"
#include "frazil/sql/metadata_table.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::cli {

/// What the maintenance commands work with: a procedure context of this process, with a progress line, notices on stderr
/// and a stop on SIGINT and SIGTERM. One at a time, one thread.
class MaintenanceSession {
 public:
  static Result<std::unique_ptr<MaintenanceSession>> Make(Context& context);
  MaintenanceSession(const MaintenanceSession&) = delete;

  const table::ProcedureContext& context() const { return procedures_; }
  Result<table::Table> Open(const std::string& name) const;
  /// Ends the progress line, so that results begin on a line of their own.
  void EndProgress() { line_.Finish(); }
  double elapsed_seconds() const { return line_.elapsed_seconds(); }
  /// 130 or 143 after a signal; otherwise by the error.
  Result<ExitCode> Failed(const Error& error);
  /// The command was told something that cannot be: says so, and 2.
  ExitCode Refused(const Error& error);
  /// Refused() what is kInvalidArgument or kNotFound, Failed() by what is something else: for what options mean to a table.
  Result<ExitCode> RefusedOrFailed(const Error& error);

 private:
  explicit MaintenanceSession(const GlobalOptions& options);
  void Show(const table::ProcedureProgress& progress);

  InterruptGuard interrupt_;
  std::unique_ptr<sql::Session> predicates_;
  table::ProcedureContext procedures_;
  std::mutex mutex_;  ///< progress comes from any thread
  ProgressLine line_;
};

/// What a command did, as named values. JSON: one object on one line, the last of stdout, for schedulers that pass it on.
/// Other formats: a table of one row.
class Summary {
 public:
  Summary& Add(const std::string& name, int64_t number);
  Summary& Add(const std::string& name, const std::string& text);
  Summary& Add(const std::string& name, bool truth);
  Summary& Add(const std::string& name, double number);  ///< with one digit behind the point
  /// A step: its text, in JSON an object {"outcome": "ok", "text": ..., numbers}. An error is its outcome.
  Summary& Add(const std::string& name, const std::string& text, const std::map<std::string, int64_t>& numbers,
               const std::optional<Error>& error);
  Status Print(Context& context) const;

 private:
  std::vector<spec::Field> columns_;
  sql::DatumRow row_;
  std::map<size_t, std::string> in_json_;  ///< by column, where JSON has something else than the cell
};

/// Prints rows; as JSON lines when JSON is asked for, so that a summary can follow.
Status PrintRows(Context& context, sql::MadeUpTable table);

}  // namespace frazil::cli
