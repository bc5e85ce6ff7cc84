#include "frazil/table/schema_update.h"

#include <algorithm>
#include <span>

#include "frazil/spec/ascii.h"
#include "frazil/spec/reserved_columns.h"
#include "frazil/spec/table_metadata_check.h"
#include "frazil/table/name_mapping_update.h"

namespace frazil::table {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;

Type WithFields(const Type& type, std::vector<Field> fields) {
  switch (type.id()) {
    case TypeId::kStruct: return Type::StructOf(std::move(fields));
    case TypeId::kList: return Type::ListOf(std::move(fields[0]));
    case TypeId::kMap: return Type::MapOf(std::move(fields[0]), std::move(fields[1]));
    default: return type;
  }
}

using Edit = std::function<Status(std::vector<Field>& siblings, size_t index)>;

/// Follows the ids of `path` down from `fields` and edits what it leads to.
Status EditAt(std::vector<Field>& fields, std::span<const Field* const> path, const Edit& edit) {
  auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.id == path[0]->id; });
  if (path.size() == 1) return edit(fields, static_cast<size_t>(at - fields.begin()));
  std::vector<Field> children = at->type.fields();
  FRAZIL_TRY(EditAt(children, path.subspan(1), edit));
  at->type = WithFields(at->type, std::move(children));
  return {};
}

bool Contains(const Type& type, FieldId id) {
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [&](const Field& field) { return field.id == id || Contains(field.type, id); });
}

bool Holds(const Field& column, FieldId id) { return column.id == id || Contains(column.type, id); }

/// Text of a type in messages: Spark's names, as the statement has them.
std::string Text(const Type& type) {
  switch (type.id()) {
    case TypeId::kLong: return "bigint";
    case TypeId::kTimestamp: return "timestamp_ntz";
    case TypeId::kTimestampTz: return "timestamp";
    case TypeId::kDecimal: return fmt::format("decimal({},{})", type.precision(), type.scale());
    case TypeId::kStruct: return "struct";
    case TypeId::kList: return "array";
    case TypeId::kMap: return "map";
    default: return type.ToString();
  }
}

bool CanPromote(const Type& from, const Type& to) {
  if (from.id() == TypeId::kInt) return to.id() == TypeId::kLong;
  if (from.id() == TypeId::kFloat) return to.id() == TypeId::kDouble;
  return from.id() == TypeId::kDecimal && to.id() == TypeId::kDecimal && from.scale() == to.scale() &&
         to.precision() > from.precision();
}

spec::Value Promoted(const spec::Value& value) {
  if (const auto* number = std::get_if<int32_t>(&value)) return static_cast<int64_t>(*number);
  if (const auto* number = std::get_if<float>(&value)) return static_cast<double>(*number);
  return value;
}

Status Place(std::vector<Field>& siblings, Field field, const std::optional<ColumnPosition>& position,
             const std::string& column) {
  auto at = siblings.end();
  if (position && position->kind == ColumnPosition::Kind::kFirst) at = siblings.begin();
  if (position && position->kind == ColumnPosition::Kind::kAfter) {
    at = std::find_if(siblings.begin(), siblings.end(),
                      [&](const Field& other) { return spec::EqualsAnyCase(other.name, position->after); });
    if (at == siblings.end()) {
      return Fail(ErrorCode::kInvalidArgument, "cannot place column {} after one that is not beside it: {}", column,
                  position->after);
    }
    ++at;
  }
  siblings.insert(at, std::move(field));
  return {};
}

/// Properties that hold a column's full name behind the prefix.
constexpr const char* kColumnPropertyPrefixes[] = {
    "write.metadata.metrics.column.",         "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.", "write.parquet.bloom-filter-ndv.column.",
    "write.parquet.stats-enabled.column.",    "write.parquet.dict-encoding-enabled.column.",
};

}  // namespace

