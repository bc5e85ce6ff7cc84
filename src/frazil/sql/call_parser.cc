#include "frazil/sql/call_parser.h"

#include <algorithm>
#include <limits>
#include <map>

#include "frazil/spec/schema.h"
#include "frazil/sql/call_grammar.h"
#include "frazil/sql/parse_tree.h"
#include "frazil/sql/tree_reader.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

using grammar::Node;
namespace rule = grammar::call;

std::vector<statement::CallArgument> ArgumentsIn(const Node& node) {
  std::vector<statement::CallArgument> arguments;
  const Node* list = Child<rule::arguments>(node);
  if (list == nullptr) return arguments;
  for (const auto& child : list->children) {
    statement::CallArgument argument;
    if (const Node* name = Child<rule::argument_name>(*child)) {
      argument.name = Lower(Unquote(name->children.at(0)->string()));
    }
    argument.text = Trimmed(Child<rule::argument_text>(*child)->string());
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// The table as an argument: a text of back-quoted parts.
statement::CallArgument TableArgument(const NameParts& parts) {
  std::string name;
  for (const std::string& part : parts) {
    name += name.empty() ? "`" : ".`";
    for (const char letter : part) name += letter == '`' ? "``" : std::string(1, letter);
    name += "`";
  }
  return {"table", QuotedText(name)};
}

void AddCondition(const Node& node, statement::Call& call) {
  if (const Node* found = Child<rule::where>(node)) {
    call.arguments.push_back({"where", QuotedText(Trimmed(Child<grammar::rest_of_statement>(*found)->string()))});
  }
}

/// The bytes of a size as Trino writes it, '128MB', in powers of 1024.
Result<std::string> BytesOf(const std::string& text) {
  const std::string size = Lower(Unquote(text));
  const size_t unit = std::min(size.find_first_not_of("0123456789"), size.size());
  static const std::map<std::string, int> kShifts = {{"", 0}, {"b", 0}, {"kb", 10}, {"mb", 20}, {"gb", 30}, {"tb", 40}};
  const auto shift = kShifts.find(size.substr(unit));
  const bool is_size = unit > 0 && unit <= 9 && shift != kShifts.end();
  const int64_t count = is_size ? std::stoll(size.substr(0, unit)) : 0;
  if (!is_size || count > std::numeric_limits<int64_t>::max() >> shift->second) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "not a size: " + text).WithHint("such as '128MB'"));
  }
  return QuotedText(std::to_string(count << shift->second));
}

/// What Trino calls a procedure and its argument.
struct TrinoProcedure {
  std::string name;
  std::string procedure;
  std::string argument;   ///< Trino's only one
  std::string otherwise;  ///< Trino's default of it
  std::string parameter;  ///< ours, which takes the text of the argument within `before` and `after`
  std::string before;
  std::string after;
};

const std::vector<TrinoProcedure>& TrinoProcedures() {
  static const std::vector<TrinoProcedure> all = {
      {"optimize", "rewrite_data_files", "file_size_threshold", "'100MB'", "options",
       "map('min-input-files', '2', 'small-file-threshold-bytes', ", ")"},
      {"optimize_manifests", "rewrite_manifests", "", "", "", "", ""},
      {"expire_snapshots", "expire_snapshots", "retention_threshold", "'7d'", "older_than", "now() - CAST(",
       " AS INTERVAL)"},
      {"remove_orphan_files", "remove_orphan_files", "retention_threshold", "'7d'", "older_than", "now() - CAST(",
       " AS INTERVAL)"},
  };
  return all;
}

Result<Statement> ExecuteOf(const Node& node) {
  const std::string name = Lower(Unquote(Child<rule::executed>(node)->children.at(0)->string()));
  std::vector<std::string> names;
  for (const TrinoProcedure& known : TrinoProcedures()) {
    names.push_back(known.name);
    if (known.name != name) continue;
    statement::Call call{{"system", known.procedure}, {TableArgument(NameIn(node))}};
    std::vector<statement::CallArgument> given = ArgumentsIn(node);
    if (given.empty() && !known.argument.empty()) given.push_back({known.argument, known.otherwise});
    for (const statement::CallArgument& argument : given) {
      if (known.argument.empty() || (!argument.name.empty() && argument.name != known.argument)) {
        return Fail(ErrorCode::kInvalidArgument, "EXECUTE {} has no such argument: {}", name,
                    argument.name.empty() ? argument.text : argument.name);
      }
      std::string text = argument.text;
      if (known.name == "optimize") {
        FRAZIL_ASSIGN(text, BytesOf(argument.text));
      }
      call.arguments.push_back({known.parameter, known.before + text + known.after});
    }
    AddCondition(node, call);
    return Statement(std::move(call));
  }
  const std::string nearest = spec::NearestName(name, names);
  Error error(ErrorCode::kInvalidArgument, "EXECUTE knows no such procedure: " + name);
  return tl::unexpected(nearest.empty() ? std::move(error)
                                        : std::move(error).WithHint("did you mean " + nearest + "?"));
}

}  // namespace

Result<std::optional<Statement>> ParseCall(const std::string& text) {
  FRAZIL_ASSIGN(auto tree, (ParseTree<rule::whole_statement, rule::Selected>(text)));
  if (!tree) return std::optional<Statement>();
  const Node& node = *tree->children.at(0);
  if (node.is_type<rule::call>()) return Statement(statement::Call{NameIn(node), ArgumentsIn(node)});
  if (node.is_type<rule::vacuum>()) return Statement(statement::Vacuum{NameIn(node)});
  if (node.is_type<rule::execute>()) {
    FRAZIL_ASSIGN(Statement statement, ExecuteOf(node));
    return std::optional<Statement>(std::move(statement));
  }
  statement::Call call{{"system", "rewrite_data_files"}, {TableArgument(NameIn(node))}};
  AddCondition(node, call);
  return Statement(std::move(call));
}

}  // namespace frazil::sql
