#pragma once

#include <cstdint>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/batch_commit.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// Commits an empty snapshot whose marker says that `pipeline` stands at record `next`: the decision of a person about a
/// table that proves nothing itself (ingest.md rule 5). From then on the table proves it, and batches pass the fence.
/// kFenced when the table proves a position of this pipeline after all: somebody else was faster.
Status CommitStart(table::Table& table, const PipelineIdentity& pipeline, int64_t next, Clock& clock);

/// Gives the rows of a table that was upgraded from version 2 their ids, before the first upsert could replace one that
/// has none and lose it (ingest.md rule 3): an empty snapshot, whose manifest list assigns them (spec section 5.6).
/// Nothing to do where the head was committed in version 3.
Status AssignRowIds(table::Table& table, Clock& clock);

}  // namespace frazil::ingest
