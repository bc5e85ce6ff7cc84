#include "frazil/maintain/maintain_test_support.h"

namespace frazil::maintain {
namespace {

using table::TestTable;

table::ProcedureRow Rewrite(TestTable& test, table::ProcedureArguments arguments = {}) {
  arguments["table"] = std::string("db.t");
  const auto rows = Call("rewrite_manifests", ContextOf(test), arguments);
  EXPECT_THAT(rows, IsOk());
  EXPECT_THAT(test.table.Refresh(), IsOk());
  return rows ? rows->at(0) : table::ProcedureRow();
}

/// Everything that must not change, by path of a live file.
std::map<std::string, std::string> Identities(TestTable& test) {
  std::map<std::string, std::string> identities;
  for (const spec::ManifestContent content : {spec::ManifestContent::kData, spec::ManifestContent::kDeletes}) {
    for (const spec::ManifestFile& manifest : test.Manifests(content)) {
      for (const spec::ManifestEntry& entry : test.Entries(manifest)) {
        if (!entry.is_live()) continue;
        const auto& file = entry.data_file;
        identities[file.file_path + std::to_string(file.content_offset.value_or(0))] =
            fmt::format("{} {} {} {}", entry.snapshot_id->value(), entry.sequence_number->value(),
                        entry.file_sequence_number->value(), file.first_row_id ? file.first_row_id->value() : -1);
      }
    }
  }
  return identities;
}

// Merging manifests shifted the row ids of every file behind a removed one (iceberg#16263).
TEST(RewriteManifests, KeepsRowIdsAndNumbersOfEveryFile) {
  TestTable test;
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_THAT(table::Append(test, {WrittenFile(test, name, 10), WrittenFile(test, std::string(name) + "2", 5)}),
                IsOk());
  }
  table::FileChanges remove;  // leaves a DELETED entry between live ones, and files with ids of their own
  remove.removed_data_files = {test.metadata().location + "/data/b"};
  ASSERT_THAT(table::Commit(test, remove), IsOk());
  ASSERT_THAT(table::Delete(test, {{test.metadata().location + "/data/a", {1, 2}}}), IsOk());
  ASSERT_THAT(table::Delete(test, {{test.metadata().location + "/data/c2", {3}}}), IsOk());
  const auto before = Identities(test);
  const auto row_ids = table::RowIds(test);

  EXPECT_EQ(Rewrite(test), (table::ProcedureRow{int64_t{6}, int64_t{2}}));
  EXPECT_EQ(Identities(test), before);
  EXPECT_EQ(table::RowIds(test), row_ids);
  EXPECT_EQ(test.head().operation, spec::Operation::kReplace);
  EXPECT_EQ(test.head().summary.at("entries-processed"), "9");
  EXPECT_EQ(test.head().summary.at("total-data-files"), "7");
  EXPECT_EQ(test.Manifests(spec::ManifestContent::kData).size(), 1U);
  for (const spec::ManifestEntry& entry : test.Entries(test.Manifests(spec::ManifestContent::kData)[0])) {
    EXPECT_EQ(entry.status, spec::EntryStatus::kExisting);
  }
  EXPECT_EQ(Rewrite(test), (table::ProcedureRow{int64_t{0}, int64_t{0}})) << "a fixed point";

  // What comes later gets ids of its own.
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "later", 10)}), IsOk());
  for (const auto& [path, id] : row_ids) EXPECT_EQ(table::RowIds(test).at(path), id);
}

TEST(RewriteManifests, SortsByPartition) {
  TestTable test({{"commit.manifest.target-size-bytes", "1"}}, true);
  for (const char* part : {"c", "a", "b", "a"}) {
    static int number = 0;
    ASSERT_THAT(
        table::Append(test, {WrittenFile(test, std::string(part) + std::to_string(++number), 1, {std::string(part)})}),
        IsOk());
  }
  EXPECT_EQ(std::get<int64_t>(Rewrite(test, {{"sort_by", std::vector<std::string>{"part"}}}).at(0)), 4);
  std::vector<std::string> parts;
  for (const spec::ManifestFile& manifest : test.Manifests(spec::ManifestContent::kData)) {
    for (const spec::ManifestEntry& entry : test.Entries(manifest)) {
      parts.push_back(std::get<std::string>(entry.data_file.partition.at(0)));
    }
  }
  EXPECT_THAT(parts, testing::ElementsAre("a", "a", "b", "c"));
}