std::string AllowedPromotions(const Type& type) {
  switch (type.id()) {
    case TypeId::kInt: return "bigint";
    case TypeId::kFloat: return "double";
    case TypeId::kDecimal:
      if (type.precision() == 38) return "";
      return fmt::format("decimal(P,{}) with {} < P <= 38", type.scale(), type.precision());
    default: return "";
  }
}

SchemaUpdate::SchemaUpdate(const spec::TableMetadata& base, std::string table_name)
    : base_(base),
      table_name_(std::move(table_name)),
      schema_(base.schema()),
      last_column_id_(std::max(base.last_column_id, schema_->highest_field_id())) {}

Error SchemaUpdate::NotFound(const std::string& column) const {
  std::vector<std::string> names;
  for (const auto& [field, full_name] : schema_->AllFields()) names.push_back(full_name);
  Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found in {}", column, table_name_));
  const std::string near = spec::NearestName(column, names);
  return near.empty() ? error : std::move(error).WithHint(fmt::format("did you mean {}?", near));
}

Result<const Field*> SchemaUpdate::Find(const std::string& column) const {
  const Field* field = schema_->FindFieldAnyCase(column);
  if (field == nullptr) return tl::unexpected(NotFound(column));
  return field;
}

std::string SchemaUpdate::NameOf(const Field& column) const { return schema_->FullName(column.id); }

Status SchemaUpdate::Replace(std::vector<Field> fields, std::vector<FieldId> identifiers) {
  auto next = spec::Schema::Make(schema_->id(), std::move(fields), std::move(identifiers));
  if (!next) return Fail(ErrorCode::kInvalidArgument, "{}", next.error().message());
  FRAZIL_TRY(spec::CheckPartitionNamesStayFree(base_.partition_specs, *base_.schema(), **next));
  schema_ = *std::move(next);
  return {};
}

Status SchemaUpdate::EditColumn(const Field& column, const Edit& edit) {
  std::vector<Field> fields = schema_->fields();
  const std::vector<const Field*> path = schema_->PathTo(column.id);
  FRAZIL_TRY(EditAt(fields, path, edit));
  return Replace(std::move(fields), schema_->identifier_field_ids());
}

Result<Field> SchemaUpdate::WithFreshIds(Field field) {
  const auto next = [this]() -> Result<FieldId> {
    if (last_column_id_ >= spec::kMaxUserFieldId) {
      return Fail(ErrorCode::kInvalidArgument, "no column id is left in {}", table_name_);
    }
    last_column_id_ = FieldId(last_column_id_.value() + 1);
    return last_column_id_;
  };
  // A level is numbered before what lies inside its fields, as Java does.
  const std::function<Status(std::vector<Field>&)> number = [&](std::vector<Field>& level) -> Status {
    for (Field& member : level) {
      FRAZIL_ASSIGN(member.id, next());
    }
    for (Field& member : level) {
      std::vector<Field> children = member.type.fields();
      FRAZIL_TRY(number(children));
      member.type = WithFields(member.type, std::move(children));
    }
    return {};
  };
  std::vector<Field> level = {std::move(field)};
  FRAZIL_TRY(number(level));
  return std::move(level[0]);
}

