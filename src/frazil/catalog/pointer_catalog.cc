#include "frazil/catalog/pointer_catalog.h"

#include <algorithm>
#include <set>

#include "frazil/base/log.h"
#include "frazil/base/uuid.h"
#include "frazil/catalog/metadata_file.h"
#include "frazil/catalog/missing_metadata.h"
#include "frazil/catalog/pointer_rules.h"
#include "frazil/spec/checked_property.h"

namespace frazil::catalog {
namespace {

using Access = PointerStore::Access;

constexpr char kDeleteAfterCommit[] = "write.metadata.delete-after-commit.enabled";

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool LogHolds(const spec::TableMetadata& metadata, const std::string& location) {
  return std::any_of(metadata.metadata_log.begin(), metadata.metadata_log.end(),
                     [&](const spec::MetadataLogEntry& entry) { return entry.metadata_file == location; });
}

// Exactly the files that this commit pushed off the log, never anything untracked (spec section 1.5, Logs).
std::vector<std::string> FallenOffTheLog(const LoadedTable& base, const LoadedTable& next) {
  std::vector<std::string> fallen;
  for (const spec::MetadataLogEntry& entry : base.metadata->metadata_log) {
    const std::string& file = entry.metadata_file;
    // A log may repeat a file (register, restore): what is current or still logged stays.
    if (file != next.metadata_location && file != base.metadata_location && !LogHolds(*next.metadata, file)) {
      fallen.push_back(file);
    }
  }
  return fallen;
}

/// The location, or one beside it when another table lies there: one that was renamed, or dropped without its files.
Result<std::string> FreeLocation(const io::FileIO& io, std::string location) {
  FRAZIL_ASSIGN(const auto files, io.List(location + "/metadata/"));
  if (files.empty()) return location;
  return location + "-" + Uuid::Random().ToString().substr(0, 8);
}

bool HoldsAssertCreate(const std::vector<spec::TableRequirement>& requirements) {
  return std::any_of(requirements.begin(), requirements.end(), [](const spec::TableRequirement& requirement) {
    return std::holds_alternative<spec::requirement::AssertCreate>(requirement);
  });
}

Result<LoadedTable> ReadTable(const io::FileIO& io, MetadataCache& known, const TableName& name,
                              const std::string& location) {
  auto metadata = known.Read(io, location);
  if (metadata) return LoadedTable{*std::move(metadata), location};
  if (metadata.error().code() == ErrorCode::kNotFound) return tl::unexpected(MissingMetadata(name, location));
  return tl::unexpected(std::move(metadata).error().WithContext("loading table " + name.ToString()));
}

}  // namespace

PointerCatalog::PointerCatalog(std::string name, std::string warehouse, std::unique_ptr<PointerStore> store,
                               std::shared_ptr<io::FileIO> io, Clock& clock, MemoryBudget* budget)
    : name_(std::move(name)),
      warehouse_(WithoutTrailingSlashes(std::move(warehouse))),
      store_(std::move(store)),
      io_(std::move(io)),
      clock_(clock),
      metadata_(budget) {}

Result<std::string> PointerCatalog::FindTable(const TableName& name) const {
  using Entry = std::optional<PointerEntry>;
  FRAZIL_ASSIGN(const Entry entry, Read<Entry>(*store_, [&](PointerRows& rows) { return rows.Find(name); }));
  if (!entry) return Fail(ErrorCode::kNotFound, "table not found: {}", name.ToString());
  if (entry->kind == EntryKind::kView) {
    return Fail(ErrorCode::kNotFound, "table not found, a view has this name: {}", name.ToString());
  }
  return entry->metadata_location;
}

Result<LoadedTable> PointerCatalog::LoadTable(const TableName& name) const {
  FRAZIL_ASSIGN(const std::string location, FindTable(name));
  return ReadTable(*io_, metadata_, name, location);
}

Status PointerCatalog::CheckCreatable(const TableName& name) const {
  FRAZIL_TRY(CheckNewName(name));
  return store_->Transact(Access::kRead, [&](PointerRows& rows) { return CheckNameIsFree(rows, name); });
}

std::string PointerCatalog::DefaultLocation(const TableName& name) const {
  std::string location = warehouse_;
  for (const std::string& level : name.levels) location += "/" + level;
  return location + "/" + name.name;
}

Result<std::string> PointerCatalog::PlaceForNew(const TableName& name) const {
  FRAZIL_TRY(CheckCreatable(name));
  return FreeLocation(*io_, DefaultLocation(name));
}

Result<LoadedTable> PointerCatalog::CreateTable(const TableName& name, spec::CreateTableRequest request) {
  if (request.location.empty()) {
    FRAZIL_ASSIGN(request.location, FreeLocation(*io_, DefaultLocation(name)));
  }
  request.location = WithoutTrailingSlashes(std::move(request.location));
  FRAZIL_ASSIGN(const auto updates, spec::MakeCreateUpdates(request));
  return CreateFromUpdates(name, {spec::requirement::AssertCreate{}}, updates);
}

Result<LoadedTable> PointerCatalog::CreateFromUpdates(const TableName& name,
                                                      const std::vector<spec::TableRequirement>& requirements,
                                                      const std::vector<spec::TableUpdate>& updates) {
  // Asked before the metadata file is written, so that the usual mistakes leave no trace; decided by the insert.
  FRAZIL_TRY(CheckCreatable(name));
  FRAZIL_ASSIGN(auto metadata, ApplyUpdates(nullptr, requirements, updates, clock_.NowMs()));
  FRAZIL_ASSIGN(const std::string location, WriteMetadataFile(*io_, *metadata, ""));
  FRAZIL_TRY(Settle(name, location, InsertPointer(name, location)));
  return LoadedTable{std::move(metadata), location};
}

Result<LoadedTable> PointerCatalog::CommitTable(const TableName& name,
                                                const std::vector<spec::TableRequirement>& requirements,
                                                const std::vector<spec::TableUpdate>& updates) {
  auto base = LoadTable(name);
  if (!base) {
    if (base.error().code() == ErrorCode::kNotFound && HoldsAssertCreate(requirements)) {
      return CreateFromUpdates(name, requirements, updates);
    }
    return tl::unexpected(std::move(base).error());
  }
  FRAZIL_ASSIGN(auto metadata, ApplyUpdates(&*base, requirements, updates, clock_.NowMs()));
  if (metadata == base->metadata) return base;  // nothing changes: another file would only push one out of the log

  FRAZIL_ASSIGN(const bool deletes_old, spec::TruthProperty(*metadata, kDeleteAfterCommit, false));
  FRAZIL_ASSIGN(const std::string location, WriteMetadataFile(*io_, *metadata, base->metadata_location));
  FRAZIL_TRY(Settle(name, location, SwapPointer(name, base->metadata_location, location)));
  const LoadedTable next{std::move(metadata), location};
  metadata_.Keep(*io_, next);
  if (deletes_old) DeleteQuietly(FallenOffTheLog(*base, next));
  return next;
}

Status PointerCatalog::InsertPointer(const TableName& name, const std::string& metadata_location) {
  return store_->Transact(Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_TRY(CheckNameIsFree(rows, name));
    return rows.Insert(name, metadata_location);
  });
}

