#include "tests/support/foreign_commit.h"

#include <map>
#include <optional>

#include "frazil/base/uuid.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/table/spec_schema.h"
#include "frazil/write/row_writer.h"

namespace frazil::test {
namespace {

class ForeignSnapshot {
 public:
  ForeignSnapshot(table::Table& table, const spec::Snapshot* parent)
      : table_(table), metadata_(*table.metadata()), id_(RandomSnapshotNumber()) {
    if (parent != nullptr) parent_id_ = parent->id;
    sequence_ = spec::SequenceNumber(metadata_.last_sequence_number.value() + 1);
    next_row_id_ = metadata_.next_row_id.value();
  }

  Result<spec::Snapshot> Write(const table::LiveFiles& live, spec::Operation operation, int64_t now_ms) {
    std::map<spec::SpecId, std::vector<spec::ManifestEntry>> data;
    std::map<spec::SpecId, std::vector<spec::ManifestEntry>> deletes;
    for (const table::LiveDataFile& file : live.data_files) {
      data[file.file.spec_id].push_back(EntryOf(file.file, file.sequence_number, file.file_sequence_number));
    }
    for (const table::LiveDelete& file : live.delete_files) {
      deletes[file.file.spec_id].push_back(EntryOf(file.file, file.sequence_number, file.sequence_number));
    }
    std::vector<spec::ManifestFile> rows;
    for (const auto& [spec_id, entries] : data) {
      FRAZIL_TRY(WriteManifest(spec_id, spec::ManifestContent::kData, entries, rows));
    }
    for (const auto& [spec_id, entries] : deletes) {
      FRAZIL_TRY(WriteManifest(spec_id, spec::ManifestContent::kDeletes, entries, rows));
    }
    spec::Snapshot snapshot;
    snapshot.id = id_;
    snapshot.parent_id = parent_id_;
    snapshot.sequence_number = sequence_;
    snapshot.timestamp_ms = now_ms;
    snapshot.operation = operation;
    snapshot.schema_id = metadata_.current_schema_id;
    snapshot.manifest_list = NewPath("list");
    format::ManifestListHeader header{.format_version = metadata_.format_version,
                                      .snapshot_id = id_,
                                      .parent_snapshot_id = parent_id_,
                                      .sequence_number = sequence_,
                                      .first_row_id = {}};
    if (metadata_.format_version >= 3) {
      header.first_row_id = metadata_.next_row_id;
      snapshot.first_row_id = metadata_.next_row_id;
      snapshot.added_rows = next_row_id_ - metadata_.next_row_id.value();
    }
    FRAZIL_TRY(format::WriteManifestList(*table_.io(), snapshot.manifest_list, header, rows));
    return snapshot;
  }

 private:
  std::string NewPath(const std::string& kind) const {
    return metadata_.location + "/metadata/" + kind + "-" + Uuid::Random().ToString() + ".avro";
  }

  spec::ManifestEntry EntryOf(const spec::DataFile& file, spec::SequenceNumber sequence,
                              spec::SequenceNumber file_sequence) const {
    spec::ManifestEntry entry;
    entry.data_file = file;
    entry.snapshot_id = id_;
    const bool is_added = file_sequence.value() == 0;
    entry.status = is_added ? spec::EntryStatus::kAdded : spec::EntryStatus::kExisting;
    if (!is_added || sequence.value() > 0) entry.sequence_number = sequence;
    if (!is_added) entry.file_sequence_number = file_sequence;
    return entry;
  }

  Status WriteManifest(spec::SpecId spec_id, spec::ManifestContent content,
                       const std::vector<spec::ManifestEntry>& entries, std::vector<spec::ManifestFile>& rows) {
    FRAZIL_ASSIGN(const spec::PartitionSpec* spec, table::FindSpec(metadata_, spec_id, "a foreign commit"));
    format::ManifestWriterOptions options;
    options.format_version = metadata_.format_version;
    options.snapshot_id = id_;
    options.schema = table::SchemaOfSpec(metadata_, *spec);
    options.partition_spec = *spec;
    options.content = content;
    FRAZIL_ASSIGN(const auto writer, format::ManifestWriter::Make(*table_.io(), NewPath("manifest"), options));
    for (const spec::ManifestEntry& entry : entries) FRAZIL_TRY(writer->Add(entry));
    FRAZIL_ASSIGN(spec::ManifestFile row, writer->Finish(sequence_));
    row.sequence_number = sequence_;
    if (content == spec::ManifestContent::kData && metadata_.format_version >= 3) {
      row.first_row_id = spec::RowId(next_row_id_);
      next_row_id_ += row.added_rows_count.value_or(0) + row.existing_rows_count.value_or(0);
    }
    rows.push_back(std::move(row));
    return {};
  }

