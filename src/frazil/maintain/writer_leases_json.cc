#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/maintain/writer_leases.h"

namespace frazil::maintain {
namespace {

constexpr int64_t kDeadAfterMs = int64_t{10} * 60 * 1000;
constexpr int64_t kMaxLeaseBytes = 1 << 20;

int64_t StartOf(const io::FileIO& io, const std::string& path) {
  const auto bytes = io.ReadFile(path, kMaxLeaseBytes);
  if (!bytes) return 0;
  const nlohmann::json lease = nlohmann::json::parse(AsText(*bytes), nullptr, false);
  if (!lease.is_object()) return 0;
  const auto start = lease.find("started-at-ms");
  return start != lease.end() && start->is_number_integer() ? start->get<int64_t>() : 0;
}

}  // namespace

Result<std::optional<int64_t>> OldestLeaseStartMs(const io::FileIO& io, const std::string& table_location,
                                                  int64_t store_now_ms) {
  FRAZIL_ASSIGN(const auto leases, io.List(table_location + "/_frazil/leases"));
  std::optional<int64_t> oldest;
  for (const io::FileInfo& lease : leases) {
    if (lease.modified_ms < store_now_ms - kDeadAfterMs) continue;
    const int64_t start = StartOf(io, lease.path);
    oldest = oldest ? std::min(*oldest, start) : start;
  }
  return oldest;
}

}  // namespace frazil::maintain
