#include "frazil/format/parquet_writer.h"

#include <algorithm>
#include <numeric>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_writer.h>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_io.h"
#include "frazil/format/parquet_leaves.h"
#include "frazil/format/parquet_required.h"
#include "frazil/format/parquet_row_bytes.h"
#include "frazil/format/parquet_row_group_copy.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_settings.h"
#include "frazil/format/parquet_statistics.h"
#include "frazil/spec/schema_json.h"

namespace frazil::format {
namespace {

constexpr char kIcebergSchemaKey[] = "iceberg.schema";
constexpr int64_t kMaxRowsPerRowGroup = int64_t{1} << 20;
// How often the row group's size is looked at. Arrow looks at a page's size every 1,024 rows, and at the end of a write:
// of wider rows there are fewer in one.
constexpr int64_t kMaxRowsPerWrite = int64_t{1} << 16;
constexpr int64_t kMaxBytesPerWrite = int64_t{1} << 20;
constexpr int64_t kWideRowBytes = kMaxBytesPerWrite / 1024;

/// A file writer that tells which row group is open. Arrow's own hides it, and with it how large the group has become.
class TrackingContents : public parquet::ParquetFileWriter::Contents {
 public:
  TrackingContents(std::unique_ptr<parquet::ParquetFileWriter> inner,
                   std::shared_ptr<parquet::schema::GroupNode> schema, parquet::RowGroupWriter** open)
      : Contents(std::move(schema), inner->key_value_metadata()), inner_(std::move(inner)), open_(open) {}

  void Close() override {
    *open_ = nullptr;
    inner_->Close();
    file_metadata_ = inner_->metadata();
  }
  parquet::RowGroupWriter* AppendRowGroup() override { return *open_ = inner_->AppendRowGroup(); }
  parquet::RowGroupWriter* AppendBufferedRowGroup() override { return *open_ = inner_->AppendBufferedRowGroup(); }
  /// A row group that Arrow's writer does not know of.
  parquet::RowGroupWriter* AppendCopiedRowGroup() { return inner_->AppendRowGroup(); }
  int64_t num_rows() const override { return inner_->num_rows(); }
  int num_columns() const override { return inner_->num_columns(); }
  int num_row_groups() const override { return inner_->num_row_groups(); }
  const std::shared_ptr<parquet::WriterProperties>& properties() const override { return inner_->properties(); }
  void AddKeyValueMetadata(const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) override {
    inner_->AddKeyValueMetadata(metadata);
  }

 private:
  std::unique_ptr<parquet::ParquetFileWriter> inner_;
  parquet::RowGroupWriter** open_;
};

int64_t PendingBytes(const parquet::RowGroupWriter& row_group) {
  const auto buffered = row_group.estimated_buffered_stats();
  return row_group.total_compressed_bytes() + row_group.total_compressed_bytes_written() + buffered.value_bytes +
         buffered.dict_bytes + buffered.def_level_bytes + buffered.rep_level_bytes;
}

bool HasNanCount(const parquet::ColumnDescriptor& column) {
  return column.max_repetition_level() == 0 &&
         (column.physical_type() == parquet::Type::FLOAT || column.physical_type() == parquet::Type::DOUBLE);
}

struct LeafColumn {
  std::string full_name;
  spec::FieldId id;
};

/// Leaves in the order of the file's columns.
std::vector<LeafColumn> LeavesOf(const spec::Schema& schema) {
  std::vector<LeafColumn> leaves;
  for (const auto& [field, full_name] : schema.AllFields()) {
    if (field->type.is_nested() || field->type.id() == spec::TypeId::kUnknown) continue;
    leaves.push_back({full_name, field->id});
  }
  return leaves;
}

}  // namespace

class ParquetWriter::Impl {
 public:
  Impl(std::unique_ptr<io::OutputFile> file, spec::SchemaPtr schema, std::shared_ptr<arrow::Schema> arrow_schema,
       ParquetSettings settings, std::map<std::string, std::string> footer)
      : file_(std::move(file)),
        schema_(std::move(schema)),
        arrow_schema_(std::move(arrow_schema)),
        settings_(std::move(settings)),
        footer_(std::move(footer)),
        leaves_(LeavesOf(*schema_)) {}

