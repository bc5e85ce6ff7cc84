#pragma once

#include <memory>
#include <mutex>
#include <set>
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
  Status Print(Context& context) const;

 private:
  std::vector<spec::Field> columns_;
  sql::DatumRow row_;
  std::set<size_t> bare_in_json_;  ///< texts that are numbers
};

/// Prints rows; as JSON lines when JSON is asked for, so that a summary can follow.
Status PrintRows(Context& context, sql::MadeUpTable table);

}  // namespace frazil::cli
