#pragma once

#include <functional>

#include "frazil/cli/context.h"
#include "frazil/sql/session.h"

namespace frazil::cli {

/// What shows how far an INSERT, UPDATE, MERGE or CREATE TABLE AS is: nothing for short ones, then a line on stderr that
/// rewrites itself (`--progress json`: an object a line, from the start). `limit_bytes`: the memory limit that is shown.
std::function<void(const sql::WritingProgress&)> ShowWriting(const GlobalOptions& options, int64_t limit_bytes);

}  // namespace frazil::cli
