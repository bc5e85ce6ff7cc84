#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/catalog/metadata_file.h"
#include "frazil/cli/file_report.h"
#include "frazil/format/avro_file.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/parquet_footer.h"
#include "frazil/format/puffin.h"
#include "frazil/spec/date_time.h"
#include "frazil/spec/json_access.h"
#include "frazil/spec/schema_json.h"
#include "frazil/spec/single_value.h"
#include "frazil/spec/table_metadata_json.h"

namespace frazil::cli {
namespace {

using spec::OrderedJson;

// --- the kinds of files -------------------------------------------------------------------------------------------------

Result<OrderedJson> MetadataReport(const io::FileIO& io, const std::string& path) {
  // Read and written again: what is shown is what frazil understands.
  FRAZIL_ASSIGN(const spec::TableMetadataPtr metadata, catalog::ReadMetadataFile(io, path));
  FRAZIL_ASSIGN(const std::string text, spec::WriteTableMetadata(*metadata));
  OrderedJson report = {{"file", path}, {"kind", "table metadata"}};
  report.update(OrderedJson::parse(text));
  return report;
}

OrderedJson BytesJson(const std::optional<Bytes>& bytes) { return bytes ? OrderedJson(ToHex(*bytes)) : OrderedJson(); }

template <typename T>
void SetIf(OrderedJson& json, const char* key, const std::optional<T>& number) {
  if (!number) return;
  if constexpr (requires { number->value(); }) {
    json[key] = number->value();
  } else {
    json[key] = *number;
  }
}

Result<OrderedJson> ManifestListReport(Bytes bytes, const std::string& path, OrderedJson report) {
  FRAZIL_ASSIGN(const auto manifests, format::ReadManifestListBytes(std::move(bytes), path));
  report["kind"] = "manifest list";
  OrderedJson rows = OrderedJson::array();
  for (const spec::ManifestFile& manifest : manifests) {
    OrderedJson row = {{"manifest_path", manifest.manifest_path},
                       {"manifest_length", manifest.manifest_length},
                       {"partition_spec_id", manifest.partition_spec_id.value()},
                       {"content", manifest.content == spec::ManifestContent::kData ? "data" : "deletes"},
                       {"sequence_number", manifest.sequence_number.value()},
                       {"min_sequence_number", manifest.min_sequence_number.value()},
                       {"added_snapshot_id", manifest.added_snapshot_id.value()}};
    SetIf(row, "added_files_count", manifest.added_files_count);
    SetIf(row, "existing_files_count", manifest.existing_files_count);
    SetIf(row, "deleted_files_count", manifest.deleted_files_count);
    SetIf(row, "added_rows_count", manifest.added_rows_count);
    SetIf(row, "existing_rows_count", manifest.existing_rows_count);
    SetIf(row, "deleted_rows_count", manifest.deleted_rows_count);
    SetIf(row, "first_row_id", manifest.first_row_id);
    OrderedJson summaries = OrderedJson::array();
    for (const spec::PartitionFieldSummary& summary : manifest.partitions) {
      OrderedJson one = {{"contains_null", summary.contains_null}};
      SetIf(one, "contains_nan", summary.contains_nan);
      if (summary.lower_bound) one["lower_bound"] = BytesJson(summary.lower_bound);
      if (summary.upper_bound) one["upper_bound"] = BytesJson(summary.upper_bound);
      summaries.push_back(std::move(one));
    }
    if (!summaries.empty()) row["partitions"] = std::move(summaries);
    if (manifest.key_metadata) row["key_metadata"] = BytesJson(manifest.key_metadata);
    rows.push_back(std::move(row));
  }
  report["manifests"] = std::move(rows);
  return report;
}

std::string ColumnName(const spec::Schema* schema, spec::FieldId id) {
  const std::string name = schema != nullptr ? schema->FullName(id) : "";
  return name.empty() ? std::to_string(id.value()) : fmt::format("{} ({})", name, id);
}

OrderedJson CountsJson(const std::map<spec::FieldId, int64_t>& counts, const spec::Schema* schema) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [id, count] : counts) json[ColumnName(schema, id)] = count;
  return json;
}

OrderedJson BoundsJson(const std::map<spec::FieldId, Bytes>& bounds, const spec::Schema* schema) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [id, bytes] : bounds) {
    const spec::Field* field = schema != nullptr ? schema->FindField(id) : nullptr;
    auto value = field != nullptr ? spec::DecodeSingleValue(field->type, bytes)
                                  : Result<spec::Value>(Fail(ErrorCode::kNotFound, "column"));
    json[ColumnName(schema, id)] = value ? spec::FormatValue(field->type, *value) : "0x" + ToHex(bytes);
  }
  return json;
}

