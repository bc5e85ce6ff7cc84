#include "frazil/maintain/rewrite_copy.h"

#include <algorithm>
#include <numeric>

#include "frazil/scan/file_columns.h"
#include "frazil/scan/row_source.h"

namespace frazil::maintain {
namespace {

constexpr size_t kMaxParts = 64;  ///< files that a lane has open at a time
constexpr int64_t kMaxRows = int64_t{1} << 20;

/// Cuts off what comes after about `bytes` of the part, if both halves are worth it.
std::optional<CopiedPart> SplitOff(CopiedPart& part, int64_t bytes) {
  const double share = static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(part.bytes, 1));
  const auto wanted = static_cast<int64_t>(share * static_cast<double>(part.rows.num_rows));
  if (wanted <= 0 || wanted >= part.rows.num_rows) return std::nullopt;
  format::ParquetKeptRows& kept = part.rows.kept;
  auto cut = kept.begin();
  for (int64_t left = wanted; left > 0; ++cut) left -= *cut;
  CopiedPart rest = part;
  std::fill_n(rest.rows.kept.begin(), cut - kept.begin(), uint8_t{0});
  rest.rows.num_rows -= wanted;
  rest.bytes -= bytes;
  kept.erase(cut, kept.end());
  part.rows.num_rows = wanted;
  part.bytes = bytes;
  return rest;
}

}  // namespace

Result<std::shared_ptr<const format::ParquetCopyPlan>> PlanCopy(const io::FileIO& io, const table::ScanPlan& plan,
                                                                const table::FileScanTask& task,
                                                                const spec::Schema& file_schema, int64_t min_bytes) {
  const spec::DataFile& file = task.data_file.file;
  if (file.file_format != spec::FileFormat::kParquet || file.file_size_in_bytes < min_bytes) return nullptr;
  FRAZIL_TRY(scan::CheckNotEncrypted(file));
  format::ParquetCopySource source;
  FRAZIL_ASSIGN(source.file, scan::OpenParquetFile(io, *plan.metadata, file));
  FRAZIL_ASSIGN(const scan::FileColumns columns,
                scan::FileColumns::Make(plan, task, {}, [](spec::FieldId) { return false; }));
  for (const spec::Field& field : plan.schema->fields()) {
    if (field.type.id() == spec::TypeId::kUnknown || source.file->HasField(field.id)) continue;
    FRAZIL_ASSIGN(source.constants[field.id], columns.ValueWhereMissing(field));
  }
  if (file.first_row_id) source.first_row_id = file.first_row_id->value();
  source.sequence_number = task.data_file.sequence_number.value();
  return format::ParquetCopyPlan::Make(file_schema, std::move(source));
}

void CopyQueue::Add(uint32_t source, const std::shared_ptr<const format::ParquetCopyPlan>& plan, size_t row_group,
                    const format::DeletionVector& dropped) {
  const format::ParquetRowGroup& group = plan->source().file->row_groups()[row_group];
  std::vector<int64_t> positions;
  dropped.PositionsIn(spec::RowPosition(group.first_row), spec::RowPosition(group.first_row + group.num_rows),
                      positions);
  CopiedPart part{.source = source, .rows = {.plan = plan, .row_group = static_cast<int>(row_group)}};
  part.rows.num_rows = group.num_rows - static_cast<int64_t>(positions.size());
  if (part.rows.num_rows == 0) return;
  part.rows.kept.assign(static_cast<size_t>(group.num_rows), 1);
  for (const int64_t position : positions) part.rows.kept[static_cast<size_t>(position - group.first_row)] = 0;
  part.bytes = static_cast<int64_t>(static_cast<double>(group.compressed_bytes) *
                                    static_cast<double>(part.rows.num_rows) / static_cast<double>(group.num_rows));
  bytes_ += part.bytes;
  num_rows_ += part.rows.num_rows;
  parts_.push_back(std::move(part));
}

bool CopyQueue::Fills(int64_t most_bytes) const {
  return bytes_ >= most_bytes || num_rows_ >= kMaxRows || parts_.size() >= kMaxParts;
}

std::vector<format::ParquetCopiedRows> CopyQueue::Take(int64_t most_bytes, std::vector<uint32_t>& sources) {
  std::vector<format::ParquetCopiedRows> taken;
  int64_t bytes = 0;
  int64_t num_rows = 0;
  while (!parts_.empty() && bytes < most_bytes && num_rows < kMaxRows && taken.size() < kMaxParts) {
    CopiedPart part = std::move(parts_.front());
    parts_.pop_front();
    bytes_ -= part.bytes;
    num_rows_ -= part.rows.num_rows;
    // A little too much is better than a small rest.
    const int64_t room = most_bytes - bytes;
    if (part.bytes > room + most_bytes / 4) {
      if (std::optional<CopiedPart> rest = SplitOff(part, room)) {
        bytes_ += rest->bytes;
        num_rows_ += rest->rows.num_rows;
        parts_.push_front(*std::move(rest));
      }
    }
    bytes += part.bytes;
    num_rows += part.rows.num_rows;
    sources.push_back(part.source);
    taken.push_back(std::move(part.rows));
  }
  return taken;
}

}  // namespace frazil::maintain
