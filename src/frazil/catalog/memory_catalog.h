#pragma once

#include <memory>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/catalog/catalog.h"
#include "frazil/catalog/fault_injecting_catalog.h"

namespace frazil::catalog {

class PointerStore;

/// A catalog in memory, for tests; same contract.
std::shared_ptr<Catalog> MakeMemoryCatalog(std::string name, std::string warehouse, std::shared_ptr<io::FileIO> io,
                                           Clock& clock = Clock::System());

/// Its rows alone: a transaction works on a copy.
std::unique_ptr<PointerStore> MakeMemoryPointerStore();

}  // namespace frazil::catalog
