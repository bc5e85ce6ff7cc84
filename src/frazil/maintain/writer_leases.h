#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frazil/io/file_io.h"

namespace frazil::maintain {

/// When the oldest writer that still holds a lease on the table began, by the store's clock; none: nobody does. Leases
/// are files in `<table location>/_frazil/leases/`, written anew every 30 s and dead after 10 min; their JSON may say
/// "started-at-ms". One that does not say began at the beginning of time: nothing is known to be older than its work.
Result<std::optional<int64_t>> OldestLeaseStartMs(const io::FileIO& io, const std::string& table_location,
                                                  int64_t store_now_ms);

}  // namespace frazil::maintain
