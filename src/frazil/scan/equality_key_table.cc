#include "frazil/scan/equality_key_table.h"

#include <algorithm>

#include "frazil/base/hash.h"

namespace frazil::scan {
namespace {

constexpr size_t kHeaderBytes = sizeof(int64_t) + sizeof(uint32_t);
constexpr size_t kFirstSlots = 64;

uint64_t HashOf(ByteView key) { return HashKey(key, 0).high; }

ByteView KeyOf(const std::byte* entry) { return {entry + kHeaderBytes, LoadLittle<uint32_t>(entry + sizeof(int64_t))}; }

}  // namespace

std::byte* EqualityKeyTable::EntryAt(uint64_t slot) const {
  const uint64_t address = (slot & ((uint64_t{1} << kAddressBits) - 1)) - 1;
  return chunks_[address >> kOffsetBits].get() + (address & (kChunkBytes - 1));
}

size_t EqualityKeyTable::FindSlot(ByteView key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    if (slots_[i] == 0) return i;
    if (slots_[i] >> kAddressBits == hash >> kAddressBits && std::ranges::equal(KeyOf(EntryAt(slots_[i])), key))
      return i;
  }
}

bool EqualityKeyTable::Deletes(ByteView key, spec::SequenceNumber written_at) const {
  if (num_keys_ == 0) return false;
  const uint64_t slot = slots_[FindSlot(key, HashOf(key))];
  return slot != 0 && LoadLittle<int64_t>(EntryAt(slot)) > written_at.value();
}

void EqualityKeyTable::Insert(ByteView key, spec::SequenceNumber deleted_at) {
  if (static_cast<size_t>(num_keys_) * 3 >= slots_.size() * 2) Grow();
  const uint64_t hash = HashOf(key);
  uint64_t& slot = slots_[FindSlot(key, hash)];
  if (slot == 0) {
    slot = (hash >> kAddressBits << kAddressBits) | AddEntry(key, deleted_at);
    ++num_keys_;
    return;
  }
  const int64_t newest = std::max(deleted_at.value(), LoadLittle<int64_t>(EntryAt(slot)));
  std::memcpy(EntryAt(slot), &newest, sizeof(newest));
}

uint64_t EqualityKeyTable::AddEntry(ByteView key, spec::SequenceNumber deleted_at) {
  const size_t size = kHeaderBytes + key.size();
  size_t offset = kChunkBytes - room_in_last_;
  if (size > room_in_last_) {
    // A key larger than a chunk fills one of its own size.
    const size_t chunk_bytes = std::max(size, kChunkBytes);
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes));
    arena_bytes_ += static_cast<int64_t>(chunk_bytes);
    room_in_last_ = kChunkBytes;
    offset = 0;
  }
  room_in_last_ -= std::min(size, room_in_last_);
  std::byte* entry = chunks_.back().get() + offset;
  const int64_t sequence = deleted_at.value();
  const auto length = static_cast<uint32_t>(key.size());
  std::memcpy(entry, &sequence, sizeof(sequence));
  std::memcpy(entry + sizeof(sequence), &length, sizeof(length));
  std::copy(key.begin(), key.end(), entry + kHeaderBytes);
  return ((uint64_t{chunks_.size()} - 1) << kOffsetBits | offset) + 1;
}

void EqualityKeyTable::Grow() {
  std::vector<uint64_t> old = std::move(slots_);
  slots_.assign(std::max(kFirstSlots, old.size() * 2), 0);
  for (const uint64_t slot : old) {
    if (slot == 0) continue;
    const ByteView key = KeyOf(EntryAt(slot));
    slots_[FindSlot(key, HashOf(key))] = slot;
  }
}

}  // namespace frazil::scan
