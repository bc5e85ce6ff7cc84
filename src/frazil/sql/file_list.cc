#include "frazil/sql/file_list.h"

#include <arrow/api.h>

#include "frazil/catalog/table_name.h"
#include "frazil/sql/table_renderer.h"
#include "frazil/sql/token.h"

namespace frazil::sql {
namespace {

int64_t UnitsASecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return 1;
    case arrow::TimeUnit::MILLI: return 1'000;
    case arrow::TimeUnit::MICRO: return 1'000'000;
    case arrow::TimeUnit::NANO: return 1'000'000'000;
  }
  return 1;
}

/// Rounded up: a file looks younger rather than older.
int64_t ToMs(int64_t value, int64_t units_a_second) {
  if (units_a_second == 1) return value * 1'000;
  const int64_t units_a_ms = units_a_second / 1'000;
  return value / units_a_ms + (value % units_a_ms > 0 ? 1 : 0);
}

Status CheckTypes(const QueryResult& result) {
  const arrow::DataType& path = *result.schema()->field(0)->type();
  if (path.id() != arrow::Type::STRING && path.id() != arrow::Type::LARGE_STRING) {
    return Fail(ErrorCode::kInvalidArgument, "Invalid file_path column: {} is not a string", result.columns()[0].type);
  }
  if (result.schema()->field(1)->type()->id() != arrow::Type::TIMESTAMP) {
    return Fail(ErrorCode::kInvalidArgument, "Invalid last_modified column: {} is not a timestamp",
                result.columns()[1].type);
  }
  return {};
}

}  // namespace

Result<std::vector<io::FileInfo>> ReadFileList(Engine& engine, const std::string& name) {
  // Without a namespace it may be a view of the session: the engine looks for it where it looks for others.
  const catalog::Namespace none = {""};
  FRAZIL_ASSIGN(const catalog::TableName parts, catalog::TableName::Parse(name, none));
  std::string from;
  if (parts.levels != none) {
    for (const std::string& level : parts.levels) from += QuoteName(level) + ".";
  }
  from += QuoteName(parts.name);
  FRAZIL_ASSIGN(const auto result, engine.Run("SELECT file_path, last_modified FROM " + from));
  FRAZIL_TRY(CheckTypes(*result));
  std::vector<io::FileInfo> files;
  for (;;) {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, result->Next());
    if (rows == nullptr) return files;
    FRAZIL_ASSIGN(const std::vector<std::vector<Cell>> cells, CellsOf(*rows));
    const auto& times = static_cast<const arrow::TimestampArray&>(*rows->column(1));
    const int64_t units = UnitsASecond(static_cast<const arrow::TimestampType&>(*times.type()).unit());
    for (int64_t i = 0; i < rows->num_rows(); ++i) {
      const Cell& path = cells[static_cast<size_t>(i)][0];
      if (path.is_null) continue;
      files.push_back({path.text, 0, times.IsNull(i) ? 0 : ToMs(times.Value(i), units)});
    }
  }
}

}  // namespace frazil::sql
