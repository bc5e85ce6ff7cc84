#include <algorithm>
#include <cctype>
#include <set>

#include "frazil/spec/single_value.h"
#include "frazil/sql/create_request.h"
#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/type_text.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

namespace {

spec::Field TextColumn(std::string name) {
  return {spec::FieldId(0), std::move(name), false, spec::Type::Primitive(spec::TypeId::kString)};
}

MadeUpTable OneText(std::string column, std::string text) {
  MadeUpTable table;
  table.columns = {TextColumn(std::move(column))};
  table.rows.push_back({TextDatum(std::move(text))});
  return table;
}

/// A default as DDL takes it, in Spark's spelling of a literal of the type.
std::string LiteralText(const spec::Type& type, const spec::Value& value) {
  const std::string text = spec::FormatValue(type, value);
  switch (type.id()) {
    case spec::TypeId::kBoolean:
    case spec::TypeId::kInt:
    case spec::TypeId::kLong:
    case spec::TypeId::kDecimal: return text;
    case spec::TypeId::kFloat:
    case spec::TypeId::kDouble: return std::isalpha(static_cast<unsigned char>(text.back())) ? QuotedText(text) : text;
    case spec::TypeId::kDate: return "DATE " + QuotedText(text);
    case spec::TypeId::kTime: return "TIME " + QuotedText(text);
    case spec::TypeId::kTimestamp: return "TIMESTAMP_NTZ " + QuotedText(text);
    case spec::TypeId::kTimestampTz: return "TIMESTAMP " + QuotedText(text);
    case spec::TypeId::kBinary:
    case spec::TypeId::kFixed: return "X" + QuotedText(text);
    default: return QuotedText(text);
  }
}

/// The name that CREATE TABLE would give to the fields before `count` of a spec, so that only others are written out.
std::string DefaultNameAt(const spec::PartitionSpec& spec, size_t index, const spec::Schema& schema) {
  const spec::PartitionField& field = spec.fields()[index];
  std::string name = spec::DefaultPartitionName(schema.FullName(field.source_id), field.transform);
  for (size_t i = 0; i < index; ++i) {
    if (spec.fields()[i].name == name) return name + "_" + std::to_string(field.transform.parameter());
  }
  return name;
}

std::string FullNameText(const TableReference& found) {
  std::string name = QuotedIfNeeded(found.catalog);
  for (const std::string& level : found.name.levels) name += "." + QuotedIfNeeded(level);
  return name + "." + QuotedIfNeeded(found.name.name);
}

/// What Spark's tables have as properties besides those that are stored.
std::map<std::string, std::string> ShownProperties(const spec::TableMetadata& metadata) {
  std::map<std::string, std::string> shown = metadata.properties;
  shown.erase("comment");  // reserved in Spark: DESCRIBE shows it
  shown["format"] = "iceberg/" + metadata.Property("write.format.default", "parquet");
  shown["format-version"] = std::to_string(metadata.format_version);
  shown["current-snapshot-id"] =
      metadata.current_snapshot() ? std::to_string(metadata.current_snapshot()->id.value()) : "none";
  const spec::Schema& schema = *metadata.schema();
  std::vector<std::string> identifiers;
  for (const spec::FieldId id : schema.identifier_field_ids()) identifiers.push_back(schema.FullName(id));
  if (!identifiers.empty()) shown["identifier-fields"] = fmt::format("[{}]", fmt::join(identifiers, ","));
  if (metadata.default_sort_order().is_sorted()) {
    shown["sort-order"] = SortOrderText(metadata.default_sort_order(), schema);
  }
  return shown;
}

}  // namespace

namespace {

/// DESCRIBE t column, with Spark's rows.
AnyResult DescribeColumn(const TableReference& found, const NameParts& path) {
  const spec::Schema& schema = *found.table->metadata()->schema();
  const std::string name = NameText(path);
  const spec::Field* field = schema.FindFieldAnyCase(name);
  if (field == nullptr) return tl::unexpected(ColumnNotFound(name, found.ToString(), schema));
  MadeUpTable table;
  table.columns = {TextColumn("info_name"), TextColumn("info_value")};
  table.rows = {{TextDatum("col_name"), TextDatum(schema.FullName(field->id))},
                {TextDatum("data_type"), TextDatum(TypeText(field->type))},
                {TextDatum("comment"), TextDatum(field->doc.value_or("NULL"))}};
  return TableResult(table);
}

}  // namespace

