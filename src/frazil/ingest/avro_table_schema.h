#pragma once

#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/format/avro_schema.h"
#include "frazil/ingest/record_columns.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {

/// The schema of a table that is made for a topic (`create-if-missing`): the value's fields in their order, renamed as
/// `columns` says, then the columns that come from elsewhere by name. `key` is the key's schema, null when keys are not
/// Avro. Identifier fields are required, whatever Avro says.
///
/// kInvalidArgument naming an identifier field or a source that neither has; kNotSupported naming a field without an Iceberg
/// type.
Result<spec::SchemaPtr> TableSchemaFor(const format::AvroNode& value, const format::AvroNode* key,
                                       const RecordColumns& columns, const std::vector<std::string>& identifier_fields);

}  // namespace frazil::ingest
