#include "frazil/ingest/landed_to_strike_out.h"

#include "frazil/ingest/landing.h"
#include "frazil/ingest/landing_deletes.h"
#include "frazil/ingest/replaced_partitions.h"
#include "frazil/ingest/row_deletes.h"

namespace frazil::ingest {

Result<const table::OwnDeletes*> LandedToStrikeOut::On(const table::Table& base, index::KeyIndex& index,
                                                       const index::CanonicalKey& key) {
  if (!base_location_.empty() && base_location_ == base.metadata_location()) return &found_;
  base_location_.clear();
  found_.clear();
  found_deletes_.clear();
  FRAZIL_TRY(AddLandingDeletes(base, index, key, done_deletes_, found_deletes_, found_));
  FRAZIL_ASSIGN(const OnReplacePartitions on_replace, FindOnReplacePartitions(*base.metadata()));
  base_head_.reset();
  if (on_replace == OnReplacePartitions::kApply) {
    base_head_ = base.metadata()->current_snapshot_id;
    FRAZIL_ASSIGN(const std::vector<spec::Snapshot> overwrites, OverwritesOfPartitions(base, looked_up_to_));
    for (const spec::Snapshot& overwrite : overwrites) FRAZIL_TRY(AddReplacedRows(base, overwrite, found_));
  }
  base_location_ = base.metadata_location();
  return &found_;
}

void LandedToStrikeOut::Committed() {
  done_deletes_.merge(found_deletes_);
  looked_up_to_ = base_head_;
  base_location_.clear();
  found_deletes_.clear();
  found_.clear();
}

std::string StruckOutText(int64_t num_rows) {
  return fmt::format("{} rows of landing files, which others had deleted or replaced by partition, were deleted",
                     num_rows);
}

Result<int64_t> StrikeOutLanded(table::Table& table, index::KeyIndex& index, const index::CanonicalKey& key,
                                Clock& clock) {
  LandedToStrikeOut landed;
  FRAZIL_ASSIGN(const table::OwnDeletes* now, landed.On(table, index, key));
  if (now->empty()) return 0;
  return CommitRowDeletes(
      table, index,
      [&](const table::Table& base) -> Result<table::OwnDeletes> {
        FRAZIL_ASSIGN(const table::OwnDeletes* found, landed.On(base, index, key));
        table::OwnDeletes own;
        for (const auto& [path, positions] : *found) own[path].UnionWith(positions);
        return own;
      },
      clock);
}

}  // namespace frazil::ingest
