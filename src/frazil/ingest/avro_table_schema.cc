#include "frazil/ingest/avro_table_schema.h"

#include <algorithm>

#include "frazil/ingest/avro_iceberg_type.h"
#include "frazil/ingest/column_binding.h"
#include "frazil/ingest/column_source.h"

namespace frazil::ingest {
namespace {

using format::AvroField;
using format::AvroKind;
using format::AvroNode;
using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using Kind = ColumnSource::Kind;

Field NewColumn(std::string name, Type type, bool required = false) {
  return {.id = FieldId{0}, .name = std::move(name), .required = required, .type = std::move(type)};
}

/// What stands at `path`, as a column; kNotFound when nothing does.
Result<Field> ColumnAt(const AvroNode& node, std::string_view path, const std::string& name, bool is_nullable) {
  FRAZIL_ASSIGN(const AvroOptional written, WithoutNull(node, name));
  is_nullable = is_nullable || written.is_nullable;
  if (path.empty()) {
    FRAZIL_ASSIGN(Type type, IcebergTypeFor(*written.node, name));
    return NewColumn(name, std::move(type), !is_nullable);
  }
  const PathStep step = FirstStep(path);
  const auto& fields = written.node->fields;
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const AvroField& field) { return field.name == step.name; });
  if (found == fields.end()) return Fail(ErrorCode::kNotFound, "no Avro field for column '{}': {}", name, path);
  FRAZIL_ASSIGN(Field column, ColumnAt(*found->type, step.rest, name, is_nullable));
  if (step.rest.empty() && !found->doc.empty()) column.doc = found->doc;
  return column;
}

class SchemaMaker {
 public:
  SchemaMaker(const AvroNode& value, const AvroNode* key, const RecordColumns& columns)
      : value_(value), key_(key), columns_(columns) {}

  Result<spec::SchemaPtr> Make(const std::vector<std::string>& identifier_fields) {
    if (value_.kind != AvroKind::kRecord) {
      return Fail(ErrorCode::kInvalidArgument, "Avro values must be records to become rows, but are: {}",
                  format::AvroKindName(value_.kind));
    }
    for (const AvroField& field : value_.fields) FRAZIL_TRY(AddValueField(field));
    for (const auto& [column, source] : columns_.source_of) {
      if (!Has(column)) FRAZIL_TRY(AddFromSource(column));
    }
    for (const std::string& name : identifier_fields) FRAZIL_TRY(AddIdentifier(name));
    for (size_t i = 0; i < fields_.size(); ++i) fields_[i].id = FieldId(static_cast<int32_t>(i) + 1);
    std::vector<FieldId> identifiers;
    for (const Field& field : fields_) {
      if (std::find(identifier_fields.begin(), identifier_fields.end(), field.name) != identifier_fields.end()) {
        identifiers.push_back(field.id);
      }
    }
    FRAZIL_TRY(NumberNested());
    auto schema = spec::Schema::Make(spec::SchemaId{0}, std::move(fields_), std::move(identifiers));
    if (!schema) return Fail(ErrorCode::kInvalidArgument, "{}", schema.error().message());
    return spec::AssignFreshIds(**schema);
  }

 private:
  bool Has(const std::string& name) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
  }

  Status AddValueField(const AvroField& field) {
    bool is_taken = false;
    for (const auto& [column, source] : columns_.source_of) {
      const PathStep step = FirstStep(source);
      if (step.name != field.name) continue;
      is_taken = true;
      if (!Has(column)) FRAZIL_TRY(AddFromSource(column));
    }
    const auto& ignored = columns_.ignored_fields;
    if (is_taken || !columns_.adds_columns || columns_.source_of.contains(field.name) ||
        std::find(ignored.begin(), ignored.end(), field.name) != ignored.end()) {
      return {};
    }
    FRAZIL_ASSIGN(const AvroOptional written, WithoutNull(*field.type, field.name));
    if (written.node->kind == AvroKind::kNull) return {};  // no type yet
    FRAZIL_ASSIGN(Field column, ColumnAt(*field.type, "", field.name, false));
    if (!field.doc.empty()) column.doc = field.doc;
    fields_.push_back(std::move(column));
    return {};
  }

  Status AddFromSource(const std::string& column) {
    FRAZIL_ASSIGN(Field field, FromSource(column));
    fields_.push_back(std::move(field));
    return {};
  }

  Result<Field> FromSource(const std::string& column) {
    FRAZIL_ASSIGN(const ColumnSource source, SourceOf(columns_, column));
    switch (source.kind) {
      case Kind::kTimestamp: return NewColumn(column, Type::Primitive(TypeId::kTimestampTz));
      case Kind::kPartition: return NewColumn(column, Type::Primitive(TypeId::kInt));
      case Kind::kOffset: return NewColumn(column, Type::Primitive(TypeId::kLong));
      case Kind::kHeader: return NewColumn(column, Type::Primitive(TypeId::kString));
      case Kind::kKey:
        if (key_ != nullptr) return Found(ColumnAt(*key_, source.path, column, false));
        return NewColumn(column, Type::Primitive(TypeId::kString));
      case Kind::kValue: break;
    }
    return Found(ColumnAt(value_, source.path, column, false));
  }

  static Result<Field> Found(Result<Field> field) {
    if (!field && field.error().code() == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kInvalidArgument, "{}", field.error().message());
    }
    return field;
  }

  Status AddIdentifier(const std::string& name) {
    if (!Has(name)) {
      auto field = key_ == nullptr ? Fail(ErrorCode::kNotFound, "{}", name) : ColumnAt(*key_, name, name, false);
      if (!field) {
        return Fail(ErrorCode::kInvalidArgument, "identifier field is neither in the value nor in the key: {}", name);
      }
      fields_.push_back(*std::move(field));
    }
    const auto column =
        std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
    column->required = true;
    return {};
  }

  /// Ids of nested fields only have to differ: the fresh ones are given at the end.
  Status NumberNested() {
    auto next = static_cast<int32_t>(fields_.size());
    for (Field& field : fields_) field.type = Numbered(field.type, next);
    return {};
  }

  static Type Numbered(const Type& type, int32_t& next) {
    std::vector<Field> children = type.fields();
    for (Field& child : children) {
      child.id = FieldId(++next);
      child.type = Numbered(child.type, next);
    }
    switch (type.id()) {
      case TypeId::kStruct: return Type::StructOf(std::move(children));
      case TypeId::kList: return Type::ListOf(std::move(children[0]));
      case TypeId::kMap: return Type::MapOf(std::move(children[0]), std::move(children[1]));
      default: return type;
    }
  }

  const AvroNode& value_;
  const AvroNode* key_;
  const RecordColumns& columns_;
  std::vector<Field> fields_;
};

}  // namespace

Result<spec::SchemaPtr> TableSchemaFor(const AvroNode& value, const AvroNode* key, const RecordColumns& columns,
                                       const std::vector<std::string>& identifier_fields) {
  return SchemaMaker(value, key, columns).Make(identifier_fields);
}

}  // namespace frazil::ingest
