#include "frazil/spec/table_metadata_builder.h"

#include <limits>

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

constexpr int64_t kNow = 1'000'000;

SchemaPtr TwoColumns() {
  return *Schema::Make(SchemaId{0},
                       {{.id = FieldId{1}, .name = "id", .required = true, .type = Type::Primitive(TypeId::kLong)},
                        {.id = FieldId{2}, .name = "at", .type = Type::Primitive(TypeId::kTimestamp)}});
}

SchemaPtr ThreeColumns() {
  std::vector<Field> fields = TwoColumns()->fields();
  fields.push_back({.id = FieldId{3}, .name = "note", .type = Type::Primitive(TypeId::kString)});
  return *Schema::Make(SchemaId{0}, fields);
}

PartitionField By(int32_t source_id, Transform transform, std::string name, int32_t field_id = 0) {
  return {
      .source_id = FieldId{source_id}, .field_id = FieldId{field_id}, .name = std::move(name), .transform = transform};
}

PartitionSpec Spec(std::vector<PartitionField> fields) { return {SpecId{0}, std::move(fields)}; }

SortOrder SortBy(int32_t source_id) {
  SortOrder order;
  order.id = SortOrderId{77};  // not the id it gets
  order.fields.push_back({.source_id = FieldId{source_id}});
  return order;
}

Result<TableMetadataPtr> Change(TableMetadataPtr base, const std::vector<TableUpdate>& updates, int64_t now_ms = kNow,
                                std::string base_location = "") {
  TableMetadataBuilder builder = base ? TableMetadataBuilder(base, base_location) : TableMetadataBuilder();
  for (const TableUpdate& update : updates) FRAZIL_TRY(builder.Apply(update));
  return std::move(builder).Build(now_ms);
}

TableMetadataPtr NewTable(int format_version = 3, std::map<std::string, std::string> properties = {}) {
  properties["format-version"] = std::to_string(format_version);
  auto updates = MakeCreateUpdates({.location = "s3://b/t",
                                    .schema = TwoColumns(),
                                    .partition_spec = Spec({By(1, Transform::Bucket(4), "id_bucket")}),
                                    .sort_order = {},
                                    .properties = properties});
  EXPECT_THAT(updates, IsOk());
  auto table = Change(nullptr, *updates, kNow);
  EXPECT_THAT(table, IsOk());
  return *table;
}

/// A snapshot that may come next on `table`.
Snapshot NextSnapshot(const TableMetadata& table, int64_t id, int64_t added_rows = 10) {
  Snapshot snapshot;
  snapshot.id = SnapshotId{id};
  snapshot.parent_id = table.current_snapshot_id;
  snapshot.sequence_number = SequenceNumber{table.last_sequence_number.value() + 1};
  snapshot.timestamp_ms = kNow + id;
  snapshot.manifest_list = "s3://b/t/metadata/snap-" + std::to_string(id) + ".avro";
  snapshot.operation = Operation::kAppend;
  snapshot.schema_id = table.current_schema_id;
  if (table.format_version >= 3) {
    snapshot.first_row_id = table.next_row_id;
    snapshot.added_rows = added_rows;
  }
  return snapshot;
}

update::SetSnapshotRef SetBranch(std::string name, int64_t id) {
  SnapshotRef ref;
  ref.snapshot_id = SnapshotId{id};
  return {std::move(name), ref};
}

TableMetadataPtr Commit(TableMetadataPtr table, int64_t id, const std::string& branch = "main") {
  auto next = Change(table, {update::AddSnapshot{NextSnapshot(*table, id)}, SetBranch(branch, id)}, kNow + id);
  EXPECT_THAT(next, IsOk());
  return *next;
}

std::vector<int64_t> LoggedSnapshots(const TableMetadata& table) {
  std::vector<int64_t> ids;
  for (const SnapshotLogEntry& entry : table.snapshot_log) ids.push_back(entry.snapshot_id.value());
  return ids;
}

// --- traps of the spec's checklist, by name -----------------------------------------------------------------------

