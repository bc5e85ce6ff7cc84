#include "frazil/cli/commands.h"
#include "frazil/cli/output.h"

namespace frazil::cli {
namespace {

/// Names go into SQL as they were typed, so what cannot be a name must not get there.
Status CheckName(const std::string& name) {
  if (name.empty() || name.find_first_of(";'\"() \t\n") != std::string::npos) {
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument, "not a table name: '" + name + "'").WithHint("namespace.table"));
  }
  return {};
}

Result<ExitCode> RunQuery(Context& context, const std::string& name, const std::string& query) {
  if (!name.empty()) FRAZIL_TRY(CheckName(name));
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(const std::unique_ptr<sql::Session> session, context.NewSession());
  FRAZIL_ASSIGN(const std::unique_ptr<sql::QueryResult> result, session->Execute(query));
  FRAZIL_TRY(WriteResult(*result, format, context.options().quiet));
  return ExitCode::kOk;
}

/// `frazil table list` over all namespaces, or those below one.
Result<ExitCode> ListTables(Context& context, const std::string& below) {
  if (!below.empty()) return RunQuery(context, below, "SHOW TABLES IN " + below);
  FRAZIL_ASSIGN(const std::shared_ptr<catalog::Catalog> catalog, context.default_catalog());
  std::string rows;
  std::vector<catalog::Namespace> pending;
  FRAZIL_ASSIGN(pending, catalog->ListNamespaces({}));
  while (!pending.empty()) {
    const catalog::Namespace levels = pending.front();
    pending.erase(pending.begin());
    FRAZIL_ASSIGN(const std::vector<catalog::Namespace> children, catalog->ListNamespaces(levels));
    pending.insert(pending.end(), children.begin(), children.end());
    FRAZIL_ASSIGN(const std::vector<catalog::TableName> tables, catalog->ListTables(levels));
    for (const catalog::TableName& table : tables) {
      auto quoted = [](std::string text) {
        for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.insert(at, "'");
        return "'" + text + "'";
      };
      rows += fmt::format("{}({}, {})", rows.empty() ? "" : ", ", quoted(catalog::NamespaceText(levels)),
                          quoted(table.name));
    }
  }
  const std::string query = rows.empty()
                                ? "SELECT NULL::VARCHAR AS namespace, NULL::VARCHAR AS name WHERE false"
                                : "SELECT * FROM (VALUES " + rows + ") AS tables(namespace, name) ORDER BY ALL";
  return RunQuery(context, "", query);
}

std::string SnapshotsQuery(const std::string& table) {
  // The commits as people want to see them; the raw columns are in <table>.snapshots.
  const auto counter = [](const char* key) { return fmt::format("coalesce(summary['{}']::BIGINT, 0)", key); };
  return fmt::format(
      "SELECT committed_at, snapshot_id, operation, {} AS rows_added, "
      "{} + {} - {} AS rows_deleted, {} AS data_files, {} AS deletion_vectors, "
      "summary['total-records']::BIGINT - coalesce(summary['total-position-deletes']::BIGINT, 0) AS rows_live "
      "FROM {}.snapshots ORDER BY committed_at",
      counter("added-records"), counter("deleted-records"), counter("added-position-deletes"),
      counter("removed-position-deletes"), counter("added-data-files"), counter("added-dvs"), table);
}

}  // namespace

void AddTableCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("table", "Look at tables: list, describe, snapshots, files");
  command->require_subcommand(1);
  auto name = std::make_shared<std::string>();
  CLI::App* list = command->add_subcommand("list", "Tables of the catalog");
  list->add_option("namespace", *name, "Only this namespace");
  list->callback([&action, name] { action = [name](Context& context) { return ListTables(context, *name); }; });

  const auto add = [&](const char* verb, const char* help, std::function<std::string(const std::string&)> query) {
    CLI::App* subcommand = command->add_subcommand(verb, help);
    subcommand->add_option("table", *name, "namespace.table")->required();
    subcommand->callback([&action, name, query] {
      action = [name, query](Context& context) -> Result<ExitCode> {
        FRAZIL_TRY(CheckName(*name));
        return RunQuery(context, *name, query(*name));
      };
    });
  };
  add("describe", "Columns, partitioning, properties",
      [](const std::string& table) { return "DESCRIBE EXTENDED " + table; });
  add("snapshots", "Commits: what each added and deleted", SnapshotsQuery);
  add("files", "Live data and delete files", [](const std::string& table) {
    return fmt::format(
        "SELECT content, file_path, file_format, spec_id, record_count, file_size_in_bytes, first_row_id, "
        "referenced_data_file, content_offset, content_size_in_bytes FROM {}.files ORDER BY content, file_path, "
        "content_offset",
        table);
  });
}

}  // namespace frazil::cli
