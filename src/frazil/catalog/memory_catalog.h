#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "frazil/base/clock.h"
#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// A catalog in memory, for tests; same contract.
std::shared_ptr<Catalog> MakeMemoryCatalog(std::string name, std::string warehouse, std::shared_ptr<io::FileIO> io,
                                           Clock& clock = Clock::System());

/// Wraps a catalog and lets a test lose requests and replies. `decide` gets "commit.before" (an error: the commit never
/// reached the catalog), "commit.after" (an error: it was applied, the reply is lost) and "load"; what it returns is
/// what the caller sees. A fake fault on a real catalog.
std::shared_ptr<Catalog> MakeFaultInjectingCatalog(
    std::shared_ptr<Catalog> inner, std::function<Status(std::string_view operation, const TableName& name)> decide);

}  // namespace frazil::catalog