TEST(MetadataTraps, NextRowIdGrowsByAddedRowsAlsoForOtherBranchesStagedSnapshotsAndRewrites) {
  TableMetadataPtr table = NewTable();
  EXPECT_EQ(table->next_row_id, RowId{0});
  table = Commit(table, 1);
  EXPECT_EQ(table->next_row_id, RowId{10});
  table = Commit(table, 2, "audit");
  EXPECT_EQ(table->next_row_id, RowId{20});
  EXPECT_EQ(table->current_snapshot_id, SnapshotId{1});
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSnapshot{NextSnapshot(*table, 3)}}));  // staged: no ref
  EXPECT_EQ(table->next_row_id, RowId{30});
  Snapshot rewrite = NextSnapshot(*table, 4, 5);
  rewrite.operation = Operation::kReplace;
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSnapshot{rewrite}, SetBranch("main", 4)}));
  EXPECT_EQ(table->next_row_id, RowId{35});
}

TEST(MetadataTraps, AStaleFirstRowIdIsARetryNotCorruption) {
  TableMetadataPtr table = NewTable();
  Snapshot stale = NextSnapshot(*table, 2);
  table = Commit(table, 1);
  stale.sequence_number = SequenceNumber{2};
  EXPECT_THAT(Change(table, {update::AddSnapshot{stale}}),
              IsError(ErrorCode::kCommitConflict, "first-row-id is behind table next-row-id: 0 < 10"));
}

TEST(MetadataTraps, SnapshotLogLosesEverythingUpToAnExpiredEntry) {
  TableMetadataPtr table = NewTable();
  for (int64_t id : {1, 2, 3, 4}) table = Commit(table, id);
  EXPECT_EQ(LoggedSnapshots(*table), (std::vector<int64_t>{1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveSnapshots{{SnapshotId{2}}}}));
  EXPECT_EQ(LoggedSnapshots(*table), (std::vector<int64_t>{3, 4}));
  EXPECT_NE(table->FindSnapshot(SnapshotId{1}), nullptr) << "only the log has no holes; the snapshot itself stays";
}

TEST(MetadataTraps, IntermediateSnapshotsOfATransactionNeverAppearInTheLog) {
  TableMetadataPtr table = Commit(NewTable(), 1);
  Snapshot first = NextSnapshot(*table, 2);
  Snapshot second = NextSnapshot(*table, 3);
  second.parent_id = first.id;
  second.sequence_number = SequenceNumber{3};
  second.first_row_id = RowId{20};
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSnapshot{first}, SetBranch("main", 2),
                                             update::AddSnapshot{second}, SetBranch("main", 3)}));
  EXPECT_EQ(LoggedSnapshots(*table), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(table->snapshot_log.back().timestamp_ms, second.timestamp_ms);
  EXPECT_EQ(table->snapshots.size(), 3u);
}

TEST(MetadataTraps, PartitionFieldIdsAreReusedAcrossSpecsAndNewOnesComeFromLastPartitionId) {
  TableMetadataPtr table = NewTable();
  EXPECT_EQ(table->last_partition_id, FieldId{1000});
  ASSERT_OK_AND_ASSIGN(
      table, Change(table, {update::AddPartitionSpec{Spec({By(2, Transform::Of(Transform::Kind::kDay), "at_day")})},
                            update::SetDefaultSpec{SpecId{-1}}}));
  EXPECT_EQ(table->default_spec().fields()[0].field_id, FieldId{1001});
  ASSERT_OK_AND_ASSIGN(
      table, Change(table, {update::AddPartitionSpec{
                                Spec({By(2, Transform::Of(Transform::Kind::kHour), "at_hour"),
                                      By(1, Transform::Bucket(4), "renamed"), By(1, Transform::Bucket(8), "b8")})},
                            update::SetDefaultSpec{SpecId{-1}}}));
  EXPECT_EQ(table->default_spec_id, SpecId{2});
  EXPECT_EQ(table->default_spec().fields()[0].field_id, FieldId{1002});
  EXPECT_EQ(table->default_spec().fields()[1].field_id, FieldId{1000}) << "same source and transform: same id";
  EXPECT_EQ(table->default_spec().fields()[2].field_id, FieldId{1003});
  EXPECT_EQ(table->last_partition_id, FieldId{1003});
  // Ids of removed specs are not given again.
  ASSERT_OK_AND_ASSIGN(table,
                       Change(table, {update::SetDefaultSpec{SpecId{0}}, update::RemovePartitionSpecs{{SpecId{2}}},
                                      update::AddPartitionSpec{Spec({By(1, Transform::Bucket(16), "b16")})}}));
  EXPECT_EQ(table->partition_specs.back().fields()[0].field_id, FieldId{1004});
}

