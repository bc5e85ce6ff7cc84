#include "frazil/catalog/pointer_rules.h"

#include <algorithm>
#include <string_view>

namespace frazil::catalog {

namespace {

Status CheckPart(std::string_view what, const std::string& part) {
  const auto is_bad = [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (part.empty() || part == "." || part == ".." || std::any_of(part.begin(), part.end(), is_bad)) {
    return Fail(ErrorCode::kInvalidArgument,
                "a {} must not be empty, '.' or '..' nor hold slashes or control characters: '{}'", what, part);
  }
  return {};
}

}  // namespace

Status CheckNewNamespace(const Namespace& levels) {
  if (levels.empty()) return Fail(ErrorCode::kInvalidArgument, "a namespace needs at least one level");
  for (const std::string& level : levels) {
    FRAZIL_TRY(CheckPart("namespace level", level));
    if (level.find('.') != std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument, "a namespace level cannot hold a dot: '{}'", level);
    }
  }
  return {};
}

Status CheckNewName(const TableName& name) {
  FRAZIL_TRY(CheckNewNamespace(name.levels));
  return CheckPart("table name", name.name);
}

Status CheckNamespaceExists(PointerRows& rows, const Namespace& levels) {
  FRAZIL_ASSIGN(const auto known, rows.NamespacesFrom(levels));
  if (levels.empty() || known.empty()) {
    return Fail(ErrorCode::kNotFound, "namespace not found: {}", NamespaceText(levels));
  }
  return {};
}

Status CheckNameIsFree(PointerRows& rows, const TableName& name) {
  FRAZIL_TRY(CheckNamespaceExists(rows, name.levels));
  FRAZIL_ASSIGN(const auto entry, rows.Find(name));
  if (!entry) return {};
  if (entry->kind == EntryKind::kView) {
    return Fail(ErrorCode::kAlreadyExists, "a view has this name already: {}", name.ToString());
  }
  return Fail(ErrorCode::kAlreadyExists, "table exists already: {}", name.ToString());
}

}  // namespace frazil::catalog
