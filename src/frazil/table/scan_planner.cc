#include "frazil/table/scan_planner.h"

#include <map>

#include "frazil/expr/evaluate.h"
#include "frazil/expr/projection.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

/// Metrics have done their work once a file is kept, and are most of its bytes.
spec::DataFile WithoutMetrics(const spec::DataFile& file) {
  spec::DataFile slim;
  slim.content = file.content;
  slim.file_path = file.file_path;
  slim.file_format = file.file_format;
  slim.spec_id = file.spec_id;
  slim.partition = file.partition;
  slim.record_count = file.record_count;
  slim.file_size_in_bytes = file.file_size_in_bytes;
  slim.key_metadata = file.key_metadata;
  slim.split_offsets = file.split_offsets;
  slim.sort_order_id = file.sort_order_id;
  slim.first_row_id = file.first_row_id;
  return slim;
}

/// Of a file that lies in no partition the bounds of what specs partition by are kept: they say where its rows belong.
void KeepPartitionBounds(const spec::DataFile& file, const spec::TableMetadata& metadata, spec::DataFile& slim) {
  const auto keep = [](const auto& from, auto& to, spec::FieldId id) {
    if (const auto found = from.find(id); found != from.end()) to.insert(*found);
  };
  for (const spec::PartitionSpec& spec : metadata.partition_specs) {
    for (const spec::PartitionField& field : spec.fields()) {
      keep(file.null_value_counts, slim.null_value_counts, field.source_id);
      keep(file.lower_bounds, slim.lower_bounds, field.source_id);
      keep(file.upper_bounds, slim.upper_bounds, field.source_id);
    }
  }
}

/// Walks the live entries of one snapshot that may matter to a filter.
class FileWalk {
 public:
  FileWalk(const Table& table, expr::ExpressionPtr filter, spec::SchemaPtr schema, bool keeps_metrics,
           ScanCounts& counts)
      : keeps_metrics_(keeps_metrics),
        table_(table),
        metadata_(*table.metadata()),
        filter_(std::move(filter)),
        schema_(std::move(schema)),
        counts_(counts) {}

  Status Walk(const spec::Snapshot& snapshot) {
    FRAZIL_ASSIGN(const ManifestList list, table_.manifests().List(snapshot));
    for (const spec::ManifestFile& manifest : *list) FRAZIL_TRY(WalkManifest(manifest));
    return {};
  }

  std::vector<LiveDataFile> data_files;
  std::vector<LiveDelete> deletes;

 private:
  Status WalkManifest(const spec::ManifestFile& manifest) {
    ++counts_.total_manifests;
    FRAZIL_ASSIGN(const spec::PartitionSpec* spec,
                  FindSpec(metadata_, manifest.partition_spec_id, manifest.manifest_path));
    const expr::ExpressionPtr& partitions = ProjectedOn(*spec);
    if (!manifest.has_live_files() || !expr::ManifestMayMatch(partitions, manifest, *spec, *schema_)) {
      ++counts_.skipped_manifests;
      return {};
    }
    const bool is_data = manifest.content == spec::ManifestContent::kData;
    return table_.manifests().ForEachEntry(manifest, metadata_, [&](const spec::ManifestEntry& entry) -> Status {
      if (!entry.is_live()) return {};
      if (!expr::PartitionMatches(partitions, entry.data_file.partition, *spec, *schema_) ||
          (is_data && !expr::FileMayMatch(filter_, entry.data_file, *schema_))) {
        counts_.skipped_files += is_data ? 1 : 0;
        return {};
      }
      if ((entry.data_file.content == spec::FileContent::kData) != is_data) {
        return Fail(ErrorCode::kInvalidTable, "manifest {} lists a file of other content: {}", manifest.manifest_path,
                    entry.data_file.file_path);
      }
      const spec::SequenceNumber sequence = entry.sequence_number.value_or(spec::SequenceNumber{0});
      if (is_data) {
        LiveDataFile& file = data_files.emplace_back();
        file = {keeps_metrics_ ? entry.data_file : WithoutMetrics(entry.data_file), sequence,
                entry.file_sequence_number.value_or(sequence)};
        if (!keeps_metrics_ && spec->fields().empty()) KeepPartitionBounds(entry.data_file, metadata_, file.file);
      } else {
        deletes.push_back({entry.data_file, sequence});
      }
      return {};
    });
  }

  const expr::ExpressionPtr& ProjectedOn(const spec::PartitionSpec& spec) {
    expr::ExpressionPtr& projected = projected_[spec.id()];
    if (!projected) projected = expr::ProjectInclusive(filter_, spec, *schema_);
    return projected;
  }

  const bool keeps_metrics_;
  const Table& table_;
  const spec::TableMetadata& metadata_;
  const expr::ExpressionPtr filter_;
  const spec::SchemaPtr schema_;
  ScanCounts& counts_;
  std::map<spec::SpecId, expr::ExpressionPtr> projected_;
};

}  // namespace

Result<ScanPlan> PlanScan(const Table& table, const spec::Snapshot* snapshot, expr::ExpressionPtr filter,
                          spec::SchemaPtr schema) {
  ScanPlan plan;
  plan.metadata = table.metadata();
  plan.filter = filter ? std::move(filter) : expr::Expression::True();
  if (!schema) {
    const bool is_head = snapshot == nullptr || snapshot == plan.metadata->current_snapshot();
    schema = is_head ? plan.metadata->schema() : plan.metadata->SchemaOf(*snapshot);
  }
  plan.schema = std::move(schema);
  FileWalk walk(table, plan.filter, plan.schema, /*keeps_metrics=*/false, plan.counts);
  if (snapshot != nullptr) {
    plan.snapshot_id = snapshot->id;
    FRAZIL_TRY(walk.Walk(*snapshot));
  }
  FRAZIL_ASSIGN(DeleteIndex deletes, DeleteIndex::Make(std::move(walk.deletes), *plan.metadata));
  plan.deletes = std::make_shared<const DeleteIndex>(std::move(deletes));
  plan.tasks.reserve(walk.data_files.size());
  for (LiveDataFile& file : walk.data_files) {
    FRAZIL_ASSIGN(ApplicableDeletes applicable, plan.deletes->For(file));
    plan.tasks.push_back({std::move(file), std::move(applicable)});
  }
  plan.counts.result_files = static_cast<int64_t>(plan.tasks.size());
  return plan;
}

Result<LiveFiles> LoadLiveFiles(const Table& table, const spec::Snapshot* snapshot, FileMetrics metrics) {
  if (snapshot == nullptr) return LiveFiles{};
  ScanCounts counts;
  FileWalk walk(table, expr::Expression::True(), table.metadata()->schema(), metrics == FileMetrics::kKept, counts);
  FRAZIL_TRY(walk.Walk(*snapshot));
  return LiveFiles{std::move(walk.data_files), std::move(walk.deletes)};
}

}  // namespace frazil::table
