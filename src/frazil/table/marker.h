#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// Where one pipeline stands in one partition of its source.
struct PartitionOffset {
  int64_t next = 0;  ///< first record that is not in the table
  std::optional<int32_t> leader_epoch;
  bool operator==(const PartitionOffset&) const = default;
};

/// One pipeline's progress as recorded in a commit (ingest.md rule 5).
struct PipelineMarker {
  std::string writer;
  /// What the source is, so that a recreated topic or an exchanged file is noticed: cluster and topic ids, or a file's
  /// path and the hash of its head.
  std::map<std::string, std::string> source;
  std::map<int32_t, PartitionOffset> partitions;
  /// Partitions that the source had; more of them, or another key schema, may move keys to other partitions.
  std::optional<int32_t> num_partitions;
  std::vector<int32_t> key_schema_ids;    ///< of the schema registry, ascending
  std::vector<int32_t> value_schema_ids;  ///< ascending
  int64_t committed_at_ms = 0;
  std::optional<int64_t> valid_through_ms;
  bool operator==(const PipelineMarker&) const = default;
};

/// The progress of every pipeline that feeds a table, by pipeline id; in the summary of each frazil snapshot.
struct Marker {
  std::map<std::string, PipelineMarker> pipelines;
  bool operator==(const Marker&) const = default;
};

/// The copy in the table property `frazil.markers.<branch>`, which survives snapshot expiry.
struct MarkerProperty {
  Marker marker;
  Uuid table_uuid;
  std::optional<spec::SnapshotId> head;  ///< the snapshot it was true for
};

inline constexpr char kMarkerSummaryKey[] = "frazil.markers";
std::string MarkerPropertyKey(const std::string& branch);

/// JSON of a summary value. `self` is the snapshot that carries it: a marker copied by others has another one and is
/// ignored.
std::string WriteMarkerJson(const Marker& marker, spec::SnapshotId self);
/// None when the text belongs to another snapshot than `self`. kInvalidTable when it is malformed.
Result<std::optional<Marker>> ParseMarkerJson(std::string_view json, spec::SnapshotId self);
std::string WriteMarkerPropertyJson(const MarkerProperty& property);
Result<MarkerProperty> ParseMarkerPropertyJson(std::string_view json);

/// What the table proves about progress (ingest.md rule 5, effective(head)).
struct EffectiveMarker {
  enum class Proof {
    kFound,     ///< `marker` comes from a snapshot in the head's ancestry
    kComplete,  ///< the whole ancestry is known and none carries a marker
    kTrusted,   ///< history is cut, but the property provably belongs to this head's past
    kUnproven,  ///< history is cut and nothing vouches for the property
  };
  Proof proof = Proof::kComplete;
  Marker marker;                            ///< of kFound and kTrusted
  std::optional<spec::SnapshotId> carrier;  ///< the snapshot that carries it (kFound)
  /// The property, whether trusted or not: for "rolled back" notices and the evidence of a refusal.
  std::optional<MarkerProperty> property;
};

/// Walks from the head of `branch` through the known ancestry, then through older metadata files of the metadata log,
/// and only where even those end to the property.
Result<EffectiveMarker> FindEffectiveMarker(const Table& table, const std::string& branch);

/// Writes the property anew, for the head, where more than `max_foreign_commits` snapshots lie between the head and the one
/// it was true for: others may expire what the proof would need. Refreshes the table. False: that was not needed, or the
/// table proves no marker.
Result<bool> RenewMarkerProperty(Table& table, const std::string& branch, int64_t max_foreign_commits, Clock& clock);

}  // namespace frazil::table
