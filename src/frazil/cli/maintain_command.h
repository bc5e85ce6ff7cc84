#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "frazil/cli/compact_options.h"
#include "frazil/cli/context.h"
#include "frazil/cli/exit_code.h"
#include "frazil/sql/metadata_table.h"

namespace frazil::cli {

/// What the verbs of `maintain` are told.
struct MaintainCommand {
  CompactOptions compact;
  std::vector<std::string> operations;
  bool yes = false;
  int64_t max_runs = 20;
  std::string run_id;

  /// Those of OperationsInOrder() that are asked for.
  std::vector<std::string> Chosen() const;
};

/// The order of a safe pass (spec section 9.10).
const std::vector<std::string>& OperationsInOrder();

// What a run would do; doing it; earlier runs.
Result<ExitCode> PlanMaintenance(Context& context, const MaintainCommand& command);
Result<ExitCode> RunMaintenance(Context& context, const MaintainCommand& command);
Result<ExitCode> ShowHistory(Context& context, const MaintainCommand& command);

/// A table without rows.
sql::MadeUpTable TableOf(std::initializer_list<std::pair<const char*, spec::TypeId>> columns);

}  // namespace frazil::cli
