#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/catalog/catalog.h"
#include "frazil/sql/key_indexes.h"
#include "frazil/sql/query_result.h"
#include "frazil/table/procedure.h"

namespace frazil::sql {

/// How far a statement that writes rows is.
struct WritingProgress {
  int64_t num_rows = 0;              ///< written so far
  std::optional<double> query_part;  ///< done of the query that makes them, 0 to 1; none: not known
  bool is_over = false;              ///< the statement has ended, well or not: nothing more comes
};

struct SessionOptions {
  /// By name; `default_catalog` names one of them.
  std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs;
  std::string default_catalog;
  catalog::Namespace default_namespace = {"default"};
  int threads = 1;
  int64_t memory_limit_bytes = int64_t{1} << 30;
  std::string temp_directory;  ///< where DuckDB spills; empty: no spilling
  /// Where key indexes of tables may be; equality on all identifier fields is looked up in them. Null: never.
  KeyIndexDirectory key_index_directory;

  /// What CALL knows; and what the procedures work with, as table::ProcedureContext says.
  table::ProcedureSet procedures;
  Executor* executor = nullptr;
  MemoryBudget* budget = nullptr;
  std::string state_directory;
  std::function<void(const std::string&)> on_notice;
  std::function<void(const table::ProcedureProgress&)> on_progress;
  std::function<void(const WritingProgress&)> on_writing;  ///< now and then, on the session's thread; may be empty
};

/// One statement of a script and the line it starts on (1-based).
struct ScriptStatement {
  std::string text;
  int line = 1;
};

/// Splits a script at semicolons outside quotes and comments; drops empty statements.
std::vector<ScriptStatement> SplitScript(std::string_view script);

/// A SQL session: Spark-style statements for tables, DuckDB for queries (design sql.md).
///
/// Each query pins the snapshots of the tables it names for its whole life. One thread at a time; Cancel() from any
/// thread. A failed statement leaves tables as they were. Errors are one line: what, value, hint.
class Session {
 public:
  static Result<std::unique_ptr<Session>> Make(SessionOptions options);
  ~Session();

  /// Runs one statement. Results stream: the next Execute() ends the previous result.
  Result<std::unique_ptr<QueryResult>> Execute(const std::string& statement);
  void Cancel();
  /// A predicate over the columns of `schema`, for files that may hold matching rows: never narrower than the text.
  Result<expr::ExpressionPtr> ParsePredicate(const spec::Schema& schema, const std::string& predicate);

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// "v1.5.5"; the library that is really loaded.
std::string DuckDbVersion();

}  // namespace frazil::sql
