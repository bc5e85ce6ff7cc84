#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "frazil/cli/maintenance_session.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/maintain/rewrite_options_of.h"

namespace frazil::cli {

/// What `compact`, `maintain plan` and `maintain explain` take.
struct CompactOptions {
  std::string table;
  std::string strategy;
  std::string sort_order;
  std::string where;
  std::vector<std::string> options;  ///< "key=value": rewrite_data_files' own
  std::string target_file_size;
  bool one_commit = false;
};

void AddCompactOptions(CLI::App& command, CompactOptions& options);

/// Unless told otherwise with partial progress, so that what is finished stays when a run is stopped, and level by level:
/// these commands run every few minutes, and a file must not be rewritten for each small one that comes.
Result<maintain::RewriteOptions> RewriteOptionsFor(const CompactOptions& options, const MaintenanceSession& session,
                                                   const table::Table& table);

}  // namespace frazil::cli
