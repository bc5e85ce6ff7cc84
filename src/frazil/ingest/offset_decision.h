#pragma once

#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/pipeline_progress.h"
#include "frazil/ingest/record_source.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// Commits, as an empty snapshot, that a pipeline stands at exactly these positions, whatever the table proves or fails to
/// prove: the decision of a person (ingest.md rule 5). Other pipelines keep theirs; where the table proves nothing, those
/// of the property. A worker of this pipeline that runs meanwhile is fenced at its next commit.
/// Returns what stood there before; empty: nothing.
Result<SourcePositions> DecideOffsets(table::Table& table, const PipelineIdentity& pipeline,
                                      const SourcePositions& positions, Clock& clock);

/// Renames the progress of pipeline `from` to `to`, whose name the marker must not have: the table goes on where the other
/// one stood. Returns its positions. kNotFound naming the pipelines that the table knows; kAlreadyExists.
Result<SourcePositions> AdoptPipeline(table::Table& table, const std::string& from, const std::string& to,
                                      const std::string& writer, Clock& clock);

}  // namespace frazil::ingest
