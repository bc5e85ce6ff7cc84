// A snapshot commit sets its branch, and with it the retention of the branch. One that somebody gives it meanwhile stays.

#include <functional>
#include <utility>

#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

enum class Store { kMemory, kSqlite };

class RefRetention : public ::testing::TestWithParam<Store> {
 protected:
  RefRetention() {
    inner_ = GetParam() == Store::kMemory ? catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_, clock_)
                                          : OpenSqlite();
    EXPECT_THAT(inner_->CreateNamespace({"db"}, {}), IsOk());
    spec::CreateTableRequest request;
    request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                         {{spec::FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)}});
    EXPECT_THAT(inner_->CreateTable(name_, std::move(request)), IsOk());
    catalog_ = catalog::MakeFaultInjectingCatalog(inner_, [this](std::string_view operation, const auto&) -> Status {
      if (operation == "commit.before" && meanwhile_) std::exchange(meanwhile_, nullptr)();
      return {};
    });
  }

  std::shared_ptr<catalog::Catalog> OpenSqlite() {
    return *catalog::OpenSqliteCatalog(
        {.name = "test", .file = dir_.Join("catalog.db"), .warehouse = "memory:/warehouse"}, io_, clock_);
  }

  /// By another handle, past the hook; with SQLite past the connection, too.
  void Retain(int32_t min_snapshots_to_keep) {
    const auto catalog = GetParam() == Store::kMemory ? inner_ : OpenSqlite();
    Table other = *Table::Load(catalog, name_);
    const auto retain = [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
      spec::SnapshotRef ref = base.refs.at("main");
      ref.min_snapshots_to_keep = min_snapshots_to_keep;
      return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{"main", ref}};
    };
    EXPECT_THAT(CommitUpdates(other, retain, clock_), IsOk());
  }

  TempDir dir_;
  ManualClock clock_{1'700'000'000'000};
  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  const catalog::TableName name_{{"db"}, "t"};
  std::shared_ptr<catalog::Catalog> inner_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::function<void()> meanwhile_;  ///< between the attempt's look at the table and its commit, once
};

TEST_P(RefRetention, OneThatIsGivenDuringASnapshotCommitStays) {
  Table table = *Table::Load(catalog_, name_);
  ASSERT_THAT(Commit(table, Adding({DataFileOf("memory:/a", 1)}), clock_), IsOk());
  meanwhile_ = [this] { Retain(7); };
  const auto outcome = Commit(table, Adding({DataFileOf("memory:/b", 1)}), clock_);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->attempts, 2) << "the first one would have set what it knew";
  EXPECT_EQ(table.metadata()->refs.at("main").min_snapshots_to_keep, 7);
  EXPECT_EQ(table.metadata()->refs.at("main").snapshot_id, *outcome->snapshot_id);
  EXPECT_EQ(LoadLiveFiles(table, table.metadata()->current_snapshot())->data_files.size(), 2U);
}

// Both of them set the ref: none takes back what the other did.
TEST_P(RefRetention, OneThatIsGivenWhileASnapshotIsCommittedIsGivenToThatSnapshot) {
  Table table = *Table::Load(catalog_, name_);
  ASSERT_THAT(Commit(table, Adding({DataFileOf("memory:/a", 1)}), clock_), IsOk());
  Table writer = *Table::Load(inner_, name_);
  meanwhile_ = [&] { EXPECT_THAT(Commit(writer, Adding({DataFileOf("memory:/b", 1)}), clock_), IsOk()); };
  const auto retain = [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
    spec::SnapshotRef ref = base.refs.at("main");
    ref.max_snapshot_age_ms = 1000;
    return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{"main", ref}};
  };
  ASSERT_THAT(CommitUpdates(table, retain, clock_), IsOk());
  EXPECT_EQ(table.metadata()->refs.at("main").max_snapshot_age_ms, 1000);
  EXPECT_EQ(table.metadata()->refs.at("main").snapshot_id, writer.metadata()->current_snapshot()->id);
}

INSTANTIATE_TEST_SUITE_P(Catalogs, RefRetention, ::testing::Values(Store::kMemory, Store::kSqlite),
                         [](const auto& test) { return test.param == Store::kMemory ? "Memory" : "Sqlite"; });

}  // namespace
}  // namespace frazil::table
