// Schemas, specs, sort orders, properties, and the building itself; see table_metadata_builder_snapshots.cc for the
// rest of the class.

#include "frazil/spec/table_metadata_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "frazil/spec/table_metadata_check.h"

namespace frazil::spec {
namespace {

constexpr int32_t kLastAdded = -1;
constexpr int32_t kMaxId = std::numeric_limits<int32_t>::max();
constexpr FieldId kNoPartitionField{999};
constexpr int kMaxFormatVersion = 3;
constexpr int kFirstVersionWithDefaults = 3;

/// One above the highest id of a list; 0 for an empty one.
template <typename Id, typename List, typename GetId>
Result<Id> NextId(const List& list, GetId get_id, std::string_view what) {
  int32_t highest = -1;
  for (const auto& item : list) highest = std::max(highest, get_id(item).value());
  // Foreign metadata may hold any id; ours must not overflow because of it.
  if (highest == kMaxId) return Fail(ErrorCode::kInvalidArgument, "no {} id is left above {}", what, highest);
  return Id{highest + 1};
}

Status CheckSchemaFitsVersion(const Schema& schema, int format_version) {
  if (schema.highest_field_id() > kMaxUserFieldId) {
    return Fail(ErrorCode::kInvalidArgument, "column id is reserved for metadata columns: {}",
                schema.highest_field_id());
  }
  for (const auto& [field, full_name] : schema.AllFields()) {
    int needed = field->type.min_format_version();
    if (needed > format_version) {
      return Fail(ErrorCode::kInvalidArgument, "Invalid schema for v{}: type of {} is not supported until v{}: {}",
                  format_version, full_name, needed, field->type.ToString());
    }
    bool has_default = !IsNull(field->initial_default) || !IsNull(field->write_default);
    if (has_default && format_version < kFirstVersionWithDefaults) {
      return Fail(ErrorCode::kInvalidArgument,
                  "Invalid schema for v{}: default values are not supported until v{}, but there is one of {}",
                  format_version, kFirstVersionWithDefaults, full_name);
    }
  }
  return {};
}

bool SameSourceAndTransform(const PartitionField& left, const PartitionField& right) {
  return left.source_id == right.source_id && left.more_source_ids == right.more_source_ids &&
         left.transform == right.transform;
}

Status CheckSortOrderFits(const SortOrder& order, const Schema& schema) {
  for (const SortField& field : order.fields) {
    const Field* source = schema.FindField(field.source_id);
    if (source == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot find source column for sort field: source-id {}",
                  field.source_id);
    }
    if (!source->type.is_primitive() || !field.transform.CanApplyTo(source->type)) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot sort by {} of column {}: its type is {}",
                  field.transform.ToString(), schema.FullName(field.source_id), source->type.ToString());
    }
  }
  return {};
}

}  // namespace

TableMetadataBuilder::TableMetadataBuilder() : next_(std::make_shared<TableMetadata>()) {
  // Nothing is current until an update says so; Build refuses what is left unset.
  next_->current_schema_id = SchemaId{-1};
  next_->default_spec_id = SpecId{-1};
  next_->default_sort_order_id = SortOrderId{-1};
  next_->last_partition_id = kNoPartitionField;
  changed_ = true;
}

TableMetadataBuilder::TableMetadataBuilder(TableMetadataPtr base, std::string base_location)
    : next_(std::make_shared<TableMetadata>(*base)), base_(std::move(base)), base_location_(std::move(base_location)) {}

Status TableMetadataBuilder::Apply(const TableUpdate& update) {
  return std::visit([this](const auto& one) { return Do(one); }, update);
}

