#include "frazil/scan/equality_key_table.h"

#include <algorithm>
#include <limits>

#include "frazil/base/uuid.h"

namespace frazil::scan {
namespace {

constexpr size_t kFirstSlots = 8;

}  // namespace

EqualityKeyTable::EqualityKeyTable()
    : seed_(static_cast<uint64_t>(RandomSnapshotNumber())), sequences_{std::numeric_limits<int64_t>::min()} {}

/// The slot of the hash or the free one where it belongs.
size_t EqualityKeyTable::SlotOf(const std::vector<EqualityKeyEntry>& slots, const Hash96& hash) {
  // The upper byte is the shard's, so the bits below it spread over the slots; any number of them.
  const auto spread = static_cast<unsigned __int128>(hash.high << 8);
  for (auto i = static_cast<size_t>(spread * slots.size() >> 64);; i = i + 1 == slots.size() ? 0 : i + 1) {
    if (slots[i].sequence == 0 || slots[i].hash() == hash) return i;
  }
}

uint32_t EqualityKeyTable::OrdinalOf(spec::SequenceNumber sequence) {
  const auto [found, is_new] = ordinals_.try_emplace(sequence.value(), static_cast<uint32_t>(sequences_.size()));
  if (is_new) sequences_.push_back(sequence.value());
  return found->second;
}

void EqualityKeyTable::Grow(Shard& shard) {
  std::vector<EqualityKeyEntry> old = std::move(shard.slots);
  shard.slots.assign(std::max(kFirstSlots, old.size() + old.size() / 2), {});
  table_bytes_ += static_cast<int64_t>((shard.slots.size() - old.size()) * sizeof(EqualityKeyEntry));
  for (const EqualityKeyEntry& entry : old) {
    if (entry.sequence != 0) shard.slots[SlotOf(shard.slots, entry.hash())] = entry;
  }
}

void EqualityKeyTable::Insert(ByteView key, spec::SequenceNumber deleted_at) {
  const Hash96 hash = HashKey(key, seed_);
  const uint32_t sequence = OrdinalOf(deleted_at);
  Shard& shard = shards_[hash.high >> 56];
  if (shard.num_used * 8 >= shard.slots.size() * 7) Grow(shard);
  EqualityKeyEntry& slot = shard.slots[SlotOf(shard.slots, hash)];
  if (slot.sequence != 0) {
    slot.sequence = Newer(slot.sequence, sequence);
    return;
  }
  slot = {hash.high, hash.low, sequence};
  ++shard.num_used;
  ++num_in_memory_;
}

bool EqualityKeyTable::Deletes(ByteView key, spec::SequenceNumber written_at) const {
  if (num_keys() == 0) return false;
  const Hash96 hash = HashKey(key, seed_);
  const Shard& shard = shards_[hash.high >> 56];
  if (shard.num_used > 0) {
    const EqualityKeyEntry& slot = shard.slots[SlotOf(shard.slots, hash)];
    if (slot.sequence != 0 && sequences_[slot.sequence] > written_at.value()) return true;
  }
  if (run_ == nullptr) return false;
  const EqualityKeyEntry* entry = run_->Find(hash);
  return entry != nullptr && sequences_[entry->sequence] > written_at.value();
}

Status EqualityKeyTable::Spill(const std::string& directory) {
  FRAZIL_ASSIGN(EqualityKeyRun::Writer writer, EqualityKeyRun::Writer::Make(directory));
  const EqualityKeyEntry* old = run_ == nullptr ? nullptr : run_->begin();
  const EqualityKeyEntry* const old_end = run_ == nullptr ? nullptr : run_->end();
  for (Shard& shard : shards_) {  // in the order of the hashes
    std::vector<EqualityKeyEntry> entries = std::move(shard.slots);
    shard = {};
    std::erase_if(entries, [](const EqualityKeyEntry& entry) { return entry.sequence == 0; });
    std::ranges::sort(entries, {}, &EqualityKeyEntry::hash);
    for (EqualityKeyEntry entry : entries) {
      for (; old != old_end && old->hash() < entry.hash(); ++old) FRAZIL_TRY(writer.Add(*old));
      if (old != old_end && old->hash() == entry.hash()) {
        entry.sequence = Newer(entry.sequence, old->sequence);
        ++old;
      }
      FRAZIL_TRY(writer.Add(entry));
    }
  }
  for (; old != old_end; ++old) FRAZIL_TRY(writer.Add(*old));
  FRAZIL_ASSIGN(run_, writer.Finish());
  num_in_memory_ = 0;
  table_bytes_ = 0;
  return {};
}

}  // namespace frazil::scan
