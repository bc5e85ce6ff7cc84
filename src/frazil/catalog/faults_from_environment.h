#pragma once

#include <memory>

#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// Faults for tests of the very program that users run, as SyncPoint has them for its death. Each variable is a number N and
/// strikes once, with a warning in the log; requests are counted for each catalog of a process:
///
/// - FRAZIL_LOSE_COMMIT_REQUEST=N: the N-th commit never reaches the catalog (kUnavailable, as a lost connection).
/// - FRAZIL_LOSE_COMMIT_REPLY=N: the reply to the N-th commit that is made is lost (kCommitUnknown).
/// - FRAZIL_STALE_CATALOG=N: the N-th load of a table answers with the metadata before the newest, as a replica that lags.
///
/// Commits are CommitTable(), loads LoadTable(). `inner` itself when none is set. Thread-safe.
std::shared_ptr<Catalog> WithFaultsFromEnvironment(std::shared_ptr<Catalog> inner);

}  // namespace frazil::catalog