  ~Impl() {
    // An unfinished writer would flush into a file that nobody will see; closing may throw.
    (void)Guard(ErrorCode::kInternal, kWhat, [&]() -> Status {
      writer_.reset();
      return {};
    });
  }

  const std::shared_ptr<arrow::Schema>& arrow_schema() const { return arrow_schema_; }
  int64_t num_rows() const { return num_rows_; }
  int64_t bytes_so_far() const {
    return file_->bytes_written() + (open_row_group_ == nullptr ? 0 : PendingBytes(*open_row_group_));
  }

  int64_t row_group_memory_bytes() const {
    return open_row_group_ == nullptr ? 0 : std::max<int64_t>(0, memory_.bytes_allocated() - bytes_before_row_group_);
  }

  Status CloseRowGroup() {
    if (open_row_group_ == nullptr) return {};
    return Guard(ErrorCode::kInternal, kWhat, [&]() -> Status {
      open_row_group_->Close();  // Arrow's writer closes it once more when it begins the next: that does nothing
      open_row_group_ = nullptr;
      memory_.ReleaseUnused();
      return {};
    });
  }

  Status Write(const arrow::RecordBatch& batch) {
    return Guard(ErrorCode::kInternal, kWhat, [&]() -> Status {
      FRAZIL_TRY(CheckTypes(batch));
      if (batch.num_rows() == 0) return {};
      FRAZIL_ASSIGN(const auto rows, WithoutNullsBelowNulls(
                                         *arrow::RecordBatch::Make(arrow_schema_, batch.num_rows(), batch.columns())));
      if (writer_ == nullptr) FRAZIL_TRY(OpenFor(rows.get()));
      FRAZIL_TRY(CountNans(*rows));
      std::vector<int64_t> row_bytes;
      if (arrow::util::TotalBufferSize(*rows) > kMaxBytesPerWrite) row_bytes = RowBytes(*rows);
      const int64_t bytes = std::accumulate(row_bytes.begin(), row_bytes.end(), int64_t{0});
      const bool is_wide = bytes / rows->num_rows() > kWideRowBytes;
      for (int64_t begin = 0, end = 0; begin < rows->num_rows(); begin = end) {
        end = is_wide ? EndOfRows(row_bytes, begin, kMaxBytesPerWrite, kMaxRowsPerWrite) : begin + kMaxRowsPerWrite;
        FRAZIL_TRY(WriteSlice(*rows->Slice(begin, end - begin)));
      }
      return {};
    });
  }

  Status WriteRowGroup(std::span<const ParquetCopiedRows> rows) {
    return Guard(ErrorCode::kInternal, kWhat, [&]() -> Status {
      FRAZIL_ASSIGN(const ParquetRowGroupCopy copy, ParquetRowGroupCopy::Open(rows, leaves_.size()));
      if (copy.num_rows() == 0) return {};
      if (writer_ == nullptr) FRAZIL_TRY(OpenFor(copy));
      // Arrow's writer keeps a pointer to the row group that it wrote last.
      if (num_rows_ > num_copied_rows_) return Fail(ErrorCode::kInternal, "rows are copied behind written ones");
      parquet::RowGroupWriter* const row_group = contents_->AppendCopiedRowGroup();
      for (const LeafColumn& leaf : leaves_) {
        parquet::ColumnWriter* const column = row_group->NextColumn();
        FRAZIL_ASSIGN(const int64_t nans, copy.CopyColumn(static_cast<size_t>(row_group->current_column()), *column));
        if (HasNanCount(*column->descr())) nan_value_counts_[leaf.id] += nans;
      }
      row_group->Close();
      num_rows_ += copy.num_rows();
      num_copied_rows_ += copy.num_rows();
      return {};
    });
  }

