#pragma once

#include <memory>

#include "frazil/ingest/avro_schema_cache.h"
#include "frazil/ingest/column_filler.h"

namespace frazil::ingest {

/// Confluent-framed Avro. `schemas` is shared by the fillers of a decoder.
std::unique_ptr<ColumnFiller> MakeAvroFiller(std::shared_ptr<AvroSchemaCache> schemas, spec::SchemaId table_schema_id,
                                             std::vector<ColumnBinding> bindings, AvroGrowth growth);

}  // namespace frazil::ingest
