#pragma once

#include "frazil/base/result.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::ingest {

/// Whether rows in columns of `written` may be committed to a table whose schema, partitioning or format others changed
/// meanwhile (ingest.md rule 8). A column that was added is read as its default, a dropped one is ignored, a widened one
/// is read by promotion, a renamed one by its id: such files are good. kFenced naming what does not fit: other identifier
/// fields, a column of another type under the same id, a column that must not be null, a partition source that the rows
/// do not have, a format version without vectors. Then the records have to be decoded again.
Status CheckRowsFit(const spec::Schema& written, const spec::TableMetadata& base);

}  // namespace frazil::ingest