  Result<ParquetFileResult> Finish() {
    return Guard(ErrorCode::kInternal, kWhat, [&]() -> Result<ParquetFileResult> {
      if (writer_ == nullptr) FRAZIL_TRY(OpenFor(nullptr));
      FRAZIL_TRY(Check(writer_->Close(), ErrorCode::kInternal, kWhat));
      const std::shared_ptr<parquet::FileMetaData> metadata = writer_->metadata();
      ParquetFileResult result;
      result.file_size_bytes = file_->bytes_written();
      ParquetMetricsCollector collector(LeafIdsOf(*metadata));
      for (int i = 0; i < metadata->num_row_groups(); ++i) {
        const auto row_group = metadata->RowGroup(i);
        collector.Add(*row_group);
        result.split_offsets.push_back(StartOffsetOf(*row_group));
      }
      result.metrics = collector.Finish();
      result.metrics.nan_value_counts = nan_value_counts_;
      FRAZIL_TRY(file_->Close());
      return result;
    });
  }

 private:
  static constexpr char kWhat[] = "data file being written";

  Status CheckTypes(const arrow::RecordBatch& batch) const {
    if (batch.num_columns() != arrow_schema_->num_fields()) {
      return Fail(ErrorCode::kInvalidArgument, "batch has {} columns, but the file has {}", batch.num_columns(),
                  arrow_schema_->num_fields());
    }
    for (int i = 0; i < batch.num_columns(); ++i) {
      const arrow::Field& field = *arrow_schema_->field(i);
      if (!batch.column(i)->type()->Equals(*field.type())) {
        return Fail(ErrorCode::kInvalidArgument, "column {} must be of Arrow type {}, but the batch has {}",
                    field.name(), field.type()->ToString(), batch.column(i)->type()->ToString());
      }
    }
    return {};
  }

  /// `first` (may be null) shows which columns repeat.
  Status OpenFor(const arrow::RecordBatch* first) {
    std::vector<ParquetLeaf> leaves = NamedLeaves();
    if (first != nullptr) {
      FRAZIL_TRY(VisitLeaves(*first, [&](size_t leaf, const arrow::Array& array, bool) {
        leaves[leaf].repeats = LooksRepetitive(array);
      }));
    }
    return Open(leaves);
  }

  Status OpenFor(const ParquetRowGroupCopy& first) {
    std::vector<ParquetLeaf> leaves = NamedLeaves();
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) leaves[leaf].repeats = first.Repeats(leaf);
    return Open(leaves);
  }

  std::vector<ParquetLeaf> NamedLeaves() const {
    std::vector<ParquetLeaf> leaves;
    for (const LeafColumn& leaf : leaves_) leaves.push_back({.full_name = leaf.full_name});
    return leaves;
  }

  Status Open(const std::vector<ParquetLeaf>& leaves) {
    FRAZIL_ASSIGN(const std::shared_ptr<parquet::SchemaDescriptor> descriptor, ToParquetSchema(*arrow_schema_));
    if (static_cast<size_t>(descriptor->num_columns()) != leaves.size()) {
      return Fail(ErrorCode::kInternal, "file has {} leaf columns, but its schema {}", descriptor->num_columns(),
                  leaves.size());
    }
    const auto properties = ToWriterProperties(settings_, *descriptor, leaves, &memory_);
    const auto root = std::static_pointer_cast<parquet::schema::GroupNode>(descriptor->schema_root());
    auto inner = parquet::ParquetFileWriter::Open(ToArrowStream(file_.get()), root, properties);
    auto outer = std::make_unique<parquet::ParquetFileWriter>();
    auto contents = std::make_unique<TrackingContents>(std::move(inner), root, &open_row_group_);
    contents_ = contents.get();
    outer->Open(std::move(contents));
    FRAZIL_TRY(Check(parquet::arrow::FileWriter::Make(&memory_, std::move(outer), arrow_schema_,
                                                      parquet::default_arrow_writer_properties(), &writer_),
                     ErrorCode::kInternal, kWhat));
    auto footer = std::make_shared<arrow::KeyValueMetadata>();
    footer->Append(kIcebergSchemaKey, spec::WriteSchemaJson(*schema_));
    for (const auto& [key, value] : footer_) footer->Append(key, value);
    return Check(writer_->AddKeyValueMetadata(footer), ErrorCode::kInternal, kWhat);
  }

