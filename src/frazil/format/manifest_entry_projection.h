#pragma once

#include <optional>
#include <vector>

#include "frazil/format/avro_projection.h"
#include "frazil/spec/manifest.h"

namespace frazil::format {

/// How entries are read out of a manifest of one partition spec (spec sections 3.3, 3.4). `partition_types`: one for each
/// field of the spec; none where the type is not known any more, then values stay as written.
Result<AvroProjection<spec::ManifestEntry>> ProjectManifestEntry(
    const AvroNode& schema, const spec::PartitionSpec& partition_spec,
    const std::vector<std::optional<spec::Type>>& partition_types);

}  // namespace frazil::format
