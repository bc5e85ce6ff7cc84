#include "frazil/ingest/landing_deletes.h"

#include <algorithm>
#include <vector>

#include <arrow/api.h>

#include "frazil/format/parquet_reader.h"
#include "frazil/spec/name_mapping.h"

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
  FRAZIL_ASSIGN(std::unique_ptr<io::InputFile> input, base.io()->Open(file.file_path));
  format::ParquetReadOptions read_options;
  if (const std::string mapping = base.metadata()->Property(spec::kNameMappingProperty, ""); !mapping.empty()) {
    FRAZIL_ASSIGN(read_options.name_mapping, spec::ParseNameMapping(mapping));
  }
  FRAZIL_ASSIGN(const auto parquet, format::ParquetReader::Open(std::move(input), std::move(read_options)));
  std::vector<spec::Field> fields;
  for (const spec::FieldId id : key.field_ids()) {
    fields.push_back(*base.metadata()->schema()->FindField(id));
    fields.back().required = false;
  }
  FRAZIL_ASSIGN(const auto batches, parquet->Read(fields));
  if (!batches->missing().empty()) {
    return Fail(ErrorCode::kInvalidTable, "an equality delete file lacks the column of field {}: {}",
                batches->missing().front(), file.file_path);
  }
  std::vector<Hash96> hashes;
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, batches->Next());
    if (!batch) break;
    FRAZIL_ASSIGN(const auto keys, key.HashNullableRows(batch->rows->columns()));
    for (size_t row = 0; row < keys.hashes.size(); ++row) {
      if (keys.has_no_key.empty() || !keys.has_no_key[row]) hashes.push_back(keys.hashes[row]);
    }
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace

Status AddLandingDeletes(const table::Table& base, index::KeyIndex& index, const index::CanonicalKey& key,
                         const std::set<std::string>& known, std::set<std::string>& looked_at,
                         table::OwnDeletes& deletes) {
  const spec::TableMetadata& metadata = *base.metadata();
  const auto has_landed = [&](const table::LiveDataFile& file) { return !HasFields(metadata, file.file.spec_id); };
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
      if (HasFields(metadata, rows.file->spec_id) || rows.file->sequence_number >= file.sequence_number) continue;
      FRAZIL_TRY(deletes[rows.file->path].AddAll(rows.positions));
    }
  }
  return {};
}

}  // namespace frazil::ingest
