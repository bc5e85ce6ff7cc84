#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "frazil/scan/row_source.h"
#include "frazil/sql/file_metadata_tables.h"
#include "frazil/sql/metadata_columns.h"
#include "frazil/sql/partition_type.h"
#include "frazil/table/vector_reader.h"

namespace frazil::sql {

namespace {

using spec::Type;
using spec::TypeId;
using TablePtr = std::shared_ptr<const table::Table>;

constexpr size_t kRowsAtOnce = 2048;

/// Every position of one delete file after another.
class PositionDeleteRows final : public DatumRows {
 public:
  PositionDeleteRows(TablePtr table, std::shared_ptr<const DataFileColumns> columns, bool has_content_offset,
                     std::vector<spec::ManifestFile> manifests)
      : table_(std::move(table)),
        columns_(std::move(columns)),
        has_content_offset_(has_content_offset),
        manifests_(std::move(manifests)),
        vectors_(*table_->io()) {}

  Result<std::vector<DatumRow>> Next() override {
    std::vector<DatumRow> rows;
    while (rows.empty()) {
      if (next_position_ < positions_.size()) {
        AddPositions(rows);
      } else if (source_) {
        FRAZIL_TRY(AddBatch(rows));
      } else {
        FRAZIL_ASSIGN(const bool opened, OpenNextFile());
        if (!opened) break;
      }
    }
    return rows;
  }

 private:
  Result<bool> OpenNextFile() {
    while (true) {
      if (entries_.empty()) {
        if (walk_) {
          FRAZIL_ASSIGN(entries_, walk_->Next());
        }
        if (!entries_.empty()) continue;
        if (next_manifest_ == manifests_.size()) return false;
        FRAZIL_ASSIGN(walk_, table_->manifests().Walk(manifests_[next_manifest_++], *table_->metadata()));
        continue;
      }
      const spec::ManifestEntry& entry = entries_.front();
      entries_ = entries_.subspan(1);
      if (!entry.is_live() || entry.data_file.content != spec::FileContent::kPositionDeletes) continue;
      file_ = &entry.data_file;
      if (file_->is_deletion_vector()) {
        FRAZIL_ASSIGN(const table::VectorReader::Vector vector, vectors_.Read(*file_, std::nullopt));
        positions_ = vector.positions.ToPositions();
        next_position_ = 0;
      } else {
        static const spec::TableMetadata no_mapping;  // delete files have the ids of the specification
        FRAZIL_ASSIGN(source_, scan::OpenRowSource(*table_->io(), no_mapping, *file_));
        FRAZIL_TRY(source_->Start({{spec::kDeleteFilePathColumnId, "file_path", true, Type::Primitive(TypeId::kString)},
                                   {spec::kDeletePosColumnId, "pos", true, Type::Primitive(TypeId::kLong)}}));
      }
      return true;
    }
  }

  void AddPositions(std::vector<DatumRow>& rows) {
    const size_t end = std::min(positions_.size(), next_position_ + kRowsAtOnce);
    for (; next_position_ < end; ++next_position_) {
      rows.push_back(RowOf(file_->referenced_data_file.value_or(""), positions_[next_position_]));
    }
    if (next_position_ == positions_.size()) positions_.clear(), next_position_ = 0;
  }

  Status AddBatch(std::vector<DatumRow>& rows) {
    FRAZIL_ASSIGN(const auto batch, source_->Next());
    if (!batch) {
      source_.reset();
      return {};
    }
    if (batch->rows->num_columns() != 2) {
      return Fail(ErrorCode::kInvalidTable, "position delete file lacks file_path or pos: {}", file_->file_path);
    }
    const auto& paths = static_cast<const arrow::StringArray&>(*batch->rows->column(0));
    const auto& values = static_cast<const arrow::Int64Array&>(*batch->rows->column(1));
    for (int64_t i = 0; i < paths.length(); ++i) {
      rows.push_back(RowOf(std::string(paths.GetView(i)), values.Value(i)));
    }
    return {};
  }

  DatumRow RowOf(std::string data_file, int64_t position) const {
    DatumRow row = {TextDatum(std::move(data_file)), LongDatum(position), Datum()};
    if (columns_->is_partitioned()) {
      row.push_back(
          UnifiedPartition(columns_->partition_type(), *table_->metadata(), file_->spec_id, file_->partition));
    }
    row.push_back(IntDatum(file_->spec_id.value()));
    row.push_back(TextDatum(file_->file_path));
    if (has_content_offset_) {
      row.push_back(OptionalLongDatum(file_->content_offset));
      row.push_back(OptionalLongDatum(file_->content_size_in_bytes));
    }
    return row;
  }

  TablePtr table_;
  std::shared_ptr<const DataFileColumns> columns_;
  const bool has_content_offset_;
  std::vector<spec::ManifestFile> manifests_;
  size_t next_manifest_ = 0;
  std::optional<table::EntryWalk> walk_;
  std::span<const spec::ManifestEntry> entries_;  // that the walk has given
  const spec::DataFile* file_ = nullptr;          // of entries_
  table::VectorReader vectors_;
  std::vector<int64_t> positions_;
  size_t next_position_ = 0;
  std::unique_ptr<scan::RowSource> source_;
};

bool SqlCanRead(const Type& type) {
  switch (type.id()) {
    case TypeId::kTimestampTzNs:
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography: return false;
    default:
      return std::all_of(type.fields().begin(), type.fields().end(),
                         [](const spec::Field& field) { return SqlCanRead(field.type); });
  }
}

/// The columns of a table as far as SQL has types for them.
std::vector<spec::Field> ReadableColumns(std::vector<spec::Field> fields) {
  std::erase_if(fields, [](const spec::Field& field) { return !SqlCanRead(field.type); });
  return fields;
}

}  // namespace

MetadataTable PositionDeletesTable(TablePtr table, std::optional<spec::SnapshotId> snapshot) {
  auto files = std::make_shared<const DataFileColumns>(*table->metadata());
  const bool has_content_offset = table->metadata()->format_version >= 3;
  MetadataTable made;
  made.columns = {MetadataColumn("file_path", TypeId::kString), MetadataColumn("pos", TypeId::kLong),
                  MetadataColumn("row", Type::StructOf(ReadableColumns(table->metadata()->schema()->fields())))};
  // Always null: vectors keep no rows, and nobody has written position deletes with rows for years.
  made.hidden = {"row"};
  if (files->is_partitioned()) made.columns.push_back(MetadataColumn("partition", files->partition_type()));
  made.columns.push_back(MetadataColumn("spec_id", TypeId::kInt));
  made.columns.push_back(MetadataColumn("delete_file_path", TypeId::kString));
  if (has_content_offset) {
    made.columns.push_back(MetadataColumn("content_offset", TypeId::kLong));
    made.columns.push_back(MetadataColumn("content_size_in_bytes", TypeId::kLong));
  }
  made.open = [=]() -> Result<std::unique_ptr<DatumRows>> {
    FRAZIL_ASSIGN(auto manifests, ManifestsOf(*table, snapshot));
    std::erase_if(manifests, [](const spec::ManifestFile& manifest) {
      return manifest.content != spec::ManifestContent::kDeletes || !manifest.has_live_files();
    });
    return std::make_unique<PositionDeleteRows>(table, files, has_content_offset, std::move(manifests));
  };
  return made;
}

}  // namespace frazil::sql
