#include "frazil/format/manifest_schema.h"

#include <utility>

namespace frazil::format {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;

Type Of(TypeId id) { return Type::Primitive(id); }

Field Make(int id, const char* name, bool required, Type type, const char* doc) {
  Field field;
  field.id = FieldId(id);
  field.name = name;
  field.required = required;
  field.type = std::move(type);
  if (doc != nullptr) field.doc = doc;
  return field;
}

Field Required(int id, const char* name, Type type, const char* doc = nullptr) {
  return Make(id, name, true, std::move(type), doc);
}

Field Optional(int id, const char* name, Type type, const char* doc = nullptr) {
  return Make(id, name, false, std::move(type), doc);
}

/// A map keyed by column id. The ids of key and value follow from the spec's table.
Field ColumnMap(int id, const char* name, int key_id, TypeId value_type, const char* doc) {
  return Optional(id, name,
                  Type::MapOf(Required(key_id, "key", Of(TypeId::kInt)), Required(key_id + 1, "value", Of(value_type))),
                  doc);
}

std::vector<Field> DataFileFields(int format_version, std::vector<Field> partition_fields) {
  using namespace data_file_field;
  std::vector<Field> fields = {
      Required(kContent, "content", Of(TypeId::kInt),
               "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"),
      Required(kFilePath, "file_path", Of(TypeId::kString), "Location URI with FS scheme"),
      Required(kFileFormat, "file_format", Of(TypeId::kString), "File format name: avro, orc, or parquet"),
      Required(kPartition, "partition", Type::StructOf(std::move(partition_fields)),
               "Partition data tuple, schema based on the partition spec"),
      Required(kRecordCount, "record_count", Of(TypeId::kLong), "Number of records in the file"),
      Required(kFileSizeInBytes, "file_size_in_bytes", Of(TypeId::kLong), "Total file size in bytes"),
      ColumnMap(kColumnSizes, "column_sizes", 117, TypeId::kLong, "Map of column id to total size on disk"),
      ColumnMap(kValueCounts, "value_counts", 119, TypeId::kLong,
                "Map of column id to total count, including null and NaN"),
      ColumnMap(kNullValueCounts, "null_value_counts", 121, TypeId::kLong, "Map of column id to null value count"),
      ColumnMap(kNanValueCounts, "nan_value_counts", 138, TypeId::kLong,
                "Map of column id to number of NaN values in the column"),
      ColumnMap(kLowerBounds, "lower_bounds", 126, TypeId::kBinary, "Map of column id to lower bound"),
      ColumnMap(kUpperBounds, "upper_bounds", 129, TypeId::kBinary, "Map of column id to upper bound"),
      Optional(kKeyMetadata, "key_metadata", Of(TypeId::kBinary), "Encryption key metadata blob"),
      Optional(kSplitOffsets, "split_offsets", Type::ListOf(Required(133, "element", Of(TypeId::kLong))),
               "Splittable offsets"),
      Optional(kEqualityIds, "equality_ids", Type::ListOf(Required(136, "element", Of(TypeId::kInt))),
               "Equality comparison field IDs"),
      Optional(kSortOrderId, "sort_order_id", Of(TypeId::kInt), "Sort order ID"),
  };
  const Field referenced =
      Optional(kReferencedDataFile, "referenced_data_file", Of(TypeId::kString),
               "Fully qualified location (URI with FS scheme) of a data file that all deletes reference");
  if (format_version >= 3) {
    fields.push_back(Optional(kFirstRowId, "first_row_id", Of(TypeId::kLong),
                              "The first row ID assigned to the first row in the data file"));
    fields.push_back(referenced);
    fields.push_back(Optional(kContentOffset, "content_offset", Of(TypeId::kLong),
                              "The offset in the file where the content starts"));
    fields.push_back(Optional(kContentSizeInBytes, "content_size_in_bytes", Of(TypeId::kLong),
                              "The length of referenced content stored in the file"));
  } else {
    fields.push_back(referenced);
  }
  return fields;
}

}  // namespace

std::vector<Field> ManifestListFields(int format_version) {
  using namespace manifest_list_field;
  Type summary = Type::StructOf({
      Required(kContainsNull, "contains_null", Of(TypeId::kBoolean), "True if any file has a null partition value"),
      Optional(kContainsNan, "contains_nan", Of(TypeId::kBoolean), "True if any file has a nan partition value"),
      Optional(kLowerBound, "lower_bound", Of(TypeId::kBinary), "Partition lower bound for all files"),
      Optional(kUpperBound, "upper_bound", Of(TypeId::kBinary), "Partition upper bound for all files"),
  });
  std::vector<Field> fields = {
      Required(kManifestPath, "manifest_path", Of(TypeId::kString), "Location URI with FS scheme"),
      Required(kManifestLength, "manifest_length", Of(TypeId::kLong), "Total file size in bytes"),
      Required(kPartitionSpecId, "partition_spec_id", Of(TypeId::kInt), "Spec ID used to write"),
      Required(kContent, "content", Of(TypeId::kInt), "Contents of the manifest: 0=data, 1=deletes"),
      Required(kSequenceNumber, "sequence_number", Of(TypeId::kLong), "Sequence number when the manifest was added"),
      Required(kMinSequenceNumber, "min_sequence_number", Of(TypeId::kLong), "Lowest sequence number in the manifest"),
      Required(kAddedSnapshotId, "added_snapshot_id", Of(TypeId::kLong), "Snapshot ID that added the manifest"),
      Required(kAddedFilesCount, "added_files_count", Of(TypeId::kInt), "Added entry count"),
      Required(kExistingFilesCount, "existing_files_count", Of(TypeId::kInt), "Existing entry count"),
      Required(kDeletedFilesCount, "deleted_files_count", Of(TypeId::kInt), "Deleted entry count"),
      Required(kAddedRowsCount, "added_rows_count", Of(TypeId::kLong), "Added rows count"),
      Required(kExistingRowsCount, "existing_rows_count", Of(TypeId::kLong), "Existing rows count"),
      Required(kDeletedRowsCount, "deleted_rows_count", Of(TypeId::kLong), "Deleted rows count"),
      Optional(kPartitions, "partitions", Type::ListOf(Required(kPartitionsElement, "element", std::move(summary))),
               "Summary for each partition"),
      Optional(kKeyMetadata, "key_metadata", Of(TypeId::kBinary), "Encryption key metadata blob"),
  };
  if (format_version >= 3) {
    fields.push_back(Optional(kFirstRowId, "first_row_id", Of(TypeId::kLong),
                              "Starting row ID to assign to new rows in ADDED data files"));
  }
  return fields;
}

std::vector<Field> ManifestEntryFields(int format_version, std::vector<Field> partition_fields) {
  using namespace manifest_entry_field;
  return {
      Required(kStatus, "status", Of(TypeId::kInt)),
      Optional(kSnapshotId, "snapshot_id", Of(TypeId::kLong)),
      Optional(kSequenceNumber, "sequence_number", Of(TypeId::kLong)),
      Optional(kFileSequenceNumber, "file_sequence_number", Of(TypeId::kLong)),
      Required(kDataFile, "data_file", Type::StructOf(DataFileFields(format_version, std::move(partition_fields)))),
  };
}

std::vector<Field> PartitionFields(const spec::PartitionSpec& partition_spec, const spec::Schema& schema) {
  std::vector<Field> fields;
  for (size_t i = 0; i < partition_spec.fields().size(); ++i) {
    Field field;
    field.id = partition_spec.fields()[i].field_id;
    field.name = partition_spec.fields()[i].name;
    field.type = partition_spec.ResultType(i, schema);
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace frazil::format