TEST(MetadataTraps, ReservedPropertiesAreNotPersistedAndFormatVersionUpgrades) {
  TableMetadataPtr table = NewTable(2);
  ASSERT_OK_AND_ASSIGN(
      table,
      Change(table, {update::SetProperties{
                        {{"format-version", "3"}, {"uuid", "x"}, {"current-snapshot-id", "4"}, {"mine", "1"}}}}));
  EXPECT_EQ(table->format_version, 3);
  EXPECT_EQ(table->properties,
            (std::map<std::string, std::string>{{"mine", "1"}, {"write.parquet.compression-codec", "zstd"}}));
  EXPECT_THAT(Change(table, {update::SetProperties{{{"format-version", "2"}}}}),
              IsError(ErrorCode::kInvalidArgument, "Cannot downgrade v3 table to v2"));
  EXPECT_THAT(Change(table, {update::SetProperties{{{"format-version", "4"}}}}),
              IsError(ErrorCode::kNotSupported, "unsupported format version: v4"));
  EXPECT_THAT(Change(table, {update::SetProperties{{{"format-version", "new"}}}}),
              IsError(ErrorCode::kInvalidArgument, "format-version must be"));
}

TEST(MetadataTraps, ExpiringASnapshotDropsItsStatisticsEntriesAndRefs) {
  TableMetadataPtr table = Commit(Commit(NewTable(), 1), 2);
  SnapshotRef tag;
  tag.snapshot_id = SnapshotId{1};
  tag.type = RefType::kTag;
  StatisticsFile statistics;
  statistics.snapshot_id = SnapshotId{1};
  PartitionStatisticsFile partition_statistics;
  partition_statistics.snapshot_id = SnapshotId{1};
  ASSERT_OK_AND_ASSIGN(
      table, Change(table, {update::SetSnapshotRef{"v1", tag}, SetBranch("old", 1), update::SetStatistics{statistics},
                            update::SetPartitionStatistics{partition_statistics}}));
  EXPECT_EQ(table->refs.size(), 3u);
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveSnapshots{{SnapshotId{1}}}}));
  EXPECT_EQ(table->refs.size(), 1u);
  EXPECT_TRUE(table->statistics.empty());
  EXPECT_TRUE(table->partition_statistics.empty());
  // Also main: then nothing is current.
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveSnapshots{{SnapshotId{2}}}}));
  EXPECT_EQ(table->current_snapshot_id, std::nullopt);
  EXPECT_TRUE(table->refs.empty());
  EXPECT_TRUE(table->snapshot_log.empty());
  EXPECT_EQ(table->next_row_id, RowId{20}) << "row ids are never given again";
}

// --- schemas ------------------------------------------------------------------------------------------------------

TEST(TableMetadataBuilder, AnEqualSchemaKeepsItsId) {
  TableMetadataPtr table = NewTable();
  ASSERT_OK_AND_ASSIGN(table,
                       Change(table, {update::AddSchema{ThreeColumns()}, update::SetCurrentSchema{SchemaId{-1}}}));
  EXPECT_EQ(table->current_schema_id, SchemaId{1});
  EXPECT_EQ(table->last_column_id, FieldId{3});
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSchema{TwoColumns()}, update::SetCurrentSchema{SchemaId{-1}}}));
  EXPECT_EQ(table->current_schema_id, SchemaId{0});
  EXPECT_EQ(table->schemas.size(), 2u);
  EXPECT_EQ(table->last_column_id, FieldId{3}) << "never decreases";
  EXPECT_THAT(Change(table, {update::RemoveSchemas{{SchemaId{0}}}}),
              IsError(ErrorCode::kInvalidArgument, "Cannot remove the current schema"));
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveSchemas{{SchemaId{1}}}}));
  EXPECT_EQ(table->schemas.size(), 1u);
}

