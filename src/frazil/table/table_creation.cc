#include "frazil/table/table_creation.h"

#include "frazil/base/uuid.h"
#include "frazil/catalog/table_places.h"
#include "frazil/spec/table_metadata_builder.h"
#include "frazil/table/file_names.h"
#include "frazil/table/snapshot_producer.h"

namespace frazil::table {
namespace {

/// What became of a creation whose reply was lost: our uuid is the proof.
Result<Table> FindCreated(const std::shared_ptr<catalog::Catalog>& catalog, const catalog::TableName& name,
                          const Uuid& uuid, Error loss) {
  auto found = Table::Load(catalog, name);
  if (found && found->metadata()->table_uuid == uuid) return found;
  // Not there, or another one: the request may still be on its way.
  return tl::unexpected(
      Error(ErrorCode::kCommitUnknown,
            fmt::format("it is unknown whether table {} was created; its files stay", name.ToString()))
          .WithContext(loss.ToString()));
}

}  // namespace

Result<Table> CreateTable(const std::shared_ptr<catalog::Catalog>& catalog, const catalog::TableName& name,
                          spec::CreateTableRequest request, SnapshotChange& rows, Clock& clock) {
  FRAZIL_ASSIGN(std::string place, catalog::PlaceForNew(*catalog, name));
  if (request.location.empty()) request.location = std::move(place);
  while (request.location.size() > 1 && request.location.ends_with('/')) request.location.pop_back();
  FRAZIL_ASSIGN(std::vector<spec::TableUpdate> updates, spec::MakeCreateUpdates(request));
  spec::TableMetadataBuilder builder;
  for (const spec::TableUpdate& update : updates) FRAZIL_TRY(builder.Apply(update));
  FRAZIL_ASSIGN(const spec::TableMetadataPtr metadata, std::move(builder).Build(clock.NowMs()));

  const Table staged(catalog, name, {metadata, ""});
  const spec::SnapshotId snapshot_id{RandomSnapshotNumber()};
  FRAZIL_ASSIGN(const FileChanges changes, rows.Prepare(staged, snapshot_id));
  FRAZIL_ASSIGN(FileNames names, FileNames::Make(metadata));
  SnapshotProducer producer(staged.manifests(), ManifestSink(staged.io(), std::move(names), snapshot_id));
  if (!changes.added_data_files.empty()) {
    auto snapshot = producer.Produce(*metadata, nullptr, changes, 1, clock.NowMs());
    if (!snapshot) {
      producer.DeleteAllBut("");
      return tl::unexpected(std::move(snapshot).error());
    }
    updates.emplace_back(spec::update::AddSnapshot{*std::move(snapshot)});
    spec::SnapshotRef head;
    head.snapshot_id = snapshot_id;
    updates.emplace_back(spec::update::SetSnapshotRef{spec::kMainBranch, head});
  }
  auto created = catalog->CommitTable(name, spec::RequirementsFor(updates, nullptr), updates);
  if (created) return Table(catalog, name, *std::move(created));
  const ErrorCode code = created.error().code();
  if (code == ErrorCode::kCommitUnknown || code == ErrorCode::kUnavailable) {
    return FindCreated(catalog, name, metadata->table_uuid, std::move(created).error());
  }
  producer.DeleteAllBut("");
  // The requirement that no table be there failed: somebody was faster.
  if (code == ErrorCode::kCommitConflict) {
    return Fail(ErrorCode::kAlreadyExists, "table exists already: {}", name.ToString());
  }
  return tl::unexpected(std::move(created).error());
}

}  // namespace frazil::table
