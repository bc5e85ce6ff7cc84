#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "frazil/base/log.h"
#include "frazil/base/uuid.h"
#include "frazil/table/writer_lease.h"

namespace frazil::table {
namespace {

constexpr int64_t kMaxLeaseBytes = 1 << 20;
/// The machines of one store differ a little.
constexpr int64_t kClockSlackMs = 60'000;
constexpr char kStartedAt[] = "started-at-ms";

std::string FolderOf(const std::string& table_location) { return table_location + "/_frazil/leases"; }

std::string LeaseText(const std::string& writer, std::optional<int64_t> started_at_ms) {
  nlohmann::json lease = {{"writer", writer}};
  if (started_at_ms) lease[kStartedAt] = *started_at_ms;
  return lease.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int64_t StartOf(const io::FileIO& io, const std::string& path) {
  const auto bytes = io.ReadFile(path, kMaxLeaseBytes);
  if (!bytes) return 0;
  const nlohmann::json lease = nlohmann::json::parse(AsText(*bytes), nullptr, false);
  if (!lease.is_object()) return 0;
  const auto start = lease.find(kStartedAt);
  return start != lease.end() && start->is_number_integer() ? start->get<int64_t>() : 0;
}

}  // namespace

WriterLease::WriterLease(std::shared_ptr<io::FileIO> io, std::string folder, std::string writer)
    : io_(std::move(io)), folder_(std::move(folder)), writer_(std::move(writer)), id_(Uuid::Random().ToString()) {}

Result<std::unique_ptr<WriterLease>> WriterLease::Take(std::shared_ptr<io::FileIO> io,
                                                       const std::string& table_location, std::string writer) {
  std::unique_ptr<WriterLease> lease(new WriterLease(std::move(io), FolderOf(table_location), std::move(writer)));
  // The first one covers everything; when it was written, the store tells, and the second one says.
  FRAZIL_TRY(lease->Renew());
  lease->Advance();
  FRAZIL_TRY(lease->Renew());
  lease->thread_ = std::thread([self = lease.get()] { self->Beat(); });
  return lease;
}

WriterLease::~WriterLease() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (path_.empty()) return;
  if (const Status deleted = io_->Delete({path_}); !deleted) {
    Log::Warn("a lease was left behind, it dies in 10 min: {}", deleted.error().ToString());
  }
}

void WriterLease::Beat() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::milliseconds(kRenewEveryMs), [this] { return is_ending_; })) {
    lock.unlock();
    if (const Status renewed = Renew(); !renewed) {
      Log::Warn("the lease of {} could not be renewed: {}", writer_, renewed.error().ToString());
    }
    lock.lock();
  }
}

void WriterLease::Advance() {
  const std::lock_guard lock(mutex_);
  started_at_ms_ = last_beat_ms_ - kClockSlackMs;
}

Status WriterLease::Renew() {
  const std::lock_guard renewing(renew_mutex_);
  std::optional<int64_t> started_at_ms;
  {
    const std::lock_guard lock(mutex_);
    started_at_ms = started_at_ms_;
  }
  // Files are never written over: the new one comes before the old one goes.
  const std::string path = fmt::format("{}/{}-{}.json", folder_, id_, num_beats_++);
  FRAZIL_TRY(io_->WriteFile(path, AsBytes(LeaseText(writer_, started_at_ms))));
  const std::string replaced = std::exchange(path_, path);
  FRAZIL_ASSIGN(const auto leases, io_->List(folder_));
  const auto own = std::find_if(leases.begin(), leases.end(), [&](const io::FileInfo& file) {
    return file.path.ends_with(path.substr(folder_.size()));
  });
  if (own != leases.end()) {
    const std::lock_guard lock(mutex_);
    last_beat_ms_ = own->modified_ms;
  }
  return replaced.empty() ? Status() : io_->Delete({replaced});
}

Result<std::optional<int64_t>> OldestLeaseStartMs(const io::FileIO& io, const std::string& table_location,
                                                  int64_t store_now_ms) {
  FRAZIL_ASSIGN(const auto leases, io.List(FolderOf(table_location)));
  std::optional<int64_t> oldest;
  for (const io::FileInfo& lease : leases) {
    if (lease.modified_ms < store_now_ms - WriterLease::kDeadAfterMs) continue;
    const int64_t start = StartOf(io, lease.path);
    oldest = oldest ? std::min(*oldest, start) : start;
  }
  return oldest;
}

}  // namespace frazil::table
