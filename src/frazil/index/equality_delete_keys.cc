#include "frazil/index/equality_delete_keys.h"

#include <arrow/api.h>

#include "frazil/scan/row_source.h"

namespace frazil::index {

Status ReadEqualityDeleteKeys(
    const io::FileIO& io, const spec::TableMetadata& metadata, const spec::Schema& schema, const CanonicalKey& key,
    const spec::DataFile& file,
    const std::function<Status(int64_t first_row, const CanonicalKey::NullableHashes& keys)>& take) {
  FRAZIL_ASSIGN(const std::unique_ptr<scan::RowSource> source, scan::OpenRowSource(io, metadata, file));
  std::vector<spec::Field> fields;
  for (const spec::FieldId id : key.field_ids()) {
    if (!source->HasField(id)) {
      return Fail(ErrorCode::kInvalidTable, "an equality delete file lacks its column of id {}: {}", id,
                  file.file_path);
    }
    fields.push_back(*schema.FindField(id));
    fields.back().required = false;
  }
  FRAZIL_TRY(source->Start(fields));
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, source->Next());
    if (!batch) return {};
    FRAZIL_ASSIGN(const auto keys, key.HashNullableRows(batch->rows->columns()));
    FRAZIL_TRY(take(batch->first_row, keys));
  }
}

}  // namespace frazil::index
