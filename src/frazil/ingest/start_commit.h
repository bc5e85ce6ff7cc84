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

}  // namespace frazil::ingest