Status TableMetadataBuilder::Do(const update::AssignUuid& update) {
  if (next_->table_uuid == update.uuid) return {};
  if (base_ != nullptr && base_->table_uuid != Uuid()) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot reassign the uuid of a table: it has {}, asked for {}",
                base_->table_uuid.ToString(), update.uuid.ToString());
  }
  next_->table_uuid = update.uuid;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::UpgradeFormatVersion& update) {
  if (update.format_version > kMaxFormatVersion) {
    return Fail(ErrorCode::kNotSupported, "Cannot upgrade table to unsupported format version: v{} (supported: v{})",
                update.format_version, kMaxFormatVersion);
  }
  if (update.format_version < next_->format_version) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot downgrade v{} table to v{}", next_->format_version,
                update.format_version);
  }
  if (update.format_version == next_->format_version) return {};
  for (const Snapshot& snapshot : next_->snapshots) {
    if (snapshot.manifest_list.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "Cannot upgrade to v{}: this snapshot has no manifest list and must be expired first: {}",
                  update.format_version, snapshot.id);
    }
  }
  next_->format_version = update.format_version;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::AddSchema& update) {
  FRAZIL_TRY(CheckSchemaFitsVersion(*update.schema, next_->format_version));
  if (update.schema->highest_field_id() > next_->last_column_id) {
    next_->last_column_id = update.schema->highest_field_id();
    changed_ = true;
  }
  for (const SchemaPtr& known : next_->schemas) {
    if (!known->SameAs(*update.schema)) continue;
    last_added_schema_ = known->id();
    return {};
  }
  FRAZIL_ASSIGN(SchemaId id, NextId<SchemaId>(
                                 next_->schemas, [](const SchemaPtr& schema) { return schema->id(); }, "schema"));
  next_->schemas.push_back(update.schema->WithId(id));
  last_added_schema_ = id;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::SetCurrentSchema& update) {
  SchemaId id = update.schema_id;
  if (id.value() == kLastAdded) {
    if (!last_added_schema_) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot set last added schema: no schema has been added");
    }
    id = *last_added_schema_;
  }
  const SchemaPtr schema = next_->FindSchema(id);
  if (schema == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set current schema to unknown schema: {}", id);
  }
  if (next_->current_schema_id == id) return {};
  if (const SchemaPtr before = next_->schema()) {
    FRAZIL_TRY(CheckPartitionNamesStayFree(next_->partition_specs, *before, *schema));
  }
  next_->current_schema_id = id;
  changed_ = true;
  return {};
}

Result<FieldId> TableMetadataBuilder::PartitionFieldIdFor(const PartitionField& field, const std::set<FieldId>& taken,
                                                          FieldId last_assigned) const {
  // Values of one source and transform keep their id for ever, so that old and new files share a partition column.
  std::optional<FieldId> reused;
  for (const PartitionSpec& spec : next_->partition_specs) {
    for (const PartitionField& known : spec.fields()) {
      if (!SameSourceAndTransform(known, field)) continue;
      if (!taken.contains(known.field_id)) reused = std::max(reused.value_or(known.field_id), known.field_id);
    }
  }
  if (reused) return *reused;
  if (last_assigned.value() == kMaxId) return Fail(ErrorCode::kInvalidArgument, "no partition field id is left");
  return FieldId{last_assigned.value() + 1};
}

Status TableMetadataBuilder::Do(const update::AddPartitionSpec& update) {
  for (const PartitionSpec& known : next_->partition_specs) {
    if (!known.CompatibleWith(update.spec)) continue;
    last_added_spec_ = known.id();
    return {};
  }
  SchemaPtr schema = next_->schema();
  if (schema == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot add a partition spec before a current schema is set");
  }

  std::vector<PartitionField> fields = update.spec.fields();
  std::set<FieldId> taken;
  for (const PartitionField& field : fields) {
    if (field.field_id.value() == 0) continue;
    if (field.field_id.value() < 0 || !taken.insert(field.field_id).second) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add partition field {}: its id is taken or negative: {}",
                  field.name, field.field_id);
    }
    for (const PartitionSpec& spec : next_->partition_specs) {
      for (const PartitionField& known : spec.fields()) {
        if (known.field_id != field.field_id) continue;
        // A v1 table turns a dropped field into void under its old id.
        bool dropped =
            known.transform.kind() == Transform::Kind::kVoid || field.transform.kind() == Transform::Kind::kVoid;
        if (SameSourceAndTransform(known, field) || (known.source_id == field.source_id && dropped)) continue;
        return Fail(ErrorCode::kInvalidArgument, "Cannot add partition field {}: spec {} uses its id for {}: {}",
                    field.name, spec.id(), known.name, field.field_id);
      }
    }
  }
  FieldId last_assigned = next_->last_partition_id;
  if (!taken.empty()) last_assigned = std::max(last_assigned, *taken.rbegin());
  for (PartitionField& field : fields) {
    if (field.field_id.value() != 0) continue;
    FRAZIL_ASSIGN(field.field_id, PartitionFieldIdFor(field, taken, last_assigned));
    taken.insert(field.field_id);
    last_assigned = std::max(last_assigned, field.field_id);
  }
  if (next_->format_version == 1) {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (static_cast<size_t>(fields[i].field_id.value()) != static_cast<size_t>(kNoPartitionField.value()) + 1 + i) {
        return Fail(ErrorCode::kInvalidArgument,
                    "Spec does not use sequential IDs that are required in v1: field {} has {}", fields[i].name,
                    fields[i].field_id);
      }
    }
  }

  FRAZIL_ASSIGN(SpecId id,
                NextId<SpecId>(
                    next_->partition_specs, [](const PartitionSpec& spec) { return spec.id(); }, "partition spec"));
  PartitionSpec spec(id, std::move(fields));
  FRAZIL_TRY(spec.Validate(*schema));
  next_->partition_specs.push_back(std::move(spec));
  next_->last_partition_id = last_assigned;
  last_added_spec_ = id;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::SetDefaultSpec& update) {
  SpecId id = update.spec_id;
  if (id.value() == kLastAdded) {
    if (!last_added_spec_) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot set last added partition spec: no spec has been added");
    }
    id = *last_added_spec_;
  }
  if (next_->FindSpec(id) == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set default partition spec to unknown spec: {}", id);
  }
  if (next_->default_spec_id == id) return {};
  next_->default_spec_id = id;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::AddSortOrder& update) {
  for (const SortOrder& known : next_->sort_orders) {
    if (known.fields != update.sort_order.fields) continue;
    last_added_sort_order_ = known.id;
    return {};
  }
  SortOrder order = update.sort_order;
  order.id = SortOrderId{0};
  if (order.is_sorted()) {
    SchemaPtr schema = next_->schema();
    if (schema == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add a sort order before a current schema is set");
    }
    FRAZIL_TRY(CheckSortOrderFits(order, *schema));
    FRAZIL_ASSIGN(order.id, NextId<SortOrderId>(
                                next_->sort_orders, [](const SortOrder& known) { return known.id; }, "sort order"));
    order.id = std::max(order.id, SortOrderId{1});  // 0 means unsorted
  }
  last_added_sort_order_ = order.id;
  next_->sort_orders.push_back(std::move(order));
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::SetDefaultSortOrder& update) {
  SortOrderId id = update.sort_order_id;
  if (id.value() == kLastAdded) {
    if (!last_added_sort_order_) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot set last added sort order: no sort order has been added");
    }
    id = *last_added_sort_order_;
  }
  auto is_it = [&](const SortOrder& order) { return order.id == id; };
  if (std::none_of(next_->sort_orders.begin(), next_->sort_orders.end(), is_it)) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set default sort order to unknown sort order: {}", id);
  }
  if (next_->default_sort_order_id == id) return {};
  next_->default_sort_order_id = id;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::RemovePartitionSpecs& update) {
  for (SpecId id : update.spec_ids) {
    if (id == next_->default_spec_id) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot remove the default partition spec: {}", id);
    }
    changed_ |= std::erase_if(next_->partition_specs, [&](const PartitionSpec& spec) { return spec.id() == id; }) > 0;
  }
  return {};
}

