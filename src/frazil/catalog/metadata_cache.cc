#include "frazil/catalog/metadata_cache.h"

#include <algorithm>
#include <string_view>

#include "frazil/base/uuid.h"
#include "frazil/catalog/metadata_file.h"

namespace frazil::catalog {
namespace {

constexpr size_t kMaxEntries = 8;
constexpr int64_t kMaxFileBytes = int64_t{32} << 20;  // of all entries together
constexpr int64_t kParsedBytesPerFileByte = 4;        // roughly
constexpr int64_t kBudgetShare = 16;                  // this part of a budget at most

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

MetadataCache::MetadataCache(MemoryBudget* budget) : budget_(budget), max_file_bytes_(kMaxFileBytes) {
  if (budget_ == nullptr) return;
  max_file_bytes_ = std::min(kMaxFileBytes, budget_->limit_bytes() / kBudgetShare / kParsedBytesPerFileByte);
  reservation_.emplace(budget_, 0);
  reclaimer_ = budget_->AddReclaimer([this](int64_t bytes) { Reclaim(bytes); });
}

MetadataCache::~MetadataCache() {
  if (budget_ != nullptr) budget_->RemoveReclaimer(reclaimer_);
}

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
  if (entry.file_size_bytes <= max_file_bytes_ && HasUniqueName(entry.table.metadata_location)) {
    entries_.push_front(std::move(entry));
  }
  while (!ChargeKept()) entries_.pop_back();
}

bool MetadataCache::ChargeKept() {
  int64_t file_bytes = 0;
  for (const Entry& kept : entries_) file_bytes += kept.file_size_bytes;
  if (entries_.size() > kMaxEntries || file_bytes > max_file_bytes_) return false;
  return !reservation_ || reservation_->TryResize(kParsedBytesPerFileByte * file_bytes);
}

void MetadataCache::Reclaim(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const int64_t most = reservation_->bytes() - bytes;
  while (!entries_.empty() && reservation_->bytes() > most) {
    entries_.pop_back();
    ChargeKept();
  }
}

}  // namespace frazil::catalog
