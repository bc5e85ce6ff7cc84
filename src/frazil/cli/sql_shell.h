#pragma once

#include <atomic>
#include <string>

#include "frazil/cli/context.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/output.h"
#include "frazil/sql/session.h"

namespace frazil::cli {

/// A prompt on the terminal: statements end with a semicolon and may span lines, words that begin with a dot are commands of
/// the shell, an error does not end it. Ctrl-C drops what is being typed, or cancels the statement that runs; Ctrl-D leaves.
Status RunSqlShell(sql::Session& session, Context& context, OutputFormat format, InterruptGuard& interrupt);

/// Runs a script to its first failure and says which statement that was. Once `stop` is set no statement begins (kShuttingDown);
/// the one that runs ends by Session::Cancel().
Status RunSqlScript(sql::Session& session, const std::string& script, const std::string& name, Context& context,
                    OutputFormat format, const std::atomic<bool>& stop);

}  // namespace frazil::cli
