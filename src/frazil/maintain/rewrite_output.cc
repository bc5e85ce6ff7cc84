#include "frazil/maintain/rewrite_output.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/base/log.h"

namespace frazil::maintain {
namespace {

constexpr char kRowGroupBytes[] = "write.parquet.row-group-size-bytes";
constexpr int64_t kDefaultRowGroupBytes = int64_t{128} << 20;

Result<spec::SchemaPtr> FileSchema(const spec::Schema& schema, bool has_lineage) {
  std::vector<spec::Field> fields = schema.fields();
  if (has_lineage) {
    const spec::Type type = spec::Type::Primitive(spec::TypeId::kLong);
    fields.push_back({.id = spec::kRowIdColumnId, .name = spec::kRowIdColumn, .type = type});
    fields.push_back(
        {.id = spec::kLastUpdatedSequenceNumberColumnId, .name = spec::kLastUpdatedSequenceNumberColumn, .type = type});
  }
  return spec::Schema::Make(schema.id(), std::move(fields));
}

}  // namespace

RewriteOutputs::RewriteOutputs(std::shared_ptr<io::FileIO> io, spec::TableMetadataPtr metadata, Options options,
                               spec::SchemaPtr file_schema, write::MetricsConfig metrics, table::FileNames names)
    : io_(std::move(io)),
      metadata_(std::move(metadata)),
      options_(std::move(options)),
      file_schema_(std::move(file_schema)),
      metrics_(std::move(metrics)),
      names_(std::move(names)),
      write_options_{.properties = metadata_->properties, .footer_metadata = {}} {}

Result<std::unique_ptr<RewriteOutputs>> RewriteOutputs::Make(std::shared_ptr<io::FileIO> io,
                                                             spec::TableMetadataPtr metadata, Options options) {
  if (const std::string format = metadata->Property("write.format.default", "parquet"); format != "parquet") {
    return Fail(ErrorCode::kNotSupported, "data files are written as Parquet only, not write.format.default = {}",
                format);
  }
  FRAZIL_ASSIGN(spec::SchemaPtr file_schema, FileSchema(*options.schema, options.has_lineage));
  FRAZIL_ASSIGN(write::MetricsConfig metrics, write::MetricsConfig::Make(*metadata, *options.schema));
  FRAZIL_ASSIGN(table::FileNames names, table::FileNames::Make(metadata));
  FRAZIL_ASSIGN(const int64_t wanted, metadata->IntProperty(kRowGroupBytes, kDefaultRowGroupBytes));
  std::unique_ptr<RewriteOutputs> outputs(new RewriteOutputs(std::move(io), std::move(metadata), std::move(options),
                                                             std::move(file_schema), std::move(metrics),
                                                             std::move(names)));
  const int64_t most_copied = outputs->options_.copied_row_group_bytes;
  outputs->copied_row_group_bytes_ = most_copied > 0 ? std::min(most_copied, wanted) : wanted;
  if (const int64_t most = outputs->options_.row_group_bytes; most > 0 && most < wanted) {
    outputs->write_options_.properties[kRowGroupBytes] = std::to_string(most);
  }
  return outputs;
}

RewriteOutputs::~RewriteOutputs() {
  if (is_finished_) return;
  const bool has_open = writer_ != nullptr;
  writer_.reset();  // leaves no file
  std::vector<std::string> paths;
  for (const spec::DataFile& file : files_) paths.push_back(file.file_path);
  if (has_open) paths.pop_back();
  if (paths.empty()) return;
  if (const Status deleted = io_->Delete(paths); !deleted) {
    Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
  }
}

Status RewriteOutputs::Open(const spec::PartitionTuple& partition) {
  spec::DataFile file;
  file.file_path = names_.NextDataFile(options_.spec, partition, *options_.schema);
  file.spec_id = options_.spec.id();
  file.partition = partition;
  file.sort_order_id = options_.sort_order_id;
  FRAZIL_ASSIGN(std::unique_ptr<io::OutputFile> output, io_->Create(file.file_path));
  FRAZIL_ASSIGN(writer_, format::ParquetWriter::Make(std::move(output), file_schema_, write_options_));
  files_.push_back(std::move(file));
  return {};
}

Status RewriteOutputs::OpenFor(const spec::PartitionTuple& partition) {
  if (writer_ != nullptr && !spec::PartitionTupleEqual()(files_.back().partition, partition)) FRAZIL_TRY(Close());
  return writer_ == nullptr ? Open(partition) : Status();
}

Result<RewriteOutputs::Place> RewriteOutputs::Write(const spec::PartitionTuple& partition,
                                                    const arrow::RecordBatch& rows) {
  FRAZIL_TRY(OpenFor(partition));
  const Place place{static_cast<uint32_t>(files_.size() - 1), writer_->num_rows()};
  FRAZIL_TRY(writer_->Write(*arrow::RecordBatch::Make(writer_->arrow_schema(), rows.num_rows(), rows.columns())));
  if (writer_->bytes_so_far() >= options_.roll_at_bytes) FRAZIL_TRY(Close());
  return place;
}

Result<RewriteOutputs::Place> RewriteOutputs::WriteRowGroup(const spec::PartitionTuple& partition,
                                                            std::span<const format::ParquetCopiedRows> rows) {
  FRAZIL_TRY(OpenFor(partition));
  const Place place{static_cast<uint32_t>(files_.size() - 1), writer_->num_rows()};
  FRAZIL_TRY(writer_->WriteRowGroup(rows));
  if (writer_->bytes_so_far() >= options_.roll_at_bytes) FRAZIL_TRY(Close());
  return place;
}

int64_t RewriteOutputs::row_group_room_bytes() const {
  constexpr int64_t kSmallestShare = 16;  // of a file; what is missing to its end may be less
  const int64_t in_file = options_.roll_at_bytes - (writer_ == nullptr ? 0 : writer_->bytes_so_far());
  return std::min(copied_row_group_bytes_, std::max(in_file, options_.roll_at_bytes / kSmallestShare));
}

Status RewriteOutputs::Close() {
  FRAZIL_ASSIGN(const format::ParquetFileResult result, writer_->Finish());
  writer_.reset();
  spec::DataFile& file = files_.back();
  write::SetColumnMetrics(result.metrics, *file_schema_, metrics_, file);
  file.file_size_in_bytes = result.file_size_bytes;
  file.split_offsets = result.split_offsets;
  return {};
}

Result<std::vector<spec::DataFile>> RewriteOutputs::Finish() {
  if (writer_ != nullptr) FRAZIL_TRY(Close());
  is_finished_ = true;
  return std::move(files_);
}

}  // namespace frazil::maintain
