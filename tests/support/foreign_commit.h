#pragma once

#include <functional>
#include <set>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/index/row_table_test_support.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/table.h"

namespace frazil::test {

/// Changes the live files of a branch at will. A sequence number of 0 means: added by this commit.
using EditFiles = std::function<Status(table::LiveFiles& live)>;

/// A commit of another engine that knows none of our rules: equality deletes, files that come back, vectors that shrink.
/// Writes every manifest anew. Data files without first_row_id get ids, on v3. Fails where the catalog does.
Status CommitFiles(table::Table& table, const EditFiles& edit, Clock& clock,
                   spec::Operation operation = spec::Operation::kOverwrite,
                   const std::string& branch = spec::kMainBranch);

/// An equality delete file on column `id` of the test tables (index::TestSchema); not committed.
Result<spec::DataFile> WriteEqualityDelete(const table::Table& table, const std::set<int64_t>& ids,
                                           spec::SpecId spec_id, spec::PartitionTuple partition = {});

/// Data files of the given spec, landing files where it has no fields and the table's has; not committed. `lineage`: with the
/// rows' ids.
Result<std::vector<spec::DataFile>> WriteRows(const table::Table& table, const std::vector<index::LiveRow>& rows,
                                              bool lineage, spec::SpecId spec_id);

/// Adds a partition spec without fields beside the default one, for landing files; its id.
Result<spec::SpecId> AddLandingSpec(table::Table& table, Clock& clock);

}  // namespace frazil::test