TEST(TableMetadataBuilder, RefusesTypesAndDefaultsThatNeedVersion3) {
  auto with = [](Field field) {
    std::vector<Field> fields = TwoColumns()->fields();
    fields.push_back(std::move(field));
    return update::AddSchema{*Schema::Make(SchemaId{0}, fields)};
  };
  Field nanoseconds{.id = FieldId{3}, .name = "ns", .type = Type::Primitive(TypeId::kTimestampNs)};
  Field defaulted{.id = FieldId{3}, .name = "d", .type = Type::Primitive(TypeId::kInt), .initial_default = int32_t{5}};
  Field reserved{.id = FieldId{2147483540}, .name = "r", .type = Type::Primitive(TypeId::kLong)};
  EXPECT_THAT(Change(NewTable(2), {with(nanoseconds)}),
              IsError(ErrorCode::kInvalidArgument, "type of ns is not supported until v3"));
  EXPECT_THAT(Change(NewTable(2), {with(defaulted)}), IsError(ErrorCode::kInvalidArgument, "there is one of d"));
  EXPECT_THAT(Change(NewTable(3), {with(nanoseconds)}), IsOk());
  EXPECT_THAT(Change(NewTable(3), {with(defaulted)}), IsOk());
  EXPECT_THAT(Change(NewTable(3), {with(reserved)}), IsError(ErrorCode::kInvalidArgument, "reserved for metadata"));
}

TEST(TableMetadataBuilder, LastAddedNeedsSomethingAdded) {
  TableMetadataPtr table = NewTable();
  EXPECT_THAT(Change(table, {update::SetCurrentSchema{SchemaId{-1}}}),
              IsError(ErrorCode::kInvalidArgument, "no schema has been added"));
  EXPECT_THAT(Change(table, {update::SetDefaultSpec{SpecId{-1}}}),
              IsError(ErrorCode::kInvalidArgument, "no spec has been added"));
  EXPECT_THAT(Change(table, {update::SetDefaultSortOrder{SortOrderId{-1}}}),
              IsError(ErrorCode::kInvalidArgument, "no sort order has been added"));
  EXPECT_THAT(Change(table, {update::SetCurrentSchema{SchemaId{5}}}),
              IsError(ErrorCode::kInvalidArgument, "unknown schema: 5"));
  EXPECT_THAT(Change(table, {update::SetDefaultSpec{SpecId{5}}}),
              IsError(ErrorCode::kInvalidArgument, "unknown spec: 5"));
  EXPECT_THAT(Change(table, {update::SetDefaultSortOrder{SortOrderId{5}}}),
              IsError(ErrorCode::kInvalidArgument, "unknown sort order: 5"));
}

// --- partition specs and sort orders ------------------------------------------------------------------------------

TEST(TableMetadataBuilder, ACompatibleSpecKeepsItsId) {
  TableMetadataPtr table = NewTable();
  ASSERT_OK_AND_ASSIGN(auto same,
                       Change(table, {update::AddPartitionSpec{Spec({By(1, Transform::Bucket(4), "id_bucket", 1234)})},
                                      update::SetDefaultSpec{SpecId{-1}}}));
  EXPECT_EQ(same, table) << "nothing changed";
}

TEST(TableMetadataBuilder, RefusesAPartitionFieldIdThatMeansSomethingElse) {
  TableMetadataPtr table = NewTable();
  EXPECT_THAT(Change(table, {update::AddPartitionSpec{Spec({By(2, Transform::Of(Transform::Kind::kDay), "d", 1000)})}}),
              IsError(ErrorCode::kInvalidArgument, "uses its id for id_bucket: 1000"));
  EXPECT_THAT(Change(table, {update::AddPartitionSpec{Spec({By(2, Transform::Of(Transform::Kind::kDay), "d", 1005),
                                                            By(1, Transform::Identity(), "id", 1005)})}}),
              IsError(ErrorCode::kInvalidArgument, "its id is taken or negative: 1005"));
  EXPECT_THAT(Change(table, {update::AddPartitionSpec{Spec({By(9, Transform::Identity(), "gone")})}}),
              IsError(ErrorCode::kInvalidArgument, "gone"));
  EXPECT_THAT(Change(table, {update::RemovePartitionSpecs{{SpecId{0}}}}),
              IsError(ErrorCode::kInvalidArgument, "Cannot remove the default partition spec"));
}

