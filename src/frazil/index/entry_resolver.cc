#include "frazil/index/entry_resolver.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace frazil::index {

Result<EntryResolver::Place> EntryResolver::Resolve(FileNumber number, uint32_t position, int64_t row_id) {
  Place place;
  File* file = Locate(number, position, row_id, place);
  if (file == nullptr || !file->has_deletes) return place;
  FRAZIL_ASSIGN(const bool is_deleted, IsDeleted(*file, place.position));
  if (is_deleted) place.file = nullptr;
  return place;
}

Status EntryResolver::Resolve(std::span<const ProbeHit> hits, std::vector<Place>& places) {
  return ResolveAll(hits, places);
}
Status EntryResolver::Resolve(std::span<const Entry> entries, std::vector<Place>& places) {
  return ResolveAll(entries, places);
}

template <typename EntryOrHit>
Status EntryResolver::ResolveAll(std::span<const EntryOrHit> entries, std::vector<Place>& places) {
  places.resize(entries.size());
  files_.resize(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const EntryOrHit& entry = entries[i];
    File* file = Locate(entry.file, entry.position, entry.row_id, places[i]);
    files_[i] = file != nullptr && file->has_deletes ? file : nullptr;
    // The bits of all entries come from memory together.
    if (files_[i] != nullptr && places[i].position < file->num_bits) {
      __builtin_prefetch(file->bits->data() + places[i].position / 64);
    }
  }
  const auto look = [&](size_t i) -> Status {
    if (files_[i] == nullptr) return {};
    FRAZIL_ASSIGN(const bool is_deleted, IsDeleted(*files_[i], places[i].position));
    if (is_deleted) places[i].file = nullptr;
    return {};
  };
  size_t next = 0;
  for (; next < entries.size() && !is_tight_; ++next) FRAZIL_TRY(look(next));
  if (next == entries.size()) return {};
  order_.resize(entries.size() - next);
  std::iota(order_.begin(), order_.end(), static_cast<uint32_t>(next));
  std::stable_sort(order_.begin(), order_.end(),
                   [&](uint32_t left, uint32_t right) { return std::less<>()(files_[left], files_[right]); });
  for (const uint32_t i : order_) FRAZIL_TRY(look(i));
  return {};
}

EntryResolver::File& EntryResolver::FillIn(FileNumber number) {
  const size_t block = number / kFilesOfBlock;
  if (block >= blocks_.size()) blocks_.resize(block + 1);
  if (blocks_[block] == nullptr) blocks_[block] = std::make_unique<Block>();
  File& file = (*blocks_[block])[number % kFilesOfBlock];
  file.is_known = true;
  file.state = version_.dictionary.Find(number);
  if (file.state == nullptr) return file;
  file.file = file.state->file.get();
  file.is_live = file.state->is_live;
  file.has_deletes = file.is_live && !file.state->deletes_id.path.empty();
  if (file.file->first_row_id) file.first_row_id = file.file->first_row_id->value();
  return file;
}

EntryResolver::File* EntryResolver::Locate(FileNumber number, uint32_t position, int64_t row_id, Place& place) {
  File* file = &FileOf(number);
  place.file = nullptr;
  place.position = position;
  // A rewrite keeps row ids, so the file that the entry names decides, not the one where the row lies today.
  if (file->first_row_id == kNoRowId) {
    place.row_id = kNoRowId;
  } else {
    place.row_id = row_id != kDerivedRowId ? row_id : file->first_row_id + int64_t{position};
  }
  while (!file->is_live) {
    const Forwarding* forwarding = file->state == nullptr ? nullptr : file->state->forwarding.get();
    if (forwarding == nullptr) return nullptr;
    const auto target = forwarding->row_map->Find(forwarding->source, spec::RowPosition(place.position));
    if (!target || target->output >= forwarding->outputs.size()) return nullptr;
    const std::optional<FileNumber> next = forwarding->outputs[target->output];
    // Outputs are always younger than their sources; anything else would be a circle.
    if (!next || *next <= file->file->number) return nullptr;
    file = &FileOf(*next);
    place.position = static_cast<uint32_t>(target->position.value());
  }
  place.file = file->file;
  return file;
}

Result<bool> EntryResolver::IsDeleted(File& file, uint32_t position) {
  if (position < file.num_bits) [[likely]]
    return ((*file.bits)[position / 64] >> (position % 64) & 1) != 0;
  if (!file.is_read) {
    FRAZIL_TRY(ReadDeletes(file));
    return IsDeleted(file, position);
  }
  if (file.deleted == nullptr || file.bits != nullptr) return false;
  if (--file.asks_left == 0) LayOut(file);
  return file.deleted->Contains(spec::RowPosition(position));
}

Status EntryResolver::ReadDeletes(File& file) {
  // To copy what the vector holds, and to make room for bits, costs a small part of a search.
  constexpr int64_t kFewAsks = 4;
  constexpr int64_t kBytesAnAsk = 256;
  constexpr int64_t kRowsAnAsk = 8192;
  file.is_read = true;
  if (held_bytes_ >= max_vector_bytes_) return {};
  constexpr int64_t kAlwaysHeldBytes = int64_t{4} << 20;
  if (is_tight_ && held_bytes_ > kAlwaysHeldBytes) DropVectors();
  const int64_t num_refused = version_.deletes->num_refused();
  FRAZIL_ASSIGN(file.deleted, version_.DeletedIn(*file.state));
  is_tight_ |= version_.deletes->num_refused() != num_refused;
  if (file.deleted == nullptr || file.deleted->empty()) {
    file.deleted = nullptr;
    return {};
  }
  held_.push_back(&file);
  const int64_t bytes = LiveDeletes::BytesOf(*file.deleted);
  held_bytes_ += bytes;
  file.asks_left = kFewAsks + bytes / kBytesAnAsk + file.deleted->Max().value() / kRowsAnAsk;
  UseBits(file, version_.deletes->FindBits(file.file->path, file.state->deletes_id));
  return {};
}

void EntryResolver::DropVectors() {
  for (File* file : held_) {
    file->is_read = false;
    file->deleted = nullptr;
    file->bits = nullptr;
    file->num_bits = 0;
  }
  held_.clear();
  held_bytes_ = 0;
}

void EntryResolver::LayOut(File& file) {
  const int64_t bytes = file.deleted->Max().value() / 8;
  if (is_tight_ || bytes > bit_bytes_left_) return;
  bit_bytes_left_ -= bytes;
  UseBits(file, version_.deletes->LayOut(file.file->path, file.state->deletes_id, *file.deleted));
}

void EntryResolver::UseBits(File& file, LiveDeletes::Bits bits) {
  if (bits == nullptr) return;
  file.num_bits = bits->size() * 64;
  file.bits = std::move(bits);
}

}  // namespace frazil::index
