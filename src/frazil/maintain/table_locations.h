#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "frazil/table/table.h"

namespace frazil::maintain {

/// Where a table lies and, as far as its metadata log, manifest lists and row maps tell by their paths, where it lay before
/// `SET LOCATION`: writers that began there hold their leases there, and left what only we delete.
std::set<std::string> LocationsOf(const spec::TableMetadata& metadata);

/// When the oldest writer began that holds a lease in one of these locations, by the store's clock; none: nobody holds one.
Result<std::optional<int64_t>> LeasedSinceMs(const io::FileIO& io, const std::set<std::string>& locations,
                                             int64_t store_now_ms);

}  // namespace frazil::maintain
