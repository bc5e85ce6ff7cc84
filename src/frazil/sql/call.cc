#include "frazil/sql/call.h"

#include "frazil/spec/ascii.h"
#include "frazil/sql/call_value.h"
#include "frazil/sql/file_list.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/table_renderer.h"
#include "frazil/sql/tree_reader.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

constexpr char kSystem[] = "system";

spec::Type ColumnType(table::ProcedureType type) {
  switch (type) {
    case table::ProcedureType::kBoolean: return spec::Type::Primitive(spec::TypeId::kBoolean);
    case table::ProcedureType::kInt: return spec::Type::Primitive(spec::TypeId::kInt);
    case table::ProcedureType::kLong: return spec::Type::Primitive(spec::TypeId::kLong);
    default: return spec::Type::Primitive(spec::TypeId::kString);
  }
}

Datum CellOf(table::ProcedureType type, const table::ProcedureValue& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return BoolDatum(*truth);
  if (const int64_t* number = std::get_if<int64_t>(&value)) {
    return type == table::ProcedureType::kInt ? IntDatum(static_cast<int32_t>(*number)) : LongDatum(*number);
  }
  if (const std::string* text = std::get_if<std::string>(&value)) return TextDatum(*text);
  return {};
}

Error WithNearest(Error error, const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = spec::NearestName(name, names);
  return nearest.empty() ? std::move(error) : std::move(error).WithHint("did you mean " + nearest + "?");
}

/// One CALL.
class Caller {
 public:
  Caller(const CallEnvironment& environment, NameResolver& resolver, Engine& engine)
      : environment_(environment), resolver_(resolver), engine_(engine) {}

  Result<const table::Procedure*> Find(const NameParts& parts, std::string& catalog) const {
    catalog = resolver_.current_catalog();
    NameParts rest = parts;
    if (rest.size() == 3) {
      catalog = rest[0];
      rest.erase(rest.begin());
      FRAZIL_TRY(resolver_.Catalog(catalog));
    }
    if (rest.size() != 2 || !spec::EqualsAnyCase(rest[0], kSystem)) {
      return tl::unexpected(Error(ErrorCode::kNotFound, "procedure not found: " + NameText(parts))
                                .WithHint("procedures are called system.<name>"));
    }
    const std::string name = Lower(rest[1]);
    if (const auto found = environment_.procedures->find(name); found != environment_.procedures->end()) {
      return found->second.get();
    }
    std::vector<std::string> names;
    for (const auto& [known, procedure] : *environment_.procedures) names.push_back(known);
    return tl::unexpected(
        WithNearest(Error(ErrorCode::kNotFound, "procedure not found: " + NameText(parts)), name, names));
  }

  Result<table::ProcedureArguments> Arguments(const table::Procedure& procedure,
                                              const std::vector<statement::CallArgument>& given) const {
    const std::vector<table::ProcedureParameter>& parameters = procedure.parameters();
    table::ProcedureArguments arguments;
    const Evaluate evaluate = [this](const std::string& expression, const std::string& type) {
      return EvaluateScalar(expression, type);
    };
    for (size_t i = 0; i < given.size(); ++i) {
      const statement::CallArgument& argument = given[i];
      if (argument.name.empty() != given[0].name.empty()) {
        return Fail(ErrorCode::kInvalidArgument, "named and positional arguments cannot be mixed: {}",
                    procedure.name());
      }
      FRAZIL_ASSIGN(const table::ProcedureParameter* parameter, ParameterOf(procedure, argument, i));
      FRAZIL_ASSIGN(table::ProcedureValue value, ParseCallValue(*parameter, argument.text, evaluate));
      if (parameter->is_required && std::holds_alternative<std::monostate>(value)) {
        return Fail(ErrorCode::kInvalidArgument, "argument of {} must not be NULL: {}", procedure.name(),
                    parameter->name);
      }
      if (!arguments.emplace(parameter->name, std::move(value)).second) {
        return Fail(ErrorCode::kInvalidArgument, "argument of {} is given twice: {}", procedure.name(),
                    parameter->name);
      }
    }
    for (const table::ProcedureParameter& parameter : parameters) {
      if (parameter.is_required && !arguments.contains(parameter.name)) {
        return Fail(ErrorCode::kInvalidArgument, "argument of {} is missing: {}", procedure.name(), parameter.name);
      }
    }
    // NULL says no more than leaving it out.
    std::erase_if(arguments, [](const auto& item) { return std::holds_alternative<std::monostate>(item.second); });
    return arguments;
  }

