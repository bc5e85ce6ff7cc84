#pragma once

#include <functional>

#include "frazil/base/result.h"
#include "frazil/index/canonical_key.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::index {

/// Reads the keys of an equality delete file on the identifier fields, batch by batch: `take` gets the position of a batch's
/// first row and its hashes. A null deletes rows without a key. `schema`: the table's, whose columns `key` is of.
/// As scans read it: Parquet or Avro, by the table's name mapping where it has no field ids. kInvalidTable when the file lacks
/// one of the columns; else the errors of scan::OpenRowSource.
Status ReadEqualityDeleteKeys(
    const io::FileIO& io, const spec::TableMetadata& metadata, const spec::Schema& schema, const CanonicalKey& key,
    const spec::DataFile& file,
    const std::function<Status(int64_t first_row, const CanonicalKey::NullableHashes& keys)>& take);

}  // namespace frazil::index