OrderedJson DataFileJson(const spec::DataFile& file, const spec::PartitionSpec& partitioning,
                         const spec::Schema* schema) {
  OrderedJson json = OrderedJson::object();
  json["content"] = file.content == spec::FileContent::kData              ? "data"
                    : file.content == spec::FileContent::kPositionDeletes ? "position deletes"
                                                                          : "equality deletes";
  json["file_path"] = file.file_path;
  json["file_format"] = std::string(spec::FileFormatName(file.file_format));
  OrderedJson partition = OrderedJson::object();
  for (size_t i = 0; i < partitioning.fields().size() && i < file.partition.size(); ++i) {
    const spec::PartitionField& field = partitioning.fields()[i];
    const spec::Field* source = schema != nullptr ? schema->FindField(field.source_id) : nullptr;
    partition[field.name] = spec::IsNull(file.partition[i]) || source == nullptr
                                ? OrderedJson()
                                : OrderedJson(field.transform.ToHumanString(source->type, file.partition[i]));
  }
  if (!partition.empty()) json["partition"] = std::move(partition);
  json["record_count"] = file.record_count;
  json["file_size_in_bytes"] = file.file_size_in_bytes;
  auto counts = [&](const char* key, const std::map<spec::FieldId, int64_t>& numbers) {
    if (!numbers.empty()) json[key] = CountsJson(numbers, schema);
  };
  counts("column_sizes", file.column_sizes);
  counts("value_counts", file.value_counts);
  counts("null_value_counts", file.null_value_counts);
  counts("nan_value_counts", file.nan_value_counts);
  if (!file.lower_bounds.empty()) json["lower_bounds"] = BoundsJson(file.lower_bounds, schema);
  if (!file.upper_bounds.empty()) json["upper_bounds"] = BoundsJson(file.upper_bounds, schema);
  if (file.key_metadata) json["key_metadata"] = BytesJson(file.key_metadata);
  if (!file.split_offsets.empty()) json["split_offsets"] = file.split_offsets;
  if (!file.equality_ids.empty()) {
    OrderedJson ids = OrderedJson::array();
    for (const spec::FieldId id : file.equality_ids) ids.push_back(id.value());
    json["equality_ids"] = std::move(ids);
  }
  SetIf(json, "sort_order_id", file.sort_order_id);
  SetIf(json, "first_row_id", file.first_row_id);
  SetIf(json, "referenced_data_file", file.referenced_data_file);
  SetIf(json, "content_offset", file.content_offset);
  SetIf(json, "content_size_in_bytes", file.content_size_in_bytes);
  return json;
}

Result<OrderedJson> ManifestReport(const format::AvroFileReader& file, Bytes bytes, OrderedJson report) {
  report["kind"] = "manifest";
  const auto header = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  spec::SchemaPtr schema;
  if (auto parsed = spec::ParseSchemaJson(header("schema"))) schema = *std::move(parsed);
  spec::PartitionSpec partitioning;
  if (auto parsed = spec::ParsePartitionFieldsJson(spec::SpecId(0), header("partition-spec"))) partitioning = *parsed;
  FRAZIL_ASSIGN(const auto entries, format::ReadManifestBytes(std::move(bytes), file.path()));
  OrderedJson rows = OrderedJson::array();
  for (const spec::ManifestEntry& entry : entries) {
    OrderedJson row = {{"status", entry.status == spec::EntryStatus::kAdded      ? "added"
                                  : entry.status == spec::EntryStatus::kExisting ? "existing"
                                                                                 : "deleted"}};
    SetIf(row, "snapshot_id", entry.snapshot_id);
    SetIf(row, "sequence_number", entry.sequence_number);
    SetIf(row, "file_sequence_number", entry.file_sequence_number);
    row["data_file"] = DataFileJson(entry.data_file, partitioning, schema.get());
    rows.push_back(std::move(row));
  }
  report["entries"] = std::move(rows);
  return report;
}

