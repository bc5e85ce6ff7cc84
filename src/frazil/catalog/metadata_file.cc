#include "frazil/catalog/metadata_file.h"

#include <charconv>
#include <set>
#include <variant>

#include "frazil/base/uuid.h"
#include "frazil/catalog/gzip.h"
#include "frazil/spec/table_metadata_json.h"

namespace frazil::catalog {
namespace {

// Java readers hold the text as one string; nothing sane comes near.
constexpr int64_t kMaxMetadataBytes = int64_t{1} << 30;

std::string_view FileName(std::string_view location) { return location.substr(location.find_last_of('/') + 1); }

bool IsNamedGzip(std::string_view location) {
  return location.ends_with(".gz.metadata.json") || location.ends_with(".metadata.json.gz");
}

// The digits before the first dash; -1 for names of other styles, so that their successor is 00000 (section 1.6).
int64_t VersionOf(std::string_view location) {
  const std::string_view name = FileName(location);
  const std::string_view digits = name.substr(0, name.find('-'));
  int64_t version = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  const bool whole = error == std::errc() && end == digits.data() + digits.size() && digits.size() < name.size();
  return whole && version >= 0 && version < INT64_MAX ? version : -1;
}

std::string MetadataFolder(const spec::TableMetadata& metadata) {
  std::string folder = metadata.Property("write.metadata.path", metadata.location + "/metadata");
  while (folder.ends_with('/')) folder.pop_back();
  return folder;
}

Result<bool> WantsGzip(const spec::TableMetadata& metadata) {
  std::string codec = metadata.Property("write.metadata.compression-codec", "none");
  for (char& c : codec) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (codec == "none") return false;
  if (codec == "gzip") return true;
  return Fail(ErrorCode::kInvalidArgument, "write.metadata.compression-codec must be none or gzip: '{}'", codec);
}

}  // namespace

Result<spec::TableMetadataPtr> ReadMetadataFile(const io::FileIO& io, const std::string& location) {
  FRAZIL_ASSIGN(Bytes bytes, io.ReadFile(location, kMaxMetadataBytes));
  // The magic decides: some writers gzip under a plain name, and no JSON begins with these bytes.
  if (IsGzip(bytes)) {
    FRAZIL_ASSIGN(bytes, Gunzip(bytes, kMaxMetadataBytes, location));
  } else if (IsNamedGzip(location)) {
    return Fail(ErrorCode::kCorruptData, "named as gzip but it is not: {}", location);
  }
  return spec::ParseTableMetadata(AsText(bytes), location);
}

Result<std::string> WriteMetadataFile(io::FileIO& io, const spec::TableMetadata& metadata,
                                      const std::string& previous_location) {
  FRAZIL_ASSIGN(const bool gzip, WantsGzip(metadata));
  FRAZIL_ASSIGN(const std::string json, spec::WriteTableMetadata(metadata));
  const int64_t version = previous_location.empty() ? 0 : VersionOf(previous_location) + 1;
  const std::string location = fmt::format("{}/{:05}-{}{}.metadata.json", MetadataFolder(metadata), version,
                                           Uuid::Random().ToString(), gzip ? ".gz" : "");
  if (gzip) {
    FRAZIL_ASSIGN(const Bytes packed, Gzip(AsBytes(json)));
    FRAZIL_TRY(io.WriteFile(location, packed));
  } else {
    FRAZIL_TRY(io.WriteFile(location, AsBytes(json)));
  }
  return location;
}

namespace {

/// A branch or tag made since then needs a snapshot that is to be removed: whoever removes it has to decide again. The
/// builder would take the ref along (spec section 1.5).
Status CheckNoRefNeedsRemoved(const spec::TableMetadata& base, const std::vector<spec::TableUpdate>& updates) {
  auto refs = base.refs;
  std::set<spec::SnapshotId> removed;
  for (const spec::TableUpdate& update : updates) {
    if (const auto* set = std::get_if<spec::update::SetSnapshotRef>(&update)) refs[set->ref_name] = set->ref;
    if (const auto* ref = std::get_if<spec::update::RemoveSnapshotRef>(&update)) refs.erase(ref->ref_name);
    if (const auto* snapshots = std::get_if<spec::update::RemoveSnapshots>(&update)) {
      removed.insert(snapshots->snapshot_ids.begin(), snapshots->snapshot_ids.end());
    }
  }
  for (const auto& [name, ref] : refs) {
    if (!removed.contains(ref.snapshot_id)) continue;
    return Fail(ErrorCode::kCommitConflict, "snapshot {} cannot be removed: {} {} needs it", ref.snapshot_id,
                ref.type == spec::RefType::kBranch ? "branch" : "tag", name);
  }
  return {};
}

}  // namespace

Result<spec::TableMetadataPtr> ApplyUpdates(const LoadedTable* current,
                                            const std::vector<spec::TableRequirement>& requirements,
                                            const std::vector<spec::TableUpdate>& updates, int64_t now_ms) {
  for (const spec::TableRequirement& requirement : requirements) {
    FRAZIL_TRY(spec::CheckRequirement(requirement, current == nullptr ? nullptr : current->metadata.get()));
  }
  if (current != nullptr) FRAZIL_TRY(CheckNoRefNeedsRemoved(*current->metadata, updates));
  auto builder = current == nullptr ? spec::TableMetadataBuilder()
                                    : spec::TableMetadataBuilder(current->metadata, current->metadata_location);
  for (const spec::TableUpdate& update : updates) FRAZIL_TRY(builder.Apply(update));
  return std::move(builder).Build(now_ms);
}

}  // namespace frazil::catalog
