#include "frazil/scan/avro_row_source.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::scan {
namespace {

constexpr int64_t kBatchRows = format::kParquetBatchRows;
constexpr auto kBatchBytes = static_cast<size_t>(format::kParquetBatchBytes);

}  // namespace

AvroRowSource::AvroRowSource(format::AvroFileReader file) : file_(std::move(file)) {}

Result<std::unique_ptr<AvroRowSource>> AvroRowSource::Open(const io::FileIO& io, const spec::DataFile& file,
                                                           const std::map<std::string, spec::FieldId>& name_mapping) {
  FRAZIL_ASSIGN(format::AvroFileReader avro, format::AvroFileReader::Open(io, file.file_path));
  if (avro.schema()->kind != format::AvroKind::kRecord) {
    return Fail(ErrorCode::kCorruptData, "rows of an Avro data file must be records, but are: {}: {}",
                AvroKindName(avro.schema()->kind), file.file_path);
  }
  auto source = std::unique_ptr<AvroRowSource>(new AvroRowSource(std::move(avro)));
  source->record_count_ = file.record_count;
  source->has_field_ids_ = AvroColumnsOf(*source->file_.schema(), {}).HasIds();
  source->root_ = AvroColumnsOf(*source->file_.schema(), name_mapping);
  return source;
}

bool AvroRowSource::HasField(spec::FieldId id) const { return root_.Has(id); }

Status AvroRowSource::Start(const std::vector<spec::Field>& wanted) {
  steps_.resize(root_.children.size());
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].node = root_.children[i].node;
  arrow::FieldVector fields;
  for (const spec::Field& field : wanted) {
    const AvroColumn* column = root_.Find(field.id);
    if (column == nullptr || field.type.id() == spec::TypeId::kUnknown) continue;
    Result<std::unique_ptr<AvroValueBuilder>> builder = MakeAvroValueBuilder(*column, field);
    if (!builder) return Fail(builder.error().code(), "{}: {}", builder.error().message(), file_.path());
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Field> arrow_field, format::ToArrowField(field));
    fields.push_back(std::move(arrow_field));
    builders_.push_back(*std::move(builder));
    steps_[static_cast<size_t>(column - root_.children.data())].builder = builders_.back().get();
  }
  schema_ = arrow::schema(std::move(fields));
  blocks_.emplace(file_);
  return {};
}

Result<bool> AvroRowSource::NextBlock() {
  if (block_ && block_->remaining() > 0) {
    return Fail(ErrorCode::kCorruptData, "Avro block is longer than its records: {}", file_.path());
  }
  FRAZIL_ASSIGN(const std::optional<format::AvroBlock> block, blocks_->Next());
  if (!block) return false;
  block_.emplace(block->bytes);
  rows_left_in_block_ = block->num_records;
  return true;
}

Status AvroRowSource::ReadRow() {
  for (const Step& step : steps_) {
    if (step.builder != nullptr) {
      step.builder->Read(*block_);
    } else {
      block_->Skip(*step.node);
    }
    if (!block_->ok()) {
      return Fail(block_->error_code(), "{}, in row {}: {}", block_->error_text(), next_row_, file_.path());
    }
  }
  return {};
}

Result<std::optional<format::ParquetBatch>> AvroRowSource::Next() {
  const int64_t first_row = next_row_;
  size_t bytes = 0;
  while (next_row_ - first_row < kBatchRows && bytes < kBatchBytes) {
    if (rows_left_in_block_ == 0) {
      FRAZIL_ASSIGN(const bool has_more, NextBlock());
      if (!has_more) break;
      continue;
    }
    const size_t before = block_->remaining();
    FRAZIL_TRY(ReadRow());
    bytes += before - block_->remaining();
    ++next_row_;
    --rows_left_in_block_;
  }
  const int64_t num_rows = next_row_ - first_row;
  if (num_rows == 0 || next_row_ > record_count_) {
    if (next_row_ == record_count_) return std::nullopt;
    return Fail(ErrorCode::kInvalidTable, "manifest says {} rows, the file has {}: {}", record_count_,
                next_row_ > record_count_ ? "more" : std::to_string(next_row_), file_.path());
  }
  arrow::ArrayVector arrays;
  for (const auto& builder : builders_) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, builder->Finish());
    arrays.push_back(std::move(array));
  }
  return format::ParquetBatch{first_row, arrow::RecordBatch::Make(schema_, num_rows, std::move(arrays))};
}

}  // namespace frazil::scan
