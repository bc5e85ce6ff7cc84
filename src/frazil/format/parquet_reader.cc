#include "frazil/format/parquet_reader.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include "frazil/format/parquet_column.h"
#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_io.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_statistics.h"
#include "frazil/spec/single_value.h"

namespace frazil::format {
namespace {

constexpr int64_t kReadBufferBytes = int64_t{256} << 10;

using FileReaderPtr = std::unique_ptr<parquet::arrow::FileReader>;

/// A reader of its own for each use: Arrow's is for one thread. `metadata` null: the footer is read.
Result<FileReaderPtr> OpenArrowReader(const std::shared_ptr<const io::InputFile>& file,
                                      std::shared_ptr<parquet::FileMetaData> metadata, int64_t batch_rows) {
  const std::string& path = file->path();
  parquet::ReaderProperties properties;
  properties.enable_buffered_stream();  // pages instead of whole column chunks in memory, and faster (measured)
  properties.set_buffer_size(kReadBufferBytes);
  parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
  arrow_properties.set_pre_buffer(false);
  arrow_properties.set_batch_size(batch_rows);
  arrow_properties.set_arrow_extensions_enabled(true);  // uuid
  arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  parquet::arrow::FileReaderBuilder builder;
  FRAZIL_TRY(Check(builder.Open(ToArrowFile(file), properties, std::move(metadata)), ErrorCode::kCorruptData, path));
  builder.properties(arrow_properties);
  return Check(builder.Build(), ErrorCode::kCorruptData, path);
}

/// A bound of the file's own type: the bytes depend on the kind of the value only.
Bytes EncodeBound(const spec::Value& value) {
  using spec::Type;
  using spec::TypeId;
  struct TypeOfKind {
    Type operator()(std::monostate) const { return Type(); }
    Type operator()(bool) const { return Type::Primitive(TypeId::kBoolean); }
    Type operator()(int32_t) const { return Type::Primitive(TypeId::kInt); }
    Type operator()(int64_t) const { return Type::Primitive(TypeId::kLong); }
    Type operator()(float) const { return Type::Primitive(TypeId::kFloat); }
    Type operator()(double) const { return Type::Primitive(TypeId::kDouble); }
    Type operator()(const std::string&) const { return Type::Primitive(TypeId::kString); }
    Type operator()(const Bytes&) const { return Type::Primitive(TypeId::kBinary); }
    Type operator()(const spec::Decimal&) const { return Type::DecimalOf(38, 0); }
    Type operator()(const Uuid&) const { return Type::Primitive(TypeId::kUuid); }
  };
  return spec::EncodeSingleValue(std::visit(TypeOfKind{}, value), value);
}

/// One top-level column that is in the file.
struct ReadColumn {
  const ParquetColumn* column;
  spec::Field wanted;
  int index_in_batch = 0;  ///< Arrow gives columns in the file's order
};

}  // namespace

class ParquetReader::Impl {
 public:
  explicit Impl(std::shared_ptr<const io::InputFile> opened) : file(std::move(opened)) {}

  Status Open(const ParquetReadOptions& options) {
    FRAZIL_ASSIGN(arrow_reader, OpenArrowReader(file, nullptr, /*batch_rows=*/1));
    metadata = arrow_reader->parquet_reader()->metadata();
    has_field_ids = HasIds(ColumnsOf(arrow_reader->manifest(), {}));
    root = ColumnsOf(arrow_reader->manifest(), options.name_mapping);
    int64_t next_row = 0;
    for (int i = 0; i < metadata->num_row_groups(); ++i) {
      const auto row_group = metadata->RowGroup(i);
      ParquetRowGroup group{.first_row = next_row, .num_rows = row_group->num_rows()};
      if (group.num_rows < 0 || __builtin_add_overflow(next_row, group.num_rows, &next_row)) {
        return Fail(ErrorCode::kCorruptData, "row group {} has an impossible row count: {}", i, file->path());
      }
      group.start_offset = StartOffsetOf(*row_group);
      for (int c = 0; c < row_group->num_columns(); ++c) {
        group.compressed_bytes += row_group->ColumnChunk(c)->total_compressed_size();
      }
      row_groups.push_back(group);
    }
    if (next_row != metadata->num_rows()) {
      return Fail(ErrorCode::kCorruptData, "row groups have {} rows, but the file says {}: {}", next_row,
                  metadata->num_rows(), file->path());
    }
    return {};
  }

  LeafIds Ids() const {
    LeafIds ids(static_cast<size_t>(metadata->num_columns()));
    CollectIds(root, ids);
    return ids;
  }

