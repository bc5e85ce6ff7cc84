#include "frazil/sql/partition_type.h"

#include <algorithm>
#include <map>

namespace frazil::sql {

spec::Type UnifiedPartitionType(const spec::TableMetadata& metadata) {
  std::vector<const spec::PartitionSpec*> newest_first;
  for (const spec::PartitionSpec& spec : metadata.partition_specs) newest_first.push_back(&spec);
  std::sort(newest_first.begin(), newest_first.end(),
            [](const auto* left, const auto* right) { return left->id() > right->id(); });
  struct Member {
    spec::Field field;
    bool is_void;
  };
  std::map<spec::FieldId, Member> members;
  for (const spec::PartitionSpec* spec : newest_first) {
    for (size_t i = 0; i < spec->fields().size(); ++i) {
      const spec::PartitionField& field = spec->fields()[i];
      bool is_void = field.transform.kind() == spec::Transform::Kind::kVoid;
      auto [at, is_new] = members.try_emplace(field.field_id);
      if (!is_new && (!at->second.is_void || is_void)) continue;
      // A field that was dropped (void in v1) keeps its newest name but needs the type it once had.
      std::string name = is_new ? field.name : at->second.field.name;
      at->second = {spec::Field{field.field_id, name, false, spec->ResultType(i, *metadata.schema())}, is_void};
    }
  }
  std::vector<spec::Field> fields;
  for (auto& [id, member] : members) fields.push_back(std::move(member.field));
  return spec::Type::StructOf(std::move(fields));
}

Datum UnifiedPartition(const spec::Type& type, const spec::TableMetadata& metadata, spec::SpecId spec_id,
                       const spec::PartitionTuple& tuple) {
  const spec::PartitionSpec* spec = metadata.FindSpec(spec_id);
  std::vector<Datum> children;
  for (const spec::Field& field : type.fields()) {
    Datum child;
    for (size_t i = 0; spec != nullptr && i < spec->fields().size() && i < tuple.size(); ++i) {
      if (spec->fields()[i].field_id == field.id && spec::ValueFits(field.type, tuple[i])) child = Datum(tuple[i]);
    }
    children.push_back(std::move(child));
  }
  return Datum::Nested(std::move(children));
}

}  // namespace frazil::sql
