#include "frazil/cli/compact_options.h"

#include "frazil/cli/option_check.h"
#include "frazil/cli/units.h"

namespace frazil::cli {

void AddCompactOptions(CLI::App& command, CompactOptions& options) {
  command.add_option("table", options.table, "namespace.table")->required();
  command.add_option("--where", options.where, "Only files that may hold rows for which this is true");
  command.add_option("--strategy", options.strategy, "binpack or sort")->check(CLI::IsMember({"binpack", "sort"}));
  command.add_option("--sort-order", options.sort_order, "Such as \"day, bucket(8, id) DESC\"; the table's by default");
  command.add_option("--target-file-size", options.target_file_size, "Such as 128MB")->check(Parsed(ParseBytes));
  command.add_option("--option", options.options, "key=value of rewrite_data_files, may be repeated")
      ->allow_extra_args(false)
      ->check(IsKeyValue());
  command.add_flag("--one-commit", options.one_commit, "All or nothing, instead of a commit whenever groups are done");
}

Result<maintain::RewriteOptions> RewriteOptionsFor(const CompactOptions& options, const MaintenanceSession& session,
                                                   const table::Table& table) {
  std::map<std::string, std::string> map = {{"leveled", "true"}};
  if (!options.one_commit) map["partial-progress.enabled"] = "true";
  if (!options.target_file_size.empty()) {
    FRAZIL_ASSIGN(const int64_t bytes, ParseBytes(options.target_file_size));
    map["target-file-size-bytes"] = std::to_string(bytes);
  }
  for (const std::string& option : options.options) {
    const size_t equals = option.find('=');
    map[option.substr(0, equals)] = option.substr(equals + 1);
  }
  table::ProcedureArguments arguments = {{"options", map}};
  if (!options.strategy.empty()) arguments["strategy"] = options.strategy;
  if (!options.sort_order.empty()) arguments["sort_order"] = options.sort_order;
  if (!options.where.empty()) arguments["where"] = options.where;
  return maintain::RewriteOptionsOf(session.context(), maintain::Arguments(arguments), table);
}

}  // namespace frazil::cli