  static void CollectIds(const ParquetColumn& column, LeafIds& ids) {
    if (column.leaf >= 0 && static_cast<size_t>(column.leaf) < ids.size()) ids[column.leaf] = column.id;
    for (const ParquetColumn& child : column.children) CollectIds(child, ids);
  }

  std::shared_ptr<const io::InputFile> file;
  FileReaderPtr arrow_reader;  // keeps the manifest that `root` was made of
  std::shared_ptr<parquet::FileMetaData> metadata;
  ParquetColumn root;
  bool has_field_ids = false;
  std::vector<ParquetRowGroup> row_groups;
};

class ParquetBatchReader::Impl {
 public:
  Impl(std::shared_ptr<const ParquetReader::Impl> file, std::vector<int> row_groups, int64_t batch_rows)
      : file_(std::move(file)), row_groups_(std::move(row_groups)), batch_rows_(batch_rows) {}

  Status Plan(const std::vector<spec::Field>& columns) {
    arrow::FieldVector fields;
    std::map<const ParquetColumn*, int> positions;
    for (const spec::Field& wanted : columns) {
      const ParquetColumn* found = file_->root.Find(wanted.id);
      if (found == nullptr || wanted.type.id() == spec::TypeId::kUnknown) {
        missing_.push_back(wanted.id);
        continue;
      }
      const Status planned = PlanColumn(*found, wanted, leaves_);
      if (!planned) {
        return Fail(planned.error().code(), "{}: {}", planned.error().message(), path());
      }
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Field> field, ToArrowField(wanted));
      fields.push_back(std::move(field));
      columns_.push_back({found, wanted});
      positions[found] = 0;
    }
    std::ranges::sort(leaves_);
    leaves_.erase(std::ranges::unique(leaves_).begin(), leaves_.end());
    // The columns' addresses ascend in the file's order: they lie in one vector.
    int next = 0;
    for (auto& [column, position] : positions) position = next++;
    for (ReadColumn& column : columns_) column.index_in_batch = positions[column.column];
    schema_ = arrow::schema(std::move(fields));
    if (!leaves_.empty()) {
      FRAZIL_ASSIGN(reader_, OpenArrowReader(file_->file, file_->metadata, batch_rows_));
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
      if (columns_.empty()) return CountOnly();
      std::shared_ptr<arrow::RecordBatch> rows;
      FRAZIL_TRY(Check(batches_->ReadNext(&rows), ErrorCode::kCorruptData, path()));
      if (rows == nullptr || rows->num_rows() > end_row_ - next_row_) {
        return Fail(ErrorCode::kCorruptData, "row group {} has other than its {} rows: {}",
                    row_groups_[next_group_ - 1], file_->row_groups[row_groups_[next_group_ - 1]].num_rows, path());
      }
      if (rows->num_rows() == 0) continue;
      return Conform(*rows);
    }
  }

  const std::string& path() const { return file_->file->path(); }
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const std::vector<spec::FieldId>& missing() const { return missing_; }

 private:
  Status OpenRowGroup(int index) {
    const ParquetRowGroup& group = file_->row_groups[static_cast<size_t>(index)];
    next_row_ = group.first_row;
    end_row_ = group.first_row + group.num_rows;
    if (columns_.empty() || group.num_rows == 0) return {};
    FRAZIL_ASSIGN(batches_, Check(reader_->GetRecordBatchReader({index}, leaves_), ErrorCode::kCorruptData, path()));
    return {};
  }

  /// Nothing of the projection is in the file: only the number of rows matters.
  ParquetBatch CountOnly() {
    const int64_t count = std::min(batch_rows_, end_row_ - next_row_);
    ParquetBatch batch{next_row_, arrow::RecordBatch::Make(schema_, count, arrow::ArrayVector{})};
    next_row_ += count;
    return batch;
  }

  Result<std::optional<ParquetBatch>> Conform(const arrow::RecordBatch& rows) {
    arrow::ArrayVector arrays;
    for (const ReadColumn& column : columns_) {
      if (column.index_in_batch >= rows.num_columns()) {
        return Fail(ErrorCode::kInternal, "column is missing in what Arrow read: {}: {}", column.wanted.name, path());
      }
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array,
                    ConformColumn(rows.column(column.index_in_batch), *column.column, column.wanted, path()));
      arrays.push_back(std::move(array));
    }
    ParquetBatch batch{next_row_, arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(arrays))};
    next_row_ += rows.num_rows();
    return batch;
  }

  std::shared_ptr<const ParquetReader::Impl> file_;
  std::vector<int> row_groups_;
  int64_t batch_rows_;
  std::vector<ReadColumn> columns_;
  std::vector<int> leaves_;
  std::vector<spec::FieldId> missing_;
  std::shared_ptr<arrow::Schema> schema_;
  FileReaderPtr reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // uses reader_
  size_t next_group_ = 0;
  int64_t next_row_ = 0;
  int64_t end_row_ = 0;
};

