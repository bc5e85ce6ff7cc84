#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "frazil/cli/context.h"
#include "frazil/cli/exit_code.h"

namespace frazil::cli {

/// What a chosen command does; set by the command's parser, run after parsing.
using Action = std::function<Result<ExitCode>(Context& context)>;

// Each adds one command with its options to the program and sets `action` when it is the one that was called.
void AddVersionCommand(CLI::App& program, Action& action);
void AddSqlCommand(CLI::App& program, Action& action);
void AddTableCommand(CLI::App& program, Action& action);
void AddIngestCommand(CLI::App& program, Action& action);
void AddRunCommand(CLI::App& program, Action& action);
void AddPipelineCommand(CLI::App& program, Action& action);
void AddVerifyCommand(CLI::App& program, Action& action);
void AddGetCommand(CLI::App& program, Action& action);
void AddIndexCommand(CLI::App& program, Action& action);
void AddInspectCommand(CLI::App& program, Action& action);
void AddTopicCommand(CLI::App& program, Action& action);
void AddBenchCommand(CLI::App& program, Action& action);
void AddCompactCommand(CLI::App& program, Action& action);
void AddExpireCommand(CLI::App& program, Action& action);
void AddCleanOrphansCommand(CLI::App& program, Action& action);
void AddMaintainCommand(CLI::App& program, Action& action);
void AddDoctorCommand(CLI::App& program, Action& action);
void AddImportCommand(CLI::App& program, Action& action);
void AddConfigCommand(CLI::App& program, Action& action);

}  // namespace frazil::cli
