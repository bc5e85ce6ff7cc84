#pragma once

#include <vector>

#include "frazil/spec/table_metadata.h"

namespace frazil::maintain {

/// `head` (null: none) and its ancestors as far as the metadata knows them, newest first.
std::vector<const spec::Snapshot*> AncestorsOf(const spec::TableMetadata& metadata, const spec::Snapshot* head);

/// Whether `ancestor` is `head` or in its known past.
bool IsAncestor(const spec::TableMetadata& metadata, const spec::Snapshot* head, spec::SnapshotId ancestor);

}  // namespace frazil::maintain
