#pragma once

#include "frazil/catalog/pointer_store.h"

namespace frazil::catalog {

/// Parts of new names become folders: none is empty, "." or "..", nor holds a slash or control character. Levels hold no
/// dot, since rows hold them joined with dots and "a.b" as one level would come back as two.
Status CheckNewNamespace(const Namespace& levels);
Status CheckNewName(const TableName& name);

/// A namespace exists when it has a property row, or a table or view lies in it or below it (spec section 8.5).
Status CheckNamespaceExists(PointerRows& rows, const Namespace& levels);

/// The namespace exists and neither a table nor a view has the name (spec section 8.4).
Status CheckNameIsFree(PointerRows& rows, const TableName& name);

}  // namespace frazil::catalog
