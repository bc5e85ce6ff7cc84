#include "frazil/table/manifest_filter.h"

#include <algorithm>

namespace frazil::table {

spec::ManifestEntry AsExisting(spec::ManifestEntry entry) {
  entry.status = spec::EntryStatus::kExisting;
  return entry;
}

Result<std::vector<spec::ManifestFile>> ManifestFilter::Filter(const std::vector<spec::ManifestFile>& rows,
                                                               const MayConcern& may_concern, const Judge& judge) {
  std::vector<spec::ManifestFile> kept;
  for (const spec::ManifestFile& row : rows) {
    if (!row.has_live_files()) continue;
    if (!may_concern(row)) {
      kept.push_back(row);
      continue;
    }
    FRAZIL_ASSIGN(const ManifestEntries entries, cache_.Entries(row, metadata_));
    // Judged before anything is copied: most manifests stay as they are.
    std::vector<Verdict> verdicts;
    bool has_live = false;
    bool has_removed = false;
    for (const spec::ManifestEntry& entry : *entries) {
      verdicts.push_back(Verdict::kKeep);
      if (!entry.is_live()) continue;
      has_live = true;
      FRAZIL_ASSIGN(verdicts.back(), judge(entry));
      has_removed |= verdicts.back() == Verdict::kRemove;
    }
    if (!has_live) continue;
    if (!has_removed) {
      kept.push_back(row);
      continue;
    }
    std::vector<spec::ManifestEntry> rewritten;
    for (size_t i = 0; i < entries->size(); ++i) {
      const spec::ManifestEntry& entry = (*entries)[i];
      // Files that an older snapshot removed need no mention any more.
      if (!entry.is_live()) continue;
      rewritten.push_back(AsExisting(entry));
      if (verdicts[i] == Verdict::kKeep) continue;
      rewritten.back().status = spec::EntryStatus::kDeleted;
      rewritten.back().snapshot_id = sink_.snapshot_id();
      removed_files_.push_back(entry.data_file);
    }
    ++num_replaced_;
    FRAZIL_ASSIGN(auto written,
                  sink_.Write(metadata_, row.partition_spec_id, row.content, rewritten, commit_sequence_));
    std::move(written.begin(), written.end(), std::back_inserter(kept));
  }
  return kept;
}

}  // namespace frazil::table
