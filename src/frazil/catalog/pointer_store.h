#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/catalog/table_name.h"

namespace frazil::catalog {

enum class EntryKind { kTable, kView };

/// What a name points at.
struct PointerEntry {
  std::string metadata_location;
  EntryKind kind = EntryKind::kTable;
};

/// The rows of a catalog that keeps one pointer a name, inside one transaction of its store. Tables and views share
/// their names. Each function does what it says and checks nothing else: rules are PointerCatalog's.
class PointerRows {
 public:
  virtual ~PointerRows() = default;

  virtual Result<std::optional<PointerEntry>> Find(const TableName& name) = 0;
  /// Tables directly in the namespace, views not counted, in order.
  virtual Result<std::vector<TableName>> Tables(const Namespace& levels) = 0;
  virtual Status Insert(const TableName& name, const std::string& metadata_location) = 0;
  /// Moves a table's pointer from `base` to `next`; false, and nothing done, when it does not point at `base`.
  virtual Result<bool> Swap(const TableName& name, const std::string& base, const std::string& next) = 0;
  /// Both false when there is no such table.
  virtual Result<bool> Remove(const TableName& name) = 0;
  virtual Result<bool> Rename(const TableName& from, const TableName& to) = 0;

  /// Namespaces at or below `levels` (all when empty) that have properties or hold a table or view themselves.
  virtual Result<std::set<Namespace>> NamespacesFrom(const Namespace& levels) = 0;
  virtual Result<std::map<std::string, std::string>> Properties(const Namespace& levels) = 0;
  virtual Status SetProperties(const Namespace& levels, const std::map<std::string, std::string>& properties) = 0;
  virtual Status RemoveProperties(const Namespace& levels) = 0;
};

/// Where a PointerCatalog keeps its rows. Thread-safe.
class PointerStore {
 public:
  enum class Access { kRead, kWrite };

  virtual ~PointerStore() = default;

  /// Runs `body` in one transaction, serialised with all others that write, and applies all of it or, when the body
  /// fails, nothing. kUnavailable: nothing was applied; kCommitUnknown: it may have been.
  virtual Status Transact(Access access, const std::function<Status(PointerRows& rows)>& body) = 0;
};

/// Runs a body that only reads and hands out what it found.
template <typename T>
Result<T> Read(PointerStore& store, const std::function<Result<T>(PointerRows& rows)>& body) {
  std::optional<T> found;
  const Status done = store.Transact(PointerStore::Access::kRead, [&](PointerRows& rows) -> Status {
    FRAZIL_ASSIGN(found, body(rows));
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return *std::move(found);
}

}  // namespace frazil::catalog