  table::Table& table_;
  const spec::TableMetadata& metadata_;
  const spec::SnapshotId id_;
  std::optional<spec::SnapshotId> parent_id_;
  spec::SequenceNumber sequence_{0};
  int64_t next_row_id_ = 0;
};

}  // namespace

Status CommitFiles(table::Table& table, const EditFiles& edit, Clock& clock, spec::Operation operation,
                   const std::string& branch) {
  FRAZIL_TRY(table.Refresh());
  const spec::Snapshot* const head = table.metadata()->FindRef(branch);
  FRAZIL_ASSIGN(table::LiveFiles live, table::LoadLiveFiles(table, head));
  FRAZIL_TRY(edit(live));
  const spec::TableMetadataPtr metadata = table.metadata();
  ForeignSnapshot foreign(table, head);
  FRAZIL_ASSIGN(spec::Snapshot snapshot, foreign.Write(live, operation, clock.NowMs()));
  const spec::SnapshotId id = snapshot.id;
  const std::vector<spec::TableUpdate> updates = {
      spec::update::AddSnapshot{std::move(snapshot)},
      spec::update::SetSnapshotRef{branch, {.snapshot_id = id, .type = spec::RefType::kBranch}}};
  FRAZIL_ASSIGN(catalog::LoadedTable committed,
                table.catalog()->CommitTable(table.name(), spec::RequirementsFor(updates, metadata.get()), updates));
  table.Adopt(std::move(committed));
  return {};
}

Result<spec::DataFile> WriteEqualityDelete(const table::Table& table, const std::set<int64_t>& ids,
                                           spec::SpecId spec_id, spec::PartitionTuple partition) {
  spec::Field field = index::TestSchema()->fields().front();
  FRAZIL_ASSIGN(const spec::SchemaPtr schema, spec::Schema::Make(spec::SchemaId{0}, {field}));
  spec::DataFile file;
  file.content = spec::FileContent::kEqualityDeletes;
  file.file_path = table.metadata()->location + "/data/equality-" + Uuid::Random().ToString() + ".parquet";
  file.spec_id = spec_id;
  file.partition = std::move(partition);
  file.equality_ids = {field.id};
  file.record_count = static_cast<int64_t>(ids.size());
  FRAZIL_ASSIGN(auto output, table.io()->Create(file.file_path));
  FRAZIL_ASSIGN(const auto writer, format::ParquetWriter::Make(std::move(output), schema));
  arrow::Int64Builder builder;
  for (const int64_t id : ids) {
    if (!builder.Append(id).ok()) return Fail(ErrorCode::kResourceExhausted, "equality delete of {} keys", ids.size());
  }
  const std::shared_ptr<arrow::Array> keys = *builder.Finish();
  FRAZIL_TRY(writer->Write(*arrow::RecordBatch::Make(writer->arrow_schema(), keys->length(), {keys})));
  FRAZIL_ASSIGN(const format::ParquetFileResult result, writer->Finish());
  file.file_size_in_bytes = result.file_size_bytes;
  return file;
}

Result<std::vector<spec::DataFile>> WriteRows(const table::Table& table, const std::vector<index::LiveRow>& rows,
                                              bool lineage, spec::SpecId spec_id) {
  if (rows.empty()) return std::vector<spec::DataFile>();
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec, table::FindSpec(*table.metadata(), spec_id, "a foreign commit"));
  const bool is_landing = spec->fields().empty() && !table.metadata()->default_spec().fields().empty();
  FRAZIL_ASSIGN(const auto writer,
                write::RowWriter::Make(table.io(), table.metadata(), table.metadata()->schema(), nullptr,
                                       {.spec = *spec, .sort_order_id = {}, .is_landing = is_landing}));
  FRAZIL_TRY(writer->Write(*index::BatchOfRows(rows, lineage)));
  return writer->Finish();
}

Result<spec::SpecId> AddLandingSpec(table::Table& table, Clock& clock) {
  FRAZIL_TRY(table::CommitUpdates(
      table,
      [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})}};
      },
      clock));
  for (const spec::PartitionSpec& spec : table.metadata()->partition_specs) {
    if (spec.fields().empty()) return spec.id();
  }
  return Fail(ErrorCode::kInternal, "the table has no spec without fields");
}

}  // namespace frazil::test
