#pragma once

#include <functional>
#include <vector>

#include "frazil/table/manifest_cache.h"
#include "frazil/table/manifest_sink.h"

namespace frazil::table {

/// What to do with one live entry of the base.
enum class Verdict { kKeep, kRemove };

/// Takes files out of the manifests of a base snapshot (spec section 3.9, steps 1, 2 and 5): a manifest that lists one is
/// written anew with EXISTING and DELETED entries, the others are kept as they are, and those without live files that are
/// not ours go.
class ManifestFilter {
 public:
  /// Says what becomes of a live entry (inherited values filled in). Called for every live entry of each manifest that
  /// `may_concern` lets through.
  using Judge = std::function<Result<Verdict>(const spec::ManifestEntry& entry)>;
  using MayConcern = std::function<bool(const spec::ManifestFile& row)>;

  ManifestFilter(ManifestCache& cache, ManifestSink& sink, const spec::TableMetadata& metadata,
                 spec::SequenceNumber commit_sequence)
      : cache_(cache), sink_(sink), metadata_(metadata), commit_sequence_(commit_sequence) {}

  Result<std::vector<spec::ManifestFile>> Filter(const std::vector<spec::ManifestFile>& rows,
                                                 const MayConcern& may_concern, const Judge& judge);

  const std::vector<spec::DataFile>& removed_files() const { return removed_files_; }
  /// Base manifests that were written anew.
  int64_t num_replaced() const { return num_replaced_; }

 private:
  ManifestCache& cache_;
  ManifestSink& sink_;
  const spec::TableMetadata& metadata_;
  const spec::SequenceNumber commit_sequence_;
  std::vector<spec::DataFile> removed_files_;
  int64_t num_replaced_ = 0;
};

/// A live entry of an older snapshot as it stands in a manifest written now (spec section 3.8).
spec::ManifestEntry AsExisting(spec::ManifestEntry entry);

}  // namespace frazil::table
