#include "frazil/table/marker_copy.h"

#include "frazil/table/marker.h"

namespace frazil::table {

Status CopyMarker(const Table& base, const std::string& branch, spec::SnapshotId snapshot_id, FileChanges& changes) {
  FRAZIL_ASSIGN(const EffectiveMarker effective, FindEffectiveMarker(base, branch));
  const bool is_known =
      effective.proof == EffectiveMarker::Proof::kFound || effective.proof == EffectiveMarker::Proof::kTrusted;
  if (!is_known || effective.marker.pipelines.empty()) return {};
  changes.summary[kMarkerSummaryKey] = WriteMarkerJson(effective.marker, snapshot_id);
  changes.other_updates.push_back(spec::update::SetProperties{
      {{MarkerPropertyKey(branch),
        WriteMarkerPropertyJson(
            {.marker = effective.marker, .table_uuid = base.metadata()->table_uuid, .head = snapshot_id})}}});
  return {};
}

}  // namespace frazil::table
