#pragma once

#include <vector>

#include "frazil/spec/manifest.h"
#include "frazil/spec/schema.h"

namespace frazil::format {

// Fields of manifests and manifest lists in the order in which they are written, names and texts as Java's (spec
// sections 3.1, 3.3, 3.4). `manifest_reader`, `manifest_list` find them by these ids.

namespace manifest_list_field {
inline constexpr int kManifestPath = 500, kManifestLength = 501, kPartitionSpecId = 502, kContent = 517,
                     kSequenceNumber = 515, kMinSequenceNumber = 516, kAddedSnapshotId = 503, kAddedFilesCount = 504,
                     kExistingFilesCount = 505, kDeletedFilesCount = 506, kAddedRowsCount = 512,
                     kExistingRowsCount = 513, kDeletedRowsCount = 514, kPartitions = 507, kPartitionsElement = 508,
                     kKeyMetadata = 519, kFirstRowId = 520;
inline constexpr int kContainsNull = 509, kContainsNan = 518, kLowerBound = 510, kUpperBound = 511;
}  // namespace manifest_list_field

namespace manifest_entry_field {
inline constexpr int kStatus = 0, kSnapshotId = 1, kSequenceNumber = 3, kFileSequenceNumber = 4, kDataFile = 2;
}  // namespace manifest_entry_field

namespace data_file_field {
inline constexpr int kContent = 134, kFilePath = 100, kFileFormat = 101, kPartition = 102, kRecordCount = 103,
                     kFileSizeInBytes = 104, kColumnSizes = 108, kValueCounts = 109, kNullValueCounts = 110,
                     kNanValueCounts = 137, kLowerBounds = 125, kUpperBounds = 128, kKeyMetadata = 131,
                     kSplitOffsets = 132, kEqualityIds = 135, kSortOrderId = 140, kFirstRowId = 142,
                     kReferencedDataFile = 143, kContentOffset = 144, kContentSizeInBytes = 145;
}  // namespace data_file_field

/// Fields of `manifest_file`. `format_version` is 2 or 3.
std::vector<spec::Field> ManifestListFields(int format_version);

/// Fields of `manifest_entry` with the given fields of the partition struct. `format_version` is 2 or 3.
std::vector<spec::Field> ManifestEntryFields(int format_version, std::vector<spec::Field> partition_fields);

/// Fields of the partition struct: ids and names of the spec, result types, all optional. A source column that the
/// schema lacks counts as string.
std::vector<spec::Field> PartitionFields(const spec::PartitionSpec& partition_spec, const spec::Schema& schema);

}  // namespace frazil::format
