#pragma once

#include <cstdint>

#include "frazil/base/strong_id.h"

namespace frazil::spec {

using SnapshotId = StrongId<struct SnapshotIdTag, int64_t>;
/// Order of commits; 0 = before v2. Data and file sequence numbers of entries share the type.
using SequenceNumber = StrongId<struct SequenceNumberTag, int64_t>;
/// Id of a column, nested ones included; names change, ids never do.
using FieldId = StrongId<struct FieldIdTag, int32_t>;
using SchemaId = StrongId<struct SchemaIdTag, int32_t>;
using SpecId = StrongId<struct SpecIdTag, int32_t>;
using SortOrderId = StrongId<struct SortOrderIdTag, int32_t>;
/// Ordinal of a row in its data file, counted before any delete (spec section 4.5).
using RowPosition = StrongId<struct RowPositionTag, int64_t>;
/// Row lineage's `_row_id` (spec section 5).
using RowId = StrongId<struct RowIdTag, int64_t>;

/// Reserved field ids of metadata columns (spec section 6.11).
inline constexpr FieldId kFileColumnId{2147483646};
inline constexpr FieldId kPosColumnId{2147483645};
inline constexpr FieldId kDeletedColumnId{2147483644};
inline constexpr FieldId kSpecIdColumnId{2147483643};
inline constexpr FieldId kPartitionColumnId{2147483642};
inline constexpr FieldId kDeleteFilePathColumnId{2147483546};
inline constexpr FieldId kDeletePosColumnId{2147483545};
inline constexpr FieldId kRowIdColumnId{2147483540};
inline constexpr FieldId kLastUpdatedSequenceNumberColumnId{2147483539};
/// Largest id a table's own column may have.
inline constexpr FieldId kMaxUserFieldId{2147483447};

inline constexpr char kRowIdColumn[] = "_row_id";
inline constexpr char kLastUpdatedSequenceNumberColumn[] = "_last_updated_sequence_number";

}  // namespace frazil::spec
