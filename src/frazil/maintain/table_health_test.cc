#include "frazil/maintain/table_health.h"

#include "frazil/maintain/maintain_test_support.h"

namespace frazil::maintain {
namespace {

using table::TestTable;
using testing::HasSubstr;

constexpr char kVerify[] = "frazil sql -e \"CALL system.verify('db.t')\"";

/// The findings by their checks, as somebody sees them who opens the table now.
std::map<std::string, HealthFinding> Examine(TestTable& test) {
  std::map<std::string, HealthFinding> found;
  const auto findings = ExamineTable(test.Other(), ContextOf(test));
  EXPECT_THAT(findings, IsOk());
  if (!findings) return found;
  for (const HealthFinding& finding : *findings) found[finding.check] = finding;
  EXPECT_EQ(found.size(), findings->size()) << "each check once";
  for (const auto& [check, finding] : found) {
    EXPECT_FALSE(finding.cause.empty()) << check;
    EXPECT_EQ(finding.command.empty(), finding.severity == Severity::kOk) << check;
    EXPECT_EQ(finding.effect.empty(), finding.severity == Severity::kOk) << check;
  }
  return found;
}

/// Two files, each with a vector, in one Puffin, whose path it returns.
std::string TwoVectors(TestTable& test) {
  const spec::DataFile a = WrittenFile(test, "a", 10);
  const spec::DataFile b = WrittenFile(test, "b", 10);
  EXPECT_THAT(table::Append(test, {a, b}), IsOk());
  EXPECT_THAT(table::Delete(test, {{a.file_path, {1}}, {b.file_path, {2}}}), IsOk());
  const auto deletes = test.Live().delete_files;
  EXPECT_EQ(deletes.size(), 2U);
  EXPECT_EQ(deletes.front().file.file_path, deletes.back().file.file_path);
  return deletes.front().file.file_path;
}

TEST(TableHealth, AMissingPuffinIsFoundAndTheOtherChecksAreMade) {
  TestTable test;
  const std::string puffin = TwoVectors(test);
  ASSERT_THAT(test.io->Delete({puffin}), IsOk());
  auto found = Examine(test);
  EXPECT_EQ(found.at("integrity").severity, Severity::kCritical);
  EXPECT_THAT(found.at("integrity").cause, HasSubstr(puffin));
  EXPECT_EQ(found.at("integrity").command, kVerify);
  EXPECT_EQ(found.at("split Puffins").severity, Severity::kCritical);
  EXPECT_THAT(found.at("split Puffins").cause, HasSubstr("cannot be judged: "));
  EXPECT_EQ(found.at("split Puffins").command, kVerify);
  for (const char* check :
       {"small files", "deleted rows", "equality deletes", "manifests", "snapshots", "metadata size"}) {
    EXPECT_TRUE(found.contains(check)) << check;
  }
}

TEST(TableHealth, AMissingManifestIsFoundAndTheOtherChecksAreMade) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  ASSERT_THAT(test.io->Delete({test.Manifests(spec::ManifestContent::kData).at(0).manifest_path}), IsOk());
  auto found = Examine(test);
  EXPECT_EQ(found.at("integrity").severity, Severity::kCritical);
  EXPECT_EQ(found.at("live files").severity, Severity::kCritical);
  EXPECT_EQ(found.at("live files").command, kVerify);
  EXPECT_EQ(found.at("manifests").severity, Severity::kOk);
  EXPECT_EQ(found.at("snapshots").severity, Severity::kOk);
}

TEST(TableHealth, AReplacedVectorBesideALiveOneIsRepackedByTheCommand) {
  TestTable test;
  TwoVectors(test);
  EXPECT_EQ(Examine(test).at("split Puffins").severity, Severity::kOk);
  // As a foreign engine compacts a: its data file and vector go, the other vector stays where it is.
  table::FileChanges foreign = table::Adding({WrittenFile(test, "c", 9)});
  foreign.removed_data_files = {test.metadata().location + "/data/a"};
  foreign.operation = spec::Operation::kReplace;
  ASSERT_THAT(table::Commit(test, foreign), IsOk());
  const HealthFinding found = Examine(test).at("split Puffins");
  EXPECT_EQ(found.severity, Severity::kWarn);
  EXPECT_THAT(found.cause, HasSubstr("1 of 1 Puffins hold vectors that were replaced"));
  EXPECT_EQ(found.command, "frazil sql -e \"CALL system.rewrite_deletion_vectors('db.t')\"");
  ASSERT_THAT(Call("rewrite_deletion_vectors", ContextOf(test), {{"table", std::string("db.t")}}), IsOk());
  EXPECT_EQ(Examine(test).at("split Puffins").severity, Severity::kOk);
}

TEST(TableHealth, MoreThanAHundredManifestsBecomeFewByTheCommand) {
  TestTable test({{"commit.manifest-merge.enabled", "false"}});
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "f" + std::to_string(i), 1)}), IsOk());
  }
  EXPECT_EQ(Examine(test).at("manifests").severity, Severity::kOk);
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "last", 1)}), IsOk());
  const HealthFinding found = Examine(test).at("manifests");
  EXPECT_EQ(found.severity, Severity::kWarn);
  EXPECT_THAT(found.cause, HasSubstr("101 manifests of 0.0 MiB on average"));
  EXPECT_EQ(found.command, "frazil sql -e \"CALL system.rewrite_manifests('db.t')\"");
  EXPECT_EQ(found.gain, "1 manifests, sorted by partition");
  ASSERT_THAT(Call("rewrite_manifests", ContextOf(test), {{"table", std::string("db.t")}}), IsOk());
  EXPECT_EQ(Examine(test).at("manifests").severity, Severity::kOk);
}

// What no command would change is no finding.
TEST(TableHealth, LargeMetadataIsAFindingWhereSomethingCanGo) {
  TestTable test(std::map<std::string, std::string>{{"large", std::string(size_t{21} << 20, 'x')}});
  const HealthFinding before = Examine(test).at("metadata size");
  EXPECT_EQ(before.severity, Severity::kOk);
  EXPECT_THAT(before.cause, HasSubstr("the metadata file has 21.0 MiB, 1 schemas, 1 specs"));
  const auto add = [](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    std::vector<spec::Field> fields = metadata.schema()->fields();
    fields.push_back({spec::FieldId{3}, "extra", false, spec::Type::Primitive(spec::TypeId::kLong)});
    FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, std::move(fields)));
    return std::vector<spec::TableUpdate>{spec::update::AddSchema{std::move(schema)}};
  };
  ASSERT_THAT(table::CommitUpdates(test.table, add, test.clock), IsOk());
  const HealthFinding found = Examine(test).at("metadata size");
  EXPECT_EQ(found.severity, Severity::kWarn);
  EXPECT_EQ(found.command, "frazil expire db.t --clean-metadata --yes");
}

}  // namespace
}  // namespace frazil::maintain
