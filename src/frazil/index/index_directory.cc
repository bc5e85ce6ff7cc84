#include "frazil/index/index_directory.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <vector>

#include "frazil/base/uuid.h"
#include "frazil/io/local_output_file.h"

namespace frazil::index {
namespace {

constexpr std::string_view kManifestStart = "manifest-";
constexpr std::string_view kManifestEnd = ".json";
constexpr int64_t kMaxManifestBytes = int64_t{1} << 32;

std::string NameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string ManifestName(uint64_t version) { return fmt::format("{}{}{}", kManifestStart, version, kManifestEnd); }

/// The version of a manifest's file name; none: not a manifest.
std::optional<uint64_t> VersionOf(const std::string& name) {
  if (!name.starts_with(kManifestStart) || !name.ends_with(kManifestEnd)) return std::nullopt;
  uint64_t version = 0;
  std::from_chars(name.data() + kManifestStart.size(), name.data() + name.size() - kManifestEnd.size(), version);
  if (ManifestName(version) != name) return std::nullopt;  // other digits, a sign, an overflow
  return version;
}

}  // namespace

class IndexDirectory::Impl {
 public:
  Impl(std::string path, Access access, std::shared_ptr<io::FileIO> files)
      : path_(std::move(path)), access_(access), files_(std::move(files)) {}

  Status Open() {
    if (access_ == Access::kReadWrite) {
      FRAZIL_ASSIGN(lock_, FolderLock::Take(path_));
      DeleteTemporaries();
    }
    FRAZIL_ASSIGN(const std::vector<uint64_t> versions, ListVersions());
    if (access_ == Access::kReadOnly && versions.empty()) {
      return Fail(ErrorCode::kNotFound, "no key index: {}", path_);
    }
    if (!versions.empty()) last_version_ = versions.front();
    return {};
  }

  Result<std::optional<IndexManifest>> ReadManifest() const {
    // While we read, the holder of the lock may write a newer one and delete what we saw: then there is more to see.
    for (;;) {
      FRAZIL_ASSIGN(const std::vector<uint64_t> versions, ListVersions());
      std::optional<Error> reason;
      bool has_moved_on = false;
      for (const uint64_t version : versions) {
        const std::string path = PathOf(ManifestName(version));
        const Result<Bytes> bytes = files_->ReadFile(path, kMaxManifestBytes);
        if (!bytes && bytes.error().code() == ErrorCode::kNotFound) {
          has_moved_on = true;
          break;
        }
        FRAZIL_TRY(bytes);
        Result<IndexManifest> manifest = ParseIndexManifestJson(AsText(*bytes), path);
        if (manifest) {
          const std::lock_guard lock(mutex_);
          listed_ = NamesOf(*manifest, version);
          return std::optional(*std::move(manifest));
        }
        if (!reason) reason = std::move(manifest).error();
      }
      if (has_moved_on) continue;
      if (reason) return tl::unexpected(*std::move(reason));
      return std::nullopt;
    }
  }

  Status WriteManifest(const IndexManifest& manifest, const FilesInUse& in_use) {
    FRAZIL_TRY(CheckWritable());
    if (const Status checked = CheckIndexManifest(manifest); !checked) {
      return Fail(ErrorCode::kInternal, "a manifest of the key index that cannot be: {}", checked.error().message());
    }
    // After a failure, too, the next attempt takes another version: the file may be there although we were told otherwise.
    const uint64_t version = ++last_version_;
    std::set<std::string> names = NamesOf(manifest, version);
    {
      const std::lock_guard lock(mutex_);
      listed_.insert(names.begin(), names.end());
    }
    FRAZIL_TRY(files_->WriteFile(PathOf(ManifestName(version)), AsBytes(WriteIndexManifestJson(manifest))));
    {
      const std::lock_guard lock(mutex_);
      listed_ = std::move(names);
    }
    const Status ignored = DeleteUnlisted(in_use);
    return {};
  }

  Status DeleteUnlisted(const FilesInUse& in_use) {
    FRAZIL_TRY(CheckWritable());
    // In this order, so that a file that comes while we look is not in the list, or is among those that are kept.
    FRAZIL_ASSIGN(const std::vector<std::string> names, ListNames());
    std::set<std::string> kept;
    {
      const std::lock_guard lock(mutex_);
      kept = listed_;
      kept.insert(begun_.begin(), begun_.end());
    }
    if (in_use != nullptr) {
      for (const std::string& path : in_use()) kept.insert(NameOf(path));
    }
    return DeleteAllBut(names, kept);
  }

  Status Clear() {
    FRAZIL_TRY(CheckWritable());
    {
      const std::lock_guard lock(mutex_);
      listed_.clear();
    }
    FRAZIL_ASSIGN(const std::vector<std::string> names, ListNames());
    return DeleteAllBut(names, {});
  }

  void Begin(const std::string& path) {
    const std::lock_guard lock(mutex_);
    begun_.insert(NameOf(path));
  }
  void End(const std::vector<std::string>& paths) {
    const std::lock_guard lock(mutex_);
    for (const std::string& path : paths) begun_.erase(NameOf(path));
  }

  std::string NewPath(std::string_view prefix, std::string_view suffix) {
    // The bits of this opening and a counter: there is no state that could be lost and let a name come twice.
    return PathOf(fmt::format("{}{:016x}-{}{}", prefix, opening_, next_file_.fetch_add(1), suffix));
  }

  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  const std::shared_ptr<io::FileIO>& files() const { return files_; }

