#include "frazil/table/spec_schema.h"

#include <algorithm>

namespace frazil::table {

Result<const spec::PartitionSpec*> FindSpec(const spec::TableMetadata& metadata, spec::SpecId id,
                                            const std::string& path) {
  if (const spec::PartitionSpec* found = metadata.FindSpec(id)) return found;
  return Fail(ErrorCode::kInvalidTable, "the table has no partition spec {} that is named by: {}", id, path);
}

spec::SchemaPtr SchemaOfSpec(const spec::TableMetadata& metadata, const spec::PartitionSpec& spec) {
  const auto has_sources = [&](const spec::SchemaPtr& schema) {
    return std::all_of(spec.fields().begin(), spec.fields().end(), [&](const spec::PartitionField& field) {
      return schema->FindField(field.source_id) != nullptr;
    });
  };
  spec::SchemaPtr current = metadata.schema();
  if (has_sources(current)) return current;
  const auto newest = std::find_if(metadata.schemas.rbegin(), metadata.schemas.rend(), has_sources);
  return newest == metadata.schemas.rend() ? current : *newest;
}

}  // namespace frazil::table
