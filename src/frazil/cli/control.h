#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/cli/context.h"
#include "frazil/service/control_client.h"

namespace frazil::cli {

/// Where a running `frazil run` of this home says under which address it can be reached.
std::string ControlAddressFile(const Config& config);

/// Client for the process that runs with this configuration: at `http.listen`, or where it says it is when that leaves the
/// port to the system. kUnavailable when HTTP is off or nothing says where.
Result<service::ControlClient> OpenControlClient(Context& context);

}  // namespace frazil::cli
