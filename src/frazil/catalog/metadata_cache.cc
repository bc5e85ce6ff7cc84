#include "frazil/catalog/metadata_cache.h"

#include <algorithm>

#include "frazil/catalog/metadata_file.h"

namespace frazil::catalog {
namespace {

constexpr size_t kMaxEntries = 8;

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
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMaxEntries) entries_.pop_back();
}

}  // namespace frazil::catalog
