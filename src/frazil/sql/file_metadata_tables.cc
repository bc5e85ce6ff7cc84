#include "frazil/sql/file_metadata_tables.h"

#include <algorithm>
#include <unordered_map>

#include "frazil/spec/single_value.h"
#include "frazil/sql/metadata_columns.h"
#include "frazil/sql/partition_type.h"

namespace frazil::sql {

namespace {

using spec::Field;
using spec::Type;
using spec::TypeId;
using TablePtr = std::shared_ptr<const table::Table>;

/// Metrics of wide tables make large rows: few are in memory at a time.
constexpr size_t kRowsAtOnce = 256;

/// The rows of one manifest after another.
class EntryRows final : public DatumRows {
 public:
  using MakeRow = std::function<std::optional<DatumRow>(const spec::ManifestEntry& entry)>;
  EntryRows(TablePtr table, std::vector<spec::ManifestFile> manifests, MakeRow make)
      : table_(std::move(table)), manifests_(std::move(manifests)), make_(std::move(make)) {}

  Result<std::vector<DatumRow>> Next() override {
    std::vector<DatumRow> rows;
    while (rows.size() < kRowsAtOnce) {
      if (entries_.empty()) {
        if (walk_) {
          FRAZIL_ASSIGN(entries_, walk_->Next());
        }
        if (!entries_.empty()) continue;
        if (next_manifest_ == manifests_.size()) break;
        FRAZIL_ASSIGN(walk_, table_->manifests().Walk(manifests_[next_manifest_++], *table_->metadata()));
        continue;
      }
      if (auto row = make_(entries_.front())) rows.push_back(*std::move(row));
      entries_ = entries_.subspan(1);
    }
    return rows;
  }

 private:
  TablePtr table_;
  std::vector<spec::ManifestFile> manifests_;
  MakeRow make_;
  size_t next_manifest_ = 0;
  std::optional<table::EntryWalk> walk_;
  std::span<const spec::ManifestEntry> entries_;  // that the walk has given
};

Result<std::vector<spec::ManifestFile>> ManifestsIn(const table::Table& table, const ManifestScope& scope) {
  return scope.all_snapshots ? AllManifestsOf(table) : ManifestsOf(table, scope.snapshot);
}

// --- manifests --------------------------------------------------------------------------------------------------------

Datum SummaryOf(const spec::PartitionFieldSummary& summary, const spec::PartitionField& field, const Type& source,
                const Type& type) {
  auto bound = [&](const std::optional<Bytes>& bytes) {
    if (!bytes) return Datum();
    auto value = spec::DecodeSingleValue(type, *bytes);
    return value ? TextDatum(field.transform.ToHumanString(source, *value)) : Datum();
  };
  return Datum::Nested({BoolDatum(summary.contains_null),
                        summary.contains_nan ? BoolDatum(*summary.contains_nan) : Datum(), bound(summary.lower_bound),
                        bound(summary.upper_bound)});
}

std::vector<Field> ManifestColumns() {
  return {MetadataColumn("content", TypeId::kInt),
          MetadataColumn("path", TypeId::kString),
          MetadataColumn("length", TypeId::kLong),
          MetadataColumn("partition_spec_id", TypeId::kInt),
          MetadataColumn("added_snapshot_id", TypeId::kLong),
          MetadataColumn("added_data_files_count", TypeId::kInt),
          MetadataColumn("existing_data_files_count", TypeId::kInt),
          MetadataColumn("deleted_data_files_count", TypeId::kInt),
          MetadataColumn("added_delete_files_count", TypeId::kInt),
          MetadataColumn("existing_delete_files_count", TypeId::kInt),
          MetadataColumn("deleted_delete_files_count", TypeId::kInt),
          MetadataColumn(
              "partition_summaries",
              MetadataList(Type::StructOf(
                  {MetadataColumn("contains_null", TypeId::kBoolean), MetadataColumn("contains_nan", TypeId::kBoolean),
                   MetadataColumn("lower_bound", TypeId::kString), MetadataColumn("upper_bound", TypeId::kString)})))};
}

DatumRow ManifestRow(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata) {
  bool is_data = manifest.content == spec::ManifestContent::kData;
  auto count = [](bool mine, const std::optional<int32_t>& number) { return IntDatum(mine ? number.value_or(0) : 0); };
  const spec::PartitionSpec* spec = metadata.FindSpec(manifest.partition_spec_id);
  std::vector<Datum> summaries;
  for (size_t i = 0; spec != nullptr && i < manifest.partitions.size() && i < spec->fields().size(); ++i) {
    const Field* source = metadata.schema()->FindField(spec->fields()[i].source_id);
    summaries.push_back(SummaryOf(manifest.partitions[i], spec->fields()[i],
                                  source != nullptr ? source->type : Type::Primitive(TypeId::kString),
                                  spec->ResultType(i, *metadata.schema())));
  }
  return {IntDatum(static_cast<int32_t>(manifest.content)),
          TextDatum(manifest.manifest_path),
          LongDatum(manifest.manifest_length),
          IntDatum(manifest.partition_spec_id.value()),
          LongDatum(manifest.added_snapshot_id.value()),
          count(is_data, manifest.added_files_count),
          count(is_data, manifest.existing_files_count),
          count(is_data, manifest.deleted_files_count),
          count(!is_data, manifest.added_files_count),
          count(!is_data, manifest.existing_files_count),
          count(!is_data, manifest.deleted_files_count),
          Datum::Nested(std::move(summaries))};
}

/// Rows that `make` gives when they are first asked for.
class LazyRows final : public DatumRows {
 public:
  explicit LazyRows(std::function<Result<std::vector<DatumRow>>()> make) : make_(std::move(make)) {}
  Result<std::vector<DatumRow>> Next() override {
    if (is_read_) return std::vector<DatumRow>();
    is_read_ = true;
    return make_();
  }

