#include "frazil/io/memory_input_file.h"

#include <cstring>

#include "frazil/io/read_range.h"

namespace frazil::io {
namespace {

class MemoryInputFile : public InputFile {
 public:
  MemoryInputFile(std::string path, std::shared_ptr<const Bytes> bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}

  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return static_cast<int64_t>(bytes_->size()); }
  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    FRAZIL_TRY(CheckReadRange(offset, out.size(), size_bytes(), path_));
    if (!out.empty()) std::memcpy(out.data(), bytes_->data() + offset, out.size());
    return {};
  }

 private:
  std::string path_;
  std::shared_ptr<const Bytes> bytes_;
};

}  // namespace

std::unique_ptr<InputFile> MakeMemoryInputFile(std::string path, std::shared_ptr<const Bytes> bytes) {
  return std::make_unique<MemoryInputFile>(std::move(path), std::move(bytes));
}

Result<std::unique_ptr<InputFile>> LoadIfSmall(std::unique_ptr<InputFile> file, int64_t max_bytes) {
  if (file->size_bytes() > max_bytes) return file;
  Bytes bytes(static_cast<size_t>(file->size_bytes()));
  FRAZIL_TRY(file->ReadAt(0, bytes));
  return MakeMemoryInputFile(file->path(), std::make_shared<const Bytes>(std::move(bytes)));
}

}  // namespace frazil::io
