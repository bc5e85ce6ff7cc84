#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frazil/index/indexed_file.h"
#include "frazil/table/row_map.h"

namespace frazil::index {

/// Where the rows of a file that is gone went (ingest.md, "Forwarding"). Immutable.
struct Forwarding {
  std::shared_ptr<const table::RowMap> row_map;
  std::string file_name;  ///< of the local copy in the index's folder; empty: in memory only
  uint32_t source = 0;    ///< which source of the row map the file was
  /// By output of the row map: its number; none: an output whose rows are found without this row map.
  std::vector<std::optional<FileNumber>> outputs;
};

/// What one version of the index says about a number.
struct FileState {
  std::shared_ptr<const IndexedFile> file;
  bool is_live = false;
  spec::DeleteFileId deletes_id;                 ///< LiveDeletes::IdOf at the version's snapshot
  std::shared_ptr<const Forwarding> forwarding;  ///< only of files that are gone
};

/// File numbers to file states. A number that is not there belongs to a file that is gone for good: entries that name it
/// are dead. Copying costs one pointer per 64 files, and copies share what neither changed. Numbers only grow.
/// Thread-safe while nobody changes it.
class FileDictionary {
 public:
  FileDictionary() = default;
  FileDictionary(const FileDictionary& other) : chunks_(other.chunks_), next_number_(other.next_number_) {
    other.was_copied_.store(true, std::memory_order_relaxed);
  }
  FileDictionary(FileDictionary&& other) noexcept { *this = std::move(other); }
  FileDictionary& operator=(const FileDictionary& other) { return *this = FileDictionary(other); }
  FileDictionary& operator=(FileDictionary&& other) noexcept {
    chunks_.swap(other.chunks_);
    is_own_.swap(other.is_own_);
    std::swap(next_number_, other.next_number_);
    was_copied_ = other.was_copied_.exchange(was_copied_);
    return *this;
  }

  /// Null: gone for good. Valid until the dictionary changes or goes.
  const FileState* Find(FileNumber number) const {
    const size_t chunk = number / kChunkFiles;
    if (chunk >= chunks_.size() || chunks_[chunk] == nullptr) return nullptr;
    const FileState& state = (*chunks_[chunk])[number % kChunkFiles];
    return state.file == nullptr ? nullptr : &state;
  }

  /// Gives `file` the next number. kResourceExhausted after 2^32 files.
  Result<FileNumber> Add(IndexedFile file, spec::DeleteFileId deletes_id);
  /// Takes over a state of a manifest; its file's number decides where.
  void Set(FileState state);
  /// Says of a file that it does not have the key columns itself.
  void SetWithoutOwnKeys(FileNumber number);
  void SetDeletes(FileNumber number, spec::DeleteFileId deletes_id);
  /// The file is not live any more; without forwarding its number is forgotten.
  void SetGone(FileNumber number, std::shared_ptr<const Forwarding> forwarding);
  void Forget(FileNumber number);

  /// Forgets the row maps that no entry needs: those of numbers that neither `named` (by runs) holds nor a row map leads to
  /// from there.
  void ForgetUnneeded(const std::vector<FileNumber>& named);

  FileNumber next_number() const { return next_number_; }
  void set_next_number(FileNumber next) { next_number_ = next; }
  int64_t size() const;
  void ForEach(const std::function<void(const FileState&)>& visit) const;

 private:
  static constexpr size_t kChunkFiles = 64;
  using Chunk = std::array<FileState, kChunkFiles>;

  FileState& Slot(FileNumber number);

  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::vector<bool> is_own_;                      ///< chunks that no other dictionary shared when this was last changed
  mutable std::atomic<bool> was_copied_ = false;  ///< since then
  FileNumber next_number_ = 0;
};

}  // namespace frazil::index