TEST(TableMetadataBuilder, RefusesToDropTheSourceOfTheDefaultSpec) {
  auto only_at = *Schema::Make(SchemaId{0}, {TwoColumns()->fields()[1]});
  EXPECT_THAT(Change(NewTable(), {update::AddSchema{only_at}, update::SetCurrentSchema{SchemaId{-1}}}),
              IsError(ErrorCode::kInvalidArgument, "Cannot find source column for partition field: id_bucket"));
}

TEST(TableMetadataBuilder, SortOrdersAreReusedAndZeroMeansUnsorted) {
  TableMetadataPtr table = NewTable();
  EXPECT_EQ(table->default_sort_order_id, SortOrderId{0});
  ASSERT_OK_AND_ASSIGN(table,
                       Change(table, {update::AddSortOrder{SortBy(1)}, update::SetDefaultSortOrder{SortOrderId{-1}}}));
  EXPECT_EQ(table->default_sort_order_id, SortOrderId{1});
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSortOrder{SortOrder{SortOrderId{9}, {}}},
                                             update::SetDefaultSortOrder{SortOrderId{-1}}}));
  EXPECT_EQ(table->default_sort_order_id, SortOrderId{0});
  ASSERT_OK_AND_ASSIGN(table,
                       Change(table, {update::AddSortOrder{SortBy(1)}, update::SetDefaultSortOrder{SortOrderId{-1}}}));
  EXPECT_EQ(table->default_sort_order_id, SortOrderId{1});
  EXPECT_EQ(table->sort_orders.size(), 2u);
  EXPECT_THAT(Change(table, {update::AddSortOrder{SortBy(9)}}), IsError(ErrorCode::kInvalidArgument, "source-id 9"));
}

// --- snapshots and refs -------------------------------------------------------------------------------------------

TEST(TableMetadataBuilder, RefusesSnapshotsThatBreakTheRules) {
  TableMetadataPtr table = Commit(NewTable(), 1);
  auto add = [&](auto change) {
    Snapshot snapshot = NextSnapshot(*table, 2);
    change(snapshot);
    return Change(table, {update::AddSnapshot{snapshot}});
  };
  const ErrorCode invalid = ErrorCode::kInvalidArgument;
  EXPECT_THAT(add([](Snapshot& s) { s.id = SnapshotId{1}; }), IsError(invalid, "Snapshot already exists for id: 1"));
  EXPECT_THAT(add([](Snapshot& s) { s.sequence_number = SequenceNumber{1}; }),
              IsError(ErrorCode::kCommitConflict, "older than last sequence number 1"));
  EXPECT_THAT(add([](Snapshot& s) { s.first_row_id.reset(); }),
              IsError(ErrorCode::kCommitConflict, "first-row-id is null"));
  EXPECT_THAT(add([](Snapshot& s) { s.added_rows.reset(); }), IsError(invalid, "added-rows is null"));
  EXPECT_THAT(add([](Snapshot& s) { s.added_rows = -1; }), IsError(invalid, "added-rows is out of range"));
  EXPECT_THAT(add([](Snapshot& s) { s.added_rows = std::numeric_limits<int64_t>::max(); }),
              IsError(invalid, "added-rows is out of range"));
  EXPECT_THAT(add([](Snapshot& s) { s.manifest_list.clear(); }), IsError(invalid, "without manifest-list"));
  EXPECT_THAT(add([](Snapshot& s) { s.operation.reset(); }), IsError(invalid, "no operation"));
  EXPECT_THAT(add([](Snapshot&) {}), IsOk());
}

TEST(TableMetadataBuilder, ASnapshotWithoutParentMayHaveAnySequenceNumberButTheLastOneStays) {
  TableMetadataPtr table = Commit(Commit(NewTable(), 1), 2);
  Snapshot snapshot = NextSnapshot(*table, 3);
  snapshot.parent_id.reset();
  snapshot.sequence_number = SequenceNumber{1};
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSnapshot{snapshot}}));
  EXPECT_EQ(table->last_sequence_number, SequenceNumber{2});
}

