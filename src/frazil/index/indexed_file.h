#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frazil/base/bytes.h"
#include "frazil/index/entry.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/manifest.h"

namespace frazil::table {
struct LiveDataFile;
struct LiveDelete;
}  // namespace frazil::table

namespace frazil::index {

/// What never changes of a file that has a number. Data sequence, first_row_id and record count are its identity
/// besides the path: a file that comes back with another one is another file. Shared by all versions; thread-safe.
struct IndexedFile {
  FileNumber number = 0;
  std::string path;
  spec::FileContent content = spec::FileContent::kData;  ///< kEqualityDeletes: its keys are entries too
  spec::SequenceNumber sequence_number;                  ///< data sequence number
  spec::SpecId spec_id{0};
  Bytes partition;  ///< PartitionBytes; compares equality deletes with data files
  std::optional<spec::RowId> first_row_id;
  int64_t record_count = 0;
  /// Whether a data file has the key columns under their own ids. Else the table's name mapping, a default or the partition
  /// gives them, so that another key reading (key_reading.h) makes other keys of it.
  bool has_own_keys = true;

  static IndexedFile Of(const table::LiveDataFile& file);
  static IndexedFile Of(const table::LiveDelete& file);
  /// Whether a live file is this one.
  bool IsSame(const table::LiveDataFile& live) const;
  bool operator==(const IndexedFile&) const = default;
};

/// Bytes of a partition tuple that are equal iff the tuples are (spec section 4.5), an int equalling the same long, since
/// the source column may have been promoted in between.
Bytes PartitionBytes(const spec::PartitionTuple& tuple);

}  // namespace frazil::index