Status TableMetadataBuilder::Do(const update::RemoveSchemas& update) {
  for (SchemaId id : update.schema_ids) {
    if (id == next_->current_schema_id) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot remove the current schema: {}", id);
    }
    changed_ |= std::erase_if(next_->schemas, [&](const SchemaPtr& schema) { return schema->id() == id; }) > 0;
  }
  return {};
}

Status TableMetadataBuilder::Do(const update::SetLocation& update) {
  std::string location = StripTrailingSlashes(update.location);
  if (location.empty()) return Fail(ErrorCode::kInvalidArgument, "a table needs a location, but it is empty");
  changed_ |= next_->location != location;
  next_->location = std::move(location);
  return {};
}

Status TableMetadataBuilder::Do(const update::SetProperties& update) {
  for (const auto& [key, value] : update.updates) {
    if (key == kFormatVersionProperty) {
      FRAZIL_ASSIGN(int format_version, ParseFormatVersion(value));
      FRAZIL_TRY(Do(update::UpgradeFormatVersion{format_version}));
      continue;
    }
    if (IsReservedProperty(key)) continue;
    auto [place, is_new] = next_->properties.try_emplace(key, value);
    changed_ |= is_new || place->second != value;
    place->second = value;
  }
  return {};
}

Status TableMetadataBuilder::Do(const update::RemoveProperties& update) {
  for (const std::string& key : update.removals) changed_ |= next_->properties.erase(key) > 0;
  return {};
}

Status TableMetadataBuilder::Do(const update::AddEncryptionKey& update) {
  if (next_->format_version < 3) {
    return Fail(ErrorCode::kInvalidArgument, "encryption keys are not supported until v3: {}", update.key.key_id);
  }
  for (const EncryptedKey& known : next_->encryption_keys) {
    if (known == update.key) return {};
    if (known.key_id == update.key.key_id) {
      return Fail(ErrorCode::kInvalidArgument, "encryption key exists already: {}", update.key.key_id);
    }
  }
  next_->encryption_keys.push_back(update.key);
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::RemoveEncryptionKey& update) {
  changed_ |=
      std::erase_if(next_->encryption_keys, [&](const EncryptedKey& key) { return key.key_id == update.key_id; }) > 0;
  return {};
}

}  // namespace frazil::spec
