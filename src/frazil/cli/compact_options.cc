#include "frazil/cli/compact_options.h"

#include "frazil/cli/option_check.h"
#include "frazil/cli/units.h"

namespace frazil::cli {

namespace {

/// What the options say as those of rewrite_data_files.
std::map<std::string, std::string> MapOf(const CompactOptions& options) {
  std::map<std::string, std::string> map = {{"leveled", "true"}};
  if (!options.one_commit) map["partial-progress.enabled"] = "true";
  if (const auto bytes = ParseBytes(options.target_file_size)) map["target-file-size-bytes"] = std::to_string(*bytes);
  for (const std::string& option : options.options) {
    const size_t equals = option.find('=');
    map[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return map;
}

}  // namespace

void AddCompactOptions(CLI::App& command, CompactOptions& options) {
  command.add_option("table", options.table, "namespace.table")->required();
  command.add_option("--where", options.where, "Only files that may hold rows for which this is true");
  command.add_option("--strategy", options.strategy, "binpack or sort")->check(CLI::IsMember({"binpack", "sort"}));
  command.add_option("--sort-order", options.sort_order, "Such as \"day, bucket(8, id) DESC\"; the table's by default");
  command.add_option("--target-file-size", options.target_file_size, "Such as 128MB")->check(Parsed(ParseBytes));
  command.add_option("--option", options.options, "key=value of rewrite_data_files, may be repeated")
      ->allow_extra_args(false)
      ->check(IsKeyValue());
  command.parse_complete_callback([&options] { RequireUsable(maintain::RewriteOptions::Parse(MapOf(options))); });
  command.add_flag("--one-commit", options.one_commit, "All or nothing, instead of a commit whenever groups are done");
}

Result<maintain::RewriteOptions> RewriteOptionsFor(const CompactOptions& options, const MaintenanceSession& session,
                                                   const table::Table& table) {
  table::ProcedureArguments arguments = {{"options", MapOf(options)}};
  if (!options.strategy.empty()) arguments["strategy"] = options.strategy;
  if (!options.sort_order.empty()) arguments["sort_order"] = options.sort_order;
  if (!options.where.empty()) arguments["where"] = options.where;
  return maintain::RewriteOptionsOf(session.context(), maintain::Arguments(arguments), table);
}

}  // namespace frazil::cli
