#pragma once

#include <memory>

#include "frazil/ingest/record_columns.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

/// Decoder of values in Confluent-framed Avro (a zero byte, the big-endian schema id, Avro binary); keys as
/// `columns.key_format` says.
///
/// A writer's schema is taken from the registry once and compiled against the table's into a plan that fills the columns;
/// records of several ids may be interleaved. One that asks for more than the table has (a field that is no column, a
/// wider type, null in a required column) is answered with kNeedsSchema (ingest.md rule 11). Poison: another framing, an
/// id that the registry does not know, an incompatible schema, bytes that the schema does not explain to the last one,
/// text that is not UTF-8.
///
/// Avro to Iceberg types: decisions.md; what has no place there is poison that names the field. `timestamp-millis/micros`
/// also fill a `timestamp` without zone in UTC, as Flink's tables have them.
/// kInvalidArgument naming the column for a source that cannot fill it. `registry` must not be null.
Result<std::unique_ptr<RecordDecoder>> MakeAvroRecordDecoder(spec::SchemaPtr table_schema, RecordColumns columns,
                                                             std::shared_ptr<SchemaRegistry> registry);

}  // namespace frazil::ingest
