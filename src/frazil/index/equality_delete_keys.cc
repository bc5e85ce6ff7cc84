#include "frazil/index/equality_delete_keys.h"

#include <arrow/api.h>

#include "frazil/format/parquet_reader.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::index {

Status ReadEqualityDeleteKeys(
    const io::FileIO& io, const spec::TableMetadata& metadata, const spec::Schema& schema, const CanonicalKey& key,
    const spec::DataFile& file,
    const std::function<Status(int64_t first_row, const CanonicalKey::NullableHashes& keys)>& take) {
  FRAZIL_ASSIGN(std::unique_ptr<io::InputFile> input, io.Open(file.file_path));
  format::ParquetReadOptions read_options;
  if (const std::string mapping = metadata.Property(spec::kNameMappingProperty, ""); !mapping.empty()) {
    FRAZIL_ASSIGN(read_options.name_mapping, spec::ParseNameMapping(mapping));
  }
  FRAZIL_ASSIGN(const auto parquet, format::ParquetReader::Open(std::move(input), std::move(read_options)));
  std::vector<spec::Field> fields;
  for (const spec::FieldId id : key.field_ids()) {
    fields.push_back(*schema.FindField(id));
    fields.back().required = false;
  }
  FRAZIL_ASSIGN(const auto batches, parquet->Read(fields));
  if (!batches->missing().empty()) {
    return Fail(ErrorCode::kInvalidTable, "an equality delete file lacks the column of field {}: {}",
                batches->missing().front(), file.file_path);
  }
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, batches->Next());
    if (!batch) return {};
    FRAZIL_ASSIGN(const auto keys, key.HashNullableRows(batch->rows->columns()));
    FRAZIL_TRY(take(batch->first_row, keys));
  }
}

}  // namespace frazil::index