TEST(TableMetadataBuilder, AFirstRowIdAheadOfTheTableLeavesAGapNotAnOverlap) {
  TableMetadataPtr table = NewTable();
  Snapshot snapshot = NextSnapshot(*table, 1, 10);
  snapshot.first_row_id = RowId{100};
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::AddSnapshot{snapshot}}));
  EXPECT_EQ(table->next_row_id, RowId{110});
}

TEST(TableMetadataBuilder, RefsKeepTheirRules) {
  TableMetadataPtr table = Commit(NewTable(), 1);
  auto set = [&](std::string name, auto change) {
    SnapshotRef ref;
    ref.snapshot_id = SnapshotId{1};
    change(ref);
    return Change(table, {update::SetSnapshotRef{std::move(name), ref}});
  };
  const ErrorCode invalid = ErrorCode::kInvalidArgument;
  EXPECT_THAT(set("main", [](SnapshotRef& ref) { ref.type = RefType::kTag; }),
              IsError(invalid, "main must be a branch"));
  EXPECT_THAT(set("t", [](SnapshotRef& ref) { ref.type = RefType::kTag, ref.min_snapshots_to_keep = 1; }),
              IsError(invalid, "Tags do not support setting minSnapshotsToKeep"));
  EXPECT_THAT(set("t", [](SnapshotRef& ref) { ref.type = RefType::kTag, ref.max_snapshot_age_ms = 1; }),
              IsError(invalid, "Tags do not support setting maxSnapshotAgeMs"));
  EXPECT_THAT(set("b", [](SnapshotRef& ref) { ref.min_snapshots_to_keep = 0; }), IsError(invalid, "Min snapshots"));
  EXPECT_THAT(set("b", [](SnapshotRef& ref) { ref.max_snapshot_age_ms = 0; }), IsError(invalid, "Max snapshot age"));
  EXPECT_THAT(set("b", [](SnapshotRef& ref) { ref.max_ref_age_ms = -1; }), IsError(invalid, "Max reference age"));
  EXPECT_THAT(set("b", [](SnapshotRef& ref) { ref.snapshot_id = SnapshotId{9}; }),
              IsError(invalid, "Cannot set b to unknown snapshot: 9"));
  EXPECT_THAT(set("", [](SnapshotRef&) {}), IsError(invalid, "needs a name"));
  ASSERT_OK_AND_ASSIGN(table, set("b", [](SnapshotRef&) {}));
  EXPECT_THAT(set("b", [](SnapshotRef& ref) { ref.type = RefType::kTag; }),
              IsError(invalid, "Cannot replace a branch by a tag"));
  ASSERT_OK_AND_ASSIGN(auto same, set("b", [](SnapshotRef&) {}));
  EXPECT_EQ(same, table) << "same snapshot, same retention: no change";
}

TEST(TableMetadataBuilder, ARollbackIsLoggedAtTheTimeOfTheChange) {
  TableMetadataPtr table = Commit(Commit(NewTable(), 1), 2);
  ASSERT_OK_AND_ASSIGN(table, Change(table, {SetBranch("main", 1)}, kNow + 500));
  EXPECT_EQ(LoggedSnapshots(*table), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(table->snapshot_log.back().timestamp_ms, kNow + 500);
  EXPECT_EQ(table->last_updated_ms, kNow + 500);
  // Other retention of the same head is no move.
  auto set = SetBranch("main", 1);
  set.ref.min_snapshots_to_keep = 3;
  ASSERT_OK_AND_ASSIGN(table, Change(table, {set}, kNow + 600));
  EXPECT_EQ(table->snapshot_log.size(), 3u);
}

TEST(TableMetadataBuilder, TimeNeverRunsBackwardsWhenAClockLags) {
  TableMetadataPtr table = Commit(Commit(NewTable(), 1), 2);
  ASSERT_OK_AND_ASSIGN(table, Change(table, {SetBranch("main", 1)}, /*now_ms=*/5));
  EXPECT_EQ(table->last_updated_ms, kNow + 2);
  EXPECT_EQ(table->snapshot_log.back().timestamp_ms, kNow + 2);
  // A snapshot carries its own time; one that lies too far back is refused, as every reader would refuse the table.
  Snapshot late = NextSnapshot(*table, 3);
  late.timestamp_ms = 7;
  EXPECT_THAT(Change(table, {update::AddSnapshot{late}, SetBranch("main", 3)}),
              IsError(ErrorCode::kInvalidArgument, "snapshot-log is not sorted"));
}

TEST(TableMetadataBuilder, AReplacedTableKeepsSnapshotsAndLogs) {
  TableMetadataPtr table = Commit(NewTable(), 1);
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveSnapshotRef{"main"}, update::AddSchema{ThreeColumns()},
                                             update::SetCurrentSchema{SchemaId{-1}}}));
  EXPECT_EQ(table->current_snapshot_id, std::nullopt);
  EXPECT_EQ(LoggedSnapshots(*table), (std::vector<int64_t>{1}));
  table = Commit(table, 2);
  EXPECT_EQ(table->snapshots.size(), 2u);
  EXPECT_EQ(LoggedSnapshots(*table), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(table->current_snapshot_id, SnapshotId{2});
}

