#include <filesystem>

#include "frazil/cli/commands.h"
#include "frazil/cli/file_report.h"
#include "frazil/cli/output.h"

namespace frazil::cli {
namespace {

struct InspectOptions {
  std::vector<std::string> files;
  bool positions = false;
};

/// A path as files are named in tables; one without a scheme is of this machine.
std::string PathOf(const std::string& typed) {
  if (typed.find(":/") != std::string::npos || typed.starts_with('/')) return typed;
  return std::filesystem::absolute(typed).lexically_normal().string();
}

Result<ExitCode> Inspect(Context& context, const InspectOptions& options) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FileReportOptions report;
  report.json =
      !context.options().output.empty() && (format == OutputFormat::kJson || format == OutputFormat::kJsonLines);
  report.positions = options.positions;
  for (const std::string& typed : options.files) {
    const std::string path = PathOf(typed);
    std::shared_ptr<io::FileIO> io = io::MakeLocalFileIO();
    if (!io::LocalPath(path)) {
      FRAZIL_ASSIGN(const auto catalog, context.default_catalog());
      io = catalog->file_io();
    }
    FRAZIL_ASSIGN(const std::string text, ReportFile(*io, path, report));
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
      return Fail(ErrorCode::kIo, "cannot write to standard output");
    }
  }
  return ExitCode::kOk;
}

}  // namespace

void AddInspectCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("inspect", "Show a metadata.json, manifest list, manifest, Puffin or Parquet file");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("file", options->files, "Files, as paths or as tables name them")->required();
  command->add_flag("--positions", options->positions, "Every deleted position of a vector");
  command->footer(
      "Examples:\n"
      "  frazil inspect warehouse/shop/products/metadata/00003-*.metadata.json\n"
      "  frazil inspect --positions warehouse/shop/products/data/00000-*-deletes.puffin -o json");
  command->callback(
      [&action, options] { action = [options](Context& context) { return Inspect(context, *options); }; });
}

}  // namespace frazil::cli
