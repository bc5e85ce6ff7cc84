#include "frazil/format/parquet_reader.h"

#include <algorithm>
#include <numeric>

#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_file.h"
#include "frazil/format/parquet_projection.h"
#include "frazil/format/parquet_row_ranges.h"
#include "frazil/format/parquet_row_width.h"
#include "frazil/format/parquet_schema.h"

namespace frazil::format {
namespace {

/// So many rows tell how wide they are where the footer does not.
constexpr int64_t kProbeRows = 256;

/// How many rows to ask for next, so that a batch takes kParquetBatchBytes at most: by what the footer says of the row group,
/// and by what the batches before have shown.
class BatchSize {
 public:
  BatchSize(int64_t most_rows, int64_t rows_in_group, ParquetRowWidth width)
      : most_rows_(most_rows),
        is_exact_(width.is_exact),
        rows_left_(static_cast<double>(rows_in_group)),
        bytes_left_(width.bytes * static_cast<double>(rows_in_group)) {
    rows_ = RowsFor(width.bytes);
    if (!is_exact_) rows_ = std::min(rows_, kProbeRows);
  }

  int64_t rows() const { return rows_; }

  void Seen(const arrow::RecordBatch& batch) {
    constexpr int64_t kGrowth = 4;  // wider rows may follow
    const auto bytes = static_cast<double>(arrow::util::TotalBufferSize(batch));
    rows_left_ -= static_cast<double>(batch.num_rows());
    bytes_left_ -= bytes;
    const double seen = bytes / static_cast<double>(batch.num_rows());
    // The rest has what the footer says and was not seen yet.
    const int64_t rows = RowsFor(rows_left_ > 0 ? std::max(seen, bytes_left_ / rows_left_) : seen);
    rows_ = is_exact_ ? rows : std::min(rows, rows_ * kGrowth);
  }

 private:
  int64_t RowsFor(double width) const {
    const double rows = static_cast<double>(kParquetBatchBytes) / std::max(width, 1.0);
    return std::clamp<int64_t>(static_cast<int64_t>(rows), 1, most_rows_);
  }

  int64_t most_rows_ = 1;
  bool is_exact_ = true;
  double rows_left_ = 0;
  double bytes_left_ = 0;
  int64_t rows_ = 1;
};

}  // namespace

class ParquetBatchReader::Impl {
 public:
  Impl(std::shared_ptr<const ParquetFile> file, ParquetProjection projection, std::vector<int> row_groups,
       int64_t batch_rows)
      : file_(std::move(file)),
        projection_(std::move(projection)),
        row_groups_(std::move(row_groups)),
        batch_rows_(batch_rows) {}

  Status Open() {
    if (!IsCountOnly()) {
      FRAZIL_ASSIGN(reader_, file_->OpenArrowReader(batch_rows_));
    }
    return {};
  }

  Result<std::optional<ParquetBatch>> Next() {
    while (true) {
      if (next_row_ == end_row_) {
        if (next_group_ == row_groups_.size()) return std::nullopt;
        FRAZIL_TRY(OpenRowGroup(row_groups_[next_group_++]));
        continue;
      }
      if (IsCountOnly()) return CountOnly();
      std::shared_ptr<arrow::RecordBatch> rows;
      reader_->set_batch_size(batch_size_->rows());  // looked at whenever a batch is read
      FRAZIL_TRY(Check(batches_->ReadNext(&rows), ErrorCode::kCorruptData, path()));
      if (rows == nullptr || rows->num_rows() > end_row_ - next_row_) {
        return Fail(ErrorCode::kCorruptData, "row group {} has other than its {} rows: {}",
                    row_groups_[next_group_ - 1], file_->row_groups()[row_groups_[next_group_ - 1]].num_rows, path());
      }
      if (rows->num_rows() == 0) continue;
      FRAZIL_ASSIGN(rows, projection_.Conform(rows->columns(), rows->num_rows()));
      batch_size_->Seen(*rows);
      ParquetBatch batch{next_row_, std::move(rows)};
      next_row_ += batch.rows->num_rows();
      return batch;
    }
  }

