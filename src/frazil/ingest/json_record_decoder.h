#pragma once

#include <memory>

#include "frazil/ingest/record_columns.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

/// Decoder of values that are one JSON object each, by the types of the table (json_value.h says what fits); keys as
/// `columns.key_format` says. JSON brings no schema, so it never asks for another one: members that are no column are
/// ignored. `registry` may be null unless keys are Avro.
/// kInvalidArgument naming the column for a source that cannot fill it.
Result<std::unique_ptr<RecordDecoder>> MakeJsonRecordDecoder(spec::SchemaPtr table_schema, RecordColumns columns,
                                                             std::shared_ptr<SchemaRegistry> registry);

}  // namespace frazil::ingest
