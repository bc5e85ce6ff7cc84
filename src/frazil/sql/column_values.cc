#include "frazil/sql/column_values.h"

#include "frazil/spec/ascii.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/store_assignment.h"

namespace frazil::sql {
namespace {

Result<size_t> FindField(const std::vector<spec::Field>& fields, const std::string& name, const std::string& place) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (spec::EqualsAnyCase(fields[i].name, name)) return i;
  }
  std::vector<std::string> names;
  for (const spec::Field& field : fields) names.push_back(field.name);
  Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found in {}", name, place));
  std::string near = spec::NearestName(name, names);
  if (near.empty()) return tl::unexpected<Error>(std::move(error));
  return tl::unexpected<Error>(std::move(error).WithHint(fmt::format("did you mean {}?", near)));
}

}  // namespace

Result<size_t> FindColumn(const spec::Schema& schema, const std::string& name, const std::string& table) {
  return FindField(schema.fields(), name, table);
}

Result<ColumnValues> ColumnValues::Resolve(const std::vector<statement::Assignment>& assignments,
                                           const WriteTarget& target, const std::string& alias) {
  ColumnValues result;
  result.table_ = target.ToString();
  result.schema_ = target.metadata().schema();
  for (const statement::Assignment& assignment : assignments) {
    NameParts parts = target.WithoutTable(assignment.column, alias);
    // A struct may be called as the table is.
    if (!FindColumn(*result.schema_, parts[0], result.table_)) parts = assignment.column;
    FRAZIL_ASSIGN(const size_t top, FindColumn(*result.schema_, parts[0], result.table_));
    const spec::Field* field = &result.schema_->fields()[top];
    if (field->type.id() == spec::TypeId::kUnknown && !IsDefaultKeyword(assignment.value) &&
        !spec::EqualsAnyCase(spec::Trim(assignment.value), "null")) {
      return Fail(ErrorCode::kInvalidArgument, "a void column holds nulls only: {} of {}", field->name, result.table_);
    }
    const bool is_new = result.columns_.count(top) == 0;
    Node* node = &result.columns_[top];
    bool is_taken = !is_new && node->members.empty();
    for (size_t i = 1; i < parts.size() && !is_taken; ++i) {
      if (field->type.id() != spec::TypeId::kStruct) {
        return Fail(ErrorCode::kInvalidArgument, "only members of structs can be assigned, {} is {}: {}", field->name,
                    field->type.ToString(), NameText(assignment.column));
      }
      FRAZIL_ASSIGN(const size_t member, FindField(field->type.fields(), parts[i], field->name));
      const bool is_known = node->members.count(member) > 0;
      field = &field->type.fields()[member];
      node = &node->members[member];
      is_taken = is_known && node->members.empty();
    }
    if (is_taken || !node->members.empty() || node->expression >= 0 || node->is_default) {
      return Fail(ErrorCode::kInvalidArgument, "column is assigned twice: {}", NameText(assignment.column));
    }
    if (IsDefaultKeyword(assignment.value)) {
      node->is_default = true;
    } else {
      node->expression = static_cast<int>(result.expressions_.size());
      result.expressions_.push_back(assignment.value);
    }
  }
  return result;
}

Result<std::string> ColumnValues::ValueOf(size_t i, const std::string& old_value,
                                          const std::vector<std::string>& values,
                                          const std::vector<std::string>& types) const {
  const auto found = columns_.find(i);
  if (found == columns_.end()) return old_value;
  return ValueOf(found->second, schema_->fields()[i], old_value, values, types);
}

Result<std::string> ColumnValues::ValueOf(const Node& node, const spec::Field& field, const std::string& old_value,
                                          const std::vector<std::string>& values,
                                          const std::vector<std::string>& types) const {
  if (node.is_default) return DefaultOf(field, table_);
  if (node.expression >= 0) {
    const auto at = static_cast<size_t>(node.expression);
    return StoreAs(field, values[at], types[at], table_);
  }
  // As in Spark a struct that was null becomes one whose other members are null.
  std::string members;
  for (size_t i = 0; i < field.type.fields().size(); ++i) {
    const spec::Field& member = field.type.fields()[i];
    std::string value = fmt::format("{}.{}", old_value, QuoteName(member.name));
    if (const auto given = node.members.find(i); given != node.members.end()) {
      FRAZIL_ASSIGN(value, ValueOf(given->second, member, value, values, types));
    }
    members += fmt::format("{}{} := {}", members.empty() ? "" : ", ", QuoteName(member.name), value);
  }
  return fmt::format("struct_pack({})", members);
}

Result<std::vector<ResultColumn>> ColumnsOfQuery(const std::string& query, Engine& engine) {
  FRAZIL_ASSIGN(const std::string probe, RewriteQuery(fmt::format("SELECT * FROM ({}\n) LIMIT 0", query)));
  FRAZIL_ASSIGN(auto result, engine.Run(probe));
  return result->columns();
}

}  // namespace frazil::sql
