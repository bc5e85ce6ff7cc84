#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "frazil/base/memory_budget.h"

namespace frazil::format {

/// Immutable objects that many readers share, by key; the least recently used go when all take more than `max_bytes`, more
/// than `budget` (may be null) has left for them, or when somebody else needs that room. Who holds one keeps it. Thread-safe;
/// locked only while looking up, never while an object is made or used.
template <typename Key, typename Value>
class SharedLruCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit SharedLruCache(int64_t max_bytes, MemoryBudget* budget = nullptr) : max_bytes_(max_bytes), budget_(budget) {
    if (budget_ == nullptr) return;
    reservation_.emplace(budget_, 0);
    reclaimer_ = budget_->AddReclaimer([this](int64_t bytes) { Reclaim(bytes); });
  }
  ~SharedLruCache() {
    if (budget_ != nullptr) budget_->RemoveReclaimer(reclaimer_);
  }
  SharedLruCache(const SharedLruCache&) = delete;

  /// Null when it is not there.
  Pointer Find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entry_of_.find(key);
    if (found == entry_of_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  /// Keeps `value`, which takes `bytes`, and returns it; in place of what was there under the key.
  Pointer Insert(const Key& key, Pointer value, int64_t bytes) {
    std::list<Entry> dropped;  // freed after the lock
    const std::lock_guard lock(mutex_);
    if (const auto found = entry_of_.find(key); found != entry_of_.end()) Drop(found->second, dropped);
    if (bytes > max_bytes_) return value;
    while (!HasRoomFor(bytes)) {
      if (entries_.empty()) {
        ChargeUsed();
        return value;
      }
      Drop(std::prev(entries_.end()), dropped);
    }
    entries_.push_front({key, value, bytes});
    entry_of_[key] = entries_.begin();
    used_bytes_ += bytes;
    return value;
  }

  int64_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }

 private:
  struct Entry {
    Key key;
    Pointer value;
    int64_t bytes;
  };

  bool HasRoomFor(int64_t bytes) {
    const int64_t wanted = used_bytes_ + bytes;
    return wanted <= max_bytes_ && (!reservation_ || reservation_->TryResize(wanted));
  }

  /// Somebody else needs the room.
  void Reclaim(int64_t bytes) {
    std::list<Entry> dropped;
    const std::lock_guard lock(mutex_);
    const int64_t most = used_bytes_ - bytes;
    while (!entries_.empty() && used_bytes_ > most) Drop(std::prev(entries_.end()), dropped);
    ChargeUsed();
  }

  /// Makes the reservation as small as what is kept.
  void ChargeUsed() {
    if (reservation_) reservation_->TryResize(used_bytes_);
  }

  void Drop(typename std::list<Entry>::iterator entry, std::list<Entry>& dropped) {
    used_bytes_ -= entry->bytes;
    entry_of_.erase(entry->key);
    dropped.splice(dropped.begin(), entries_, entry);
  }

  const int64_t max_bytes_;
  MemoryBudget* const budget_;
  int reclaimer_ = 0;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::map<Key, typename std::list<Entry>::iterator> entry_of_;
  int64_t used_bytes_ = 0;
  std::optional<MemoryBudget::Reservation> reservation_;
};

}  // namespace frazil::format
