#include <arrow/config.h>

#include "frazil/base/version.h"
#include "frazil/cli/commands.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/output.h"

namespace frazil::cli {

void AddVersionCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("version", "Print the version, the commit and the libraries in use");
  command->callback([&action] {
    action = [](Context& context) -> Result<ExitCode> {
      const std::string arrow = arrow::GetBuildInfo().version_string;
      FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
      if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
        fmt::print("{{\"version\":{},\"commit\":{},\"duckdb\":{},\"arrow\":{}}}\n", JsonString(kVersion),
                   JsonString(kCommit), JsonString(sql::DuckDbVersion()), JsonString(arrow));
      } else {
        fmt::print("frazil {} ({})\nDuckDB {}, Apache Arrow {}\n", kVersion, kCommit, sql::DuckDbVersion(), arrow);
      }
      return ExitCode::kOk;
    };
  });
}

}  // namespace frazil::cli