 private:
  std::function<Result<std::vector<DatumRow>>()> make_;
  bool is_read_ = false;
};

MetadataTable Lazy(std::vector<Field> columns, std::function<Result<std::vector<DatumRow>>()> make) {
  return {std::move(columns), {}, [make = std::move(make)]() -> Result<std::unique_ptr<DatumRows>> {
            return std::make_unique<LazyRows>(make);
          }};
}

// --- partitions -------------------------------------------------------------------------------------------------------

/// What lies in one partition; Java's PartitionsTable.Partition.
struct PartitionCounts {
  Datum partition;
  int32_t spec_id = 0;
  int64_t record_count = 0;
  int32_t file_count = 0;
  int64_t total_data_file_size_in_bytes = 0;
  int64_t position_delete_record_count = 0;
  int32_t position_delete_file_count = 0;
  int64_t equality_delete_record_count = 0;
  int32_t equality_delete_file_count = 0;
  std::optional<int64_t> last_updated_at_ms;
  std::optional<int64_t> last_updated_snapshot_id;

  void Add(const spec::DataFile& file, const spec::Snapshot* snapshot) {
    if (snapshot != nullptr && (!last_updated_at_ms || snapshot->timestamp_ms > *last_updated_at_ms)) {
      spec_id = file.spec_id.value();
      last_updated_at_ms = snapshot->timestamp_ms;
      last_updated_snapshot_id = snapshot->id.value();
    }
    switch (file.content) {
      case spec::FileContent::kData:
        record_count += file.record_count;
        ++file_count;
        total_data_file_size_in_bytes += file.file_size_in_bytes;
        break;
      case spec::FileContent::kPositionDeletes:
        position_delete_record_count += file.record_count;
        ++position_delete_file_count;
        break;
      case spec::FileContent::kEqualityDeletes:
        equality_delete_record_count += file.record_count;
        ++equality_delete_file_count;
        break;
    }
  }
};

Result<std::vector<DatumRow>> PartitionRows(const table::Table& table, std::optional<spec::SnapshotId> snapshot,
                                            const DataFileColumns& files) {
  const spec::TableMetadata& metadata = *table.metadata();
  std::unordered_map<spec::PartitionTuple, PartitionCounts, spec::PartitionTupleHash, spec::PartitionTupleEqual> counts;
  std::vector<const spec::PartitionTuple*> order;
  FRAZIL_ASSIGN(const auto manifests, ManifestsOf(table, snapshot));
  for (const spec::ManifestFile& manifest : manifests) {
    FRAZIL_TRY(table.manifests().ForEachEntry(manifest, metadata, [&](const spec::ManifestEntry& entry) -> Status {
      if (!entry.is_live()) return {};
      Datum partition =
          UnifiedPartition(files.partition_type(), metadata, entry.data_file.spec_id, entry.data_file.partition);
      spec::PartitionTuple key;
      for (const Datum& value : partition.children) key.push_back(value.value);
      auto [at, is_new] = counts.try_emplace(std::move(key));
      if (is_new) {
        order.push_back(&at->first);
        at->second.partition = std::move(partition);
        at->second.spec_id = entry.data_file.spec_id.value();
      }
      at->second.Add(entry.data_file, entry.snapshot_id ? metadata.FindSnapshot(*entry.snapshot_id) : nullptr);
      return {};
    }));
  }
  std::vector<DatumRow> rows;
  for (const spec::PartitionTuple* key : order) {
    const PartitionCounts& counted = counts.at(*key);
    DatumRow row;
    if (files.is_partitioned()) row = {counted.partition, IntDatum(counted.spec_id)};
    for (Datum& cell : std::vector<Datum>{
             LongDatum(counted.record_count), IntDatum(counted.file_count),
             LongDatum(counted.total_data_file_size_in_bytes), LongDatum(counted.position_delete_record_count),
             IntDatum(counted.position_delete_file_count), LongDatum(counted.equality_delete_record_count),
             IntDatum(counted.equality_delete_file_count),
             counted.last_updated_at_ms ? MomentDatum(*counted.last_updated_at_ms) : Datum(),
             OptionalLongDatum(counted.last_updated_snapshot_id)}) {
      row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

MetadataTable FilesTable(TablePtr table, ManifestScope scope, bool data, bool deletes) {
  auto files = std::make_shared<const DataFileColumns>(*table->metadata());
  MetadataTable made;
  made.columns = files->columns();
  made.hidden = DataFileColumns::ByFieldId();
  const bool has_metrics = !files->metrics_type().fields().empty();
  if (has_metrics) made.columns.push_back(MetadataColumn("readable_metrics", files->metrics_type()));
  // Vectors have no metrics, and position deletes none that are of use.
  if (!data) made.hidden.insert("readable_metrics");
  made.open = [=]() -> Result<std::unique_ptr<DatumRows>> {
    FRAZIL_ASSIGN(auto manifests, ManifestsIn(*table, scope));
    std::erase_if(manifests, [&](const spec::ManifestFile& manifest) {
      return !manifest.has_live_files() || !(manifest.content == spec::ManifestContent::kData ? data : deletes);
    });
    return std::make_unique<EntryRows>(table, std::move(manifests),
                                       [=](const spec::ManifestEntry& entry) -> std::optional<DatumRow> {
                                         if (!entry.is_live()) return std::nullopt;
                                         DatumRow row = files->RowOf(entry.data_file);
                                         if (has_metrics) row.push_back(files->MetricsOf(entry.data_file));
                                         return row;
                                       });
  };
  return made;
}

MetadataTable EntriesTable(TablePtr table, ManifestScope scope) {
  auto files = std::make_shared<const DataFileColumns>(*table->metadata());
  MetadataTable made;
  made.columns = {MetadataColumn("status", TypeId::kInt), MetadataColumn("snapshot_id", TypeId::kLong),
                  MetadataColumn("sequence_number", TypeId::kLong),
                  MetadataColumn("file_sequence_number", TypeId::kLong),
                  MetadataColumn("data_file", Type::StructOf(files->columns()))};
  const bool has_metrics = !files->metrics_type().fields().empty();
  if (has_metrics) made.columns.push_back(MetadataColumn("readable_metrics", files->metrics_type()));
  made.open = [=]() -> Result<std::unique_ptr<DatumRows>> {
    FRAZIL_ASSIGN(auto manifests, ManifestsIn(*table, scope));
    return std::make_unique<EntryRows>(
        table, std::move(manifests), [=](const spec::ManifestEntry& entry) -> std::optional<DatumRow> {
          auto number = [](const auto& id) { return id ? LongDatum(id->value()) : Datum(); };
          DatumRow row = {IntDatum(static_cast<int32_t>(entry.status)), number(entry.snapshot_id),
                          number(entry.sequence_number), number(entry.file_sequence_number),
                          Datum::Nested(files->RowOf(entry.data_file))};
          if (has_metrics) row.push_back(files->MetricsOf(entry.data_file));
          return row;
        });
  };
  return made;
}

MetadataTable ManifestsTable(TablePtr table, std::optional<spec::SnapshotId> snapshot) {
  return Lazy(ManifestColumns(), [=]() -> Result<std::vector<DatumRow>> {
    FRAZIL_ASSIGN(const auto manifests, ManifestsOf(*table, snapshot));
    std::vector<DatumRow> rows;
    for (const spec::ManifestFile& manifest : manifests) rows.push_back(ManifestRow(manifest, *table->metadata()));
    return rows;
  });
}

MetadataTable AllManifestsTable(TablePtr table) {
  std::vector<Field> columns = ManifestColumns();
  columns.push_back(MetadataColumn("reference_snapshot_id", TypeId::kLong));
  columns.push_back(MetadataColumn("key_metadata", TypeId::kBinary));
  return Lazy(std::move(columns), [=]() -> Result<std::vector<DatumRow>> {
    std::vector<DatumRow> rows;
    for (const spec::Snapshot& snapshot : table->metadata()->snapshots) {
      FRAZIL_ASSIGN(const table::ManifestList list, table->manifests().List(snapshot));
      for (const spec::ManifestFile& manifest : *list) {
        DatumRow row = ManifestRow(manifest, *table->metadata());
        row.push_back(LongDatum(snapshot.id.value()));
        row.push_back(manifest.key_metadata ? Datum(spec::Value(*manifest.key_metadata)) : Datum());
        rows.push_back(std::move(row));
      }
    }
    return rows;
  });
}

MetadataTable PartitionsTable(TablePtr table, std::optional<spec::SnapshotId> snapshot) {
  auto files = std::make_shared<const DataFileColumns>(*table->metadata());
  std::vector<Field> columns;
  if (files->is_partitioned()) {
    columns = {MetadataColumn("partition", files->partition_type()), MetadataColumn("spec_id", TypeId::kInt)};
  }
  for (Field& column :
       std::vector<Field>{MetadataColumn("record_count", TypeId::kLong), MetadataColumn("file_count", TypeId::kInt),
                          MetadataColumn("total_data_file_size_in_bytes", TypeId::kLong),
                          MetadataColumn("position_delete_record_count", TypeId::kLong),
                          MetadataColumn("position_delete_file_count", TypeId::kInt),
                          MetadataColumn("equality_delete_record_count", TypeId::kLong),
                          MetadataColumn("equality_delete_file_count", TypeId::kInt),
                          MetadataColumn("last_updated_at", TypeId::kTimestampTz),
                          MetadataColumn("last_updated_snapshot_id", TypeId::kLong)}) {
    columns.push_back(std::move(column));
  }
  return Lazy(std::move(columns), [=] { return PartitionRows(*table, snapshot, *files); });
}

}  // namespace frazil::sql