/// Paths of live data files in the order of the manifests, each with its partition before it.
std::vector<std::pair<std::string, std::string>> FilesInOrder(TestTable& test) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const spec::ManifestFile& manifest : test.Manifests(spec::ManifestContent::kData)) {
    for (const spec::ManifestEntry& entry : test.Entries(manifest)) {
      const spec::DataFile& file = entry.data_file;
      const bool is_null = spec::IsNull(file.partition.at(0));
      files.emplace_back(is_null ? "" : std::get<std::string>(file.partition.at(0)), file.file_path);
    }
  }
  return files;
}

// One partition has more files than there is memory for, others less, and some files have none.
TEST(RewriteManifests, ManyMoreFilesThanMemoryHasRoomForComeOutTheSame) {
  constexpr int kAppends = 12;
  constexpr int kFiles = 100;
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const int64_t limit : {int64_t{0}, int64_t{256} << 10}) {
    TestTable test({{"commit.manifest.target-size-bytes", "4096"}, {"commit.manifest-merge.enabled", "false"}}, true);
    for (int append = 0; append < kAppends; ++append) {
      std::vector<spec::DataFile> files;
      for (int i = 0; i < kFiles; ++i) {
        const int part = (append * 31 + i * 7) % 20;
        const spec::Value value =
            part == 0 ? spec::Value() : spec::Value(part < 12 ? "large" : "p" + std::to_string(part));
        files.push_back(table::DataFileOf(fmt::format("memory:/t/f{}-{}", append, i), 3, {value}));
      }
      ASSERT_THAT(table::Append(test, files), IsOk());
    }
    const auto before = Identities(test);
    const auto row_ids = table::RowIds(test);
    MemoryBudget budget(limit);
    table::ProcedureContext context = ContextOf(test);
    if (limit > 0) context.budget = &budget;
    ASSERT_THAT(Call("rewrite_manifests", context, {{"table", std::string("db.t")}}), IsOk());
    ASSERT_THAT(test.table.Refresh(), IsOk());
    EXPECT_EQ(Identities(test), before);
    EXPECT_EQ(table::RowIds(test), row_ids);
    EXPECT_GT(test.Manifests(spec::ManifestContent::kData).size(), 2U);
    EXPECT_EQ(test.head().summary.at("entries-processed"), std::to_string(kAppends * kFiles));
    EXPECT_LE(budget.peak_bytes(), limit);
    EXPECT_EQ(budget.peak_bytes() > 0, limit > 0) << "the sort takes its room from the budget";
    EXPECT_EQ(budget.used_bytes(), 0);
    const auto files = FilesInOrder(test);
    EXPECT_TRUE(std::is_sorted(files.begin(), files.end(),
                               [](const auto& left, const auto& right) { return left.first < right.first; }));
    if (limit == 0) wanted = files;
    EXPECT_EQ(files, wanted);
  }
}