  const std::string& path() const { return file_->path(); }
  const ParquetProjection& projection() const { return projection_; }

 private:
  Status OpenRowGroup(int index) {
    const ParquetRowGroup& group = file_->row_groups()[static_cast<size_t>(index)];
    next_row_ = group.first_row;
    end_row_ = group.first_row + group.num_rows;
    if (IsCountOnly() || group.num_rows == 0) return {};
    batch_size_.emplace(batch_rows_, group.num_rows,
                        RowWidthOf(*file_->metadata()->RowGroup(index), projection_.leaves()));
    FRAZIL_ASSIGN(batches_,
                  Check(reader_->GetRecordBatchReader({index}, projection_.leaves()), ErrorCode::kCorruptData, path()));
    return {};
  }

  /// Nothing of the projection is in the file: only the number of rows matters.
  bool IsCountOnly() const { return projection_.leaves().empty(); }
  ParquetBatch CountOnly() {
    const int64_t count = std::min(batch_rows_, end_row_ - next_row_);
    ParquetBatch batch{next_row_, arrow::RecordBatch::Make(projection_.schema(), count, arrow::ArrayVector{})};
    next_row_ += count;
    return batch;
  }

  std::shared_ptr<const ParquetFile> file_;
  const ParquetProjection projection_;
  std::vector<int> row_groups_;
  int64_t batch_rows_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // uses reader_
  std::optional<BatchSize> batch_size_;                // of the row group
  size_t next_group_ = 0;
  int64_t next_row_ = 0;
  int64_t end_row_ = 0;
};

ParquetBatchReader::ParquetBatchReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParquetBatchReader::~ParquetBatchReader() = default;
const std::shared_ptr<arrow::Schema>& ParquetBatchReader::schema() const { return impl_->projection().schema(); }
const std::vector<spec::FieldId>& ParquetBatchReader::missing() const { return impl_->projection().missing(); }

Result<std::optional<ParquetBatch>> ParquetBatchReader::Next() {
  return Guard(ErrorCode::kCorruptData, impl_->path(), [&] { return impl_->Next(); });
}

Result<std::shared_ptr<const ParquetReader>> ParquetReader::Open(std::shared_ptr<const io::InputFile> file,
                                                                 ParquetReadOptions options) {
  FRAZIL_ASSIGN(std::shared_ptr<const ParquetFile> opened, ParquetFile::Open(std::move(file), options));
  return std::shared_ptr<const ParquetReader>(new ParquetReader(std::move(opened)));
}

ParquetReader::ParquetReader(std::shared_ptr<const ParquetFile> file) : file_(std::move(file)) {}
ParquetReader::~ParquetReader() = default;

const std::string& ParquetReader::path() const { return file_->path(); }
int64_t ParquetReader::num_rows() const { return file_->metadata()->num_rows(); }
int64_t ParquetReader::DecodedBytes() const {
  std::vector<int> leaves(static_cast<size_t>(file_->metadata()->num_columns()));
  std::iota(leaves.begin(), leaves.end(), 0);
  double bytes = 0;
  (void)Guard(ErrorCode::kCorruptData, path(), [&]() -> Status {
    for (int i = 0; i < file_->metadata()->num_row_groups(); ++i) {
      const auto row_group = file_->metadata()->RowGroup(i);
      bytes += RowWidthOf(*row_group, leaves).bytes * static_cast<double>(std::max<int64_t>(row_group->num_rows(), 0));
    }
    return {};
  });
  return static_cast<int64_t>(std::min(bytes, 1e18));
}

const std::vector<ParquetRowGroup>& ParquetReader::row_groups() const { return file_->row_groups(); }
bool ParquetReader::has_field_ids() const { return file_->has_field_ids(); }

std::vector<std::pair<std::string, std::optional<spec::FieldId>>> ParquetReader::columns() const {
  std::vector<std::pair<std::string, std::optional<spec::FieldId>>> columns;
  for (const ParquetColumn& column : file_->root().children) columns.emplace_back(column.name, column.id);
  return columns;
}

bool ParquetReader::HasField(spec::FieldId id) const {
  const auto has = [&](const auto& self, const ParquetColumn& column) -> bool {
    if (column.id == id) return true;
    return std::ranges::any_of(column.children, [&](const ParquetColumn& child) { return self(self, child); });
  };
  return has(has, file_->root());
}

std::optional<std::string> ParquetReader::FooterValue(const std::string& key) const {
  const auto& values = file_->metadata()->key_value_metadata();
  if (values == nullptr) return std::nullopt;
  const int index = values->FindKey(key);
  return index < 0 ? std::nullopt : std::optional(values->value(index));
}

Result<std::vector<spec::Field>> ParquetReader::FileFields() const {
  std::vector<spec::Field> fields;
  for (const ParquetColumn& column : file_->root().children) {
    FRAZIL_ASSIGN(spec::Type type, IcebergTypeOf(*column.field->type()));
    spec::Field field;
    field.id = column.id.value_or(spec::FieldId(0));
    field.name = column.name;
    field.required = !column.field->nullable();
    field.type = std::move(type);
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<ParquetMetrics> ParquetReader::RowGroupMetrics(int row_group) const {
  return Guard(ErrorCode::kCorruptData, path(), [&]() -> Result<ParquetMetrics> {
    ParquetMetricsCollector collector(file_->Ids());
    collector.Add(*file_->metadata()->RowGroup(row_group));
    return collector.Finish();
  });
}

Result<spec::DataFile> ParquetReader::RowGroupAsFile(int row_group) const {
  FRAZIL_ASSIGN(ParquetMetrics metrics, RowGroupMetrics(row_group));
  return AsDataFile(std::move(metrics), path());
}

Result<spec::DataFile> ParquetReader::RowGroupAsFile(int row_group,
                                                     const std::map<spec::FieldId, spec::Type>& columns) const {
  return Guard(ErrorCode::kCorruptData, path(),
               [&]() -> Result<spec::DataFile> { return ParquetRowGroupAsFile(*file_, row_group, columns); });
}

Result<std::vector<ParquetRowRange>> ParquetReader::RowRanges(
    int row_group, const std::map<spec::FieldId, spec::Type>& columns) const {
  return Guard(ErrorCode::kCorruptData, path(), [&] { return ReadParquetRowRanges(*file_, row_group, columns); });
}

Result<std::unique_ptr<ParquetBatchReader>> ParquetReader::Read(const std::vector<spec::Field>& columns,
                                                                const std::vector<int>& row_groups,
                                                                int64_t batch_rows) const {
  return Guard(ErrorCode::kCorruptData, path(), [&]() -> Result<std::unique_ptr<ParquetBatchReader>> {
    for (const int index : row_groups) {
      if (index < 0 || static_cast<size_t>(index) >= file_->row_groups().size()) {
        return Fail(ErrorCode::kInvalidArgument, "no such row group: {}: {}", index, path());
      }
    }
    FRAZIL_ASSIGN(ParquetProjection projection, ParquetProjection::Make(file_, columns));
    auto impl = std::make_unique<ParquetBatchReader::Impl>(file_, std::move(projection), row_groups,
                                                           std::max<int64_t>(batch_rows, 1));
    FRAZIL_TRY(impl->Open());
    return std::unique_ptr<ParquetBatchReader>(new ParquetBatchReader(std::move(impl)));
  });
}

Result<std::unique_ptr<ParquetBatchReader>> ParquetReader::Read(const std::vector<spec::Field>& columns) const {
  std::vector<int> all;
  for (size_t i = 0; i < file_->row_groups().size(); ++i) all.push_back(static_cast<int>(i));
  return Read(columns, all);
}

}  // namespace frazil::format
