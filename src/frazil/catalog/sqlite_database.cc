#include "frazil/catalog/sqlite_database.h"

#include <filesystem>

#include <sqlite3.h>

namespace frazil::catalog {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Error SqliteError(sqlite3* handle, std::string_view doing, const std::string& file) {
  const std::string text = fmt::format("{}: {}: {}", doing, sqlite3_errmsg(handle), file);
  switch (sqlite3_errcode(handle)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Error(ErrorCode::kUnavailable, text).WithHint("another process holds the catalog");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return Error(ErrorCode::kCorruptData, text);
    case SQLITE_FULL: return Error(ErrorCode::kIo, text).WithHint("disk full: free space or raise the quota");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return Error(ErrorCode::kIo, text).WithHint("check the permissions of the file and its folder");
    case SQLITE_IOERR: return Error(ErrorCode::kIo, text);
    default: return Error(ErrorCode::kInternal, text);
  }
}

}  // namespace

void SqliteDatabase::Close::operator()(sqlite3* handle) const { sqlite3_close(handle); }

Error SqliteDatabase::LastError(std::string_view doing) const { return SqliteError(handle_.get(), doing, file_); }

Result<SqliteDatabase> SqliteDatabase::Open(const std::string& file, int busy_timeout_ms) {
  if (file.empty()) return Fail(ErrorCode::kInvalidArgument, "a SQLite catalog needs a file");
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Fail(ErrorCode::kIo, "cannot create folder of catalog: {}: {}", failed.message(), file);
  }
  return Connect(file, busy_timeout_ms, SQLITE_OPEN_CREATE);
}

Result<SqliteDatabase> SqliteDatabase::Connect(const std::string& file, int busy_timeout_ms, int flags) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, nullptr);
  std::unique_ptr<sqlite3, Close> handle(raw);  // a failed open leaves a handle too
  if (opened != SQLITE_OK) return tl::unexpected(SqliteError(raw, "cannot open catalog", file));
  sqlite3_busy_timeout(raw, busy_timeout_ms);
  SqliteDatabase database(std::move(handle), file, busy_timeout_ms);
  // A write-ahead log, when somebody chose one, stays. Else the rollback journal is truncated instead of deleted: as
  // durable (its new length is synced), readable by every SQLite, and without two syncs of the folder a commit.
  FRAZIL_ASSIGN(const auto mode, database.Query("PRAGMA journal_mode", {}));
  if (!mode.empty() && mode[0][0] == "delete") {
    FRAZIL_TRY(database.Query("PRAGMA journal_mode = TRUNCATE", {}));
  }
  FRAZIL_TRY(database.Query("PRAGMA synchronous = FULL", {}));
  return database;
}

Status SqliteDatabase::EnsureInPlace() {
  int has_moved = 0;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (has_moved == 0) return {};
  std::error_code failed;
  if (!std::filesystem::exists(file_, failed)) {
    return tl::unexpected(Error(ErrorCode::kUnavailable, "the catalog's file is gone: " + file_)
                              .WithHint("it was moved, or its folder is not mounted"));
  }
  FRAZIL_ASSIGN(*this, Connect(file_, busy_timeout_ms_, 0));
  return {};
}

Result<std::vector<SqliteDatabase::Row>> SqliteDatabase::Query(std::string_view sql,
                                                               const std::vector<std::string>& values) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK) {
    return tl::unexpected(LastError("cannot use catalog"));
  }
  const Statement statement(raw);
  for (size_t i = 0; i < values.size(); ++i) {
    // SQLITE_STATIC: the values outlive the statement.
    if (sqlite3_bind_text64(raw, static_cast<int>(i) + 1, values[i].data(), values[i].size(), SQLITE_STATIC,
                            SQLITE_UTF8) != SQLITE_OK) {
      return tl::unexpected(LastError("cannot use catalog"));
    }
  }
  std::vector<Row> rows;
  while (true) {
    const int stepped = sqlite3_step(raw);
    if (stepped == SQLITE_DONE) return rows;
    if (stepped != SQLITE_ROW) return tl::unexpected(LastError("cannot use catalog"));
    Row row(static_cast<size_t>(sqlite3_column_count(raw)));
    for (size_t i = 0; i < row.size(); ++i) {
      const int column = static_cast<int>(i);
      if (sqlite3_column_type(raw, column) == SQLITE_NULL) continue;
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, column));
      if (text == nullptr) return tl::unexpected(LastError("cannot use catalog"));
      row[i].emplace(text, static_cast<size_t>(sqlite3_column_bytes(raw, column)));
    }
    rows.push_back(std::move(row));
  }
}

Result<int> SqliteDatabase::Update(std::string_view sql, const std::vector<std::string>& values) {
  FRAZIL_TRY(Query(sql, values));
  return sqlite3_changes(handle_.get());
}

Status SqliteDatabase::Begin() {
  FRAZIL_TRY(Query("BEGIN", {}));
  return {};
}

Status SqliteDatabase::BeginImmediate() {
  FRAZIL_TRY(Query("BEGIN IMMEDIATE", {}));
  return {};
}

Status SqliteDatabase::Commit() {
  const auto committed = Query("COMMIT", {});
  if (committed) return {};
  // Busy: readers kept the lock for the whole timeout. Nothing was written to the database yet.
  const bool unknown = committed.error().code() != ErrorCode::kUnavailable;
  Rollback();
  if (!unknown) return tl::unexpected(committed.error());
  return Fail(ErrorCode::kCommitUnknown, "catalog did not confirm the commit: {}", committed.error().ToString());
}

void SqliteDatabase::Rollback() {
  // After some errors SQLite has rolled back by itself.
  if (sqlite3_get_autocommit(handle_.get()) == 0) (void)Query("ROLLBACK", {});
}

}  // namespace frazil::catalog