// Files of an upgraded table have no row ids until the next snapshot, which the rewrite is: each gets its own.
TEST(RewriteManifests, AnUpgradedTableGetsRowIdsOnceWhateverMemoryThereIs) {
  constexpr int kFiles = 600;
  for (const int64_t limit : {int64_t{0}, int64_t{256} << 10}) {
    SCOPED_TRACE(limit);
    TestTable test({{"format-version", "2"},
                    {"commit.manifest.target-size-bytes", "4096"},
                    {"commit.manifest-merge.enabled", "false"}},
                   true);
    for (int append = 0; append < 6; ++append) {
      std::vector<spec::DataFile> files;
      for (int i = 0; i < kFiles / 6; ++i) {
        files.push_back(table::DataFileOf(fmt::format("memory:/t/f{}-{}", append, i), 3,
                                          {spec::Value("p" + std::to_string(i % 20))}));
      }
      ASSERT_THAT(table::Append(test, files), IsOk());
    }
    ASSERT_THAT(table::CommitUpdates(
                    test.table,
                    [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
                    },
                    test.clock),
                IsOk());
    for (const auto& [path, id] : table::RowIds(test)) ASSERT_EQ(id, -1) << path;
    MemoryBudget budget(limit);
    table::ProcedureContext context = ContextOf(test);
    if (limit > 0) context.budget = &budget;
    ASSERT_THAT(Call("rewrite_manifests", context, {{"table", std::string("db.t")}}), IsOk());
    ASSERT_THAT(test.table.Refresh(), IsOk());
    const auto row_ids = table::RowIds(test);
    std::set<int64_t> firsts;
    for (const auto& [path, id] : row_ids) firsts.insert(id);
    ASSERT_EQ(firsts.size(), static_cast<size_t>(kFiles));
    EXPECT_EQ(*firsts.begin(), 0);
    EXPECT_EQ(*firsts.rbegin(), 3 * (kFiles - 1));
    EXPECT_EQ(test.metadata().next_row_id, spec::RowId{3 * kFiles});

    // Now each file has an id of its own, and keeps it.
    ASSERT_THAT(table::Append(test, {table::DataFileOf("memory:/t/later", 3, {spec::Value(std::string("p7"))})}),
                IsOk());
    ASSERT_THAT(Call("rewrite_manifests", context, {{"table", std::string("db.t")}}), IsOk());
    ASSERT_THAT(test.table.Refresh(), IsOk());
    auto wanted = row_ids;
    wanted["memory:/t/later"] = 3 * kFiles;
    EXPECT_EQ(table::RowIds(test), wanted);
  }
}

TEST(RewriteManifests, GoesOnAfterALostRace) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
  table::Table other = test.Other();
  bool raced = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || std::exchange(raced, true)) return {};
    EXPECT_THAT(table::Commit(other, table::Adding({WrittenFile(test, "c", 1)}), test.clock), IsOk());
    return Fail(ErrorCode::kCommitConflict, "somebody was faster");
  };
  EXPECT_EQ(std::get<int64_t>(Rewrite(test).at(0)), 3);
  EXPECT_EQ(test.Live().data_files.size(), 3U);
  EXPECT_EQ(test.AvroFiles(), test.ReachableAvroFiles()) << "the losing attempt left nothing";
}

// The catalog answered with a time-out, and the clean-up removed manifests that had been committed (iceberg#12792).
TEST(RewriteManifests, ALostReplyDeletesNoManifestThatWasCommitted) {
  for (const bool comes_back : {true, false}) {
    TestTable test;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
    const auto before = Identities(test);
    bool is_lost = false;
    test.decide = [&](std::string_view operation) -> Status {
      if (operation == "commit.after") is_lost = true;
      const bool answers = !is_lost || (comes_back && operation == "load");
      return answers ? Status() : Fail(ErrorCode::kUnavailable, "time-out");
    };
    const auto rows = Call("rewrite_manifests", ContextOf(test), {{"table", std::string("db.t")}});
    EXPECT_TRUE(is_lost);
    if (comes_back) {
      EXPECT_THAT(rows, IsOk());
    } else {
      EXPECT_THAT(rows, IsError(ErrorCode::kCommitUnknown, ""));
    }
    test.decide = nullptr;
    ASSERT_THAT(test.table.Refresh(), IsOk());
    EXPECT_EQ(test.head().operation, spec::Operation::kReplace) << "it was committed";
    const std::set<std::string> files = test.AvroFiles();
    for (const std::string& path : test.ReachableAvroFiles()) EXPECT_TRUE(files.contains(path)) << path;
    EXPECT_EQ(Identities(test), before);
  }
}

}  // namespace
}  // namespace frazil::maintain
