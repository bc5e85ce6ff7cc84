#include "frazil/write/row_writer.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <arrow/api.h>

#include "frazil/base/stop_flag.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/spec/checked_property.h"
#include "frazil/table/file_names.h"
#include "frazil/write/column_metrics.h"
#include "frazil/write/external_sorter.h"
#include "frazil/write/gather.h"
#include "frazil/write/partitioner.h"

namespace frazil::write {
namespace {

/// The table's columns plus the lineage columns that the batches carry (spec section 5.1).
Result<spec::SchemaPtr> FileSchema(const spec::Schema& schema, int num_lineage_columns) {
  std::vector<spec::Field> fields = schema.fields();
  const spec::Type type = spec::Type::Primitive(spec::TypeId::kLong);
  if (num_lineage_columns > 0) fields.push_back({.id = spec::kRowIdColumnId, .name = spec::kRowIdColumn, .type = type});
  if (num_lineage_columns > 1) {
    fields.push_back(
        {.id = spec::kLastUpdatedSequenceNumberColumnId, .name = spec::kLastUpdatedSequenceNumberColumn, .type = type});
  }
  return spec::Schema::Make(schema.id(), std::move(fields));
}

/// The rows of one partition in a batch: a range, or a list.
struct RowsOfPartition {
  const spec::PartitionTuple* tuple;
  int64_t begin = 0;
  int64_t num_rows = 0;
  std::span<const int64_t> list;  ///< empty: the range

  int64_t RowAt(int64_t i) const { return list.empty() ? begin + i : list[static_cast<size_t>(i)]; }
};

/// Whether any of the rows brings a lineage value with it.
bool HasLineage(const arrow::RecordBatch& batch, int num_table_columns, const RowsOfPartition& rows) {
  for (int column = num_table_columns; column < batch.num_columns(); ++column) {
    const arrow::Array& values = *batch.column(column);
    if (values.null_count() == values.length()) continue;
    for (int64_t i = 0; i < rows.num_rows; ++i) {
      if (values.IsValid(rows.RowAt(i))) return true;
    }
  }
  return false;
}

}  // namespace

class RowWriter::Impl {
 public:
  Impl(std::shared_ptr<io::FileIO> io, spec::TableMetadataPtr metadata, spec::SchemaPtr schema, Executor* executor,
       spec::PartitionSpec spec, std::optional<spec::SortOrderId> sort_order_id, bool is_landing,
       Partitioner partitioner, MetricsConfig metrics, table::FileNames names, int64_t target_file_size_bytes,
       std::optional<int64_t> max_open_bytes, std::optional<std::string> spill_directory, const std::atomic<bool>* stop)
      : io_(std::move(io)),
        metadata_(std::move(metadata)),
        schema_(std::move(schema)),
        executor_(executor),
        spec_(std::move(spec)),
        sort_order_id_(sort_order_id),
        is_landing_(is_landing),
        partitioner_(std::move(partitioner)),
        metrics_(std::move(metrics)),
        names_(std::move(names)),
        target_file_size_bytes_(target_file_size_bytes),
        spill_directory_(std::move(spill_directory)),
        stop_(stop),
        max_open_bytes_(max_open_bytes) {
    for (const spec::Field& field : schema_->fields()) num_table_columns_ += field.type.id() != spec::TypeId::kUnknown;
  }

  ~Impl() {
    if (finished_) return;
    std::vector<std::string> paths;
    for (const spec::DataFile& file : files_) {
      if (file.file_size_in_bytes > 0) paths.push_back(file.file_path);
    }
    open_.clear();
    (void)io_->Delete(paths);  // best effort: orphan removal finds what stays
  }

  Status Write(const arrow::RecordBatch& batch, std::vector<RowLocation>* locations) {
    FRAZIL_TRY(CheckColumns(batch));
    FRAZIL_ASSIGN(const std::vector<PartitionRows> split, partitioner_.Split(batch));
    std::vector<RowsOfPartition> partitions;
    for (const PartitionRows& rows : split) {
      const auto num_rows = static_cast<int64_t>(rows.rows.size());
      partitions.push_back({.tuple = &rows.tuple, .begin = 0, .num_rows = num_rows, .list = rows.rows});
      if (num_rows == batch.num_rows()) partitions.back().list = {};  // all of them, in their order
    }
    if (spill_directory_ && max_open_bytes_ && locations == nullptr) FRAZIL_TRY(LetWait(batch, partitions));
    return WritePartitions(batch, partitions, locations);
  }

