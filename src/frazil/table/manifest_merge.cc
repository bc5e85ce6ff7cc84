#include "frazil/table/manifest_merge.h"

#include <algorithm>
#include <functional>
#include <map>

#include "frazil/spec/checked_property.h"
#include "frazil/table/manifest_filter.h"

namespace frazil::table {
namespace {

constexpr char kEnabled[] = "commit.manifest-merge.enabled";
constexpr char kTargetSize[] = "commit.manifest.target-size-bytes";
constexpr int64_t kDefaultTargetSize = int64_t{8} << 20;
constexpr char kMinCount[] = "commit.manifest.min-count-to-merge";
constexpr int64_t kDefaultMinCount = 100;

using Bin = std::vector<spec::ManifestFile>;

/// Bins in the order of `rows`; the first one takes what is left over, so that full bins of old manifests stay as they
/// are from commit to commit.
std::vector<Bin> PackFromTheEnd(const Bin& rows, int64_t target_size) {
  std::vector<Bin> bins;
  int64_t size = 0;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (bins.empty() || size + row->manifest_length > target_size) {
      bins.emplace_back();
      size = 0;
    }
    bins.back().push_back(*row);
    size += row->manifest_length;
  }
  for (Bin& bin : bins) std::reverse(bin.begin(), bin.end());
  std::reverse(bins.begin(), bins.end());
  return bins;
}

}  // namespace

Result<std::vector<spec::ManifestFile>> MergeManifests(ManifestCache& cache, ManifestSink& sink,
                                                       const spec::TableMetadata& metadata,
                                                       spec::SequenceNumber commit_sequence,
                                                       const std::vector<spec::ManifestFile>& rows,
                                                       int64_t& num_replaced) {
  FRAZIL_ASSIGN(const bool is_enabled, spec::TruthProperty(metadata, kEnabled, true));
  if (rows.empty() || !is_enabled) return rows;
  FRAZIL_ASSIGN(const int64_t target_size, spec::NumberProperty(metadata, kTargetSize, kDefaultTargetSize, 1));
  FRAZIL_ASSIGN(const int64_t min_count, spec::NumberProperty(metadata, kMinCount, kDefaultMinCount, 0));
  std::map<spec::SpecId, Bin, std::greater<>> by_spec;
  for (const spec::ManifestFile& row : rows) by_spec[row.partition_spec_id].push_back(row);

  std::vector<spec::ManifestFile> merged;
  for (const auto& [spec_id, group] : by_spec) {
    for (Bin& bin : PackFromTheEnd(group, target_size)) {
      const bool has_newest = bin.front().manifest_path == rows.front().manifest_path;
      if (bin.size() == 1 || (has_newest && static_cast<int64_t>(bin.size()) < min_count)) {
        std::move(bin.begin(), bin.end(), std::back_inserter(merged));
        continue;
      }
      std::vector<spec::ManifestEntry> entries;
      for (const spec::ManifestFile& row : bin) {
        if (const ManifestEntries own = sink.EntriesOf(row.manifest_path)) {
          // Written by this commit: its added files still inherit, its removed ones must still be seen as removed.
          entries.insert(entries.end(), own->begin(), own->end());
          continue;
        }
        ++num_replaced;
        FRAZIL_TRY(cache.ForEachEntry(row, metadata, [&](const spec::ManifestEntry& entry) -> Status {
          if (entry.is_live()) entries.push_back(AsExisting(entry));
          return {};
        }));
      }
      FRAZIL_ASSIGN(auto written, sink.Write(metadata, spec_id, bin.front().content, entries, commit_sequence));
      std::move(written.begin(), written.end(), std::back_inserter(merged));
    }
  }
  return merged;
}

}  // namespace frazil::table
