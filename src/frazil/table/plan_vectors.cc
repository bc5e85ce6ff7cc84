#include "frazil/table/plan_vectors.h"

#include "frazil/table/vector_reader.h"

namespace frazil::table {
namespace {

/// Of larger Puffins only what is asked for is read: little is gained for them by reading the footer once.
constexpr int64_t kMaxBytesReadAhead = int64_t{1} << 20;

int64_t RowsOf(const FileScanTask& task) { return task.data_file.file.record_count; }

Result<VectorCache::Pointer> ReadOne(VectorReader& reader, const FileScanTask& task) {
  FRAZIL_ASSIGN(VectorReader::Vector vector, reader.Read(task.deletes.vector->file, RowsOf(task)));
  return std::make_shared<const format::DeletionVector>(std::move(vector.positions));
}

}  // namespace

PlanVectors::PlanVectors(std::shared_ptr<io::FileIO> io, const ScanPlan& plan, std::shared_ptr<VectorCache> cache)
    : io_(std::move(io)), cache_(std::move(cache)) {
  if (cache_ == nullptr) return;
  for (const FileScanTask& task : plan.tasks) {
    if (task.deletes.vector != nullptr) puffins_[task.deletes.vector->file.file_path].tasks.push_back(&task);
  }
}

Result<VectorCache::Pointer> PlanVectors::For(const FileScanTask& task) {
  const spec::DataFile& entry = task.deletes.vector->file;
  VectorReader reader(*io_);
  if (cache_ == nullptr) return ReadOne(reader, task);
  if (auto found = cache_->Find(entry, RowsOf(task))) return found;
  Puffin& puffin = puffins_.at(entry.file_path);
  const std::lock_guard lock(puffin.mutex);
  if (auto found = cache_->Find(entry, RowsOf(task))) return found;
  FRAZIL_ASSIGN(VectorCache::Pointer wanted, ReadOne(reader, task));
  bool has_room = cache_->Keep(entry, RowsOf(task), wanted);
  if (std::exchange(puffin.is_read, true) || entry.file_size_in_bytes > kMaxBytesReadAhead) return wanted;
  for (const FileScanTask* other : puffin.tasks) {
    if (!has_room) break;
    if (other == &task || cache_->Find(other->deletes.vector->file, RowsOf(*other))) continue;
    auto vector = ReadOne(reader, *other);
    if (!vector) continue;  // said to whoever asks for it
    has_room = cache_->Keep(other->deletes.vector->file, RowsOf(*other), *vector);
  }
  return wanted;
}

}  // namespace frazil::table