  Status WriteGrouped(const arrow::RecordBatch& batch, std::span<const PartitionRange> ranges,
                      std::vector<RowLocation>* locations) {
    FRAZIL_TRY(CheckColumns(batch));
    std::vector<RowsOfPartition> partitions;
    for (const PartitionRange& range : ranges) {
      partitions.push_back(
          {.tuple = &range.tuple, .begin = range.begin, .num_rows = range.end - range.begin, .list = {}});
    }
    return WritePartitions(batch, partitions, locations);
  }

  int64_t open_bytes() const {
    int64_t bytes = 0;
    for (const auto& [tuple, file] : open_) bytes += file.writer->row_group_memory_bytes();
    return bytes;
  }

  Result<std::vector<spec::DataFile>> Finish() {
    FRAZIL_TRY(CloseAll());
    if (waiting_ != nullptr) FRAZIL_TRY(WriteWaiting());
    FRAZIL_TRY(CheckStop());
    finished_ = true;
    return std::move(files_);
  }

 private:
  struct OpenFile {
    uint32_t ordinal = 0;
    int64_t num_rows = 0;
    int num_lineage_columns = 0;
    std::unique_ptr<format::ParquetWriter> writer;
    spec::SchemaPtr schema;
  };

  Status CheckStop() const { return frazil::CheckStop(stop_, "writing of rows"); }

  Status WritePartitions(const arrow::RecordBatch& batch, const std::vector<RowsOfPartition>& partitions,
                         std::vector<RowLocation>* locations) {
    FRAZIL_TRY(CheckStop());
    const size_t first_location = locations == nullptr ? 0 : locations->size();
    if (locations != nullptr) locations->resize(first_location + static_cast<size_t>(batch.num_rows()));
    // Opening files and numbering them is serial; encoding is not.
    std::vector<OpenFile*> targets;
    for (const RowsOfPartition& partition : partitions) {
      const bool has_lineage = HasLineage(batch, num_table_columns_, partition);
      FRAZIL_ASSIGN(OpenFile * target, FileFor(*partition.tuple, has_lineage ? *num_lineage_columns_ : 0));
      if (locations != nullptr) {
        for (int64_t i = 0; i < partition.num_rows; ++i) {
          (*locations)[first_location + static_cast<size_t>(partition.RowAt(i))] = {target->ordinal,
                                                                                    target->num_rows + i};
        }
      }
      target->num_rows += partition.num_rows;
      targets.push_back(target);
    }
    FRAZIL_TRY(ParallelFor(executor_, partitions.size(),
                           [&](size_t i) -> Status { return Encode(batch, partitions[i], *targets[i]); }));
    FRAZIL_TRY(RollFullFiles());
    return CloseRowGroupsToFit();
  }

  /// Takes the rows out of `partitions` whose files cannot be open as well. Once there are any no more files are opened, so
  /// that no partition gets one now and one when they are written.
  Status LetWait(const arrow::RecordBatch& batch, std::vector<RowsOfPartition>& partitions) {
    const auto max_open = std::clamp<size_t>(*max_open_bytes_ / 2 / kMinRowGroupMemory, 1, kMaxOpenPartitions);
    size_t num_open = open_.size();
    std::vector<int64_t> waiting;
    std::erase_if(partitions, [&](const RowsOfPartition& rows) {
      if (open_.contains(*rows.tuple) || (waiting_ == nullptr && num_open++ < max_open)) return false;
      for (int64_t i = 0; i < rows.num_rows; ++i) waiting.push_back(rows.RowAt(i));
      return true;
    });
    if (waiting.empty()) return {};
    if (waiting_ == nullptr) {
      *max_open_bytes_ /= 2;
      FRAZIL_ASSIGN(waiting_, ExternalSorter::Make({.schema = schema_,
                                                    .spec = spec_,
                                                    .splits_by_partition = true,
                                                    .sort_order = {},
                                                    .memory_bytes = *max_open_bytes_,
                                                    .temp_directory = *spill_directory_,
                                                    .stop = stop_}));
    }
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, Gather(batch, waiting));
    return waiting_->Add(0, *rows);
  }

