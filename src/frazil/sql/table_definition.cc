#include <algorithm>
#include <set>

#include "frazil/base/log.h"
#include "frazil/spec/single_value.h"
#include "frazil/spec/table_metadata_builder.h"
#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/token.h"
#include "frazil/sql/type_text.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::sql {

namespace {

spec::Field TextColumn(std::string name) {
  return {spec::FieldId(0), std::move(name), false, spec::Type::Primitive(spec::TypeId::kString)};
}

/// Hands out ids that are unique within one request; the catalog replaces them.
class FieldNumbers {
 public:
  spec::Field Number(spec::Field field) {
    field.id = spec::FieldId(next_++);
    std::vector<spec::Field> children = field.type.fields();
    for (spec::Field& child : children) child = Number(std::move(child));
    switch (field.type.id()) {
      case spec::TypeId::kStruct: field.type = spec::Type::StructOf(std::move(children)); break;
      case spec::TypeId::kList: field.type = spec::Type::ListOf(std::move(children[0])); break;
      case spec::TypeId::kMap: field.type = spec::Type::MapOf(std::move(children[0]), std::move(children[1])); break;
      default: break;
    }
    return field;
  }

 private:
  int next_ = 1;
};

Result<spec::Field> FieldOf(const ColumnDefinition& column) {
  spec::Field field;
  field.name = column.name;
  field.type = column.type;
  field.required = column.required;
  field.doc = column.comment;
  if (!column.default_value || !column.default_value->text) return field;
  if (!column.type.is_primitive()) {
    return Fail(ErrorCode::kNotSupported, "only columns of primitive types can have a default: {}", column.name);
  }
  auto value = spec::ParseValue(column.type, *column.default_value->text);
  if (!value) {
    return Fail(ErrorCode::kInvalidArgument, "default of column {} is no {}: {}", column.name, TypeText(column.type),
                *column.default_value->text);
  }
  // A new table has no rows that lack the column: only the default of writes means something (spec section 6.4).
  field.write_default = *std::move(value);
  return field;
}

Result<spec::SchemaPtr> SchemaOf(const statement::CreateTable& create) {
  std::vector<spec::Field> fields;
  FieldNumbers numbers;
  for (const ColumnDefinition& column : create.columns) {
    FRAZIL_ASSIGN(spec::Field field, FieldOf(column));
    fields.push_back(numbers.Number(std::move(field)));
  }
  auto schema = spec::Schema::Make(spec::SchemaId(0), std::move(fields));
  if (!schema) return Fail(ErrorCode::kInvalidArgument, "{}", schema.error().message());
  return schema;
}

Error ColumnNotFound(const std::string& name, const std::string& table, const spec::Schema& schema) {
  std::vector<std::string> names;
  for (const auto& [field, full_name] : schema.AllFields()) names.push_back(full_name);
  Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found in {}", name, table));
  std::string near = spec::NearestName(name, names);
  return near.empty() ? error : std::move(error).WithHint(fmt::format("did you mean {}?", near));
}

Result<spec::PartitionSpec> PartitioningOf(const statement::CreateTable& create, const spec::Schema& schema) {
  std::vector<spec::PartitionField> fields;
  for (const PartitionItem& item : create.partitioning) {
    std::string name = NameText(item.column);
    const spec::Field* source = schema.FindFieldAnyCase(name);
    if (source == nullptr) return tl::unexpected<Error>(ColumnNotFound(name, NameText(create.name), schema));
    fields.push_back({source->id, spec::FieldId(1000 + static_cast<int>(fields.size())),
                      spec::DefaultPartitionName(schema.FullName(source->id), item.transform), item.transform});
  }
  // Two buckets of one column would get one name: the later ones say their parameter.
  std::set<std::string> taken;
  for (spec::PartitionField& field : fields) {
    if (!taken.insert(field.name).second) {
      field.name += "_" + std::to_string(field.transform.parameter());
      taken.insert(field.name);
    }
  }
  spec::PartitionSpec result(spec::SpecId(0), std::move(fields));
  FRAZIL_TRY(result.Validate(schema));
  return result;
}

/// Every file that some snapshot of the table names: what DROP TABLE ... PURGE deletes.
Result<std::vector<std::string>> FilesOf(const table::Table& table) {
  std::set<std::string> paths;
  for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
    FRAZIL_ASSIGN(table::ManifestList list, table.manifests().List(snapshot));
    paths.insert(snapshot.manifest_list);
    for (const spec::ManifestFile& manifest : *list) {
      if (!paths.insert(manifest.manifest_path).second) continue;
      FRAZIL_ASSIGN(table::ManifestEntries entries, table.manifests().Entries(manifest, *table.metadata()));
      for (const spec::ManifestEntry& entry : *entries) paths.insert(entry.data_file.file_path);
    }
  }
  for (const spec::StatisticsFile& file : table.metadata()->statistics) paths.insert(file.statistics_path);
  for (const spec::PartitionStatisticsFile& file : table.metadata()->partition_statistics)
    paths.insert(file.statistics_path);
  paths.erase("");
  return std::vector<std::string>(paths.begin(), paths.end());
}