TEST(TableMetadataBuilder, ASnapshotHasAtMostOneStatisticsEntry) {
  TableMetadataPtr table = Commit(NewTable(), 1);
  StatisticsFile statistics;
  statistics.snapshot_id = SnapshotId{1};
  statistics.statistics_path = "a";
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::SetStatistics{statistics}}));
  statistics.statistics_path = "b";
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::SetStatistics{statistics}}));
  ASSERT_EQ(table->statistics.size(), 1u);
  EXPECT_EQ(table->statistics[0].statistics_path, "b");
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveStatistics{SnapshotId{1}}}));
  EXPECT_TRUE(table->statistics.empty());
  statistics.snapshot_id = SnapshotId{2};
  EXPECT_THAT(Change(table, {update::SetStatistics{statistics}}),
              IsError(ErrorCode::kInvalidArgument, "unknown snapshot: 2"));
}

// --- the rest -----------------------------------------------------------------------------------------------------

TEST(TableMetadataBuilder, MetadataLogKeepsTheNewestEntries) {
  TableMetadataPtr table = NewTable(3, {{"write.metadata.previous-versions-max", "2"}});
  for (int i = 1; i <= 4; ++i) {
    ASSERT_OK_AND_ASSIGN(
        table, Change(table, {update::SetProperties{{{"n", std::to_string(i)}}}}, kNow + i, "m" + std::to_string(i)));
  }
  EXPECT_EQ(table->metadata_log, (std::vector<MetadataLogEntry>{{kNow + 2, "m3"}, {kNow + 3, "m4"}}));
  ASSERT_OK_AND_ASSIGN(
      table, Change(table, {update::SetProperties{{{"write.metadata.previous-versions-max", "0"}}}}, kNow + 5, "m5"));
  EXPECT_EQ(table->metadata_log, (std::vector<MetadataLogEntry>{{kNow + 4, "m5"}})) << "at least one";
  EXPECT_THAT(Change(table, {update::SetProperties{{{"write.metadata.previous-versions-max", "x"}}}}, kNow + 6, "m6"),
              IsError(ErrorCode::kInvalidArgument, "must be a whole number"));
}

TEST(TableMetadataBuilder, UpgradesFromVersion1To3WithoutTouchingSnapshots) {
  TableMetadata v1 = *NewTable(2);
  v1.format_version = 1;
  Snapshot old = NextSnapshot(v1, 1);
  old.sequence_number = SequenceNumber{0};
  v1.snapshots.push_back(old);
  v1.refs["main"].snapshot_id = old.id;
  v1.current_snapshot_id = old.id;
  auto base = std::make_shared<TableMetadata>(v1);
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr v2, Change(base, {update::UpgradeFormatVersion{2}}));
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr v3, Change(v2, {update::UpgradeFormatVersion{3}}));
  EXPECT_EQ(v3->format_version, 3);
  EXPECT_EQ(v3->next_row_id, RowId{0});
  EXPECT_EQ(v3->snapshots, v1.snapshots);
  EXPECT_EQ(v3->snapshots[0].first_row_id, std::nullopt);
  EXPECT_THAT(Change(v3, {update::UpgradeFormatVersion{4}}), IsError(ErrorCode::kNotSupported, "v4"));

  v1.snapshots[0].manifest_list.clear();
  EXPECT_THAT(Change(std::make_shared<TableMetadata>(v1), {update::UpgradeFormatVersion{2}}),
              IsError(ErrorCode::kInvalidArgument, "has no manifest list"));
  v1.snapshots[0].manifest_list = "x";
  v1.table_uuid = Uuid();
  auto nameless = std::make_shared<TableMetadata>(v1);
  EXPECT_THAT(Change(nameless, {update::UpgradeFormatVersion{2}}),
              IsError(ErrorCode::kInvalidArgument, "UUID is required"));
  EXPECT_THAT(Change(nameless, {update::UpgradeFormatVersion{2}, update::AssignUuid{Uuid::Random()}}), IsOk());
}