  Result<std::vector<table::ProcedureRow>> Run(const table::Procedure& procedure, const std::string& catalog,
                                               const table::ProcedureArguments& arguments) const {
    table::ProcedureContext context = environment_.context;
    context.catalogs = resolver_.catalogs();
    context.default_catalog = catalog;
    context.default_namespace = resolver_.current_namespace();
    context.parse_predicate = [this](const spec::Schema& schema, const std::string& predicate) {
      return engine_.TranslatePredicate(schema, predicate, "t");
    };
    context.read_file_list = [this](const std::string& name) { return ReadFileList(engine_, name); };
    return procedure.Run(context, arguments);
  }

 private:
  static Result<const table::ProcedureParameter*> ParameterOf(const table::Procedure& procedure,
                                                              const statement::CallArgument& argument, size_t place) {
    const std::vector<table::ProcedureParameter>& parameters = procedure.parameters();
    if (argument.name.empty()) {
      if (place < parameters.size()) return &parameters[place];
      return Fail(ErrorCode::kInvalidArgument, "{} takes {} arguments, more are given: {}", procedure.name(),
                  parameters.size(), argument.text);
    }
    std::vector<std::string> names;
    for (const table::ProcedureParameter& parameter : parameters) {
      if (parameter.name == argument.name) return &parameter;
      names.push_back(parameter.name);
    }
    return tl::unexpected(WithNearest(
        Error(ErrorCode::kInvalidArgument, fmt::format("{} has no argument: {}", procedure.name(), argument.name)),
        argument.name, names));
  }

  Result<std::optional<std::string>> EvaluateScalar(const std::string& expression, const std::string& type) const {
    FRAZIL_ASSIGN(const auto result, engine_.Run("SELECT CAST(CAST((" + expression + ") AS " + type + ") AS VARCHAR)"));
    FRAZIL_ASSIGN(const auto batch, result->Next());
    if (!batch) return Fail(ErrorCode::kInvalidArgument, "an expression without value: {}", expression);
    FRAZIL_ASSIGN(const auto cells, CellsOf(*batch));
    const Cell& cell = cells.at(0).at(0);
    return cell.is_null ? std::nullopt : std::optional(cell.text);
  }

  const CallEnvironment& environment_;
  NameResolver& resolver_;
  Engine& engine_;
};

}  // namespace

Result<std::unique_ptr<QueryResult>> Run(const statement::Call& call, const CallEnvironment& environment,
                                         NameResolver& resolver, Engine& engine) {
  const Caller caller(environment, resolver, engine);
  std::string catalog;
  FRAZIL_ASSIGN(const table::Procedure* procedure, caller.Find(call.name, catalog));
  FRAZIL_ASSIGN(const table::ProcedureArguments arguments, caller.Arguments(*procedure, call.arguments));
  FRAZIL_ASSIGN(const auto rows, caller.Run(*procedure, catalog, arguments));
  MadeUpTable table;
  for (const table::ProcedureColumn& column : procedure->columns()) {
    table.columns.push_back({spec::FieldId(0), column.name, false, ColumnType(column.type)});
  }
  for (const table::ProcedureRow& row : rows) {
    DatumRow cells;
    for (size_t i = 0; i < row.size(); ++i) cells.push_back(CellOf(procedure->columns()[i].type, row[i]));
    table.rows.push_back(std::move(cells));
  }
  return TableResult(table);
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Vacuum& vacuum, const CallEnvironment& environment,
                                         NameResolver& resolver, Engine& engine) {
  const Caller caller(environment, resolver, engine);
  std::string name;
  for (const std::string& part : vacuum.table) name += (name.empty() ? "" : ".") + QuotedIfNeeded(part);
  int64_t num_deleted = 0;
  for (const char* step : {"expire_snapshots", "remove_orphan_files"}) {
    std::string catalog;
    FRAZIL_ASSIGN(const table::Procedure* procedure, caller.Find({kSystem, step}, catalog));
    FRAZIL_ASSIGN(const auto rows, caller.Run(*procedure, catalog, {{"table", name}}));
    for (const table::ProcedureRow& row : rows) {
      for (const table::ProcedureValue& cell : row) {
        const int64_t* count = std::get_if<int64_t>(&cell);
        num_deleted += count != nullptr ? *count : 1;  // a count, or the place of one file
      }
    }
  }
  return TableResult({{{spec::FieldId(0), "deleted_files_count", false, ColumnType(table::ProcedureType::kLong)}},
                      {{LongDatum(num_deleted)}}});
}

}  // namespace frazil::sql