std::string Quote(const std::string& text) {
  std::string quoted = "'";
  for (char letter : text) quoted += letter == '\'' ? std::string("''") : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

AnyResult Run(const statement::CreateTable& create, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference place, resolver.Place(create.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  if (create.if_not_exists) {
    auto existing = catalog->LoadTable(place.name);
    if (existing) return MessageResult("table exists already: " + place.ToString());
    if (existing.error().code() != ErrorCode::kNotFound) return tl::unexpected<Error>(std::move(existing).error());
  }
  FRAZIL_ASSIGN(spec::SchemaPtr schema, SchemaOf(create));
  FRAZIL_ASSIGN(spec::PartitionSpec partitioning, PartitioningOf(create, *schema));
  spec::CreateTableRequest request;
  request.location = create.location.value_or("");
  request.schema = std::move(schema);
  request.partition_spec = std::move(partitioning);
  request.properties = create.properties;
  if (create.comment) request.properties["comment"] = *create.comment;

  // The namespace that names without one stand for exists as soon as it is needed.
  if (place.name.levels == catalog::Namespace{"default"}) {
    Status created = catalog->CreateNamespace(place.name.levels, {});
    if (!created && created.error().code() != ErrorCode::kAlreadyExists)
      return tl::unexpected<Error>(std::move(created).error());
  }
  auto created = catalog->CreateTable(place.name, std::move(request));
  if (!created) {
    if (create.if_not_exists && created.error().code() == ErrorCode::kAlreadyExists) {
      return MessageResult("table exists already: " + place.ToString());
    }
    return tl::unexpected<Error>(std::move(created).error());
  }
  return MessageResult("created table " + place.ToString());
}

AnyResult Run(const statement::DropTable& drop, NameResolver& resolver) {
  FRAZIL_ASSIGN(auto found, resolver.TryFind(drop.name));
  if (!found) {
    if (drop.if_exists) return MessageResult("table does not exist: " + NameText(drop.name));
    return tl::unexpected<Error>(resolver.Find(drop.name).error());
  }
  if (!found->metadata_table.empty() || found->version) {
    return Fail(ErrorCode::kInvalidArgument, "not a table that can be dropped: {}", NameText(drop.name));
  }
  const table::Table& table = *found->table;
  std::vector<std::string> files;
  if (drop.purge) {
    if (!table.metadata()->BoolProperty("gc.enabled", true)) {
      return Fail(ErrorCode::kInvalidArgument, "cannot purge, the table's property gc.enabled is false: {}",
                  found->ToString());
    }
    FRAZIL_ASSIGN(files, FilesOf(table));
  }
  auto store = table.io();
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(found->catalog));
  FRAZIL_TRY(catalog->DropTable(found->name, drop.purge));
  // The table is gone; files that stay behind cost room, not truth.
  if (Status deleted = store->Delete(files); !deleted) {
    Log::Warn("some files of dropped table {} are left: {}", found->ToString(), deleted.error().ToString());
  }
  return MessageResult("dropped table " + found->ToString());
}

AnyResult Run(const statement::Describe& describe, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(describe.name));
  MadeUpTable table;
  table.columns = {TextColumn("col_name"), TextColumn("data_type"), TextColumn("comment")};
  auto add = [&](std::string name, std::string type, std::optional<std::string> comment = std::nullopt) {
    table.rows.push_back(
        {TextDatum(std::move(name)), TextDatum(std::move(type)), comment ? TextDatum(*std::move(comment)) : Datum()});
  };
  const spec::TableMetadata& metadata = *found.table->metadata();
  if (!found.metadata_table.empty()) {
    FRAZIL_ASSIGN(MadeUpTable about,
                  MakeMetadataTable(*found.table, found.metadata_table, metadata.current_snapshot()));
    for (const spec::Field& column : about.columns) add(column.name, TypeText(column.type));
    return TableResult(table);
  }
  const spec::Schema& schema = *metadata.schema();
  for (const spec::Field& field : schema.fields()) add(field.name, TypeText(field.type), field.doc);
  if (!metadata.default_spec().is_unpartitioned()) {
    add("", "", "");
    add("# Partitioning", "", "");
    int part = 0;
    for (const spec::PartitionField& field : metadata.default_spec().fields()) {
      add(fmt::format("Part {}", part++), PartitionText(field, schema), "");
    }
  }
  if (!describe.extended) return TableResult(table);
  add("", "", "");
  add("# Detailed Table Information", "", "");
  add("Name", found.catalog + "." + found.ToString(), "");
  if (auto comment = metadata.properties.find("comment"); comment != metadata.properties.end())
    add("Comment", comment->second, "");
  add("Provider", "iceberg", "");
  add("Format Version", std::to_string(metadata.format_version), "");
  add("Location", metadata.location, "");
  add("Metadata", found.table->metadata_location(), "");
  add("Current Snapshot",
      metadata.current_snapshot() ? std::to_string(metadata.current_snapshot()->id.value()) : "none", "");
  std::string identifiers, required;
  for (spec::FieldId id : schema.identifier_field_ids())
    identifiers += (identifiers.empty() ? "" : ", ") + schema.FullName(id);
  for (const spec::Field& field : schema.fields()) {
    if (field.required) required += (required.empty() ? "" : ", ") + field.name;
  }
  if (!identifiers.empty()) add("Identifier Fields", identifiers, "");
  if (!required.empty()) add("Not Null", required, "");
  std::string properties;
  for (const auto& [key, value] : metadata.properties)
    properties += fmt::format("{}{}={}", properties.empty() ? "" : ",", key, value);
  add("Table Properties", "[" + properties + "]", "");
  return TableResult(table);
}

