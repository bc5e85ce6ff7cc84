#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/expr/expression.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_result.h"

namespace frazil::sql {

struct EngineOptions {
  int threads = 1;  ///< at most: fewer where each would have little memory
  int64_t memory_limit_bytes = int64_t{1} << 30;
  MemoryBudget* budget = nullptr;  ///< what is reserved there (caches, the index) queries do without; may be null
  std::string temp_directory;      ///< empty: no spilling
  /// Set by another thread: the running statement is to end. May be null.
  const std::atomic<bool>* stop = nullptr;
  /// Rows written, and the part of the query that is done (0 to 1; none: not known). May be empty.
  std::function<void(int64_t num_rows, std::optional<double> query_part)> on_written;
};

/// Behind the version in `t AT (VERSION => '...')`, in queries that we put together: the table shows live rows only, it has
/// no `_deleted`. No version before it: the current state.
inline constexpr char kLiveRowsMark = '\x1f';

/// DuckDB behind a plain interface: runs queries over the tables that a NameResolver finds.
///
/// The catalogs of the resolver appear as attached databases; a table is pinned through the resolver when a query binds
/// it. `resolver` must outlive the engine. One thread at a time; Interrupt() from any thread.
/// A result must be dropped before the next query.
class Engine {
 public:
  virtual ~Engine() = default;

  /// kInternal when the loaded library is not the version that the interior was compiled for.
  static Result<std::unique_ptr<Engine>> Make(const EngineOptions& options, NameResolver& resolver);

  /// One statement that is not ours. Names of tables are resolved as ours are (catalog.a.b.t, t.snapshots, ...).
  virtual Result<std::unique_ptr<QueryResult>> Run(const std::string& query) = 0;
  /// As Run(), for rows that are written to data files while they come: the query leaves memory for that.
  virtual Result<std::unique_ptr<QueryResult>> RunToWrite(const std::string& query) = 0;
  /// What the row groups that are open may take together while RunToWrite() gives rows.
  virtual int64_t writing_bytes() const = 0;
  /// The row (key, value) of one of DuckDB's settings, as it was asked for. Fails when there is no such setting.
  virtual Result<std::unique_ptr<QueryResult>> ShowSetting(const std::string& key) = 0;
  /// EngineOptions::temp_directory.
  virtual const std::string& temp_directory() const = 0;
  /// A predicate over the columns of `schema` as filters on files understand it: true for at least every row for which
  /// the text is true. Columns may be qualified by `table`. kInvalidArgument naming what is wrong with the text.
  virtual Result<expr::ExpressionPtr> TranslatePredicate(const spec::Schema& schema, const std::string& predicate,
                                                         const std::string& table) = 0;
  /// Follows `USE`: where names without a namespace are looked for.
  virtual Status SetDefault(const std::string& catalog, const catalog::Namespace& levels) = 0;
  /// Tells who watches that a statement has written so many rows of the running query's answer.
  virtual void ReportWritten(int64_t num_rows) = 0;
  /// Ends the running query.
  virtual void Interrupt() = 0;
  /// EngineOptions::stop, for what a statement does when its queries have ended. No query begins once it is set.
  virtual const std::atomic<bool>* stop() const = 0;
};

/// SQL text of a value of DuckDB's type for `type`, for queries that we put together ("CAST('x' AS DATE)").
std::string SqlLiteral(const spec::Type& type, const spec::Value& value);
/// DuckDB's name of the type, for casts in queries that we put together. kNotSupported as for reading.
Result<std::string> SqlCastType(const spec::Type& type);

}  // namespace frazil::sql
