#include "frazil/maintain/table_locations.h"

#include <algorithm>
#include <string_view>

#include "frazil/table/row_map.h"
#include "frazil/table/writer_lease.h"

namespace frazil::maintain {
namespace {

/// Takes the location out of a path of `<location><inner><file>`.
void TakeLocation(std::string_view path, std::string_view inner, std::set<std::string>& locations) {
  const size_t file = path.rfind('/');
  if (file == std::string_view::npos) return;
  const std::string_view folder = path.substr(0, file + 1);
  if (folder.size() > inner.size() && folder.ends_with(inner)) {
    locations.emplace(folder.substr(0, folder.size() - inner.size()));
  }
}

}  // namespace

std::set<std::string> LocationsOf(const spec::TableMetadata& metadata) {
  std::set<std::string> locations = {metadata.location};
  for (const spec::MetadataLogEntry& entry : metadata.metadata_log) {
    TakeLocation(entry.metadata_file, "/metadata/", locations);
  }
  for (const spec::Snapshot& snapshot : metadata.snapshots) {
    TakeLocation(snapshot.manifest_list, "/metadata/", locations);
    if (const auto row_map = snapshot.summary.find(table::kRowMapSummaryKey); row_map != snapshot.summary.end()) {
      TakeLocation(row_map->second, "/_frazil/rowmaps/", locations);
    }
  }
  return locations;
}

Result<std::optional<int64_t>> LeasedSinceMs(const io::FileIO& io, const std::set<std::string>& locations,
                                             int64_t store_now_ms) {
  std::optional<int64_t> oldest;
  for (const std::string& location : locations) {
    FRAZIL_ASSIGN(const std::optional<int64_t> start, table::OldestLeaseStartMs(io, location, store_now_ms));
    if (start) oldest = oldest ? std::min(*oldest, *start) : start;
  }
  return oldest;
}

}  // namespace frazil::maintain
