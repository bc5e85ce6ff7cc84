#include "frazil/sql/duckdb_file_system.h"

#include <cstring>

#include "duckdb/common/exception.hpp"
#include "frazil/sql/duckdb_error.h"

namespace frazil::sql {

namespace {

constexpr char kScheme[] = "frazil://";

class EngineFileHandle final : public duckdb::FileHandle {
 public:
  EngineFileHandle(duckdb::FileSystem& system, const std::string& name, duckdb::FileOpenFlags how,
                   std::unique_ptr<io::InputFile> opened)
      : FileHandle(system, name, how), file(std::move(opened)) {}
  void Close() override {}

  std::unique_ptr<io::InputFile> file;
  duckdb::idx_t position = 0;
};

class EngineFileSystem final : public duckdb::FileSystem {
 public:
  explicit EngineFileSystem(std::map<std::string, std::shared_ptr<io::FileIO>> stores) : stores_(std::move(stores)) {}

  std::string GetName() const override { return "FrazilFileSystem"; }
  bool CanHandleFile(const std::string& path) override { return path.rfind(kScheme, 0) == 0; }
  bool CanSeek() override { return true; }
  /// Local reads are cheap, so DuckDB need not fetch whole column chunks ahead.
  bool OnDiskFile(duckdb::FileHandle&) override { return true; }
  bool IsPathAbsolute(const std::string&) override { return true; }

  duckdb::unique_ptr<duckdb::FileHandle> OpenFile(const std::string& path, duckdb::FileOpenFlags flags,
                                                  duckdb::optional_ptr<duckdb::FileOpener>) override {
    if (flags.OpenForWriting()) {
      ThrowError(Error(ErrorCode::kNotSupported, "data files of a table cannot be written by a query: " + path));
    }
    auto [store, recorded] = Split(path);
    auto file = ValueOrThrow(store->Open(recorded));
    return duckdb::make_uniq<EngineFileHandle>(*this, path, flags, std::move(file));
  }
  bool FileExists(const std::string& path, duckdb::optional_ptr<duckdb::FileOpener>) override {
    auto [store, recorded] = Split(path);
    return ValueOrThrow(store->Exists(recorded));
  }

  void Read(duckdb::FileHandle& handle, void* buffer, int64_t num_bytes, duckdb::idx_t location) override {
    auto& ours = handle.Cast<EngineFileHandle>();
    OkOrThrow(ours.file->ReadAt(static_cast<int64_t>(location),
                                {static_cast<std::byte*>(buffer), static_cast<size_t>(num_bytes)}));
  }
  int64_t Read(duckdb::FileHandle& handle, void* buffer, int64_t num_bytes) override {
    auto& ours = handle.Cast<EngineFileHandle>();
    int64_t left = ours.file->size_bytes() - static_cast<int64_t>(ours.position);
    int64_t wanted = std::min(num_bytes, std::max<int64_t>(left, 0));
    if (wanted > 0) Read(handle, buffer, wanted, ours.position);
    ours.position += static_cast<duckdb::idx_t>(wanted);
    return wanted;
  }
  int64_t GetFileSize(duckdb::FileHandle& handle) override {
    return handle.Cast<EngineFileHandle>().file->size_bytes();
  }
  duckdb::timestamp_t GetLastModifiedTime(duckdb::FileHandle&) override { return duckdb::timestamp_t(0); }
  std::string GetVersionTag(duckdb::FileHandle&) override { return "immutable"; }
  duckdb::FileType GetFileType(duckdb::FileHandle&) override { return duckdb::FileType::FILE_TYPE_REGULAR; }
  void Seek(duckdb::FileHandle& handle, duckdb::idx_t location) override {
    handle.Cast<EngineFileHandle>().position = location;
  }
  duckdb::idx_t SeekPosition(duckdb::FileHandle& handle) override { return handle.Cast<EngineFileHandle>().position; }

 private:
  std::pair<std::shared_ptr<io::FileIO>, std::string> Split(const std::string& path) const {
    size_t start = std::strlen(kScheme);
    size_t slash = path.find('/', start);
    std::string catalog = path.substr(start, slash - start);
    auto found = stores_.find(catalog);
    if (slash == std::string::npos || found == stores_.end()) {
      ThrowError(Error(ErrorCode::kInvalidArgument, "not a data file of an attached catalog: " + path));
    }
    return {found->second, path.substr(slash + 1)};
  }

  std::map<std::string, std::shared_ptr<io::FileIO>> stores_;
};

}  // namespace

std::string EnginePath(const std::string& catalog, const std::string& path) {
  return std::string(kScheme) + catalog + "/" + path;
}

duckdb::unique_ptr<duckdb::FileSystem> MakeEngineFileSystem(std::map<std::string, std::shared_ptr<io::FileIO>> stores) {
  return duckdb::make_uniq<EngineFileSystem>(std::move(stores));
}

}  // namespace frazil::sql
