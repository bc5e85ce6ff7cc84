#include "frazil/maintain/writer_pins.h"

#include <set>

#include "frazil/maintain/snapshot_ancestry.h"

namespace frazil::maintain {
namespace {

constexpr char kFlinkCheckpoint[] = "flink.max-committed-checkpoint-id";
constexpr char kFlinkJob[] = "flink.job-id";
constexpr char kFlinkOperator[] = "flink.operator-id";
constexpr char kConnectOffsets[] = "kafka.connect.offsets.";

/// The writers of other engines whose progress a snapshot records, each with what to call it.
std::map<std::string, std::string> ForeignWriters(const spec::Snapshot& snapshot) {
  std::map<std::string, std::string> writers;
  const auto text = [&](const char* key) {
    const auto found = snapshot.summary.find(key);
    return found == snapshot.summary.end() ? std::string() : found->second;
  };
  if (snapshot.summary.contains(kFlinkCheckpoint)) {
    writers.emplace("flink " + text(kFlinkJob) + " " + text(kFlinkOperator),
                    "Flink checkpoint " + text(kFlinkCheckpoint));
  }
  for (auto entry = snapshot.summary.lower_bound(kConnectOffsets);
       entry != snapshot.summary.end() && entry->first.starts_with(kConnectOffsets); ++entry) {
    writers.emplace("connect " + entry->first, "Kafka Connect offsets");
  }
  return writers;
}

void PinForeign(const spec::TableMetadata& metadata, const std::string& branch, spec::SnapshotId head,
                WriterPins& pins) {
  std::set<std::string> seen_writers;
  for (const spec::Snapshot* snapshot : AncestorsOf(metadata, metadata.FindSnapshot(head))) {
    for (const auto& [writer, what] : ForeignWriters(*snapshot)) {
      if (!seen_writers.insert(writer).second) continue;
      pins.snapshots.emplace(snapshot->id, fmt::format("the newest of {} with {}", branch, what));
    }
  }
}

}  // namespace

Result<WriterPins> FindWriterPins(const table::Table& table) {
  using Proof = table::EffectiveMarker::Proof;
  const spec::TableMetadata& metadata = *table.metadata();
  WriterPins pins;
  for (const auto& [branch, ref] : metadata.refs) {
    if (ref.type != spec::RefType::kBranch) continue;
    FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, branch));
    if (effective.carrier && metadata.FindSnapshot(*effective.carrier) != nullptr) {
      pins.snapshots.emplace(*effective.carrier, fmt::format("the marker of the pipelines into {}", branch));
    }
    const bool is_proven = effective.proof == Proof::kFound || effective.proof == Proof::kTrusted;
    if (is_proven && !effective.marker.pipelines.empty()) {
      pins.property_updates[table::MarkerPropertyKey(branch)] =
          table::WriteMarkerPropertyJson({effective.marker, metadata.table_uuid, ref.snapshot_id});
    }
    PinForeign(metadata, branch, ref.snapshot_id, pins);
  }
  return pins;
}

}  // namespace frazil::maintain
