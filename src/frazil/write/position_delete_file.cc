#include "frazil/write/position_delete_file.h"

#include <arrow/api.h>

#include "frazil/format/parquet_writer.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/file_names.h"
#include "frazil/table/spec_schema.h"

namespace frazil::write {
namespace {

constexpr int64_t kBatchRows = 64 * 1024;

Result<spec::SchemaPtr> DeleteSchema() {
  return spec::Schema::Make(
      spec::SchemaId{0},
      {{spec::kDeleteFilePathColumnId, "file_path", true, spec::Type::Primitive(spec::TypeId::kString)},
       {spec::kDeletePosColumnId, "pos", true, spec::Type::Primitive(spec::TypeId::kLong)}});
}

Status WriteRows(format::ParquetWriter& writer, const std::string& data_file, const std::vector<int64_t>& positions) {
  const arrow::StringScalar path(data_file);
  for (size_t begin = 0; begin < positions.size(); begin += kBatchRows) {
    const auto count = static_cast<int64_t>(std::min(positions.size() - begin, static_cast<size_t>(kBatchRows)));
    auto paths = arrow::MakeArrayFromScalar(path, count);
    if (!paths.ok()) return Fail(ErrorCode::kResourceExhausted, "position deletes: {}", paths.status().ToString());
    auto ordinals = std::make_shared<arrow::Int64Array>(
        count, arrow::Buffer::Wrap(positions.data() + begin, static_cast<size_t>(count)));
    FRAZIL_TRY(writer.Write(*arrow::RecordBatch::Make(writer.arrow_schema(), count, {*paths, ordinals})));
  }
  return {};
}

Result<spec::DataFile> WriteFile(const table::Table& base, const spec::DataFile& data_file,
                                 const format::DeletionVector& deleted) {
  const spec::TableMetadata& metadata = *base.metadata();
  const spec::PartitionSpec* spec = metadata.FindSpec(data_file.spec_id);
  if (spec == nullptr) {
    return Fail(ErrorCode::kInvalidTable, "data file of an unknown partition spec {}: {}", data_file.spec_id,
                data_file.file_path);
  }
  FRAZIL_ASSIGN(table::FileNames names, table::FileNames::Make(base.metadata()));
  FRAZIL_ASSIGN(const spec::SchemaPtr schema, DeleteSchema());
  spec::DataFile file;
  file.content = spec::FileContent::kPositionDeletes;
  file.file_path = names.NextPositionDeletes(*spec, data_file.partition, *table::SchemaOfSpec(metadata, *spec));
  file.spec_id = data_file.spec_id;
  file.partition = data_file.partition;
  file.referenced_data_file = data_file.file_path;
  FRAZIL_ASSIGN(auto output, base.io()->Create(file.file_path));
  FRAZIL_ASSIGN(auto writer, format::ParquetWriter::Make(std::move(output), schema,
                                                         {.properties = metadata.properties,
                                                          .footer_metadata = {{"delete-type", "position"}}}));
  const std::vector<int64_t> positions = deleted.ToPositions();
  FRAZIL_TRY(WriteRows(*writer, data_file.file_path, positions));
  FRAZIL_ASSIGN(const format::ParquetFileResult result, writer->Finish());
  file.file_size_in_bytes = result.file_size_bytes;
  file.split_offsets = result.split_offsets;
  file.record_count = static_cast<int64_t>(positions.size());
  // Equal bounds of the path tell older readers that the file is for one data file alone (spec section 4.4 rule 2).
  const Bytes path = CopyBytes(AsBytes(data_file.file_path));
  file.lower_bounds = {
      {spec::kDeleteFilePathColumnId, path},
      {spec::kDeletePosColumnId, spec::EncodeSingleValue(schema->fields()[1].type, positions.front())}};
  file.upper_bounds = {{spec::kDeleteFilePathColumnId, path},
                       {spec::kDeletePosColumnId, spec::EncodeSingleValue(schema->fields()[1].type, positions.back())}};
  return file;
}

}  // namespace

table::PositionDeleteWriter WritePositionDeletes(const table::Table& base) {
  return [&base](const spec::DataFile& data_file, const format::DeletionVector& positions) {
    return WriteFile(base, data_file, positions);
  };
}

}  // namespace frazil::write
