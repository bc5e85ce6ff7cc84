#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frazil/sql/name_resolver.h"

namespace frazil::sql::statement {

/// An argument as written; its parameter says what it must be.
struct CallArgument {
  std::string name;  ///< lower case; empty: by position
  std::string text;
};

/// CALL [catalog.]system.procedure(...), or what Trino and Athena say for it.
struct Call {
  NameParts name;
  std::vector<CallArgument> arguments;
};

/// VACUUM t (Athena): expires snapshots, then removes orphan files.
struct Vacuum {
  NameParts table;
};

}  // namespace frazil::sql::statement
