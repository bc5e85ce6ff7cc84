#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// One thing that must hold of a table, and where it does not.
struct IntegrityCheck {
  std::string name;
  int64_t num_checked = 0;
  std::vector<std::string> problems;  ///< one line each, naming the file
};

/// Whether a table holds together: every file that any snapshot needs is there and as long as said, each data file has at
/// most one vector, vectors can be read, are as large as said and belong to live data files, and the head's totals are
/// those of its manifests. Reads metadata and vectors, no rows. Problems are results, not errors.
Result<std::vector<IntegrityCheck>> VerifyTable(const table::Table& table, const table::ProcedureContext& context);

}  // namespace frazil::maintain
