#include "frazil/spec/create_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "frazil/spec/reserved_columns.h"

namespace frazil::spec {
namespace {

constexpr int kDefaultFormatVersion = 3;
constexpr int kFirstPartitionFieldId = 1000;
constexpr char kCompressionCodecProperty[] = "write.parquet.compression-codec";

constexpr std::array<std::string_view, 9> kReservedProperties = {
    kFormatVersionProperty, "uuid",           "snapshot-count",         "current-snapshot-summary",
    "current-snapshot-id",  "current-schema", "default-partition-spec", "current-snapshot-timestamp-ms",
    "default-sort-order"};

/// The column of `fresh` that the caller meant by an id of `asked`.
Result<FieldId> FreshSource(const Schema& asked, const Schema& fresh, FieldId id, std::string_view what) {
  const Field* field = fresh.FindField(asked.FullName(id));
  if (field == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot find source column for {}: source-id {}", what, id);
  }
  return field->id;
}

Result<PartitionSpec> FreshSpec(const CreateTableRequest& request, const Schema& fresh) {
  std::vector<PartitionField> fields;
  for (const PartitionField& asked : request.partition_spec.fields()) {
    PartitionField field = asked;
    FRAZIL_ASSIGN(field.source_id, FreshSource(*request.schema, fresh, asked.source_id, "partition field"));
    field.field_id = FieldId{kFirstPartitionFieldId + static_cast<int32_t>(fields.size())};
    if (field.name.empty()) field.name = DefaultPartitionName(fresh.FullName(field.source_id), field.transform);
    fields.push_back(std::move(field));
  }
  return PartitionSpec(SpecId{0}, std::move(fields));
}

Result<SortOrder> FreshSortOrder(const CreateTableRequest& request, const Schema& fresh) {
  SortOrder order = request.sort_order;
  order.id = SortOrderId{order.is_sorted() ? 1 : 0};
  for (SortField& field : order.fields) {
    FRAZIL_ASSIGN(field.source_id, FreshSource(*request.schema, fresh, field.source_id, "sort field"));
  }
  return order;
}

}  // namespace

bool IsReservedProperty(const std::string& key) {
  return std::find(kReservedProperties.begin(), kReservedProperties.end(), key) != kReservedProperties.end();
}

Result<int> ParseFormatVersion(const std::string& text) {
  int version = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 1) {
    return Fail(ErrorCode::kInvalidArgument, "format-version must be 1, 2 or 3, but is: {}", text);
  }
  if (version > 3) return Fail(ErrorCode::kNotSupported, "unsupported format version: v{} (supported: v3)", version);
  return version;
}

Result<std::vector<TableUpdate>> MakeCreateUpdates(const CreateTableRequest& request) {
  if (request.schema == nullptr) return Fail(ErrorCode::kInvalidArgument, "a table cannot be created without a schema");
  FRAZIL_TRY(CheckColumnNames(*request.schema));
  std::map<std::string, std::string> properties;
  int format_version = kDefaultFormatVersion;
  for (const auto& [key, value] : request.properties) {
    if (key == kFormatVersionProperty) {
      FRAZIL_ASSIGN(format_version, ParseFormatVersion(value));
    } else if (!IsReservedProperty(key)) {
      properties.emplace(key, value);
    }
  }
  if (format_version == 1) {
    return Fail(ErrorCode::kNotSupported, "tables of format version 1 are read, but not created");
  }
  properties.emplace(kCompressionCodecProperty, "zstd");

  FRAZIL_ASSIGN(SchemaPtr schema, AssignFreshIds(*request.schema));
  schema = schema->WithId(SchemaId{0});
  FRAZIL_ASSIGN(PartitionSpec spec, FreshSpec(request, *schema));
  FRAZIL_ASSIGN(SortOrder order, FreshSortOrder(request, *schema));

  return std::vector<TableUpdate>{
      update::AssignUuid{Uuid::Random()},
      update::UpgradeFormatVersion{format_version},
      update::AddSchema{schema},
      update::SetCurrentSchema{SchemaId{-1}},
      update::AddPartitionSpec{std::move(spec)},
      update::SetDefaultSpec{SpecId{-1}},
      update::AddSortOrder{std::move(order)},
      update::SetDefaultSortOrder{SortOrderId{-1}},
      update::SetLocation{request.location},
      update::SetProperties{std::move(properties)},
  };
}

}  // namespace frazil::spec
