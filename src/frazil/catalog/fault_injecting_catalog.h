#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// Wraps a catalog and lets a test lose requests and replies. `decide` gets "commit.before" (an error: the commit never
/// reached the catalog), "commit.after" (an error: it was applied, the reply is lost), "create.before", "create.after"
/// and "load"; what it returns is what the caller sees. `age_of_load`, if any, says how many changes of a table ago it was
/// that a load answers with; where the metadata file of then is gone, the answer is the newest. A fake fault on a real
/// catalog. Thread-safe when both are.
std::shared_ptr<Catalog> MakeFaultInjectingCatalog(
    std::shared_ptr<Catalog> inner, std::function<Status(std::string_view operation, const TableName& name)> decide,
    std::function<size_t(const TableName& name)> age_of_load = nullptr);

}  // namespace frazil::catalog
