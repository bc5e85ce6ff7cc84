#include "frazil/spec/schema.h"

#include <algorithm>
#include <utility>

#include "frazil/spec/ascii.h"

namespace frazil::spec {
namespace {

// Guards the recursion over nested types; JSON cannot express more within its own limit.
constexpr int kMaxNesting = 200;

bool CanHaveDefault(const Type& type) { return type.is_primitive(); }

Status CheckDefault(const Field& field, const std::string& name, const Value& value, std::string_view which) {
  if (IsNull(value)) return {};
  if (!CanHaveDefault(field.type)) {
    return Fail(ErrorCode::kInvalidTable, "{} of column '{}' must be null: its type is {}", which, name,
                field.type.ToString());
  }
  if (!ValueFits(field.type, value)) {
    return Fail(ErrorCode::kInvalidTable, "{} of column '{}' does not fit its type {}", which, name,
                field.type.ToString());
  }
  return {};
}

}  // namespace

Result<SchemaPtr> Schema::Make(SchemaId id, std::vector<Field> fields, std::vector<FieldId> identifier_field_ids) {
  auto schema = std::shared_ptr<Schema>(new Schema());
  schema->id_ = id;
  schema->fields_ = std::move(fields);
  schema->identifier_field_ids_ = std::move(identifier_field_ids);
  std::sort(schema->identifier_field_ids_.begin(), schema->identifier_field_ids_.end());
  for (const Field& field : schema->fields_) FRAZIL_TRY(schema->Index(field, "", std::nullopt, 1));
  FieldId previous{-1};
  for (const FieldId identifier : schema->identifier_field_ids_) {
    if (identifier == previous)
      return Fail(ErrorCode::kInvalidTable, "identifier field is listed twice: id {}", identifier);
    FRAZIL_TRY(schema->CheckIdentifier(identifier));
    previous = identifier;
  }
  return SchemaPtr(std::move(schema));
}

Status Schema::Index(const Field& field, const std::string& prefix, std::optional<size_t> parent, int depth) {
  const std::string name = prefix.empty() ? field.name : prefix + "." + field.name;
  if (depth > kMaxNesting) {
    return Fail(ErrorCode::kInvalidTable, "types are nested more than {} levels deep: column '{}'", kMaxNesting,
                FullName(all_.front().first->id));
  }
  if (field.name.empty()) return Fail(ErrorCode::kInvalidTable, "column has no name: id {}", field.id);
  const size_t index = all_.size();
  if (const auto [at, is_new] = by_id_.emplace(field.id, index); !is_new) {
    return Fail(ErrorCode::kInvalidTable, "field id {} is used twice: by '{}' and '{}'", field.id,
                all_[at->second].second, name);
  }
  if (!by_name_.emplace(name, index).second) {
    return Fail(ErrorCode::kInvalidTable, "two columns have one name: '{}'", name);
  }
  if (field.required && field.type.id() == TypeId::kUnknown) {
    return Fail(ErrorCode::kInvalidTable, "column of type unknown must be optional: '{}'", name);
  }
  FRAZIL_TRY(CheckDefault(field, name, field.initial_default, "initial-default"));
  FRAZIL_TRY(CheckDefault(field, name, field.write_default, "write-default"));
  all_.emplace_back(&field, name);
  parents_.push_back(parent);
  highest_field_id_ = std::max(highest_field_id_, field.id);
  for (const Field& child : field.type.fields()) FRAZIL_TRY(Index(child, name, index, depth + 1));
  return {};
}

Status Schema::CheckIdentifier(FieldId id) const {
  const std::vector<const Field*> path = PathTo(id);
  if (path.empty()) return Fail(ErrorCode::kInvalidTable, "identifier field does not exist: id {}", id);
  const Field& field = *path.back();
  auto refuse = [&](std::string_view reason) {
    return Fail(ErrorCode::kInvalidTable, "column cannot be an identifier field, {}: '{}'", reason, FullName(id));
  };
  if (!field.type.is_primitive()) return refuse("it is not primitive");
  if (field.type.id() == TypeId::kFloat || field.type.id() == TypeId::kDouble) return refuse("it is a floating number");
  if (!field.required) return refuse("it is optional");
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i]->type.id() != TypeId::kStruct) return refuse("it lies in a list or map");
    if (!path[i]->required) return refuse("it lies in an optional struct");
  }
  return {};
}