Result<OrderedJson> AvroReport(Bytes bytes, const std::string& path) {
  FRAZIL_ASSIGN(const format::AvroFileReader file, format::AvroFileReader::FromBytes(bytes, path));
  OrderedJson report = {{"file", path}, {"kind", "Avro"}};
  OrderedJson header = OrderedJson::object();
  for (const auto& [key, value] : file.metadata()) {
    if (key == "avro.schema") continue;
    const bool is_json = !value.empty() && (value.front() == '{' || value.front() == '[');
    auto parsed = is_json ? spec::ParseJson(value, key) : Result<spec::Json>(Fail(ErrorCode::kCorruptData, "text"));
    header[key] = parsed ? OrderedJson::parse(value) : OrderedJson(value);
  }
  report["metadata"] = std::move(header);
  if (file.metadata().contains("partition-spec") || file.metadata().contains("partition-spec-id")) {
    return ManifestReport(file, std::move(bytes), std::move(report));
  }
  auto list = ManifestListReport(std::move(bytes), path, report);
  if (list) return list;
  return Fail(ErrorCode::kNotSupported, "an Avro file that is no manifest and no manifest list ({}): {}",
              list.error().message(), path);
}

Result<OrderedJson> PuffinReport(const io::InputFile& file, const FileReportOptions& options) {
  FRAZIL_ASSIGN(const format::PuffinFooter footer, format::ReadPuffinFooter(file));
  OrderedJson report = {{"file", file.path()}, {"kind", "Puffin"}};
  report["footer_size_in_bytes"] = footer.footer_size_bytes;
  if (!footer.properties.empty()) report["properties"] = footer.properties;
  OrderedJson blobs = OrderedJson::array();
  for (const format::PuffinBlob& blob : footer.blobs) {
    OrderedJson fields = OrderedJson::array();
    for (const spec::FieldId id : blob.fields) fields.push_back(id.value());
    OrderedJson one = {{"type", blob.type},
                       {"fields", std::move(fields)},
                       {"snapshot_id", blob.snapshot_id},
                       {"sequence_number", blob.sequence_number},
                       {"offset", blob.offset},
                       {"length", blob.length}};
    if (!blob.compression_codec.empty()) one["compression_codec"] = blob.compression_codec;
    if (!blob.properties.empty()) one["properties"] = blob.properties;
    if (blob.type == format::kDeletionVectorBlobType) {
      FRAZIL_ASSIGN(const Bytes bytes, format::ReadPuffinBlob(file, blob));
      auto vector = format::DeletionVector::Decode(bytes);
      if (!vector) {
        return tl::unexpected(std::move(vector).error().WithContext(
            fmt::format("reading the vector at offset {} of {}", blob.offset, file.path())));
      }
      one["cardinality"] = vector->cardinality();
      if (options.positions) one["positions"] = vector->ToPositions();
    }
    blobs.push_back(std::move(one));
  }
  report["blobs"] = std::move(blobs);
  return report;
}

Result<OrderedJson> ParquetReport(std::shared_ptr<const io::InputFile> file) {
  FRAZIL_ASSIGN(const format::ParquetFooter footer, format::ReadParquetFooter(file));
  OrderedJson report = {
      {"file", file->path()}, {"kind", "Parquet"}, {"num_rows", footer.num_rows}, {"created_by", footer.created_by}};
  OrderedJson pairs = OrderedJson::object();
  for (const auto& [key, value] : footer.key_values) {
    if (key == "ARROW:schema") continue;  // base64 of what the schema below says
    auto parsed = key == "iceberg.schema" ? spec::ParseJson(value, key)
                                          : Result<spec::Json>(Fail(ErrorCode::kCorruptData, "text"));
    pairs[key] = parsed ? OrderedJson::parse(value) : OrderedJson(value);
  }
  if (!pairs.empty()) report["key_value_metadata"] = std::move(pairs);
  OrderedJson columns = OrderedJson::array();
  for (const format::ParquetFooterColumn& column : footer.columns) {
    OrderedJson one = {{"path", column.path}};
    SetIf(one, "field_id", column.field_id);
    one["repetition"] = column.repetition;
    if (!column.physical_type.empty()) one["type"] = column.physical_type;
    if (!column.logical_type.empty()) one["logical_type"] = column.logical_type;
    columns.push_back(std::move(one));
  }
  report["schema"] = std::move(columns);
  OrderedJson groups = OrderedJson::array();
  for (const format::ParquetFooterRowGroup& group : footer.row_groups) {
    OrderedJson chunks = OrderedJson::array();
    for (const format::ParquetFooterChunk& chunk : group.chunks) {
      OrderedJson one = {{"path", chunk.path}};
      SetIf(one, "field_id", chunk.field_id);
      one["codec"] = chunk.codec;
      one["encodings"] = chunk.encodings;
      one["num_values"] = chunk.num_values;
      one["compressed_bytes"] = chunk.compressed_bytes;
      one["uncompressed_bytes"] = chunk.uncompressed_bytes;
      SetIf(one, "null_count", chunk.null_count);
      SetIf(one, "min", chunk.min);
      SetIf(one, "max", chunk.max);
      one["column_index"] = chunk.has_column_index;
      SetIf(one, "pages", chunk.num_pages);
      if (chunk.has_bloom_filter) one["bloom_filter"] = true;
      chunks.push_back(std::move(one));
    }
    groups.push_back(
        OrderedJson{{"num_rows", group.num_rows}, {"total_bytes", group.total_bytes}, {"columns", std::move(chunks)}});
  }
  report["row_groups"] = std::move(groups);
  return report;
}

