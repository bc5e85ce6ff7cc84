#pragma once

#include <set>
#include <string>

#include "frazil/base/result.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// Rows in landing files that others believe they have deleted: an equality delete that is scoped by a partition does not
/// reach landing files (ingest.md, "Landing files"; table::IsLandingFile()). Adds their positions to `deletes`: those of keys
/// that such a delete on the identifier fields names, in landing files with a lower data sequence number.
///
/// `index` must equal the head of `base`. Deletes in `known` are passed over; those looked at are added to `looked_at`.
Status AddLandingDeletes(const table::Table& base, index::KeyIndex& index, const index::CanonicalKey& key,
                         const std::set<std::string>& known, std::set<std::string>& looked_at,
                         table::OwnDeletes& deletes);

}  // namespace frazil::ingest
