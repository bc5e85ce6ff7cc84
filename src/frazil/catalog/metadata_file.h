#pragma once

#include <string>

#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// Reads a metadata.json, gzipped or not (by name and by magic).
Result<spec::TableMetadataPtr> ReadMetadataFile(const io::FileIO& io, const std::string& location);

/// Writes the next metadata file of a table: `<V+1, 5 digits>-<uuid>.metadata.json` (gzip when
/// `write.metadata.compression-codec` says so) in `write.metadata.path` or `<location>/metadata` (spec section 1.6).
/// `previous_location` empty: version 0. Returns its location.
Result<std::string> WriteMetadataFile(io::FileIO& io, const spec::TableMetadata& metadata,
                                      const std::string& previous_location);

/// Checks requirements on `current` and applies `updates`: the part of a commit that every catalog of ours shares.
/// `current` is null for a create. `now_ms` stamps the result. kCommitConflict when a requirement does not hold, or when a
/// branch or tag names a snapshot that is removed and does not go with it.
Result<spec::TableMetadataPtr> ApplyUpdates(const LoadedTable* current,
                                            const std::vector<spec::TableRequirement>& requirements,
                                            const std::vector<spec::TableUpdate>& updates, int64_t now_ms);

}  // namespace frazil::catalog
