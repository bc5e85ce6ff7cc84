#include "frazil/table/live_file_visit.h"

namespace frazil::table {

Status VisitLiveDataFiles(const Table& table, const spec::Snapshot& snapshot,
                          const std::function<Status(const spec::DataFile& file)>& visit) {
  FRAZIL_ASSIGN(const ManifestList list, table.manifests().List(snapshot));
  for (const spec::ManifestFile& manifest : *list) {
    if (manifest.content != spec::ManifestContent::kData || !manifest.has_live_files()) continue;
    FRAZIL_TRY(table.manifests().ForEachEntry(manifest, *table.metadata(), [&](const spec::ManifestEntry& entry) {
      return entry.is_live() ? visit(entry.data_file) : Status();
    }));
  }
  return {};
}

}  // namespace frazil::table
