#pragma once

#include <vector>

#include "frazil/table/manifest_cache.h"
#include "frazil/table/manifest_sink.h"

namespace frazil::table {

/// Merges small manifests of one content (spec section 3.9, step 7) as Java does: by spec, packed from the oldest on to
/// `commit.manifest.target-size-bytes`; the bin with the newest manifest waits until it holds
/// `commit.manifest.min-count-to-merge`. Row ids, sequence numbers and snapshot ids of files do not change.
/// `rows`: newest first. Adds the number of base manifests that were merged away to `num_replaced`.
Result<std::vector<spec::ManifestFile>> MergeManifests(ManifestCache& cache, ManifestSink& sink,
                                                       const spec::TableMetadata& metadata,
                                                       spec::SequenceNumber commit_sequence,
                                                       const std::vector<spec::ManifestFile>& rows,
                                                       int64_t& num_replaced);

}  // namespace frazil::table
