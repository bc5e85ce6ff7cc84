#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

struct sqlite3;

namespace frazil::catalog {

/// One connection to a SQLite file; values are texts. One thread at a time, never across fork().
///
/// Errors: kUnavailable when others held the lock longer than the busy timeout, kIo (disk full, permission),
/// kCorruptData when the file is no database, kCommitUnknown from Commit(); always with the file.
class SqliteDatabase {
 public:
  using Row = std::vector<std::optional<std::string>>;

  /// Creates the file and its folders when missing. A commit that was confirmed survives a power cut.
  static Result<SqliteDatabase> Open(const std::string& file, int busy_timeout_ms);

  /// kUnavailable when the file is not where it was opened: it may come back. Where another one is in its place, as
  /// when a copy was put back, that one is opened. Not inside a transaction.
  Status EnsureInPlace();

  Result<std::vector<Row>> Query(std::string_view sql, const std::vector<std::string>& values);
  /// The number of rows changed.
  Result<int> Update(std::string_view sql, const std::vector<std::string>& values);

  Status Begin();           ///< for reading: one consistent view
  Status BeginImmediate();  ///< takes the write lock at once, so it never fails half-way for want of it
  /// kUnavailable: not applied, rolled back. kCommitUnknown: a write or sync of the commit itself failed.
  Status Commit();
  void Rollback();

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  SqliteDatabase(std::unique_ptr<sqlite3, Close> handle, std::string file, int busy_timeout_ms)
      : handle_(std::move(handle)), file_(std::move(file)), busy_timeout_ms_(busy_timeout_ms) {}
  static Result<SqliteDatabase> Connect(const std::string& file, int busy_timeout_ms, int flags);
  Error LastError(std::string_view doing) const;

  std::unique_ptr<sqlite3, Close> handle_;
  std::string file_;
  int busy_timeout_ms_;
};

}  // namespace frazil::catalog
