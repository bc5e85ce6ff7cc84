#include <algorithm>

#include <arrow/api.h>

#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_source.h"

namespace frazil::scan {
namespace {

const std::vector<spec::Field>& PositionDeleteColumns() {
  static const std::vector<spec::Field> columns = {
      {.id = spec::kDeleteFilePathColumnId,
       .name = "file_path",
       .required = true,
       .type = spec::Type::Primitive(spec::TypeId::kString)},
      {.id = spec::kDeletePosColumnId,
       .name = "pos",
       .required = true,
       .type = spec::Type::Primitive(spec::TypeId::kLong)},
  };
  return columns;
}

Result<std::vector<int64_t>> ReadOne(const io::FileIO& io, const spec::DataFile& file, const std::string& data_file) {
  static const spec::TableMetadata no_mapping;  // delete files have the ids of the specification
  FRAZIL_ASSIGN(const std::unique_ptr<RowSource> rows, OpenRowSource(io, no_mapping, file));
  for (const spec::Field& column : PositionDeleteColumns()) {
    if (!rows->HasField(column.id)) {
      return Fail(ErrorCode::kInvalidTable, "position delete file lacks its column {}: {}", column.name,
                  file.file_path);
    }
  }
  FRAZIL_TRY(rows->Start(PositionDeleteColumns()));
  std::vector<int64_t> positions;
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, rows->Next());
    if (!batch) break;
    const auto& paths = static_cast<const arrow::StringArray&>(*batch->rows->column(0));
    const auto& values = static_cast<const arrow::Int64Array&>(*batch->rows->column(1));
    for (int64_t i = 0; i < paths.length(); ++i) {
      if (paths.GetView(i) == data_file) positions.push_back(values.Value(i));
    }
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

table::PositionDeleteReader ReadPositionDeletes(std::shared_ptr<io::FileIO> io) {
  return [io = std::move(io)](const table::LiveDelete& file, const std::string& data_file_path) {
    return ReadOne(*io, file.file, data_file_path);
  };
}

}  // namespace frazil::scan