Status SchemaUpdate::AddColumn(const std::string& parent, Field field, const std::optional<ColumnPosition>& position) {
  const std::string name = parent.empty() ? field.name : parent + "." + field.name;
  const std::string plain_name = field.name;
  if (parent.empty()) FRAZIL_TRY(spec::CheckColumnName(plain_name));
  if (field.required && spec::IsNull(field.write_default)) {
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("a NOT NULL column needs a default to be added: {}", name))
            .WithHint("rows that are there already have no value for it"));
  }
  field.initial_default = field.write_default;
  FRAZIL_ASSIGN(Field numbered, WithFreshIds(std::move(field)));

  const auto refuse_double = [&](const std::vector<Field>& siblings) -> Status {
    for (const Field& sibling : siblings) {
      // SQL knows no case: a second column that differs in it alone could not be named.
      if (spec::EqualsAnyCase(sibling.name, plain_name))
        return Fail(ErrorCode::kInvalidArgument, "column exists already: {}", name);
    }
    return {};
  };
  if (parent.empty()) {
    std::vector<Field> fields = schema_->fields();
    FRAZIL_TRY(refuse_double(fields));
    FRAZIL_TRY(Place(fields, std::move(numbered), position, name));
    return Replace(std::move(fields), schema_->identifier_field_ids());
  }
  FRAZIL_ASSIGN(const Field* target, Find(parent));
  // A list or map stands for the structs in it.
  if (target->type.id() == TypeId::kList) target = &target->type.element();
  if (target->type.id() == TypeId::kMap) target = &target->type.map_value();
  if (target->type.id() != TypeId::kStruct) {
    return Fail(ErrorCode::kInvalidArgument, "cannot add column {} to one that is no struct: {} is {}", name, parent,
                Text(target->type));
  }
  const std::vector<const Field*> path = schema_->PathTo(target->id);
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i]->type.id() == TypeId::kMap && path[i + 1]->id == path[i]->type.key().id) {
      return Fail(ErrorCode::kInvalidArgument, "cannot add a column to the keys of a map: {}", name);
    }
  }
  return EditColumn(*target, [&](std::vector<Field>& siblings, size_t index) -> Status {
    std::vector<Field> members = siblings[index].type.fields();
    FRAZIL_TRY(refuse_double(members));
    FRAZIL_TRY(Place(members, std::move(numbered), position, name));
    siblings[index].type = Type::StructOf(std::move(members));
    return {};
  });
}

Status SchemaUpdate::CheckNotInUse(const Field& column) const {
  for (const FieldId id : schema_->identifier_field_ids()) {
    if (!Holds(column, id)) continue;
    return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                fmt::format("cannot drop a column of the primary key: {}", schema_->FullName(id)))
                              .WithHint("ALTER TABLE ... DROP IDENTIFIER FIELDS takes it out"));
  }
  for (const spec::PartitionField& field : base_.default_spec().fields()) {
    if (field.transform.kind() == spec::Transform::Kind::kVoid || !Holds(column, field.source_id)) continue;
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("cannot drop column {}: the table is partitioned by it: {}", NameOf(column), field.name))
            .WithHint("ALTER TABLE ... DROP PARTITION FIELD " + field.name));
  }
  for (const spec::SortField& field : base_.default_sort_order().fields) {
    if (!Holds(column, field.source_id)) continue;
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("cannot drop a column that the table is ordered by: {}", schema_->FullName(field.source_id)))
            .WithHint("ALTER TABLE ... WRITE UNORDERED"));
  }
  return {};
}

Status SchemaUpdate::DropColumn(const std::string& name) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  FRAZIL_TRY(CheckNotInUse(*column));
  const std::vector<const Field*> path = schema_->PathTo(column->id);
  if (path.size() > 1 && path[path.size() - 2]->type.id() != TypeId::kStruct) {
    return Fail(ErrorCode::kInvalidArgument, "cannot drop the {} of a list or map: {}", column->name, NameOf(*column));
  }
  const bool is_last =
      path.size() > 1 ? path[path.size() - 2]->type.fields().size() == 1 : schema_->fields().size() == 1;
  if (is_last)
    return Fail(ErrorCode::kInvalidArgument, "cannot drop the only column that is left: {}", NameOf(*column));
  return EditColumn(*column, [](std::vector<Field>& siblings, size_t index) -> Status {
    siblings.erase(siblings.begin() + static_cast<std::ptrdiff_t>(index));
    return {};
  });
}

