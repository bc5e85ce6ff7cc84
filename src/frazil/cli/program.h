#pragma once

namespace frazil::cli {

/// The program `frazil`: parses the command line, runs the command, prints a failure in one line on stderr and returns
/// the exit code (docs/reference/cli.md).
int RunProgram(int argc, char** argv);

}  // namespace frazil::cli
