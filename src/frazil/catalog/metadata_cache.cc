#include "frazil/catalog/metadata_cache.h"

#include <algorithm>
#include <string_view>

#include "frazil/base/uuid.h"
#include "frazil/catalog/metadata_file.h"

namespace frazil::catalog {
namespace {

constexpr size_t kMaxEntries = 8;
constexpr int64_t kMaxFileBytes = int64_t{32} << 20;  // of all entries together; parsed they take several times as much

/// Whether nobody writes this name twice: `<version>-<uuid>.metadata.json`, as writers under a catalog name their files. A
/// `v3.metadata.json` may be another file of the same size tomorrow.
bool HasUniqueName(std::string_view location) {
  constexpr size_t kUuidSize = 36;
  std::string_view name = location.substr(location.rfind('/') + 1);  // all of it when there is none
  const size_t version = name.find('-');
  if (version == 0 || version == std::string_view::npos) return false;
  if (!std::ranges::all_of(name.substr(0, version), [](char letter) { return letter >= '0' && letter <= '9'; })) {
    return false;
  }
  name.remove_prefix(version + 1);
  if (!Uuid::Parse(name.substr(0, kUuidSize))) return false;
  name.remove_prefix(kUuidSize);
  return name == ".metadata.json" || name == ".gz.metadata.json" || name == ".metadata.json.gz";
}

}  // namespace

Result<spec::TableMetadataPtr> MetadataCache::Read(const io::FileIO& io, const std::string& location) {
  FRAZIL_ASSIGN(const auto file, io.Open(location));
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
      return entry.table.metadata_location == location && entry.file_size_bytes == file->size_bytes();
    });
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return found->table.metadata;
    }
  }
  FRAZIL_ASSIGN(spec::TableMetadataPtr metadata, ReadMetadataFile(io, location));
  Keep({{metadata, location}, file->size_bytes()});
  return metadata;
}

void MetadataCache::Keep(const io::FileIO& io, const LoadedTable& written) {
  const auto file = io.Open(written.metadata_location);
  if (file) Keep({written, (*file)->size_bytes()});
}

void MetadataCache::Keep(Entry entry) {
  const std::lock_guard lock(mutex_);
  // Of a table only the newest version seen is of use: a history of them would hold every snapshot many times.
  std::erase_if(entries_, [&](const Entry& other) {
    return other.table.metadata_location == entry.table.metadata_location ||
           other.table.metadata->table_uuid == entry.table.metadata->table_uuid;
  });
  if (entry.file_size_bytes > kMaxFileBytes || !HasUniqueName(entry.table.metadata_location)) return;
  entries_.push_front(std::move(entry));
  const auto file_bytes = [&] {
    int64_t bytes = 0;
    for (const Entry& kept : entries_) bytes += kept.file_size_bytes;
    return bytes;
  };
  while (entries_.size() > kMaxEntries || file_bytes() > kMaxFileBytes) entries_.pop_back();
}

}  // namespace frazil::catalog
