#pragma once

#include "frazil/spec/json_access.h"
#include "frazil/spec/snapshot.h"

namespace frazil::spec {

// Internal to the *_json.cc files of this module. Failures of *FromJson are kInvalidTable naming member and object.

/// Members of spec section 2.1. `sequence-number` is left out when it is 0, as Java does.
OrderedJson SnapshotToJson(const Snapshot& snapshot);
/// A summary without operation reads as `overwrite`.
Result<Snapshot> SnapshotFromJson(const Json& json);

/// {"snapshot-id","type","min-snapshots-to-keep"?,"max-snapshot-age-ms"?,"max-ref-age-ms"?} (section 1.7).
OrderedJson SnapshotRefToJson(const SnapshotRef& ref);
Result<SnapshotRef> SnapshotRefFromJson(const Json& json);

}  // namespace frazil::spec