AnyResult Run(const statement::Describe& describe, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(describe.name));
  if (!describe.column.empty()) {
    if (!found.metadata_table.empty()) {
      return Fail(ErrorCode::kNotSupported, "columns of metadata tables are described together: {}",
                  NameText(describe.name));
    }
    return DescribeColumn(found, describe.column);
  }
  MadeUpTable table;
  table.columns = {TextColumn("col_name"), TextColumn("data_type"), TextColumn("comment")};
  auto add = [&](std::string name, std::string type, std::optional<std::string> comment = std::nullopt) {
    table.rows.push_back(
        {TextDatum(std::move(name)), TextDatum(std::move(type)), comment ? TextDatum(*std::move(comment)) : Datum()});
  };
  const spec::TableMetadata& metadata = *found.table->metadata();
  if (!found.metadata_table.empty()) {
    FRAZIL_ASSIGN(const MetadataTable about,
                  MakeMetadataTable(found.table, found.metadata_table, metadata.current_snapshot()));
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
  if (metadata.default_sort_order().is_sorted())
    add("Sort Order", SortOrderText(metadata.default_sort_order(), schema), "");
  std::string identifiers, required, defaults;
  for (spec::FieldId id : schema.identifier_field_ids())
    identifiers += (identifiers.empty() ? "" : ", ") + schema.FullName(id);
  for (const spec::Field& field : schema.fields()) {
    if (field.required) required += (required.empty() ? "" : ", ") + field.name;
    if (spec::IsNull(field.write_default)) continue;
    defaults += (defaults.empty() ? "" : ", ") + field.name + "=" + spec::FormatValue(field.type, field.write_default);
  }
  if (!identifiers.empty()) add("Identifier Fields", identifiers, "");
  if (!required.empty()) add("Not Null", required, "");
  if (!defaults.empty()) add("Defaults", defaults, "");
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
  const std::string name = FullNameText(found);
  std::string columns;
  for (const spec::Field& field : schema.fields()) {
    columns += fmt::format("{}\n  {} {}", columns.empty() ? "" : ",", QuotedIfNeeded(field.name),
                           TypeDefinitionText(field.type));
    if (field.required) columns += " NOT NULL";
    if (!spec::IsNull(field.write_default)) columns += " DEFAULT " + LiteralText(field.type, field.write_default);
    if (field.doc) columns += " COMMENT " + QuotedText(*field.doc);
  }
  std::string text = fmt::format("CREATE TABLE {} ({})\nUSING iceberg", name, columns);
  std::string partitions;
  const spec::PartitionSpec& spec = metadata.default_spec();
  for (size_t i = 0; i < spec.fields().size(); ++i) {
    const spec::PartitionField& field = spec.fields()[i];
    if (field.transform.kind() == spec::Transform::Kind::kVoid) continue;
    partitions += (partitions.empty() ? "" : ", ") + PartitionText(field, schema);
    if (field.name != DefaultNameAt(spec, i, schema)) partitions += " AS " + QuotedIfNeeded(field.name);
  }
  if (!partitions.empty()) text += "\nPARTITIONED BY (" + partitions + ")";
  text += "\nLOCATION " + QuotedText(metadata.location);
  std::string properties = fmt::format("\n  'format-version' = '{}'", metadata.format_version);
  for (const auto& [key, value] : metadata.properties)
    properties += fmt::format(",\n  {} = {}", QuotedText(key), QuotedText(value));
  text += "\nTBLPROPERTIES (" + properties + ")";

  // What CREATE TABLE cannot say follows as statements of its own, so that the whole makes the same table.
  std::string identifiers;
  for (const spec::FieldId id : schema.identifier_field_ids()) {
    std::string path;
    for (const spec::Field* field : schema.PathTo(id)) path += (path.empty() ? "" : ".") + QuotedIfNeeded(field->name);
    identifiers += (identifiers.empty() ? "" : ", ") + path;
  }
  if (!identifiers.empty()) text += fmt::format(";\nALTER TABLE {} SET IDENTIFIER FIELDS {}", name, identifiers);
  if (metadata.default_sort_order().is_sorted()) {
    // LOCALLY leaves the distribution mode alone: it is among the properties when it was set.
    text += fmt::format(";\nALTER TABLE {} WRITE LOCALLY ORDERED BY {}", name,
                        SortOrderText(metadata.default_sort_order(), schema));
  }
  return TableResult(OneText("createtab_stmt", text));
}

AnyResult Run(const statement::ShowTableProperties& show, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(show.name));
  const std::map<std::string, std::string> properties = ShownProperties(*found.table->metadata());
  MadeUpTable table;
  table.columns = {TextColumn("key"), TextColumn("value")};
  if (show.key) {
    const auto at = properties.find(*show.key);
    const std::string missing =
        fmt::format("Table {}.{} does not have property: {}", found.catalog, found.ToString(), *show.key);
    table.rows.push_back({TextDatum(*show.key), TextDatum(at == properties.end() ? missing : at->second)});
    return TableResult(table);
  }
  for (const auto& [key, value] : properties) table.rows.push_back({TextDatum(key), TextDatum(value)});
  return TableResult(table);
}

AnyResult Run(const statement::ShowColumns& show, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(show.name));
  MadeUpTable table;
  table.columns = {TextColumn("col_name")};
  for (const spec::Field& field : found.table->metadata()->schema()->fields()) {
    table.rows.push_back({TextDatum(field.name)});
  }
  return TableResult(table);
}

AnyResult Run(const statement::ShowPartitions& show, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, resolver.Find(show.name));
  const spec::TableMetadata& metadata = *found.table->metadata();
  const bool is_partitioned = std::any_of(metadata.partition_specs.begin(), metadata.partition_specs.end(),
                                          [](const spec::PartitionSpec& spec) { return !spec.is_unpartitioned(); });
  if (!is_partitioned) return Fail(ErrorCode::kInvalidArgument, "table is not partitioned: {}", found.ToString());
  table::SnapshotSelector selector;
  selector.ref = found.version;
  FRAZIL_ASSIGN(const spec::Snapshot* snapshot, table::SelectSnapshot(metadata, selector));
  FRAZIL_ASSIGN(table::LiveFiles live, table::LoadLiveFiles(*found.table, snapshot));
  std::set<std::string> paths;
  for (const table::LiveDataFile& file : live.data_files) {
    if (const spec::PartitionSpec* spec = metadata.FindSpec(file.file.spec_id)) {
      paths.insert(spec->Path(file.file.partition, *metadata.schema()));
    }
  }
  MadeUpTable table;
  table.columns = {TextColumn("partition")};
  for (const std::string& path : paths) table.rows.push_back({TextDatum(path)});
  return TableResult(table);
}

}  // namespace frazil::sql
