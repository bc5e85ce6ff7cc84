#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "frazil/cli/commands.h"
#include "frazil/ingest/flink_job.h"

namespace frazil::cli {
namespace {

Result<std::string> ReadScript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, "cannot read file: {}", path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Result<ExitCode> RunImportFlink(const std::string& path) {
  FRAZIL_ASSIGN(const std::string script, ReadScript(path));
  Result<ingest::FlinkJob> job = ingest::ParseFlinkJob(script);
  if (!job) return tl::unexpected(std::move(job).error().WithContext("reading " + path));
  const ingest::FlinkImport imported = ingest::ImportFlinkJob(*job);
  for (const std::string& note : imported.notes) fmt::print(stderr, "{}: {}\n", path, note);
  if (imported.num_pipelines == 0) {
    return Fail(ErrorCode::kInvalidArgument, "no INSERT from a Kafka table into an Iceberg table: {}", path);
  }
  fmt::print("{}", imported.yaml);
  return ExitCode::kOk;
}

}  // namespace

void AddImportCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("import", "Make a configuration of another program's job");
  command->require_subcommand(1);
  CLI::App* flink = command->add_subcommand("flink", "A Flink SQL script: CREATE TABLE, CREATE CATALOG, INSERT INTO");
  auto path = std::make_shared<std::string>();
  flink->add_option("file", *path, "The script")->required();
  flink->footer(
      "Prints a configuration file; what it could not carry over goes to standard error, a line each.\n"
      "Example:\n"
      "  frazil import flink job.sql > frazil.yaml && frazil config validate -c frazil.yaml");
  flink->callback([&action, path] { action = [path](Context&) { return RunImportFlink(*path); }; });
}

}  // namespace frazil::cli