// --- text for people ----------------------------------------------------------------------------------------------------

bool IsScalar(const OrderedJson& json) { return !json.is_structured(); }

/// Control characters of foreign bytes must not reach a terminal.
std::string Printable(const std::string& text) {
  std::string plain;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    plain += byte < 32 || byte == 127 ? fmt::format("\\x{:02X}", byte) : std::string(1, letter);
  }
  return plain;
}

std::string ScalarText(const OrderedJson& json, const std::string& key) {
  if (json.is_string()) return Printable(json.get<std::string>());
  const bool is_moment = key.ends_with("-ms") && key != "max-snapshot-age-ms" && key != "max-ref-age-ms";
  constexpr int64_t kYear9999Ms = 253'402'300'799'000;
  if (is_moment && json.is_number_integer() && json.get<int64_t>() >= 0 && json.get<int64_t>() < kYear9999Ms) {
    return fmt::format("{} ({}Z)", json.get<int64_t>(),
                       spec::FormatTimestamp(json.get<int64_t>() * 1000, spec::Precision::kMicros, ' '));
  }
  return spec::DumpJson(json);
}

void Print(const OrderedJson& json, const std::string& key, int depth, std::string& out);

void PrintMembers(const OrderedJson& object, int depth, bool first_in_line, std::string& out) {
  for (const auto& [key, value] : object.items()) {
    if (!first_in_line) out.append(static_cast<size_t>(depth) * 2, ' ');
    first_in_line = false;
    out += Printable(key) + ":";
    Print(value, key, depth, out);
  }
}

/// A value behind "key:" and the end of its line.
void Print(const OrderedJson& json, const std::string& key, int depth, std::string& out) {
  if (IsScalar(json)) {
    out += " " + ScalarText(json, key) + "\n";
  } else if (json.empty()) {
    out += json.is_array() ? " none\n" : " {}\n";
  } else if (json.is_object()) {
    out += "\n";
    PrintMembers(json, depth + 1, false, out);
  } else if (std::all_of(json.begin(), json.end(), [](const OrderedJson& item) { return IsScalar(item); })) {
    std::string items;
    for (const OrderedJson& item : json) items += (items.empty() ? "" : ", ") + ScalarText(item, key);
    out += " " + items + "\n";
  } else {
    out += "\n";
    for (const OrderedJson& item : json) {
      out.append(static_cast<size_t>(depth + 1) * 2, ' ');
      out += "- ";
      if (item.is_object() && !item.empty()) {
        PrintMembers(item, depth + 2, true, out);
      } else {
        out.pop_back();
        Print(item, key, depth + 1, out);
      }
    }
  }
}

}  // namespace

Result<std::string> ReportFile(const io::FileIO& io, const std::string& path, const FileReportOptions& options) {
  FRAZIL_ASSIGN(std::unique_ptr<io::InputFile> opened, io.Open(path));
  const std::shared_ptr<const io::InputFile> file = std::move(opened);
  Bytes magic(static_cast<size_t>(std::min<int64_t>(4, file->size_bytes())));
  FRAZIL_TRY(file->ReadAt(0, magic));
  const std::string_view start(reinterpret_cast<const char*>(magic.data()), magic.size());
  Result<OrderedJson> report =
      Fail(ErrorCode::kNotSupported,
           "a file that is no metadata.json, manifest list, manifest, Puffin or Parquet file: {}", path);
  if (start == "PAR1") {
    report = ParquetReport(file);
  } else if (start == "PFA1") {
    report = PuffinReport(*file, options);
  } else if (start.starts_with("Obj\x01")) {
    FRAZIL_ASSIGN(Bytes bytes, io.ReadFile(path));
    report = AvroReport(std::move(bytes), path);
  } else if (start.starts_with("{") || start.starts_with("\x1f\x8b")) {
    report = MetadataReport(io, path);
  }
  FRAZIL_TRY(report);
  if (options.json) return report->dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  std::string text;
  PrintMembers(*report, 0, false, text);
  return text;
}

}  // namespace frazil::cli
