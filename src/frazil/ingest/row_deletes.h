#pragma once

#include <functional>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/index/key_index.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// Deletes rows in one commit of vectors that carries the progress markers on. `find` says which they are on the base of an
/// attempt, which the index equals then: another writer's commit in between is no problem. The index follows. Returns how
/// many rows went; 0: no commit.
Result<int64_t> CommitRowDeletes(table::Table& table, index::KeyIndex& index,
                                 std::function<Result<table::OwnDeletes>(const table::Table& base)> find, Clock& clock);

}  // namespace frazil::ingest