ParquetBatchReader::ParquetBatchReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParquetBatchReader::~ParquetBatchReader() = default;
const std::shared_ptr<arrow::Schema>& ParquetBatchReader::schema() const { return impl_->schema(); }
const std::vector<spec::FieldId>& ParquetBatchReader::missing() const { return impl_->missing(); }

Result<std::optional<ParquetBatch>> ParquetBatchReader::Next() {
  return Guard(ErrorCode::kCorruptData, impl_->path(), [&] { return impl_->Next(); });
}

Result<std::shared_ptr<const ParquetReader>> ParquetReader::Open(std::shared_ptr<const io::InputFile> file,
                                                                 ParquetReadOptions options) {
  const std::string path = file->path();
  auto impl = std::make_shared<Impl>(std::move(file));
  FRAZIL_TRY(Guard(ErrorCode::kCorruptData, path, [&] { return impl->Open(options); }));
  return std::shared_ptr<const ParquetReader>(new ParquetReader(std::move(impl)));
}

ParquetReader::ParquetReader(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
ParquetReader::~ParquetReader() = default;

const std::string& ParquetReader::path() const { return impl_->file->path(); }
int64_t ParquetReader::num_rows() const { return impl_->metadata->num_rows(); }
const std::vector<ParquetRowGroup>& ParquetReader::row_groups() const { return impl_->row_groups; }
bool ParquetReader::has_field_ids() const { return impl_->has_field_ids; }

bool ParquetReader::HasField(spec::FieldId id) const {
  const auto has = [&](const auto& self, const ParquetColumn& column) -> bool {
    if (column.id == id) return true;
    return std::ranges::any_of(column.children, [&](const ParquetColumn& child) { return self(self, child); });
  };
  return has(has, impl_->root);
}

std::optional<std::string> ParquetReader::FooterValue(const std::string& key) const {
  const auto& values = impl_->metadata->key_value_metadata();
  if (values == nullptr) return std::nullopt;
  const int index = values->FindKey(key);
  return index < 0 ? std::nullopt : std::optional(values->value(index));
}

Result<std::vector<spec::Field>> ParquetReader::FileFields() const {
  std::vector<spec::Field> fields;
  for (const ParquetColumn& column : impl_->root.children) {
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
    ParquetMetricsCollector collector(impl_->Ids());
    collector.Add(*impl_->metadata->RowGroup(row_group));
    return collector.Finish();
  });
}

Result<spec::DataFile> ParquetReader::RowGroupAsFile(int row_group) const {
  FRAZIL_ASSIGN(ParquetMetrics metrics, RowGroupMetrics(row_group));
  spec::DataFile file;
  file.file_path = path();
  file.record_count = metrics.record_count;
  file.column_sizes = std::move(metrics.column_sizes);
  file.value_counts = std::move(metrics.value_counts);
  file.null_value_counts = std::move(metrics.null_value_counts);
  for (const auto& [id, value] : metrics.lower_bounds) file.lower_bounds[id] = EncodeBound(value);
  for (const auto& [id, value] : metrics.upper_bounds) file.upper_bounds[id] = EncodeBound(value);
  return file;
}

Result<std::unique_ptr<ParquetBatchReader>> ParquetReader::Read(const std::vector<spec::Field>& columns,
                                                                const std::vector<int>& row_groups,
                                                                int64_t batch_rows) const {
  return Guard(ErrorCode::kCorruptData, path(), [&]() -> Result<std::unique_ptr<ParquetBatchReader>> {
    for (const int index : row_groups) {
      if (index < 0 || static_cast<size_t>(index) >= impl_->row_groups.size()) {
        return Fail(ErrorCode::kInvalidArgument, "no such row group: {}: {}", index, path());
      }
    }
    auto impl = std::make_unique<ParquetBatchReader::Impl>(impl_, row_groups, std::max<int64_t>(batch_rows, 1));
    FRAZIL_TRY(impl->Plan(columns));
    return std::unique_ptr<ParquetBatchReader>(new ParquetBatchReader(std::move(impl)));
  });
}

Result<std::unique_ptr<ParquetBatchReader>> ParquetReader::Read(const std::vector<spec::Field>& columns) const {
  std::vector<int> all;
  for (size_t i = 0; i < impl_->row_groups.size(); ++i) all.push_back(static_cast<int>(i));
  return Read(columns, all);
}

}  // namespace frazil::format
