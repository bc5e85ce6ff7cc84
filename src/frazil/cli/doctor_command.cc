#include <algorithm>

#include "frazil/cli/commands.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/maintain/table_health.h"

namespace frazil::cli {
namespace {

struct DoctorCommand {
  std::vector<std::string> tables;
  std::string fail_on;
};

Status CollectTables(const catalog::Catalog& catalog, const catalog::Namespace& parent,
                     std::vector<std::string>& names) {
  FRAZIL_ASSIGN(const auto namespaces, catalog.ListNamespaces(parent));
  for (const catalog::Namespace& levels : namespaces) {
    FRAZIL_ASSIGN(const auto tables, catalog.ListTables(levels));
    for (const catalog::TableName& table : tables) names.push_back(table.ToString());
    FRAZIL_TRY(CollectTables(catalog, levels, names));
  }
  return {};
}

Result<ExitCode> Doctor(Context& context, const DoctorCommand& command) {
  FRAZIL_ASSIGN(const auto session, MaintenanceSession::Make(context));
  std::vector<std::string> names = command.tables;
  if (names.empty()) {
    FRAZIL_ASSIGN(const auto catalog, context.default_catalog());
    FRAZIL_TRY(CollectTables(*catalog, {}, names));
  }
  sql::MadeUpTable rows;
  for (const char* name : {"table", "check", "severity", "cause", "effect", "command", "gain"}) {
    rows.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kString)});
  }
  maintain::Severity worst = maintain::Severity::kOk;
  int64_t num_warn = 0;
  int64_t num_critical = 0;
  const auto add = [&](const std::string& table, const maintain::HealthFinding& finding) {
    worst = std::max(worst, finding.severity);
    num_warn += finding.severity == maintain::Severity::kWarn ? 1 : 0;
    num_critical += finding.severity == maintain::Severity::kCritical ? 1 : 0;
    sql::DatumRow row;
    const std::string severity(maintain::SeverityName(finding.severity));
    for (const std::string& text :
         {table, finding.check, severity, finding.cause, finding.effect, finding.command, finding.gain}) {
      row.push_back(sql::TextDatum(text));
    }
    rows.rows.push_back(std::move(row));
  };
  for (const std::string& name : names) {
    const auto table = session->Open(name);
    if (!table && !command.tables.empty()) return tl::unexpected(table.error());
    const auto findings = table ? maintain::ExamineTable(*table, session->context())
                                : Result<std::vector<maintain::HealthFinding>>(tl::unexpected(table.error()));
    if (!findings) {
      // A table that cannot even be read is what the doctor is for.
      add(name, {"readable", maintain::Severity::kCritical, findings.error().ToString(), "nobody can read it", "", ""});
      continue;
    }
    for (const maintain::HealthFinding& finding : *findings) add(name, finding);
  }
  session->EndProgress();
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_TRY(PrintRows(context, std::move(rows)));
  if (format == OutputFormat::kJson || format == OutputFormat::kJsonLines) {
    FRAZIL_TRY(Summary()
                   .Add("tables", static_cast<int64_t>(names.size()))
                   .Add("severity", std::string(maintain::SeverityName(worst)))
                   .Add("warn", num_warn)
                   .Add("critical", num_critical)
                   .Print(context));
  }
  context.Say(fmt::format("{} tables: {} warnings, {} critical", names.size(), num_warn, num_critical));
  const bool fails = (command.fail_on == "warn" && worst >= maintain::Severity::kWarn) ||
                     (command.fail_on == "critical" && worst >= maintain::Severity::kCritical);
  return fails ? ExitCode::kUnhealthy : ExitCode::kOk;
}

}  // namespace

void AddDoctorCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("doctor", "Health of tables: what is wrong, what it costs, what to run");
  auto options = std::make_shared<DoctorCommand>();
  command->add_option("table", options->tables, "namespace.table; none: all of the catalog");
  command->add_option("--fail-on", options->fail_on, "Exit with 10 when something is as bad as this")
      ->check(CLI::IsMember({"warn", "critical"}));
  command->footer(
      "Examples:\n"
      "  frazil doctor demo.events\n"
      "  frazil doctor --fail-on critical -o json");
  command->callback([&action, options] { action = [options](Context& context) { return Doctor(context, *options); }; });
}

}  // namespace frazil::cli
