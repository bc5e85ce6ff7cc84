#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/catalog/catalog.h"
#include "frazil/expr/expression.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/schema.h"

namespace frazil::table {

// The seam between `CALL system.<procedure>(...)` (sql) and what carries it out (maintain): spec section 9.

enum class ProcedureType {
  kBoolean,
  kInt,
  kLong,
  kString,
  kTimestamp,   ///< microseconds since the epoch, UTC
  kStringMap,   ///< map('k', 'v', ...)
  kStringList,  ///< array('a', ...)
  kLongList,
};

/// One argument or result cell; its type is the parameter's or column's. monostate: null.
using ProcedureValue = std::variant<std::monostate, bool, int64_t, std::string, std::map<std::string, std::string>,
                                    std::vector<std::string>, std::vector<int64_t>>;

struct ProcedureParameter {
  std::string name;
  ProcedureType type = ProcedureType::kString;
  bool is_required = false;
};

struct ProcedureColumn {
  std::string name;
  ProcedureType type = ProcedureType::kLong;
};

using ProcedureRow = std::vector<ProcedureValue>;

/// How far a long procedure is.
struct ProcedureProgress {
  std::string phase;  ///< "planning", "rewriting", "committing", ...
  int64_t groups_done = 0;
  int64_t groups = 0;
  int64_t bytes_done = 0;
  int64_t bytes = 0;
  int64_t rows_done = 0;
};

/// What a procedure works with; given by whoever calls it. Pointers may be null where said, and outlive the call.
struct ProcedureContext {
  std::map<std::string, std::shared_ptr<catalog::Catalog>> catalogs;
  std::string default_catalog;
  catalog::Namespace default_namespace;
  Executor* executor = nullptr;    ///< null: the calling thread alone
  MemoryBudget* budget = nullptr;  ///< null: no limit
  Clock* clock = nullptr;          ///< null: the system's
  /// $FRAZIL_HOME/state: journals, runs and key indexes of tables, by uuid. Empty: nothing is kept between calls.
  std::string state_directory;
  std::string temp_directory;               ///< spills; empty: the system's
  const std::atomic<bool>* stop = nullptr;  ///< set by another thread: end soon with kShuttingDown
  /// Reads a SQL predicate over the table's columns, for files that may hold matching rows: the result is never
  /// narrower than the text (parts that say nothing about files become true). Null: `where` is kNotSupported.
  std::function<Result<expr::ExpressionPtr>(const spec::Schema& schema, const std::string& predicate)> parse_predicate;
  /// The rows of a table or view with the columns file_path (a text) and last_modified (a timestamp). Null: `file_list_view`
  /// is kNotSupported.
  std::function<Result<std::vector<io::FileInfo>>(const std::string& name)> read_file_list;
  std::function<void(const ProcedureProgress&)> on_progress;  ///< may be empty; any thread
  std::function<void(const std::string&)> on_notice;          ///< one line for people; may be empty
};

/// Arguments by parameter name; absent: not given (the default).
using ProcedureArguments = std::map<std::string, ProcedureValue>;

/// One stored procedure. Immutable; Run() on one thread a call.
class Procedure {
 public:
  virtual ~Procedure() = default;
  virtual std::string_view name() const = 0;
  /// In positional order.
  virtual const std::vector<ProcedureParameter>& parameters() const = 0;
  virtual const std::vector<ProcedureColumn>& columns() const = 0;
  /// The caller has checked names, types and required ones. kInvalidArgument naming the argument and its value.
  virtual Result<std::vector<ProcedureRow>> Run(const ProcedureContext& context,
                                                const ProcedureArguments& arguments) const = 0;
};

/// All procedures of a process, by lower-case name.
using ProcedureSet = std::map<std::string, std::shared_ptr<const Procedure>, std::less<>>;

}  // namespace frazil::table
