#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/ingest/column_buffer.h"
#include "frazil/ingest/record_columns.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// Where a column comes from, parsed.
struct ColumnSource {
  enum class Kind { kValue, kKey, kTimestamp, kPartition, kOffset, kHeader } kind = Kind::kValue;
  std::string path;  ///< kValue, kKey: of the field; kHeader: its name
};

/// The source of a column. kInvalidArgument naming column and source when that is none.
Result<ColumnSource> SourceOf(const RecordColumns& columns, const std::string& column);

/// A column that comes from around key and value: timestamp, partition, offset or a header.
class MetadataColumn {
 public:
  /// Types: `$timestamp` a timestamp, or a long of milliseconds; `$partition` int or long; `$offset` long; `$headers.x`
  /// string or binary (the last header of that name). kInvalidArgument naming the column for others.
  static Result<MetadataColumn> Make(const ColumnSource& source, const spec::Field& field, ColumnBuffer* column);

  /// Appends the value, or nothing when the record has none. kInvalidArgument for one that does not fit.
  Status Append(const SourceRecord& record) const;

 private:
  MetadataColumn(ColumnSource source, ColumnBuffer* column) : source_(std::move(source)), column_(column) {}
  Status AppendHeader(const SourceRecord& record) const;

  ColumnSource source_;
  ColumnBuffer* column_;
  int64_t ticks_per_ms_ = 1;
  bool is_int_ = false;
};

}  // namespace frazil::ingest