  Status WriteWaiting() {
    FRAZIL_TRY(waiting_->Sort());
    for (;;) {
      FRAZIL_ASSIGN(const std::optional<ExternalSorter::SortedRows> sorted, waiting_->Next());
      if (!sorted) break;
      if (!open_.contains(sorted->partition)) FRAZIL_TRY(CloseAll());
      const int64_t num_rows = sorted->rows->num_rows();
      FRAZIL_TRY(WritePartitions(
          *sorted->rows, {{.tuple = &sorted->partition, .begin = 0, .num_rows = num_rows, .list = {}}}, nullptr));
    }
    waiting_.reset();
    return CloseAll();
  }

  /// 0, 1 or 2 columns behind the table's; all batches must agree.
  Status CheckColumns(const arrow::RecordBatch& batch) {
    const int num_extra = batch.num_columns() - num_table_columns_;
    if (num_extra < 0 || num_extra > 2 || (num_lineage_columns_ && *num_lineage_columns_ != num_extra)) {
      return Fail(ErrorCode::kInternal, "a batch of {} columns does not fit a table of {} columns", batch.num_columns(),
                  num_table_columns_);
    }
    num_lineage_columns_ = num_extra;
    return {};
  }

  Result<OpenFile*> FileFor(const spec::PartitionTuple& tuple, int num_lineage_columns) {
    if (auto found = open_.find(tuple); found != open_.end()) {
      if (found->second.num_lineage_columns >= num_lineage_columns) return &found->second;
      // So far only new rows went to this file, and it has no column for the ids that come now.
      FRAZIL_TRY(Close(found->second));
      open_.erase(found);
    }
    OpenFile file;
    file.ordinal = static_cast<uint32_t>(files_.size());
    file.num_lineage_columns = num_lineage_columns;
    FRAZIL_ASSIGN(file.schema, FileSchema(*schema_, num_lineage_columns));
    spec::DataFile entry;
    entry.file_path = is_landing_ ? names_.NextLandingFile() : names_.NextDataFile(spec_, tuple, *schema_);
    entry.spec_id = spec_.id();
    entry.partition = tuple;
    entry.sort_order_id = sort_order_id_;
    FRAZIL_ASSIGN(std::unique_ptr<io::OutputFile> output, io_->Create(entry.file_path));
    FRAZIL_ASSIGN(file.writer,
                  format::ParquetWriter::Make(std::move(output), file.schema, {.properties = metadata_->properties}));
    files_.push_back(std::move(entry));
    return &open_.emplace(tuple, std::move(file)).first->second;
  }