TEST(TableMetadataBuilder, TheUuidOfATableNeverChanges) {
  TableMetadataPtr table = NewTable();
  EXPECT_THAT(Change(table, {update::AssignUuid{table->table_uuid}}), IsOk());
  EXPECT_THAT(Change(table, {update::AssignUuid{Uuid::Random()}}),
              IsError(ErrorCode::kInvalidArgument, "Cannot reassign"));
}

TEST(TableMetadataBuilder, PropertiesAndLocation) {
  TableMetadataPtr table = NewTable();
  ASSERT_OK_AND_ASSIGN(auto changed,
                       Change(table, {update::SetProperties{{{"a", "1"}, {"b", "2"}}},
                                      update::RemoveProperties{{"b", "absent"}}, update::SetLocation{"s3://c/u/"}}));
  EXPECT_EQ(changed->Property("a", ""), "1");
  EXPECT_EQ(changed->Property("b", "gone"), "gone");
  EXPECT_EQ(changed->location, "s3://c/u");
  EXPECT_THAT(Change(table, {update::SetLocation{"/"}}), IsError(ErrorCode::kInvalidArgument, "needs a location"));
  ASSERT_OK_AND_ASSIGN(auto same, Change(table, {}));
  EXPECT_EQ(same, table) << "no change, no new metadata";
}

TEST(TableMetadataBuilder, EncryptionKeysNeedVersion3) {
  EncryptedKey key;
  key.key_id = "k";
  EXPECT_THAT(Change(NewTable(2), {update::AddEncryptionKey{key}}), IsError(ErrorCode::kInvalidArgument, "until v3"));
  ASSERT_OK_AND_ASSIGN(auto table, Change(NewTable(), {update::AddEncryptionKey{key}}));
  EXPECT_EQ(table->encryption_keys.size(), 1u);
  ASSERT_OK_AND_ASSIGN(table, Change(table, {update::RemoveEncryptionKey{"k"}}));
  EXPECT_TRUE(table->encryption_keys.empty());
}

TEST(TableMetadataBuilder, ForeignIdsAtTheirLimitDoNotOverflow) {
  TableMetadata foreign = *NewTable();
  foreign.last_partition_id = FieldId{std::numeric_limits<int32_t>::max()};
  foreign.schemas[0] = foreign.schemas[0]->WithId(SchemaId{std::numeric_limits<int32_t>::max()});
  foreign.current_schema_id = foreign.schemas[0]->id();
  auto base = std::make_shared<TableMetadata>(foreign);
  EXPECT_THAT(Change(base, {update::AddSchema{ThreeColumns()}}),
              IsError(ErrorCode::kInvalidArgument, "no schema id is left"));
  EXPECT_THAT(Change(base, {update::AddPartitionSpec{Spec({By(1, Transform::Bucket(9), "b")})}}),
              IsError(ErrorCode::kInvalidArgument, "no partition field id is left"));
}

TEST(TableMetadataBuilder, ATableIsNotBuiltFromHalfOfTheUpdates) {
  EXPECT_THAT(Change(nullptr, {update::AssignUuid{Uuid::Random()}, update::SetLocation{"s3://b/t"}}),
              IsError(ErrorCode::kInvalidArgument, "current-schema-id=-1"));
  EXPECT_THAT(Change(nullptr, {update::AddPartitionSpec{Spec({By(1, Transform::Identity(), "x")})}}),
              IsError(ErrorCode::kInvalidArgument, "before a current schema"));
  EXPECT_THAT(Change(nullptr, {update::AddSnapshot{}}), IsError(ErrorCode::kInvalidArgument, "before a schema"));
}

}  // namespace
}  // namespace frazil::spec
