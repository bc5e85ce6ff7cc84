#pragma once

#include <functional>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/pipeline_progress.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// Commits an empty snapshot whose marker says that `pipeline` stands at `progress`: the first positions of a new pipeline,
/// or the decision of a person about a table that proves nothing itself (ingest.md rule 5). From then on the table proves
/// it, and batches pass the fence. kFenced when the table has a position of this pipeline after all: somebody else was
/// faster.
Status CommitStart(table::Table& table, const PipelineIdentity& pipeline, const PipelineProgress& progress,
                   Clock& clock);

inline constexpr char kUpgradeTableHint[] =
    "with --upgrade-table it becomes version 3, which older engines cannot read";

/// kNotSupported with `upgrade_hint` where vectors cannot be written: before format version 3.
Status CheckFormat(const table::Table& table, const std::string& upgrade_hint);
/// Makes sure that vectors can be written: format version 3, and row ids for all rows there are. An older table is upgraded
/// (ingest.md rule 3, spec section 5.6). `on_notice` may be empty.
Status PrepareFormat(table::Table& table, Clock& clock, const std::function<void(const std::string&)>& on_notice);

/// Gives the rows of a table that was upgraded from version 2 their ids, before the first upsert could replace one that
/// has none and lose it (ingest.md rule 3): an empty snapshot, whose manifest list assigns them (spec section 5.6).
/// Nothing to do where the head was committed in version 3.
Status AssignRowIds(table::Table& table, Clock& clock);

}  // namespace frazil::ingest