  Status Encode(const arrow::RecordBatch& batch, const RowsOfPartition& rows, OpenFile& file) {
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (int i = 0; i < num_table_columns_ + file.num_lineage_columns; ++i) {
      if (rows.list.empty()) {
        const bool is_whole_batch = rows.num_rows == batch.num_rows();
        columns.push_back(is_whole_batch ? batch.column(i) : batch.column(i)->Slice(rows.begin, rows.num_rows));
        continue;
      }
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> gathered, Gather(*batch.column(i), rows.list));
      columns.push_back(std::move(gathered));
    }
    return file.writer->Write(
        *arrow::RecordBatch::Make(file.writer->arrow_schema(), rows.num_rows, std::move(columns)));
  }

  Status RollFullFiles() {
    for (auto it = open_.begin(); it != open_.end();) {
      if (it->second.writer->bytes_so_far() < target_file_size_bytes_) {
        ++it;
        continue;
      }
      FRAZIL_TRY(Close(it->second));
      it = open_.erase(it);
    }
    return {};
  }

  /// The largest go first: they are the fewest to close, and the ones whose size is good already.
  Status CloseRowGroupsToFit() {
    if (!max_open_bytes_ || open_bytes() <= *max_open_bytes_) return {};
    std::vector<std::pair<int64_t, format::ParquetWriter*>> by_size;
    for (const auto& [tuple, file] : open_)
      by_size.emplace_back(file.writer->row_group_memory_bytes(), file.writer.get());
    std::ranges::sort(by_size, std::greater<>{}, &std::pair<int64_t, format::ParquetWriter*>::first);
    for (const auto& [bytes, writer] : by_size) {
      if (bytes < kMinRowGroupMemory || open_bytes() <= *max_open_bytes_) break;
      FRAZIL_TRY(writer->CloseRowGroup());
    }
    return {};
  }

  Status CloseAll() {
    std::vector<OpenFile*> open;
    for (auto& [tuple, file] : open_) open.push_back(&file);
    FRAZIL_TRY(ParallelFor(executor_, open.size(), [&](size_t i) -> Status {
      FRAZIL_TRY(CheckStop());
      return Close(*open[i]);
    }));
    open_.clear();
    return {};
  }

  Status Close(OpenFile& file) {
    FRAZIL_ASSIGN(const format::ParquetFileResult result, file.writer->Finish());
    spec::DataFile& entry = files_[file.ordinal];
    SetColumnMetrics(result.metrics, *file.schema, metrics_, entry);
    entry.file_size_in_bytes = result.file_size_bytes;
    entry.split_offsets = result.split_offsets;
    return {};
  }

  const std::shared_ptr<io::FileIO> io_;
  const spec::TableMetadataPtr metadata_;
  const spec::SchemaPtr schema_;
  Executor* const executor_;
  const spec::PartitionSpec spec_;
  const std::optional<spec::SortOrderId> sort_order_id_;
  const bool is_landing_;
  Partitioner partitioner_;
  const MetricsConfig metrics_;
  table::FileNames names_;
  const int64_t target_file_size_bytes_;
  const std::optional<std::string> spill_directory_;
  const std::atomic<bool>* const stop_;
  std::optional<int64_t> max_open_bytes_;
  int num_table_columns_ = 0;
  std::optional<int> num_lineage_columns_;
  std::unordered_map<spec::PartitionTuple, OpenFile, spec::PartitionTupleHash, spec::PartitionTupleEqual> open_;
  std::vector<spec::DataFile> files_;
  std::unique_ptr<ExternalSorter> waiting_;  ///< rows whose partitions are not open; null: none so far
  bool finished_ = false;
};

RowWriter::RowWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowWriter::~RowWriter() = default;

Result<std::unique_ptr<RowWriter>> RowWriter::Make(std::shared_ptr<io::FileIO> io, spec::TableMetadataPtr metadata,
                                                   spec::SchemaPtr schema, Executor* executor,
                                                   RowWriterOptions options) {
  if (const std::string format = metadata->Property("write.format.default", "parquet"); format != "parquet") {
    return Fail(ErrorCode::kNotSupported, "data files are written as Parquet only, not write.format.default = {}",
                format);
  }
  if (const std::string key = metadata->Property("encryption.key-id", ""); !key.empty()) {
    return Fail(ErrorCode::kNotSupported, "rows of an encrypted table cannot be written: encryption.key-id = {}", key);
  }
  spec::PartitionSpec spec = options.spec ? *std::move(options.spec) : metadata->default_spec();
  FRAZIL_ASSIGN(Partitioner partitioner, Partitioner::Make(spec, schema));
  FRAZIL_ASSIGN(MetricsConfig metrics, MetricsConfig::Make(*metadata, *schema));
  FRAZIL_ASSIGN(table::FileNames names, table::FileNames::Make(metadata));
  FRAZIL_ASSIGN(const int64_t target,
                spec::NumberProperty(*metadata, "write.target-file-size-bytes", int64_t{512} << 20, 1));
  return std::unique_ptr<RowWriter>(new RowWriter(std::make_unique<Impl>(
      std::move(io), metadata, std::move(schema), executor, std::move(spec), options.sort_order_id, options.is_landing,
      std::move(partitioner), std::move(metrics), std::move(names), target, options.max_open_bytes,
      std::move(options.spill_directory), options.stop)));
}

Status RowWriter::Write(const arrow::RecordBatch& batch, std::vector<RowLocation>* locations) {
  return impl_->Write(batch, locations);
}

Status RowWriter::WriteGrouped(const arrow::RecordBatch& batch, std::span<const PartitionRange> partitions,
                               std::vector<RowLocation>* locations) {
  return impl_->WriteGrouped(batch, partitions, locations);
}

int64_t RowWriter::open_bytes() const { return impl_->open_bytes(); }

Result<std::vector<spec::DataFile>> RowWriter::Finish() { return impl_->Finish(); }

}  // namespace frazil::write
