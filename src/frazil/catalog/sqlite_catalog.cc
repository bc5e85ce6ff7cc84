#include "frazil/catalog/sqlite_catalog.h"

#include <mutex>

#include "frazil/base/sync_point.h"
#include "frazil/catalog/pointer_catalog.h"
#include "frazil/catalog/sqlite_database.h"
#include "frazil/catalog/sqlite_rows.h"

namespace frazil::catalog {
namespace {

class SqlitePointerStore : public PointerStore {
 public:
  SqlitePointerStore(SqliteDatabase database, std::string catalog_name)
      : database_(std::move(database)), catalog_name_(std::move(catalog_name)) {}

  Status CreateTables() {
    std::lock_guard lock(mutex_);
    // Asked first, so that opening an existing catalog takes no write lock.
    FRAZIL_ASSIGN(const auto tables, database_.Query("SELECT name FROM sqlite_master WHERE type = 'table' AND name IN "
                                                     "('iceberg_tables', 'iceberg_namespace_properties')",
                                                     {}));
    if (tables.size() == 2) return {};
    FRAZIL_TRY(database_.BeginImmediate());
    return Finish(Access::kWrite, CreateCatalogTables(database_));
  }

  Status Transact(Access access, const std::function<Status(PointerRows& rows)>& body) override {
    std::lock_guard lock(mutex_);
    FRAZIL_TRY(database_.EnsureInPlace());
    FRAZIL_TRY(access == Access::kWrite ? database_.BeginImmediate() : database_.Begin());
    return Finish(access, Run(body));
  }

 private:
  Status Run(const std::function<Status(PointerRows& rows)>& body) {
    FRAZIL_ASSIGN(auto rows, SqliteRows::Make(database_, catalog_name_));
    return body(rows);
  }

  Status Finish(Access access, Status done) {
    if (!done || access == Access::kRead) {
      database_.Rollback();
      return done;
    }
    SyncPoint::Hit("sqlite_catalog.commit.before");
    FRAZIL_TRY(database_.Commit());
    SyncPoint::Hit("sqlite_catalog.commit.after");
    return {};
  }

  std::mutex mutex_;
  SqliteDatabase database_;
  std::string catalog_name_;
};

}  // namespace

Result<std::shared_ptr<Catalog>> OpenSqliteCatalog(SqliteCatalogOptions options, std::shared_ptr<io::FileIO> io,
                                                   Clock& clock) {
  FRAZIL_ASSIGN(auto database, SqliteDatabase::Open(options.file, options.busy_timeout_ms));
  auto store = std::make_unique<SqlitePointerStore>(std::move(database), options.name);
  FRAZIL_TRY(store->CreateTables());
  return std::make_shared<PointerCatalog>(std::move(options.name), std::move(options.warehouse), std::move(store),
                                          std::move(io), clock, options.budget);
}

}  // namespace frazil::catalog