Status SchemaUpdate::ReplaceColumns(std::vector<Field> columns) {
  for (const Field& column : schema_->fields()) FRAZIL_TRY(CheckNotInUse(column));
  const spec::SchemaPtr before = schema_;
  Status replaced = Replace({}, {});
  for (size_t i = 0; replaced && i < columns.size(); ++i) {
    replaced = AddColumn("", std::move(columns[i]), std::nullopt);
  }
  if (!replaced) schema_ = before;
  return replaced;
}

Status SchemaUpdate::RenameColumn(const std::string& name, const std::string& new_name) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  const std::vector<const Field*> path = schema_->PathTo(column->id);
  if (path.size() > 1 && path[path.size() - 2]->type.id() != TypeId::kStruct) {
    return Fail(ErrorCode::kInvalidArgument, "cannot rename the {} of a list or map: {}", column->name,
                NameOf(*column));
  }
  if (new_name.empty()) return Fail(ErrorCode::kInvalidArgument, "a column needs a name: {}", NameOf(*column));
  if (path.size() == 1) FRAZIL_TRY(spec::CheckColumnName(new_name));
  return EditColumn(*column, [&](std::vector<Field>& siblings, size_t index) -> Status {
    for (size_t i = 0; i < siblings.size(); ++i) {
      if (i != index && spec::EqualsAnyCase(siblings[i].name, new_name)) {
        return Fail(ErrorCode::kInvalidArgument, "cannot rename column {}, another one has that name: {}", name,
                    new_name);
      }
    }
    siblings[index].name = new_name;
    return {};
  });
}

Status SchemaUpdate::ChangeType(const std::string& name, const Type& type) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  if (column->type == type) return {};
  const std::vector<const Field*> path = schema_->PathTo(column->id);
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i]->type.id() == TypeId::kMap && path[i + 1]->id == path[i]->type.key().id) {
      return Fail(ErrorCode::kInvalidArgument, "cannot change the keys of a map: {}", NameOf(*column));
    }
  }
  if (!CanPromote(column->type, type)) {
    const std::string allowed = AllowedPromotions(column->type);
    Error error(ErrorCode::kInvalidArgument, fmt::format("cannot change the type of column {} from {} to {}",
                                                         NameOf(*column), Text(column->type), Text(type)));
    return tl::unexpected(std::move(error).WithHint(
        allowed.empty() ? fmt::format("the type of {} cannot change", Text(column->type)) : "allowed: " + allowed));
  }
  return EditColumn(*column, [&](std::vector<Field>& siblings, size_t index) -> Status {
    Field& field = siblings[index];
    field.type = type;
    field.initial_default = Promoted(field.initial_default);
    field.write_default = Promoted(field.write_default);
    return {};
  });
}

Status SchemaUpdate::SetRequired(const std::string& name) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  if (column->required) return {};
  if (!base_.snapshots.empty()) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                fmt::format("cannot set NOT NULL, column may hold nulls: {}", NameOf(*column)))
                              .WithHint("a column of a table with data cannot become required"));
  }
  return EditColumn(*column, [](std::vector<Field>& siblings, size_t index) -> Status {
    siblings[index].required = true;
    return {};
  });
}

Status SchemaUpdate::MakeOptional(const std::string& name) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  if (!column->required) return {};
  for (const FieldId id : schema_->identifier_field_ids()) {
    if (!Holds(*column, id)) continue;
    return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                fmt::format("cannot drop NOT NULL of a column of the primary key: {}", NameOf(*column)))
                              .WithHint("ALTER TABLE ... DROP IDENTIFIER FIELDS takes it out"));
  }
  const std::vector<const Field*> path = schema_->PathTo(column->id);
  if (path.size() > 1 && path[path.size() - 2]->type.id() == TypeId::kMap && column->name == "key") {
    return Fail(ErrorCode::kInvalidArgument, "keys of a map are always NOT NULL: {}", NameOf(*column));
  }
  return EditColumn(*column, [](std::vector<Field>& siblings, size_t index) -> Status {
    siblings[index].required = false;
    return {};
  });
}

