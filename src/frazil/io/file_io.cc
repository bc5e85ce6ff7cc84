#include "frazil/io/file_io.h"

namespace frazil::io {

Result<Bytes> FileIO::ReadFile(const std::string& path, int64_t max_bytes) const {
  FRAZIL_ASSIGN(auto file, Open(path));
  if (file->size_bytes() > max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, "file of {} bytes is larger than the limit of {} bytes: {}",
                file->size_bytes(), max_bytes, path);
  }
  Bytes bytes(static_cast<size_t>(file->size_bytes()));
  FRAZIL_TRY(file->ReadAt(0, bytes));
  return bytes;
}

Status FileIO::ForEachFile(const std::string& prefix, const VisitFile& visit) const {
  FRAZIL_ASSIGN(const auto files, List(prefix));
  for (const FileInfo& file : files) FRAZIL_TRY(visit(file));
  return {};
}

Status FileIO::WriteFile(const std::string& path, ByteView bytes) {
  FRAZIL_ASSIGN(auto file, Create(path));
  FRAZIL_TRY(file->Append(bytes));
  return file->Close();
}

}  // namespace frazil::io
