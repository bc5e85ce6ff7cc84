#include "frazil/spec/partition_spec.h"

#include <algorithm>
#include <set>

namespace frazil::spec {
namespace {

// First id of partition fields, less one (spec section 1.3).
constexpr FieldId kNoPartitionField{999};

bool IsTime(const Transform& transform) {
  switch (transform.kind()) {
    case Transform::Kind::kYear:
    case Transform::Kind::kMonth:
    case Transform::Kind::kDay:
    case Transform::Kind::kHour: return true;
    default: return false;
  }
}

// Form encoding, as Java's URLEncoder writes paths.
std::string UrlEncode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                      c == '-' || c == '*' || c == '_';
    if (kept) {
      encoded += c;
    } else if (c == ' ') {
      encoded += '+';
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

Status ValidateSource(const PartitionField& field, const Schema& schema) {
  const std::vector<const Field*> path = schema.PathTo(field.source_id);
  if (path.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "source column of partition field '{}' does not exist: id {}", field.name,
                field.source_id);
  }
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i]->type.id() != TypeId::kStruct) {
      return Fail(ErrorCode::kInvalidArgument, "source column of partition field '{}' lies in a list or map: '{}'",
                  field.name, schema.FullName(field.source_id));
    }
  }
  const Type& type = path.back()->type;
  const bool is_unknown = field.transform.kind() == Transform::Kind::kUnknown;
  if ((!is_unknown && !type.is_primitive()) || !field.transform.CanApplyTo(type)) {
    return Fail(ErrorCode::kInvalidArgument, "partition field '{}': transform {} does not apply to type {}", field.name,
                field.transform.ToString(), type.ToString());
  }
  return {};
}

Status ValidateName(const PartitionField& field, const Schema& schema) {
  const Field* column = schema.FindField(field.name);
  if (column == nullptr) return {};
  const bool keeps_value =
      field.transform.kind() == Transform::Kind::kIdentity || field.transform.kind() == Transform::Kind::kVoid;
  const bool source_dropped = schema.FindField(field.source_id) == nullptr;
  if (source_dropped || (keeps_value && column->id == field.source_id)) return {};
  return Fail(ErrorCode::kInvalidArgument, "partition field has the name of a column: '{}'", field.name);
}

}  // namespace

size_t PartitionTupleHash::operator()(const PartitionTuple& tuple) const {
  size_t hash = tuple.size();
  for (const Value& value : tuple) hash = hash * 1'000'003 ^ HashValue(value);
  return hash;
}

bool PartitionTupleEqual::operator()(const PartitionTuple& left, const PartitionTuple& right) const {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), SameValue);
}

bool PartitionSpec::is_unpartitioned() const {
  return std::all_of(fields_.begin(), fields_.end(),
                     [](const PartitionField& field) { return field.transform.kind() == Transform::Kind::kVoid; });
}

FieldId PartitionSpec::last_assigned_field_id() const {
  FieldId last = kNoPartitionField;
  for (const PartitionField& field : fields_) last = std::max(last, field.field_id);
  return last;
}

Status PartitionSpec::Validate(const Schema& schema) const {
  std::set<std::string_view> names;
  std::set<std::pair<FieldId, std::string>> uses;
  std::set<FieldId> ids;
  for (const PartitionField& field : fields_) {
    if (field.name.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "partition field has no name: id {}", field.field_id);
    }
    if (!names.insert(field.name).second) {
      return Fail(ErrorCode::kInvalidArgument, "two partition fields have one name: '{}'", field.name);
    }
    if (!ids.insert(field.field_id).second) {
      return Fail(ErrorCode::kInvalidArgument, "two partition fields have one id: '{}', id {}", field.name,
                  field.field_id);
    }
    FRAZIL_TRY(ValidateName(field, schema));
    if (field.transform.kind() == Transform::Kind::kVoid) continue;  // a dropped field may outlive its source
    FRAZIL_TRY(ValidateSource(field, schema));
    const std::string use = IsTime(field.transform) ? "time" : field.transform.ToString();
    if (!uses.emplace(field.source_id, use).second) {
      return Fail(ErrorCode::kInvalidArgument, "partition field '{}' is redundant: another {} field of column '{}'",
                  field.name, use, schema.FullName(field.source_id));
    }
  }
  return {};
}

Type PartitionSpec::ResultType(size_t i, const Schema& schema) const {
  const PartitionField& field = fields_[i];
  const Field* source = schema.FindField(field.source_id);
  return field.transform.ResultType(source != nullptr ? source->type : Type::Primitive(TypeId::kString));
}

std::string PartitionSpec::Path(const PartitionTuple& tuple, const Schema& schema) const {
  if (is_unpartitioned()) return {};
  std::string path;
  for (size_t i = 0; i < fields_.size() && i < tuple.size(); ++i) {
    const PartitionField& field = fields_[i];
    const Field* source = schema.FindField(field.source_id);
    const Type type = source != nullptr ? source->type : Type::Primitive(TypeId::kString);
    if (!path.empty()) path += '/';
    path += UrlEncode(field.name) + "=" + UrlEncode(field.transform.ToHumanString(type, tuple[i]));
  }
  return path;
}

bool PartitionSpec::CompatibleWith(const PartitionSpec& other) const {
  return std::equal(fields_.begin(), fields_.end(), other.fields_.begin(), other.fields_.end(),
                    [](const PartitionField& left, const PartitionField& right) {
                      return left.source_id == right.source_id && left.transform == right.transform &&
                             left.name == right.name && left.more_source_ids == right.more_source_ids;
                    });
}

std::string DefaultPartitionName(const std::string& source_name, const Transform& transform) {
  switch (transform.kind()) {
    case Transform::Kind::kIdentity: return source_name;
    case Transform::Kind::kBucket: return source_name + "_bucket";
    case Transform::Kind::kTruncate: return source_name + "_trunc";
    case Transform::Kind::kVoid: return source_name + "_null";
    case Transform::Kind::kYear:
    case Transform::Kind::kMonth:
    case Transform::Kind::kDay:
    case Transform::Kind::kHour: return source_name + "_" + transform.ToString();
    case Transform::Kind::kUnknown: break;
  }
  return source_name + "_unknown";
}

}  // namespace frazil::spec
