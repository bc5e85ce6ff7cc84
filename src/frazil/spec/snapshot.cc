#include "frazil/spec/snapshot.h"

namespace frazil::spec {

std::string_view OperationName(Operation operation) {
  switch (operation) {
    case Operation::kAppend: return "append";
    case Operation::kReplace: return "replace";
    case Operation::kOverwrite: return "overwrite";
    case Operation::kDelete: return "delete";
  }
  return "unknown";
}

Result<Operation> ParseOperation(std::string_view name) {
  for (Operation operation : {Operation::kAppend, Operation::kReplace, Operation::kOverwrite, Operation::kDelete}) {
    if (name == OperationName(operation)) return operation;
  }
  return Fail(ErrorCode::kInvalidTable, "unknown snapshot operation: {}", name);
}

}  // namespace frazil::spec