Status PointerCatalog::SwapPointer(const TableName& name, const std::string& base, const std::string& next) {
  return store_->Transact(Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_ASSIGN(const bool swapped, rows.Swap(name, base, next));
    if (swapped) return {};
    FRAZIL_ASSIGN(const auto entry, rows.Find(name));
    if (!entry || entry->kind == EntryKind::kView) {
      return Fail(ErrorCode::kNotFound, "table was dropped or renamed meanwhile: {}", name.ToString());
    }
    return Fail(ErrorCode::kCommitConflict, "somebody else committed first to table {}: based on {}, it is now at {}",
                name.ToString(), base, entry->metadata_location);
  });
}

// What became of a metadata file whose pointer move ended with `outcome`. Definite failure: nothing can refer to the
// file, it goes. Unknown: look once whether it is current or has been built upon; still unknown keeps it, for deleting
// a file that is current after all would destroy the table.
Status PointerCatalog::Settle(const TableName& name, const std::string& metadata_location, Status outcome) {
  if (outcome) return outcome;
  if (outcome.error().code() != ErrorCode::kCommitUnknown) {
    DeleteQuietly({metadata_location});
    return outcome;
  }
  const auto current = LoadTable(name);
  const bool applied =
      current && (current->metadata_location == metadata_location || LogHolds(*current->metadata, metadata_location));
  if (applied) return {};
  return outcome;
}

void PointerCatalog::DeleteQuietly(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  const Status deleted = io_->Delete(paths);
  if (!deleted) Log::Warn("cannot delete metadata files that are no longer needed: {}", deleted.error().ToString());
}

Status PointerCatalog::DropTable(const TableName& name, bool purge) {
  std::vector<std::string> files;
  if (purge) {
    auto table = LoadTable(name);
    if (!table) {
      return tl::unexpected(std::move(table).error().WithContext("purging; a drop without purge needs no metadata"));
    }
    files.push_back(table->metadata_location);
    for (const spec::MetadataLogEntry& entry : table->metadata->metadata_log) files.push_back(entry.metadata_file);
  }
  const Status dropped = store_->Transact(Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_ASSIGN(const bool removed, rows.Remove(name));
    if (!removed) return Fail(ErrorCode::kNotFound, "table not found: {}", name.ToString());
    return {};
  });
  if (dropped) DeleteQuietly(files);
  return dropped;
}

Status PointerCatalog::RenameTable(const TableName& from, const TableName& to) {
  FRAZIL_TRY(CheckNewName(to));
  return store_->Transact(Access::kWrite, [&](PointerRows& rows) -> Status {
    FRAZIL_ASSIGN(const auto entry, rows.Find(from));
    if (!entry || entry->kind == EntryKind::kView) {
      return Fail(ErrorCode::kNotFound, "table not found: {}", from.ToString());
    }
    FRAZIL_TRY(CheckNameIsFree(rows, to));
    FRAZIL_ASSIGN(const bool renamed, rows.Rename(from, to));
    if (!renamed) return Fail(ErrorCode::kNotFound, "table not found: {}", from.ToString());
    return {};
  });
}

Result<LoadedTable> PointerCatalog::RegisterTable(const TableName& name, const std::string& metadata_location) {
  FRAZIL_TRY(CheckCreatable(name));
  FRAZIL_ASSIGN(auto metadata, ReadMetadataFile(*io_, metadata_location));
  const Status inserted = InsertPointer(name, metadata_location);
  // The file is not ours: unlike that of a create it stays, whatever happened.
  if (!inserted) return tl::unexpected(inserted.error());
  return LoadedTable{std::move(metadata), metadata_location};
}

}  // namespace frazil::catalog
