#include "frazil/index/live_deletes.h"

#include <algorithm>

#include "frazil/scan/file_reader.h"

namespace frazil::index {
namespace {

constexpr int64_t kSlotBytes = 400;  ///< key, list node, map node

}  // namespace

LiveDeletes::LiveDeletes(int64_t max_bytes, MemoryBudget* budget) : max_bytes_(max_bytes), budget_(budget) {}

/// About what roaring takes, two bytes a position, at most 8 KiB per 65,536 rows.
int64_t LiveDeletes::BytesOf(const format::DeletionVector& positions) {
  if (positions.empty()) return 0;
  const int64_t containers = positions.Max().value() / 65'536 + 1;
  return std::min(2 * positions.cardinality(), 8192 * containers) + 16 * std::min(containers, positions.cardinality());
}

spec::DeleteFileId LiveDeletes::IdOf(const table::ApplicableDeletes& deletes) {
  if (deletes.vector != nullptr) return spec::IdOf(deletes.vector->file);
  std::vector<std::string> paths;
  for (const table::LiveDelete* file : deletes.position_deletes) paths.push_back(file->file.file_path);
  std::sort(paths.begin(), paths.end());
  spec::DeleteFileId id;
  for (const std::string& path : paths) id.path += path + '\n';
  return id;
}

Result<LiveDeletes::Positions> LiveDeletes::Get(const std::shared_ptr<io::FileIO>& io,
                                                const table::FileScanTask& task) {
  const spec::DeleteFileId id = IdOf(task.deletes);
  const std::string& path = task.data_file.file.file_path;
  if (id.path.empty()) return nullptr;
  if (Positions cached = FindCached(path, id)) return cached;
  FRAZIL_ASSIGN(format::DeletionVector positions,
                table::ReadPositions(*io, task.data_file, task.deletes, scan::ReadPositionDeletes(io)));
  return Insert(path, id, std::move(positions));
}

Result<LiveDeletes::Positions> LiveDeletes::GetByIdentity(const std::shared_ptr<io::FileIO>& io,
                                                          const IndexedFile& file, const spec::DeleteFileId& id) {
  if (id.path.empty()) return nullptr;
  if (Positions cached = FindCached(file.path, id)) return cached;
  format::DeletionVector positions;
  if (id.content_offset && id.content_size_in_bytes) {
    // The plan that held the entry is gone; path, offset and length were checked then, and the blob has its own checksum.
    FRAZIL_ASSIGN(const std::unique_ptr<io::InputFile> puffin, io->Open(id.path));
    if (*id.content_offset < 0 || *id.content_size_in_bytes < 0 ||
        *id.content_offset > puffin->size_bytes() - *id.content_size_in_bytes) {
      return Fail(ErrorCode::kCorruptData, "no deletion vector at {}: {}", *id.content_offset, id.path);
    }
    Bytes blob(static_cast<size_t>(*id.content_size_in_bytes));
    FRAZIL_TRY(puffin->ReadAt(*id.content_offset, blob));
    FRAZIL_ASSIGN(positions, format::DeletionVector::Decode(blob));
  } else {
    table::LiveDataFile data_file;
    data_file.file.file_path = file.path;
    data_file.file.record_count = file.record_count;
    std::vector<table::LiveDelete> files;
    for (size_t begin = 0; begin < id.path.size();) {
      const size_t end = std::min(id.path.find('\n', begin), id.path.size());
      table::LiveDelete& position_delete = files.emplace_back();
      position_delete.file.content = spec::FileContent::kPositionDeletes;
      position_delete.file.file_path = id.path.substr(begin, end - begin);
      begin = end + 1;
    }
    table::ApplicableDeletes deletes;
    for (const table::LiveDelete& position_delete : files) deletes.position_deletes.push_back(&position_delete);
    FRAZIL_ASSIGN(positions, table::ReadPositions(*io, data_file, deletes, scan::ReadPositionDeletes(io)));
  }
  return Insert(file.path, id, std::move(positions));
}

std::string LiveDeletes::KeyOf(const std::string& path, const spec::DeleteFileId& id) {
  return fmt::format("{}\n{}\n{}", path, id.content_offset.value_or(-1), id.path);
}

LiveDeletes::Positions LiveDeletes::FindCached(const std::string& path, const spec::DeleteFileId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(KeyOf(path, id));
  if (found == by_key_.end()) return nullptr;
  slots_.splice(slots_.begin(), slots_, found->second);
  return found->second->positions;
}

LiveDeletes::Bits LiveDeletes::FindBits(const std::string& path, const spec::DeleteFileId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(KeyOf(path, id));
  return found == by_key_.end() ? nullptr : found->second->bits;
}

LiveDeletes::Bits LiveDeletes::LayOut(const std::string& path, const spec::DeleteFileId& id,
                                      const format::DeletionVector& positions) {
  if (Bits bits = FindBits(path, id)) return bits;
  const int64_t bytes = positions.empty() ? 0 : positions.Max().value() / 8;
  auto charged = std::make_shared<Charged<std::vector<uint64_t>>>();
  {
    const std::lock_guard lock(mutex_);
    auto room = Reserve(bytes);
    if (!room) return nullptr;
    charged->room = *std::move(room);
  }
  charged->value = positions.ToBits();
  const std::vector<uint64_t>* value = &charged->value;
  const Bits bits(std::move(charged), value);
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(KeyOf(path, id));
  if (found != by_key_.end()) {
    found->second->bits = bits;
    found->second->bytes += bytes;
    bytes_ += bytes;
  }
  return bits;
}

LiveDeletes::Positions LiveDeletes::Insert(const std::string& path, const spec::DeleteFileId& id,
                                           format::DeletionVector positions) {
  const int64_t bytes = BytesOf(positions) + kSlotBytes + static_cast<int64_t>(id.path.size() + path.size());
  auto charged = std::make_shared<Charged<format::DeletionVector>>();
  charged->value = std::move(positions);
  const format::DeletionVector* value = &charged->value;
  const std::lock_guard lock(mutex_);
  auto room = Reserve(bytes);
  if (room) {
    charged->room = *std::move(room);
  } else {
    ++num_refused_;
  }
  const bool is_charged = room.has_value();
  const Positions shared(std::move(charged), value);
  std::string key = KeyOf(path, id);
  if (!is_charged || bytes > max_bytes_ || by_key_.contains(key)) return shared;  // or another thread was faster
  while (bytes_ + bytes > max_bytes_) DropOldest();
  slots_.push_front({.key = key, .positions = shared, .bits = nullptr, .bytes = bytes});
  by_key_.emplace(std::move(key), slots_.begin());
  bytes_ += bytes;
  return shared;
}

std::optional<MemoryBudget::Reservation> LiveDeletes::Reserve(int64_t bytes) {
  if (budget_ == nullptr) return MemoryBudget::Reservation();
  for (;;) {
    if (auto room = budget_->Reserve(bytes, "deletion vectors")) return *std::move(room);
    if (slots_.empty()) return std::nullopt;
    DropOldest();
  }
}

void LiveDeletes::DropOldest() {
  bytes_ -= slots_.back().bytes;
  by_key_.erase(slots_.back().key);
  slots_.pop_back();
}

int64_t LiveDeletes::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace frazil::index
