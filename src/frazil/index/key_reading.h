#pragma once

#include <string>

#include "frazil/index/canonical_key.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::index {

/// What the keys of data files depend on that do not have the key columns under their own ids (spec sections 1.11, 6.12):
/// the names that the table's name mapping gives to the identifier fields, and their initial defaults. Readable; where it
/// changes such files are read again, the others keep their entries. (The partition, the third source, never changes.)
std::string KeyReading(const spec::TableMetadata& metadata, const CanonicalKey& key);

}  // namespace frazil::index
