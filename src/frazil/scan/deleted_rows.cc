#include "frazil/scan/deleted_rows.h"

#include <arrow/record_batch.h>

#include "frazil/scan/file_columns.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_source.h"

namespace frazil::scan {

Result<format::DeletionVector> DeletedRows(const std::shared_ptr<io::FileIO>& io, const table::ScanPlan& plan,
                                           const table::FileScanTask& task, EqualityDeletes& equality) {
  FRAZIL_ASSIGN(format::DeletionVector deleted,
                table::ReadPositions(*io, task.data_file, task.deletes, ReadPositionDeletes(io)));
  if (task.deletes.equality_deletes.empty()) return deleted;
  FRAZIL_ASSIGN(const EqualityFilter filter, equality.For(plan, task));
  FRAZIL_ASSIGN(const std::unique_ptr<RowSource> source, OpenRowSource(*io, *plan.metadata, task.data_file.file));
  FRAZIL_ASSIGN(const FileColumns columns, FileColumns::MakeForKeys(plan, task, filter.columns()));
  FRAZIL_TRY(source->Start(columns.wanted()));
  std::vector<bool> is_deleted;
  std::vector<int64_t> positions;
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, source->Next());
    if (!batch) return deleted;
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> keys,
                  columns.Complete(*batch->rows, RowPositions::From(batch->first_row)));
    is_deleted.assign(static_cast<size_t>(keys->num_rows()), false);
    filter.Mark(keys->columns(), is_deleted);
    positions.clear();
    for (size_t i = 0; i < is_deleted.size(); ++i) {
      if (is_deleted[i]) positions.push_back(batch->first_row + static_cast<int64_t>(i));
    }
    FRAZIL_TRY(deleted.AddAll(positions));
  }
}

}  // namespace frazil::scan
