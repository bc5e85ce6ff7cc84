#include "frazil/index/file_dictionary.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace frazil::index {

FileState& FileDictionary::Slot(FileNumber number) {
  const size_t chunk = number / kChunkFiles;
  if (was_copied_.exchange(false)) is_own_.clear();
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  if (is_own_.size() < chunks_.size()) is_own_.resize(chunks_.size());
  if (!is_own_[chunk]) {
    chunks_[chunk] = chunks_[chunk] == nullptr ? std::make_shared<Chunk>() : std::make_shared<Chunk>(*chunks_[chunk]);
    is_own_[chunk] = true;
  }
  return (*chunks_[chunk])[number % kChunkFiles];
}

Result<FileNumber> FileDictionary::Add(IndexedFile file, spec::DeleteFileId deletes_id) {
  if (next_number_ == std::numeric_limits<FileNumber>::max()) {
    return tl::unexpected(Error(ErrorCode::kResourceExhausted, "the index has given out all of its 2^32 file numbers")
                              .WithHint("delete the index's folder; it is built again"));
  }
  const FileNumber number = next_number_++;
  file.number = number;
  Slot(number) = {.file = std::make_shared<const IndexedFile>(std::move(file)),
                  .is_live = true,
                  .deletes_id = std::move(deletes_id),
                  .forwarding = nullptr};
  return number;
}

void FileDictionary::Set(FileState state) {
  const FileNumber number = state.file->number;
  Slot(number) = std::move(state);
  next_number_ = std::max(next_number_, number + 1);
}

void FileDictionary::SetWithoutOwnKeys(FileNumber number) {
  std::shared_ptr<const IndexedFile>& file = Slot(number).file;
  IndexedFile changed = *file;
  changed.has_own_keys = false;
  file = std::make_shared<const IndexedFile>(std::move(changed));
}

void FileDictionary::SetDeletes(FileNumber number, spec::DeleteFileId deletes_id) {
  Slot(number).deletes_id = std::move(deletes_id);
}

void FileDictionary::SetGone(FileNumber number, std::shared_ptr<const Forwarding> forwarding) {
  if (forwarding == nullptr) return Forget(number);
  FileState& state = Slot(number);
  state.is_live = false;
  state.deletes_id = {};
  state.forwarding = std::move(forwarding);
}

void FileDictionary::Forget(FileNumber number) {
  if (Find(number) == nullptr) return;
  Slot(number) = FileState();
  const size_t chunk = number / kChunkFiles;
  const auto is_free = [](const FileState& state) { return state.file == nullptr; };
  if (std::all_of(chunks_[chunk]->begin(), chunks_[chunk]->end(), is_free)) {
    chunks_[chunk] = nullptr;
    is_own_[chunk] = false;
  }
}

void FileDictionary::ForgetUnneeded(const std::vector<FileNumber>& named) {
  std::unordered_set<FileNumber> needed;
  std::vector<FileNumber> open;
  const auto need = [&](FileNumber number) {
    const FileState* state = Find(number);
    if (state != nullptr && !state->is_live && needed.insert(number).second) open.push_back(number);
  };
  for (const FileNumber number : named) need(number);
  while (!open.empty()) {
    const FileState& state = *Find(open.back());
    open.pop_back();
    if (state.forwarding == nullptr) continue;
    for (const std::optional<FileNumber>& output : state.forwarding->outputs) {
      if (output) need(*output);
    }
  }
  std::vector<FileNumber> unneeded;
  ForEach([&](const FileState& state) {
    if (!state.is_live && !needed.contains(state.file->number)) unneeded.push_back(state.file->number);
  });
  for (const FileNumber number : unneeded) Forget(number);
}

int64_t FileDictionary::size() const {
  int64_t count = 0;
  ForEach([&](const FileState&) { ++count; });
  return count;
}

void FileDictionary::ForEach(const std::function<void(const FileState&)>& visit) const {
  for (const std::shared_ptr<Chunk>& chunk : chunks_) {
    if (chunk == nullptr) continue;
    for (const FileState& state : *chunk) {
      if (state.file != nullptr) visit(state);
    }
  }
}

}  // namespace frazil::index
