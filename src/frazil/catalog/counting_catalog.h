#pragma once

#include <memory>

#include "frazil/base/request_counters.h"
#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// A Catalog that counts and times each request to the one behind it. Operations: load_table, commit_table, create_table,
/// drop_table, rename_table, register_table, list_tables, load_namespace, create_namespace, drop_namespace,
/// list_namespaces, set_namespace_properties. A lost race is an answer, not a failure. None may be null.
std::shared_ptr<Catalog> MakeCountingCatalog(std::shared_ptr<Catalog> inner, std::shared_ptr<RequestCounters> counters);

}  // namespace frazil::catalog
