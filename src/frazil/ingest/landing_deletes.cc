#include "frazil/ingest/landing_deletes.h"

#include <algorithm>
#include <vector>

#include "frazil/index/equality_delete_keys.h"
#include "frazil/table/file_names.h"

namespace frazil::ingest {
namespace {

bool HasFields(const spec::TableMetadata& metadata, spec::SpecId id) {
  const spec::PartitionSpec* spec = metadata.FindSpec(id);
  return spec != nullptr && !spec->fields().empty();
}

bool IsOnKey(const spec::DataFile& file, const index::CanonicalKey& key) {
  std::vector<spec::FieldId> ids = file.equality_ids;
  std::sort(ids.begin(), ids.end());
  return std::equal(ids.begin(), ids.end(), key.field_ids().begin(), key.field_ids().end());
}

/// Ascending, without duplicates.
Result<std::vector<Hash96>> KeysOf(const table::Table& base, const spec::DataFile& file,
                                   const index::CanonicalKey& key) {
  std::vector<Hash96> hashes;
  FRAZIL_TRY(index::ReadEqualityDeleteKeys(*base.io(), *base.metadata(), *base.metadata()->schema(), key, file,
                                           [&](int64_t, const index::CanonicalKey::NullableHashes& keys) -> Status {
                                             for (size_t row = 0; row < keys.hashes.size(); ++row) {
                                               if (keys.has_no_key.empty() || !keys.has_no_key[row])
                                                 hashes.push_back(keys.hashes[row]);
                                             }
                                             return {};
                                           }));
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace

Status AddLandingDeletes(const table::Table& base, index::KeyIndex& index, const index::CanonicalKey& key,
                         const std::set<std::string>& known, std::set<std::string>& looked_at,
                         table::OwnDeletes& deletes) {
  const spec::TableMetadata& metadata = *base.metadata();
  const auto has_landed = [&](const table::LiveDataFile& file) { return table::IsLandingFile(metadata, file.file); };
  const std::vector<table::LiveDataFile>& files = index.live_files().data_files;
  if (metadata.default_spec().is_unpartitioned() || std::none_of(files.begin(), files.end(), has_landed)) return {};
  for (const table::LiveDelete& file : index.live_files().delete_files) {
    const bool is_scoped =
        file.file.content == spec::FileContent::kEqualityDeletes && HasFields(metadata, file.file.spec_id);
    if (!is_scoped || !IsOnKey(file.file, key) || known.contains(file.file.file_path)) continue;
    looked_at.insert(file.file.file_path);
    FRAZIL_ASSIGN(const std::vector<Hash96> hashes, KeysOf(base, file.file, key));
    FRAZIL_ASSIGN(const index::KeyHits found, index.LookUp(hashes));
    for (const index::RowsOfFile& rows : index::GroupByFile(found.hits)) {
      const bool is_landing = table::IsLandingFile(metadata, rows.file->spec_id, rows.file->path);
      if (!is_landing || rows.file->sequence_number >= file.sequence_number) continue;
      FRAZIL_TRY(deletes[rows.file->path].AddAll(rows.positions));
    }
  }
  return {};
}

}  // namespace frazil::ingest
