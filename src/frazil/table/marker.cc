#include "frazil/table/marker.h"

#include <set>

#include "frazil/table/known_history.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::table {
namespace {

using Proof = EffectiveMarker::Proof;

Result<std::optional<Marker>> MarkerOf(const spec::Snapshot& snapshot) {
  const auto text = snapshot.summary.find(kMarkerSummaryKey);
  if (text == snapshot.summary.end()) return std::nullopt;
  return ParseMarkerJson(text->second, snapshot.id);
}

/// Whether the head's files prove that snapshot `wanted` is in its past.
Result<bool> HeadDescendsFrom(const Table& table, const spec::Snapshot& head, spec::SnapshotId wanted) {
  FRAZIL_ASSIGN(const ManifestList manifests, table.manifests().List(head));
  for (const spec::ManifestFile& manifest : *manifests) {
    if (manifest.added_snapshot_id == wanted) return true;
  }
  for (const spec::ManifestFile& manifest : *manifests) {
    bool is_found = false;
    FRAZIL_TRY(
        table.manifests().ForEachEntry(manifest, *table.metadata(), [&](const spec::ManifestEntry& entry) -> Status {
          is_found |= entry.is_live() && entry.snapshot_id == wanted;
          return {};
        }));
    if (is_found) return true;
  }
  return false;
}

/// The property is believed only if it is of this table and its head was visited, is where history is cut, or left
/// manifests or live files in the head (a rollback below it would have taken those away).
Result<bool> PropertyIsOfThisPast(const Table& table, const spec::Snapshot& head,
                                  const std::optional<MarkerProperty>& property,
                                  const std::set<spec::SnapshotId>& visited, spec::SnapshotId cut_at) {
  if (!property || !property->head || property->table_uuid != table.metadata()->table_uuid) return false;
  if (visited.contains(*property->head) || *property->head == cut_at) return true;
  return HeadDescendsFrom(table, head, *property->head);
}

/// Whether more than so many snapshots lie between the head and the property's one, or history is cut in between.
bool IsFarFrom(const spec::Snapshot& head, const spec::TableMetadata& metadata, const MarkerProperty& property,
               int64_t max_between) {
  const spec::Snapshot* at = &head;
  for (int64_t between = 0; between <= max_between; ++between) {
    if (property.head == at->id) return false;
    if (!at->parent_id) return false;  // rolled back below it: that is evidence, which the next commit replaces
    at = metadata.FindSnapshot(*at->parent_id);
    if (at == nullptr) return true;
  }
  return true;
}

}  // namespace

std::string MarkerPropertyKey(const std::string& branch) { return "frazil.markers." + branch; }

Result<EffectiveMarker> FindEffectiveMarker(const Table& table, const std::string& branch) {
  const spec::TableMetadata& metadata = *table.metadata();
  EffectiveMarker result;
  if (const std::string text = metadata.Property(MarkerPropertyKey(branch), ""); !text.empty()) {
    FRAZIL_ASSIGN(result.property, ParseMarkerPropertyJson(text));
  }
  const spec::Snapshot* head = metadata.FindRef(branch);
  if (head == nullptr) return result;
  KnownHistory history(table);
  std::set<spec::SnapshotId> visited;
  for (spec::SnapshotId id = head->id;;) {
    FRAZIL_ASSIGN(const spec::Snapshot* snapshot, history.Find(id));
    if (snapshot == nullptr) {  // history is cut here: only now the property is asked
      result.proof = Proof::kUnproven;
      FRAZIL_ASSIGN(const bool trusted, PropertyIsOfThisPast(table, *head, result.property, visited, id));
      if (trusted) {
        result.proof = Proof::kTrusted;
        result.marker = result.property->marker;
      }
      return result;
    }
    if (!visited.insert(id).second) return Fail(ErrorCode::kInvalidTable, "snapshot {} is its own ancestor", id);
    FRAZIL_ASSIGN(std::optional<Marker> marker, MarkerOf(*snapshot));
    if (marker) {
      result.proof = Proof::kFound;
      result.marker = std::move(*marker);
      result.carrier = id;
      return result;
    }
    if (!snapshot->parent_id) return result;  // complete: nobody ever wrote a marker
    id = *snapshot->parent_id;
  }
}

Result<bool> RenewMarkerProperty(Table& table, const std::string& branch, int64_t max_foreign_commits, Clock& clock) {
  FRAZIL_TRY(table.Refresh());
  bool is_renewed = false;
  FRAZIL_TRY(CommitUpdates(
      table,
      [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
        is_renewed = false;
        const spec::Snapshot* head = metadata.FindRef(branch);
        if (head == nullptr) return std::vector<spec::TableUpdate>{};
        FRAZIL_ASSIGN(const EffectiveMarker effective, FindEffectiveMarker(table, branch));
        if (effective.proof != Proof::kFound && effective.proof != Proof::kTrusted)
          return std::vector<spec::TableUpdate>{};
        if (effective.property && !IsFarFrom(*head, metadata, *effective.property, max_foreign_commits)) {
          return std::vector<spec::TableUpdate>{};
        }
        is_renewed = true;
        const MarkerProperty property{.marker = effective.marker, .table_uuid = metadata.table_uuid, .head = head->id};
        return std::vector<spec::TableUpdate>{
            spec::update::SetProperties{{{MarkerPropertyKey(branch), WriteMarkerPropertyJson(property)}}}};
      },
      clock));
  return is_renewed;
}

}  // namespace frazil::table
