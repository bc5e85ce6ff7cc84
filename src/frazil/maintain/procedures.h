#pragma once

#include "frazil/table/procedure.h"

namespace frazil::maintain {

/// Every procedure of `system` that this build carries out (spec section 9; maintenance.md section 6).
table::ProcedureSet AllProcedures();

}  // namespace frazil::maintain
