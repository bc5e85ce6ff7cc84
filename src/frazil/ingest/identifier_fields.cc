#include "frazil/ingest/identifier_fields.h"

#include <algorithm>
#include <set>

#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {
namespace {

std::string NamesOf(const spec::Schema& schema, const std::vector<spec::FieldId>& ids) {
  std::vector<std::string> names;
  for (const spec::FieldId id : ids) names.push_back(schema.FullName(id));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The schema with `names` as identifier fields; the same pointer when it has them already.
Result<spec::SchemaPtr> WithIdentifierFields(const spec::TableMetadata& metadata,
                                             const std::vector<std::string>& names) {
  const spec::SchemaPtr schema = metadata.schema();
  std::set<spec::FieldId> wanted;
  for (const std::string& name : names) {
    const spec::Field* field = schema->FindFieldAnyCase(name);
    if (field == nullptr) {
      std::vector<std::string> known;
      for (const spec::Field& column : schema->fields()) known.push_back(column.name);
      const std::string nearest = spec::NearestName(name, known);
      Error error(ErrorCode::kInvalidArgument, fmt::format("identifier field is no column: '{}'", name));
      return tl::unexpected(nearest.empty() ? std::move(error)
                                            : std::move(error).WithHint("did you mean " + nearest + "?"));
    }
    wanted.insert(field->id);
  }
  const std::vector<spec::FieldId>& present = schema->identifier_field_ids();
  if (!present.empty()) {
    if (std::set<spec::FieldId>(present.begin(), present.end()) == wanted || wanted.empty()) return schema;
    return Fail(ErrorCode::kInvalidArgument, "the table's identifier fields are others than asked for: {}",
                NamesOf(*schema, present));
  }
  if (wanted.empty()) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "the table has no identifier fields")
                              .WithHint("name the primary key with --identifier-fields"));
  }
  std::vector<spec::Field> fields = schema->fields();
  for (spec::Field& field : fields) {
    if (!wanted.contains(field.id) || field.required) continue;
    if (!metadata.snapshots.empty()) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                  fmt::format("identifier field must be NOT NULL, but may be null: '{}'", field.name))
                                .WithHint("a column of a table with data cannot become required"));
    }
    field.required = true;
  }
  return spec::Schema::Make(schema->id(), std::move(fields), {wanted.begin(), wanted.end()});
}

}  // namespace

Result<spec::SchemaPtr> SchemaWithIdentifierFields(const table::Table& table, const std::vector<std::string>& names) {
  return WithIdentifierFields(*table.metadata(), names);
}

Status EnsureIdentifierFields(table::Table& table, const std::vector<std::string>& names, Clock& clock) {
  FRAZIL_ASSIGN(const spec::SchemaPtr schema, WithIdentifierFields(*table.metadata(), names));
  if (schema == table.metadata()->schema()) return {};
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        FRAZIL_ASSIGN(const spec::SchemaPtr next, WithIdentifierFields(base, names));
        if (next == base.schema()) return std::vector<spec::TableUpdate>{};
        return std::vector<spec::TableUpdate>{spec::update::AddSchema{next},
                                              spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
      },
      clock);
}

}  // namespace frazil::ingest
