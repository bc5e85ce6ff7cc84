#pragma once

#include <string>
#include <vector>

#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

enum class Severity { kOk, kWarn, kCritical };
std::string_view SeverityName(Severity severity);

/// One signal of a table's health: what is so, what it costs, what to do.
struct HealthFinding {
  std::string check;  ///< "small files"
  Severity severity = Severity::kOk;
  std::string cause;    ///< with the numbers
  std::string effect;   ///< what it costs whom; empty when all is well
  std::string command;  ///< exactly what to run; empty when all is well
  std::string gain;     ///< what that is expected to bring
};

/// Looks at a table's metadata, manifests and Puffin footers; of files that snapshots need it asks whether they exist.
/// Every check gives a finding, those that are well and those that fail included. Thresholds: docs/reference/maintenance.md.
Result<std::vector<HealthFinding>> ExamineTable(const table::Table& table, const table::ProcedureContext& context);

}  // namespace frazil::maintain
