#include "frazil/io/memory_file_io.h"

#include "frazil/io/memory_input_file.h"

namespace frazil::io {
namespace {

Error Exists(const std::string& path) { return Error(ErrorCode::kAlreadyExists, "file exists: " + path); }
Error NotFound(const std::string& path) { return Error(ErrorCode::kNotFound, "file not found: " + path); }

}  // namespace

class MemoryOutputFile : public OutputFile {
 public:
  MemoryOutputFile(MemoryFileIO* store, std::string path) : store_(store), path_(std::move(path)) {}

  Status Append(ByteView bytes) override {
    if (closed_) return Fail(ErrorCode::kInternal, "append to a closed file: {}", path_);
    AppendBytes(bytes_, bytes);
    return {};
  }
  int64_t bytes_written() const override { return bytes_written_ + static_cast<int64_t>(bytes_.size()); }
  Status Close() override {
    if (closed_) return Fail(ErrorCode::kInternal, "file closed twice: {}", path_);
    closed_ = true;
    bytes_written_ = static_cast<int64_t>(bytes_.size());
    auto content = std::make_shared<const Bytes>(std::exchange(bytes_, {}));
    std::lock_guard lock(store_->mutex_);
    const auto [at, inserted] =
        store_->files_.try_emplace(path_, MemoryFileIO::Stored{std::move(content), store_->next_ms_});
    if (!inserted) return tl::unexpected(Exists(path_));
    ++store_->next_ms_;
    return {};
  }

 private:
  MemoryFileIO* store_;
  std::string path_;
  Bytes bytes_;
  int64_t bytes_written_ = 0;  // counted once the bytes have gone
  bool closed_ = false;
};

Result<std::unique_ptr<InputFile>> MemoryFileIO::Open(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return tl::unexpected(NotFound(path));
  return MakeMemoryInputFile(path, found->second.bytes);
}

Result<std::unique_ptr<OutputFile>> MemoryFileIO::Create(const std::string& path) {
  std::lock_guard lock(mutex_);
  if (files_.contains(path)) return tl::unexpected(io::Exists(path));
  return std::make_unique<MemoryOutputFile>(this, path);
}

Status MemoryFileIO::Delete(const std::vector<std::string>& paths) {
  std::lock_guard lock(mutex_);
  for (const std::string& path : paths) files_.erase(path);
  return {};
}

Result<std::vector<FileInfo>> MemoryFileIO::List(const std::string& prefix) const {
  std::string folder = prefix;
  while (folder.ends_with('/')) folder.pop_back();
  folder += '/';
  std::vector<FileInfo> files;
  std::lock_guard lock(mutex_);
  for (auto it = files_.lower_bound(folder); it != files_.end() && it->first.starts_with(folder); ++it) {
    files.push_back({it->first, static_cast<int64_t>(it->second.bytes->size()), it->second.modified_ms});
  }
  return files;
}

Result<bool> MemoryFileIO::Exists(const std::string& path) const {
  std::lock_guard lock(mutex_);
  return files_.contains(path);
}

void MemoryFileIO::Overwrite(const std::string& path, Bytes bytes) {
  std::lock_guard lock(mutex_);
  files_[path] = {std::make_shared<const Bytes>(std::move(bytes)), next_ms_++};
}

}  // namespace frazil::io