const Field* Schema::FindField(FieldId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : all_[found->second].first;
}

const Field* Schema::FindField(std::string_view full_name) const {
  const auto found = by_name_.find(full_name);
  return found == by_name_.end() ? nullptr : all_[found->second].first;
}

const Field* Schema::FindFieldAnyCase(std::string_view full_name) const {
  if (const Field* exact = FindField(full_name)) return exact;
  const Field* only = nullptr;
  for (const auto& [field, name] : all_) {
    if (!EqualsAnyCase(name, full_name)) continue;
    if (only != nullptr) return nullptr;
    only = field;
  }
  return only;
}

std::string Schema::FullName(FieldId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? std::string() : all_[found->second].second;
}

std::vector<const Field*> Schema::PathTo(FieldId id) const {
  std::vector<const Field*> path;
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return path;
  for (std::optional<size_t> at = found->second; at; at = parents_[*at]) path.push_back(all_[*at].first);
  std::reverse(path.begin(), path.end());
  return path;
}

bool Schema::SameAs(const Schema& other) const {
  return fields_ == other.fields_ && identifier_field_ids_ == other.identifier_field_ids_;
}

SchemaPtr Schema::WithId(SchemaId id) const {
  // What was valid stays valid, whatever the id.
  return *Make(id, fields_, identifier_field_ids_);
}

namespace {

/// Hands out ids; a level of a struct is numbered before what lies inside its fields (spec section 1.3).
class IdAssigner {
 public:
  explicit IdAssigner(FieldId first) : next_(first.value()) {}

  std::vector<Field> Assign(const std::vector<Field>& fields) {
    std::vector<Field> assigned = fields;
    for (Field& field : assigned) {
      new_ids_[field.id] = FieldId{next_};
      field.id = FieldId{next_++};
    }
    for (Field& field : assigned) field.type = Assign(field.type);
    return assigned;
  }

  FieldId NewIdOf(FieldId old_id) const { return new_ids_.at(old_id); }

 private:
  Type Assign(const Type& type) {
    if (!type.is_nested()) return type;
    std::vector<Field> fields = Assign(type.fields());
    switch (type.id()) {
      case TypeId::kList: return Type::ListOf(std::move(fields[0]));
      case TypeId::kMap: return Type::MapOf(std::move(fields[0]), std::move(fields[1]));
      default: return Type::StructOf(std::move(fields));
    }
  }

  int32_t next_;
  std::map<FieldId, FieldId> new_ids_;
};

size_t EditDistance(std::string_view left, std::string_view right) {
  std::vector<size_t> row(right.size() + 1);
  for (size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t substituted = diagonal + (ToLower(left[i - 1]) == ToLower(right[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<SchemaPtr> AssignFreshIds(const Schema& schema, FieldId first) {
  const auto num_fields = static_cast<int64_t>(schema.AllFields().size());
  if (first.value() + num_fields - 1 > kMaxUserFieldId.value()) {
    return Fail(ErrorCode::kInvalidArgument, "too many columns: {}", num_fields);
  }
  IdAssigner assigner(first);
  std::vector<Field> fields = assigner.Assign(schema.fields());
  std::vector<FieldId> identifiers;
  for (const FieldId id : schema.identifier_field_ids()) identifiers.push_back(assigner.NewIdOf(id));
  return Schema::Make(schema.id(), std::move(fields), std::move(identifiers));
}

std::string NearestName(std::string_view name, const std::vector<std::string>& names) {
  constexpr size_t kMaxLength = 128;  // the distance costs the product of the lengths
  if (name.size() > kMaxLength) return {};
  std::string nearest;
  size_t best = name.size() / 3 + 2;  // exclusive: about one slip in three letters
  for (const std::string& candidate : names) {
    if (candidate.size() > kMaxLength) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace frazil::spec