 private:
  Status CheckWritable() const {
    if (lock_ == nullptr) return Fail(ErrorCode::kInternal, "a key index opened for reading is written: {}", path_);
    return lock_->CheckHeld();
  }

  /// Names of the files in the folder itself.
  Result<std::vector<std::string>> ListNames() const {
    FRAZIL_ASSIGN(const std::vector<io::FileInfo> files, files_->List(path_));
    std::vector<std::string> names;
    for (const io::FileInfo& file : files) {
      std::string name = NameOf(file.path);
      if (file.path.size() == path_.size() + 1 + name.size()) names.push_back(std::move(name));
    }
    return names;
  }

  /// Newest first.
  Result<std::vector<uint64_t>> ListVersions() const {
    FRAZIL_ASSIGN(const std::vector<std::string> names, ListNames());
    std::vector<uint64_t> versions;
    for (const std::string& name : names) {
      if (const std::optional<uint64_t> version = VersionOf(name)) versions.push_back(*version);
    }
    std::sort(versions.begin(), versions.end(), std::greater<>());
    return versions;
  }

  /// The manifest itself and what it lists.
  static std::set<std::string> NamesOf(const IndexManifest& manifest, uint64_t version) {
    std::set<std::string> names{ManifestName(version)};
    for (const auto& runs : manifest.shards) {
      for (const RunRecord& run : runs) names.insert(run.file_name);
    }
    for (const IndexedFileRecord& record : manifest.files) {
      if (record.row_map) names.insert(*record.row_map);
    }
    return names;
  }

  /// Manifests go first, the oldest before the others: at every moment the newest one's files are all there.
  Status DeleteAllBut(const std::vector<std::string>& names, const std::set<std::string>& kept) {
    std::vector<std::pair<uint64_t, std::string>> manifests;
    std::vector<std::string> others;
    for (const std::string& name : names) {
      if (kept.contains(name)) continue;
      if (const std::optional<uint64_t> version = VersionOf(name)) {
        manifests.emplace_back(*version, PathOf(name));
      } else if (IsRunFileName(name) || IsRowMapFileName(name)) {
        others.push_back(PathOf(name));
      }
    }
    std::sort(manifests.begin(), manifests.end());
    // One that stays although it should go must find its files, so nothing else is deleted then.
    for (const auto& [version, path] : manifests) FRAZIL_TRY(files_->Delete({path}));
    return files_->Delete(others);
  }

  /// Files that a killed process had begun. Nobody else writes here: we hold the lock.
  void DeleteTemporaries() const {
    std::error_code failed;
    std::vector<std::filesystem::path> found;
    for (std::filesystem::directory_iterator it(path_, failed), end; !failed && it != end; it.increment(failed)) {
      if (io::IsTemporaryName(it->path().filename().string())) found.push_back(it->path());
    }
    for (const std::filesystem::path& path : found) std::filesystem::remove(path, failed);
  }

  const std::string path_;
  const Access access_;
  const std::shared_ptr<io::FileIO> files_;
  std::unique_ptr<FolderLock> lock_;
  uint64_t last_version_ = 0;
  const uint64_t opening_ = static_cast<uint64_t>(RandomSnapshotNumber());
  std::atomic<uint64_t> next_file_{0};
  mutable std::mutex mutex_;              // guards what follows
  mutable std::set<std::string> listed_;  ///< names that the newest manifest gives, its own among them
  std::set<std::string> begun_;           ///< names that a NewFiles gave
};

NewFiles::~NewFiles() {
  if (!is_kept_ && !paths_.empty()) (void)directory_.files().Delete(paths_);
  directory_.impl_->End(paths_);
}

std::string NewFiles::Begin(std::string path) {
  directory_.impl_->Begin(path);
  const std::lock_guard lock(mutex_);
  return paths_.emplace_back(std::move(path));
}

Result<std::unique_ptr<IndexDirectory>> IndexDirectory::Open(const std::string& path, Access access,
                                                             std::shared_ptr<io::FileIO> files) {
  FRAZIL_ASSIGN(std::string folder, io::LocalPath(path));
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (files == nullptr) files = io::MakeLocalFileIO();
  auto impl = std::make_unique<Impl>(std::move(folder), access, std::move(files));
  FRAZIL_TRY(impl->Open());
  return std::unique_ptr<IndexDirectory>(new IndexDirectory(std::move(impl)));
}

IndexDirectory::IndexDirectory(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IndexDirectory::~IndexDirectory() = default;

const std::string& IndexDirectory::path() const { return impl_->path(); }
io::FileIO& IndexDirectory::files() const { return *impl_->files(); }
std::shared_ptr<io::FileIO> IndexDirectory::shared_files() const { return impl_->files(); }

Result<std::optional<IndexManifest>> IndexDirectory::ReadManifest() const { return impl_->ReadManifest(); }
Status IndexDirectory::WriteManifest(const IndexManifest& manifest, const FilesInUse& in_use) {
  return impl_->WriteManifest(manifest, in_use);
}
Status IndexDirectory::DeleteUnlisted(const FilesInUse& in_use) { return impl_->DeleteUnlisted(in_use); }
Status IndexDirectory::Clear() { return impl_->Clear(); }

std::string IndexDirectory::NewRunPath() { return impl_->NewPath("run-", ".run"); }
std::string IndexDirectory::NewRowMapPath() { return impl_->NewPath("rowmap-", ".puffin"); }
std::string IndexDirectory::PathOf(const std::string& file_name) const { return impl_->PathOf(file_name); }

}  // namespace frazil::index
