#pragma once

#include <memory>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/pipeline.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

struct DeadLetterTableOptions {
  std::string pipeline_id;
  std::string source_topic;
};

/// A new table for dead letters: pipeline, topic, partition, offset, timestamp, key, value, headers, reason.
spec::CreateTableRequest DeadLetterTableRequest();

/// Appends dead letters to a table as they came, a row each, key and value as bytes. A Flush() is one commit. A letter may
/// be there twice when a pipeline is killed between Flush() and its own commit, or when nobody can say whether a commit
/// arrived; topic, partition and offset tell.
/// kInvalidTable when the table has not the columns that it needs.
Result<std::unique_ptr<DeadLetters>> MakeDeadLetterTable(table::Table table, DeadLetterTableOptions options,
                                                         Clock& clock = Clock::System());

}  // namespace frazil::ingest
