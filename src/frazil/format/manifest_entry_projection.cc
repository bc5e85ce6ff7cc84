#include "frazil/format/manifest_entry_projection.h"

#include <utility>

#include "frazil/format/avro_value.h"
#include "frazil/format/manifest_schema.h"

namespace frazil::format {
namespace {

using spec::DataFile;
using spec::FieldId;
using spec::ManifestEntry;
using spec::PartitionTuple;

template <typename Value>
using ColumnMap = std::map<FieldId, Value>;

/// An enumeration stored as an int from 0 to `largest`.
template <typename T, typename Enum>
AvroTarget<T> EnumTarget(int id, const char* name, bool required, Enum largest, Enum T::*member) {
  return AvroIntTarget<T>(id, name, required, [=](AvroDecoder& decoder, T& out, int32_t value) {
    if (value < 0 || value > static_cast<int32_t>(largest)) {
      decoder.FailWith(ErrorCode::kInvalidTable, fmt::format("field {} has an unknown value: {}", name, value));
      return;
    }
    out.*member = static_cast<Enum>(value);
  });
}

AvroTarget<DataFile> SizeTarget(int id, const char* name, int64_t DataFile::*member) {
  return AvroLongTarget<DataFile>(id, name, true, [=](AvroDecoder& decoder, DataFile& out, int64_t value) {
    if (value < 0) decoder.FailWith(ErrorCode::kInvalidTable, fmt::format("field {} is negative: {}", name, value));
    out.*member = value;
  });
}

AvroTarget<DataFile> CountsTarget(int id, const char* name, int key_id, ColumnMap<int64_t> DataFile::*member) {
  using Item = std::pair<FieldId, int64_t>;
  return AvroRecordsTarget<DataFile, Item>(
      id, name,
      {AvroIntTarget<Item>(key_id, "key", true, [](Item& item, int32_t value) { item.first = FieldId(value); }),
       AvroLongTarget<Item>(key_id + 1, "value", true, [](Item& item, int64_t value) { item.second = value; })},
      [=](DataFile& out, Item item) { (out.*member).insert_or_assign((out.*member).end(), item.first, item.second); });
}

AvroTarget<DataFile> BoundsTarget(int id, const char* name, int key_id, ColumnMap<Bytes> DataFile::*member) {
  using Item = std::pair<FieldId, Bytes>;
  return AvroRecordsTarget<DataFile, Item>(
      id, name,
      {AvroIntTarget<Item>(key_id, "key", true, [](Item& item, int32_t value) { item.first = FieldId(value); }),
       AvroBytesTarget<Item>(key_id + 1, "value", true,
                             [](Item& item, ByteView value) { item.second = CopyBytes(value); })},
      [=](DataFile& out, Item item) {
        (out.*member).insert_or_assign((out.*member).end(), item.first, std::move(item.second));
      });
}

AvroTarget<PartitionTuple> PartitionTarget(const spec::PartitionField& field, size_t index,
                                           const std::optional<spec::Type>& type) {
  return {field.field_id.value(), field.name, false, [=](const AvroNode& node) -> Result<AvroReader<PartitionTuple>> {
            FRAZIL_ASSIGN(AvroValueReader read, MakeAvroValueReader(node));
            return [=](AvroDecoder& decoder, PartitionTuple& out) {
              spec::Value value = read(decoder);
              out[index] = type ? ToFormOf(*type, std::move(value)) : std::move(value);
            };
          }};
}

AvroTarget<DataFile> PartitionTupleTarget(const spec::PartitionSpec& partition_spec,
                                          const std::vector<std::optional<spec::Type>>& types) {
  std::vector<AvroTarget<PartitionTuple>> targets;
  for (size_t i = 0; i < partition_spec.fields().size(); ++i) {
    targets.push_back(PartitionTarget(partition_spec.fields()[i], i, types[i]));
  }
  const bool required = !targets.empty();
  return AvroRecordTarget<DataFile, PartitionTuple>(data_file_field::kPartition, "partition", required,
                                                    std::move(targets),
                                                    [](DataFile& out) -> PartitionTuple& { return out.partition; });
}

std::vector<AvroTarget<DataFile>> DataFileTargets(const spec::PartitionSpec& partition_spec,
                                                  const std::vector<std::optional<spec::Type>>& partition_types) {
  using namespace data_file_field;
  using T = DataFile;
  return {
      EnumTarget(kContent, "content", false, spec::FileContent::kEqualityDeletes, &T::content),
      AvroBytesTarget<T>(kFilePath, "file_path", true, [](T& out, ByteView value) { out.file_path = AsText(value); }),
      AvroBytesTarget<T>(kFileFormat, "file_format", true,
                         [](AvroDecoder& decoder, T& out, ByteView value) {
                           Result<spec::FileFormat> format = spec::ParseFileFormat(AsText(value));
                           if (!format) return decoder.FailWith(format.error().code(), format.error().message());
                           out.file_format = *format;
                         }),
      PartitionTupleTarget(partition_spec, partition_types),
      SizeTarget(kRecordCount, "record_count", &T::record_count),
      SizeTarget(kFileSizeInBytes, "file_size_in_bytes", &T::file_size_in_bytes),
      CountsTarget(kColumnSizes, "column_sizes", 117, &T::column_sizes),
      CountsTarget(kValueCounts, "value_counts", 119, &T::value_counts),
      CountsTarget(kNullValueCounts, "null_value_counts", 121, &T::null_value_counts),
      CountsTarget(kNanValueCounts, "nan_value_counts", 138, &T::nan_value_counts),
      BoundsTarget(kLowerBounds, "lower_bounds", 126, &T::lower_bounds),
      BoundsTarget(kUpperBounds, "upper_bounds", 129, &T::upper_bounds),
      AvroBytesTarget<T>(kKeyMetadata, "key_metadata", false,
                         [](T& out, ByteView value) { out.key_metadata = CopyBytes(value); }),
      AvroLongsTarget<T>(kSplitOffsets, "split_offsets",
                         [](AvroDecoder&, T& out, int64_t value) { out.split_offsets.push_back(value); }),
      AvroLongsTarget<T>(kEqualityIds, "equality_ids",
                         [](AvroDecoder& decoder, T& out, int64_t value) {
                           if (value != static_cast<int32_t>(value)) {
                             return decoder.FailWith(
                                 ErrorCode::kInvalidTable,
                                 fmt::format("field equality_ids has an id outside 32 bits: {}", value));
                           }
                           out.equality_ids.emplace_back(static_cast<int32_t>(value));
                         }),
      AvroIntTarget<T>(kSortOrderId, "sort_order_id", false,
                       [](T& out, int32_t value) { out.sort_order_id = spec::SortOrderId(value); }),
      AvroLongTarget<T>(kFirstRowId, "first_row_id", false,
                        [](T& out, int64_t value) { out.first_row_id = spec::RowId(value); }),
      AvroBytesTarget<T>(kReferencedDataFile, "referenced_data_file", false,
                         [](T& out, ByteView value) { out.referenced_data_file = std::string(AsText(value)); }),
      AvroLongTarget<T>(kContentOffset, "content_offset", false,
                        [](T& out, int64_t value) { out.content_offset = value; }),
      AvroLongTarget<T>(kContentSizeInBytes, "content_size_in_bytes", false,
                        [](T& out, int64_t value) { out.content_size_in_bytes = value; }),
  };
}

}  // namespace

Result<AvroProjection<ManifestEntry>> ProjectManifestEntry(
    const AvroNode& schema, const spec::PartitionSpec& partition_spec,
    const std::vector<std::optional<spec::Type>>& partition_types) {
  using namespace manifest_entry_field;
  using T = ManifestEntry;
  return AvroProjection<T>::Make(
      schema,
      {EnumTarget(kStatus, "status", true, spec::EntryStatus::kDeleted, &T::status),
       AvroLongTarget<T>(kSnapshotId, "snapshot_id", false,
                         [](T& out, int64_t value) { out.snapshot_id = spec::SnapshotId(value); }),
       AvroLongTarget<T>(kSequenceNumber, "sequence_number", false,
                         [](T& out, int64_t value) { out.sequence_number = spec::SequenceNumber(value); }),
       AvroLongTarget<T>(kFileSequenceNumber, "file_sequence_number", false,
                         [](T& out, int64_t value) { out.file_sequence_number = spec::SequenceNumber(value); }),
       AvroRecordTarget<T, DataFile>(kDataFile, "data_file", true, DataFileTargets(partition_spec, partition_types),
                                     [](T& out) -> DataFile& { return out.data_file; })});
}

}  // namespace frazil::format
