#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/ingest/record_source.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/table_update.h"

namespace frazil::ingest {

/// What became of one record.
enum class Decoded : uint8_t {
  kRow,     ///< one row more in the buffer: an upsert or a tombstone
  kPoison,  ///< cannot be taken; why() says it. No row
  /// Nothing was taken: its schema asks for another table schema than the buffer has. The caller cuts the batch before
  /// this record, evolves the table by wanted_schema(), makes the decoder anew (UseSchema) and offers the record again.
  kNeedsSchema,
};

/// Decodes records into columns of the table: the open change buffer (ingest.md, "Shape"; rules 1, 11, 12).
///
/// Column order and types are the table schema's. Only safe casts: nothing is rounded, cut or guessed. A null value is a
/// tombstone: its key has to give every identifier column (RecordColumns says from which field), else it is poison, as is
/// any null in an identifier column. Columns that a record does not give get their write default, else null.
/// MakeAvroRecordDecoder and MakeJsonRecordDecoder make them. One thread.
class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;

  /// kUnavailable: the schema registry does not answer; nothing was taken, offer the record again.
  /// kResourceExhausted: the buffer holds all it can (2 GiB); nothing was taken, Finish() first.
  virtual Result<Decoded> Decode(const SourceRecord& record) = 0;
  /// Reason of the last kPoison, one line, without the record's place.
  virtual const std::string& why() const = 0;

  /// After kNeedsSchema: what has to change in `table_schema` (add, widen, make optional; spec section 6.4), computed on
  /// whatever the table's schema is by now. Empty: nothing any more. kInvalidArgument naming both schemas when the change
  /// is incompatible (then the record is poison by policy).
  virtual Result<std::vector<spec::TableUpdate>> WantedUpdates(const spec::TableMetadata& metadata) = 0;
  /// Goes on with another table schema; only when the buffer is empty.
  virtual Status UseSchema(spec::SchemaPtr schema) = 0;

  virtual int64_t num_rows() const = 0;
  virtual int64_t buffered_bytes() const = 0;
  /// The rows so far as a batch (its range is the caller's to set), and starts anew.
  virtual Result<ChangeBatch> Finish() = 0;
  /// Ids of the registry's schemas seen so far, key and value, for the marker.
  virtual std::vector<int32_t> key_schema_ids() const = 0;
  virtual std::vector<int32_t> value_schema_ids() const = 0;
};

}  // namespace frazil::ingest
