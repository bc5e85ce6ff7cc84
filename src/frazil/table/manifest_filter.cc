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
    // Judged before anything is copied: most manifests stay as they are.
    std::vector<Verdict> verdicts;
    bool has_live = false;
    bool has_removed = false;
    FRAZIL_TRY(cache_.ForEachEntry(row, metadata_, [&](const spec::ManifestEntry& entry) -> Status {
      verdicts.push_back(Verdict::kKeep);
      if (!entry.is_live()) return {};
      has_live = true;
      FRAZIL_ASSIGN(verdicts.back(), judge(entry));
      has_removed |= verdicts.back() == Verdict::kRemove;
      return {};
    }));
    if (!has_live) continue;
    if (!has_removed) {
      kept.push_back(row);
      continue;
    }
    std::vector<spec::ManifestEntry> rewritten;
    size_t next = 0;
    FRAZIL_TRY(cache_.ForEachEntry(row, metadata_, [&](const spec::ManifestEntry& entry) -> Status {
      const Verdict verdict = verdicts[next++];
      // Files that an older snapshot removed need no mention any more.
      if (!entry.is_live()) return {};
      rewritten.push_back(AsExisting(entry));
      if (verdict == Verdict::kKeep) return {};
      rewritten.back().status = spec::EntryStatus::kDeleted;
      rewritten.back().snapshot_id = sink_.snapshot_id();
      removed_files_.push_back(entry.data_file);
      return {};
    }));
    ++num_replaced_;
    FRAZIL_ASSIGN(auto written,
                  sink_.Write(metadata_, row.partition_spec_id, row.content, rewritten, commit_sequence_));
    std::move(written.begin(), written.end(), std::back_inserter(kept));
  }
  return kept;
}

}  // namespace frazil::table
