#include "frazil/scan/row_source.h"

#include "frazil/scan/avro_row_source.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::scan {
namespace {

using NameMapping = std::map<std::string, spec::FieldId>;

class ParquetRowSource final : public RowSource {
 public:
  explicit ParquetRowSource(std::shared_ptr<const format::ParquetReader> file) : file_(std::move(file)) {}

  bool HasField(spec::FieldId id) const override { return file_->HasField(id); }
  bool has_field_ids() const override { return file_->has_field_ids(); }
  Status Start(const std::vector<spec::Field>& wanted) override {
    FRAZIL_ASSIGN(batches_, file_->Read(wanted));
    return {};
  }
  Result<std::optional<format::ParquetBatch>> Next() override { return batches_->Next(); }

 private:
  std::shared_ptr<const format::ParquetReader> file_;
  std::unique_ptr<format::ParquetBatchReader> batches_;
};

}  // namespace

Error NoFieldIds(const std::string& path) {
  return Error(ErrorCode::kInvalidTable, "data file has no field ids and the table has no name mapping: " + path)
      .WithHint("set the table property schema.name-mapping.default");
}

Status CheckNotEncrypted(const spec::DataFile& file) {
  if (!file.key_metadata || file.key_metadata->empty()) return {};
  return Fail(ErrorCode::kNotSupported, "reading encrypted data files: {}", file.file_path);
}

Result<NameMapping> NameMappingFor(const spec::TableMetadata& metadata, const spec::DataFile& file) {
  FRAZIL_ASSIGN(NameMapping mapping, spec::NameMappingOf(metadata));
  if (mapping.empty() || file.content != spec::FileContent::kData) return mapping;  // a delete names its values itself
  const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
  if (spec == nullptr) return mapping;
  for (const spec::PartitionField& field : spec->fields()) {
    if (field.transform.kind() != spec::Transform::Kind::kIdentity) continue;
    std::erase_if(mapping, [&](const auto& entry) { return entry.second == field.source_id; });
  }
  return mapping;
}

Result<std::shared_ptr<const format::ParquetReader>> OpenParquetFile(const io::FileIO& io,
                                                                     const spec::TableMetadata& metadata,
                                                                     const spec::DataFile& file) {
  format::ParquetReadOptions options;
  FRAZIL_ASSIGN(options.name_mapping, NameMappingFor(metadata, file));
  const bool has_mapping = !metadata.Property(spec::kNameMappingProperty, "").empty();
  FRAZIL_ASSIGN(std::unique_ptr<io::InputFile> input, io.Open(file.file_path));
  FRAZIL_ASSIGN(std::shared_ptr<const format::ParquetReader> parquet,
                format::ParquetReader::Open(std::move(input), std::move(options)));
  if (parquet->num_rows() != file.record_count) {
    return Fail(ErrorCode::kInvalidTable, "manifest says {} rows, the file has {}: {}", file.record_count,
                parquet->num_rows(), file.file_path);
  }
  if (!parquet->has_field_ids() && !has_mapping) return tl::unexpected(NoFieldIds(file.file_path));
  return parquet;
}

Result<std::unique_ptr<RowSource>> OpenRowSource(const io::FileIO& io, const spec::TableMetadata& metadata,
                                                 const spec::DataFile& file) {
  FRAZIL_TRY(CheckNotEncrypted(file));
  switch (file.file_format) {
    case spec::FileFormat::kParquet: {
      FRAZIL_ASSIGN(std::shared_ptr<const format::ParquetReader> parquet, OpenParquetFile(io, metadata, file));
      return std::make_unique<ParquetRowSource>(std::move(parquet));
    }
    case spec::FileFormat::kAvro: {
      FRAZIL_ASSIGN(const NameMapping mapping, NameMappingFor(metadata, file));
      FRAZIL_ASSIGN(std::unique_ptr<AvroRowSource> avro, AvroRowSource::Open(io, file, mapping));
      if (!avro->has_field_ids() && metadata.Property(spec::kNameMappingProperty, "").empty())
        return tl::unexpected(NoFieldIds(file.file_path));
      return avro;
    }
    case spec::FileFormat::kOrc:
    case spec::FileFormat::kPuffin: break;
  }
  return Fail(ErrorCode::kNotSupported, "reading {} files of rows: {}", spec::FileFormatName(file.file_format),
              file.file_path);
}

}  // namespace frazil::scan