AnyResult Run(const statement::ShowCreateTable& show, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(show.name));
  const spec::TableMetadata& metadata = *found.table->metadata();
  const spec::Schema& schema = *metadata.schema();
  std::string name = QuotedIfNeeded(found.catalog);
  for (const std::string& level : found.name.levels) name += "." + QuotedIfNeeded(level);
  std::string text = fmt::format("CREATE TABLE {}.{} (", name, QuotedIfNeeded(found.name.name));
  bool first = true;
  for (const spec::Field& field : schema.fields()) {
    text += fmt::format("{}\n  {} {}", first ? "" : ",", QuotedIfNeeded(field.name), TypeText(field.type));
    if (field.required) text += " NOT NULL";
    if (!spec::IsNull(field.write_default))
      text += " DEFAULT " + Quote(spec::FormatValue(field.type, field.write_default));
    if (field.doc) text += " COMMENT " + Quote(*field.doc);
    first = false;
  }
  text += ")\nUSING iceberg";
  if (!metadata.default_spec().is_unpartitioned()) {
    std::string items;
    for (const spec::PartitionField& field : metadata.default_spec().fields()) {
      items += (items.empty() ? "" : ", ") + PartitionText(field, schema);
    }
    text += "\nPARTITIONED BY (" + items + ")";
  }
  text += "\nLOCATION " + Quote(metadata.location);
  std::string properties = fmt::format("\n  'format-version' = '{}'", metadata.format_version);
  for (const auto& [key, value] : metadata.properties)
    properties += fmt::format(",\n  {} = {}", Quote(key), Quote(value));
  text += "\nTBLPROPERTIES (" + properties + ")";
  MadeUpTable table;
  table.columns = {TextColumn("createtab_stmt")};
  table.rows.push_back({TextDatum(text)});
  return TableResult(table);
}

AnyResult Run(const statement::SetIdentifierFields& set, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(set.table));
  auto make = [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
    const spec::Schema& schema = *base.schema();
    std::vector<spec::FieldId> named;
    for (const NameParts& parts : set.fields) {
      const spec::Field* field = schema.FindFieldAnyCase(NameText(parts));
      if (field == nullptr) return tl::unexpected<Error>(ColumnNotFound(NameText(parts), found.ToString(), schema));
      named.push_back(field->id);
    }
    std::vector<spec::FieldId> identifiers = named;
    if (set.drop) {
      identifiers = schema.identifier_field_ids();
      for (spec::FieldId id : named) {
        auto at = std::find(identifiers.begin(), identifiers.end(), id);
        if (at == identifiers.end()) {
          return Fail(ErrorCode::kInvalidArgument, "not an identifier field of {}: {}", found.ToString(),
                      schema.FullName(id));
        }
        identifiers.erase(at);
      }
    }
    std::sort(identifiers.begin(), identifiers.end());
    auto next = spec::Schema::Make(schema.id(), schema.fields(), std::move(identifiers));
    if (!next) return Fail(ErrorCode::kInvalidArgument, "{}", next.error().message());
    return std::vector<spec::TableUpdate>{spec::update::AddSchema{*next},
                                          spec::update::SetCurrentSchema{spec::SchemaId(-1)}};
  };
  FRAZIL_TRY(table::CommitUpdates(*found.table, make));
  return MessageResult("set identifier fields of " + found.ToString());
}

}  // namespace frazil::sql