  Status WriteSlice(const arrow::RecordBatch& rows) {
    if (open_row_group_ == nullptr || PendingBytes(*open_row_group_) >= settings_.row_group_bytes ||
        row_group_rows_ + rows.num_rows() > kMaxRowsPerRowGroup) {
      FRAZIL_TRY(Check(writer_->NewBufferedRowGroup(), ErrorCode::kInternal, kWhat));
      row_group_rows_ = 0;
      bytes_before_row_group_ = memory_.bytes_allocated();  // with its Bloom filters, which stay until the file ends
    }
    FRAZIL_TRY(Check(writer_->WriteRecordBatch(rows), ErrorCode::kInvalidArgument, kWhat));
    row_group_rows_ += rows.num_rows();
    num_rows_ += rows.num_rows();
    return {};
  }

  Status CountNans(const arrow::RecordBatch& rows) {
    return VisitLeaves(rows, [&](size_t leaf, const arrow::Array& array, bool is_repeated) {
      if (is_repeated || (array.type_id() != arrow::Type::FLOAT && array.type_id() != arrow::Type::DOUBLE)) return;
      nan_value_counts_[leaves_[leaf].id] += format::CountNans(array);
    });
  }

  arrow::ProxyMemoryPool memory_{arrow::default_memory_pool()};  // counts what this writer holds
  std::unique_ptr<io::OutputFile> file_;
  spec::SchemaPtr schema_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
  ParquetSettings settings_;
  std::map<std::string, std::string> footer_;
  std::vector<LeafColumn> leaves_;
  std::map<spec::FieldId, int64_t> nan_value_counts_;
  parquet::RowGroupWriter* open_row_group_ = nullptr;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;  // uses the members above
  TrackingContents* contents_ = nullptr;                // of writer_
  int64_t row_group_rows_ = 0;
  int64_t bytes_before_row_group_ = 0;
  int64_t num_rows_ = 0;
  int64_t num_copied_rows_ = 0;  // of them, by WriteRowGroup()
};

Result<std::unique_ptr<ParquetWriter>> ParquetWriter::Make(std::unique_ptr<io::OutputFile> file, spec::SchemaPtr schema,
                                                           ParquetWriteOptions options) {
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Schema> arrow_schema, ToArrowSchema(*schema));
  FRAZIL_ASSIGN(ParquetSettings settings, ParseParquetSettings(options.properties));
  return std::unique_ptr<ParquetWriter>(
      new ParquetWriter(std::make_unique<Impl>(std::move(file), std::move(schema), std::move(arrow_schema),
                                               std::move(settings), std::move(options.footer_metadata))));
}

ParquetWriter::ParquetWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParquetWriter::~ParquetWriter() = default;
const std::shared_ptr<arrow::Schema>& ParquetWriter::arrow_schema() const { return impl_->arrow_schema(); }
Status ParquetWriter::Write(const arrow::RecordBatch& batch) { return impl_->Write(batch); }
Status ParquetWriter::WriteRowGroup(std::span<const ParquetCopiedRows> rows) { return impl_->WriteRowGroup(rows); }
int64_t ParquetWriter::bytes_so_far() const { return impl_->bytes_so_far(); }
int64_t ParquetWriter::num_rows() const { return impl_->num_rows(); }
int64_t ParquetWriter::row_group_memory_bytes() const { return impl_->row_group_memory_bytes(); }
Status ParquetWriter::CloseRowGroup() { return impl_->CloseRowGroup(); }
Result<ParquetFileResult> ParquetWriter::Finish() { return impl_->Finish(); }

}  // namespace frazil::format