Status SchemaUpdate::SetWriteDefault(const std::string& name, spec::Value value) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  return EditColumn(*column, [&](std::vector<Field>& siblings, size_t index) -> Status {
    siblings[index].write_default = std::move(value);
    return {};
  });
}

Status SchemaUpdate::SetDoc(const std::string& name, std::optional<std::string> doc) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  return EditColumn(*column, [&](std::vector<Field>& siblings, size_t index) -> Status {
    siblings[index].doc = std::move(doc);
    return {};
  });
}

Status SchemaUpdate::MoveColumn(const std::string& name, const ColumnPosition& position) {
  FRAZIL_ASSIGN(const Field* column, Find(name));
  const std::vector<const Field*> path = schema_->PathTo(column->id);
  if (path.size() > 1 && path[path.size() - 2]->type.id() != TypeId::kStruct) {
    return Fail(ErrorCode::kInvalidArgument, "cannot move the {} of a list or map: {}", column->name, NameOf(*column));
  }
  if (position.kind == ColumnPosition::Kind::kAfter && spec::EqualsAnyCase(position.after, column->name)) {
    return Fail(ErrorCode::kInvalidArgument, "cannot move a column after itself: {}", NameOf(*column));
  }
  return EditColumn(*column, [&](std::vector<Field>& siblings, size_t index) -> Status {
    Field moved = siblings[index];
    siblings.erase(siblings.begin() + static_cast<std::ptrdiff_t>(index));
    return Place(siblings, std::move(moved), position, name);
  });
}

Status SchemaUpdate::SetIdentifierFields(const std::vector<std::string>& columns) {
  std::vector<FieldId> identifiers;
  for (const std::string& name : columns) {
    FRAZIL_ASSIGN(const Field* column, Find(name));
    identifiers.push_back(column->id);
  }
  return Replace(schema_->fields(), std::move(identifiers));
}

Status SchemaUpdate::DropIdentifierFields(const std::vector<std::string>& columns) {
  std::vector<FieldId> identifiers = schema_->identifier_field_ids();
  for (const std::string& name : columns) {
    FRAZIL_ASSIGN(const Field* column, Find(name));
    if (std::erase(identifiers, column->id) == 0) {
      return Fail(ErrorCode::kInvalidArgument, "not an identifier field of {}: {}", table_name_, NameOf(*column));
    }
  }
  return Replace(schema_->fields(), std::move(identifiers));
}

Result<std::vector<spec::TableUpdate>> SchemaUpdate::Updates() const {
  const spec::Schema& before = *base_.schema();
  if (schema_->SameAs(before)) return std::vector<spec::TableUpdate>{};
  std::vector<spec::TableUpdate> updates = {spec::update::AddSchema{schema_},
                                            spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
  std::map<std::string, std::string> set;
  std::vector<std::string> removed;
  for (const auto& [key, value] : base_.properties) {
    for (const std::string prefix : kColumnPropertyPrefixes) {
      if (!key.starts_with(prefix)) continue;
      const Field* named = before.FindField(key.substr(prefix.size()));
      if (named == nullptr) continue;
      const std::string now = schema_->FullName(named->id);
      if (prefix + now == key) continue;
      removed.push_back(key);
      if (!now.empty()) set[prefix + now] = value;
    }
  }
  if (const auto mapping = base_.properties.find(spec::kNameMappingProperty); mapping != base_.properties.end()) {
    FRAZIL_ASSIGN(std::string now, UpdateNameMapping(mapping->second, before, *schema_));
    if (now != mapping->second) set[spec::kNameMappingProperty] = std::move(now);
  }
  // A name that two columns swapped is both removed and set.
  std::erase_if(removed, [&](const std::string& key) { return set.contains(key); });
  if (!removed.empty()) updates.emplace_back(spec::update::RemoveProperties{std::move(removed)});
  if (!set.empty()) updates.emplace_back(spec::update::SetProperties{std::move(set)});
  return updates;
}

}  // namespace frazil::table
