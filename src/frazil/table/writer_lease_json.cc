#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include <nlohmann/json.hpp>

#include "frazil/base/log.h"
#include "frazil/base/uuid.h"
#include "frazil/table/writer_lease.h"

namespace frazil::table {
namespace {

constexpr int64_t kMaxLeaseBytes = 1 << 20;
/// The machines of one store differ a little.
constexpr int64_t kClockSlackMs = 60'000;
constexpr std::chrono::seconds kEndPatience{2};
/// Where old ones cannot be deleted, fewer are made.
constexpr int kSlowerWhereTheyStay = 6;
constexpr char kStartedAt[] = "started-at-ms";

std::string FolderOf(const std::string& table_location) { return table_location + "/_frazil/leases"; }

std::string LeaseText(const std::string& writer, std::optional<int64_t> started_at_ms) {
  nlohmann::json lease = {{"writer", writer}};
  if (started_at_ms) lease[kStartedAt] = *started_at_ms;
  return lease.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// Never later than it was written, whatever it says.
int64_t StartOf(const io::FileIO& io, const io::FileInfo& file) {
  const auto bytes = io.ReadFile(file.path, kMaxLeaseBytes);
  if (!bytes) return 0;
  const nlohmann::json lease = nlohmann::json::parse(AsText(*bytes), nullptr, false);
  if (!lease.is_object()) return 0;
  const auto start = lease.find(kStartedAt);
  return start != lease.end() && start->is_number_integer() ? std::min(start->get<int64_t>(), file.modified_ms) : 0;
}

}  // namespace

/// What beats: a file after another.
struct WriterLease::Heart {
  Heart(std::shared_ptr<io::FileIO> files, std::string in_folder, std::string who)
      : io(std::move(files)), folder(std::move(in_folder)), writer(std::move(who)) {}

  Status Renew();
  void Advance();
  void DeleteOldOnes();
  void Run(std::chrono::milliseconds renew_every);
  void End();
  /// Once: a store that refuses does so every time.
  void Warn(const char* what, const Error& error);

  const std::shared_ptr<io::FileIO> io;
  const std::string folder;
  const std::string writer;
  const std::string id = Uuid::Random().ToString();
  std::mutex renewing;           ///< one heartbeat at a time
  std::string path;              // the newest file; guarded by renewing
  std::vector<std::string> old;  // not deleted yet; guarded by renewing
  int64_t num_beats = 0;         // guarded by renewing
  bool has_warned = false;       // guarded by renewing
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<int64_t> started_at_ms;  // guarded by mutex
  int64_t last_beat_ms = 0;              // by the store's clock, 0: not known; guarded by mutex
  bool has_lapsed = false;               // guarded by mutex
  bool is_ending = false;                // guarded by mutex
  bool has_ended = false;                // guarded by mutex
};

void WriterLease::Heart::Warn(const char* what, const Error& error) {
  if (!std::exchange(has_warned, true)) Log::Warn("a lease of {} {}: {}", writer, what, error.ToString());
}

void WriterLease::Heart::DeleteOldOnes() {
  if (old.empty()) return;
  if (const Status deleted = io->Delete(old); !deleted) {
    Warn("stays for now, it dies in 10 min", deleted.error());
    return;
  }
  old.clear();
}

Status WriterLease::Heart::Renew() {
  const std::lock_guard one_at_a_time(renewing);
  std::optional<int64_t> start;
  {
    const std::lock_guard lock(mutex);
    start = started_at_ms;
  }
  // Files are never written over: the new one comes before the old one goes.
  const std::string next = fmt::format("{}/{}-{}.json", folder, id, num_beats++);
  FRAZIL_TRY(io->WriteFile(next, AsBytes(LeaseText(writer, start))));
  if (!path.empty()) old.push_back(path);
  path = next;
  // The lease holds whatever happens now.
  const auto leases = io->List(folder);
  if (!leases) Warn("cannot be listed", leases.error());
  for (const io::FileInfo& file : leases.value_or(std::vector<io::FileInfo>())) {
    if (!file.path.ends_with(next.substr(folder.size()))) continue;
    const std::lock_guard lock(mutex);
    has_lapsed = has_lapsed || (last_beat_ms != 0 && file.modified_ms - last_beat_ms > kDeadAfterMs / 2);
    last_beat_ms = file.modified_ms;
  }
  DeleteOldOnes();
  return {};
}

void WriterLease::Heart::Advance() {
  const std::lock_guard lock(mutex);
  if (last_beat_ms != 0) started_at_ms = last_beat_ms - kClockSlackMs;
  has_lapsed = false;
}

void WriterLease::Heart::Run(std::chrono::milliseconds renew_every) {
  bool piles_up = false;
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, piles_up ? kSlowerWhereTheyStay * renew_every : renew_every,
                           [this] { return is_ending; })) {
    lock.unlock();
    if (const Status renewed = Renew(); !renewed) {
      Log::Warn("the lease of {} could not be renewed: {}", writer, renewed.error().ToString());
    }
    {
      const std::lock_guard one_at_a_time(renewing);
      piles_up = !old.empty();
    }
    lock.lock();
  }
  lock.unlock();
  End();
  lock.lock();
  has_ended = true;
  changed.notify_all();
}

void WriterLease::Heart::End() {
  const std::lock_guard one_at_a_time(renewing);
  if (!path.empty()) old.push_back(std::exchange(path, ""));
  DeleteOldOnes();
}

Result<std::unique_ptr<WriterLease>> WriterLease::Take(std::shared_ptr<io::FileIO> io,
                                                       const std::string& table_location, std::string writer,
                                                       std::chrono::milliseconds renew_every) {
  std::unique_ptr<WriterLease> lease(new WriterLease(
      table_location, std::make_shared<Heart>(std::move(io), FolderOf(table_location), std::move(writer))));
  // The first one covers everything; when it was written, the store tells, and the second one says.
  FRAZIL_TRY(lease->Renew());
  lease->Advance();
  FRAZIL_TRY(lease->Renew());
  lease->thread_ = std::thread([heart = lease->heart_, renew_every] { heart->Run(renew_every); });
  return lease;
}

WriterLease::~WriterLease() {
  if (!thread_.joinable()) {
    heart_->End();
    return;
  }
  std::unique_lock lock(heart_->mutex);
  heart_->is_ending = true;
  heart_->changed.notify_all();
  const bool has_ended = heart_->changed.wait_for(lock, kEndPatience, [this] { return heart_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
    return;
  }
  Log::Warn("a lease of {} was left behind, it dies in 10 min: the store does not answer", heart_->writer);
  thread_.detach();
}

void WriterLease::Advance() { heart_->Advance(); }

Status WriterLease::Renew() { return heart_->Renew(); }

bool WriterLease::HasLapsed() const {
  const std::lock_guard lock(heart_->mutex);
  return heart_->has_lapsed || heart_->last_beat_ms == 0;
}

Result<std::optional<int64_t>> OldestLeaseStartMs(const io::FileIO& io, const std::string& table_location,
                                                  int64_t store_now_ms) {
  FRAZIL_ASSIGN(const auto leases, io.List(FolderOf(table_location)));
  std::optional<int64_t> oldest;
  for (const io::FileInfo& lease : leases) {
    if (lease.modified_ms < store_now_ms - WriterLease::kDeadAfterMs) continue;
    const int64_t start = StartOf(io, lease);
    oldest = oldest ? std::min(*oldest, start) : start;
  }
  return oldest;
}

}  // namespace frazil::table
