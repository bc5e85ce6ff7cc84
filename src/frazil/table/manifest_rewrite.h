#pragma once

#include <vector>

#include "frazil/table/manifest_cache.h"
#include "frazil/table/manifest_sink.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::table {

/// Which manifests of a snapshot a rewrite replaces: those of its spec, per content, unless a single one of them holds
/// everything already in no more than the target size. Those without live files are never kept.
class ManifestRewritePlan {
 public:
  static Result<ManifestRewritePlan> Make(const spec::TableMetadata& metadata,
                                          const std::vector<spec::ManifestFile>& manifests,
                                          const ManifestRewrite& rewrite);

  bool empty() const { return data_.empty() && deletes_.empty(); }
  size_t num_replaced() const { return data_.size() + deletes_.size(); }
  int64_t replaced_bytes() const;

  /// All manifests of `manifests` in their new form: the replaced ones' live files sorted by partition, every one
  /// EXISTING with its snapshot id, sequence numbers and first row id (spec section 3.10). kInvalidTable when a manifest does
  /// not hold what its list says. `content` picks one of the two kinds. Memory is bounded (ManifestSort).
  Result<std::vector<spec::ManifestFile>> Write(ManifestCache& cache, ManifestSink& sink,
                                                const spec::TableMetadata& metadata, spec::ManifestContent content,
                                                spec::SequenceNumber commit_sequence, int64_t& num_entries) const;

 private:
  ManifestRewrite rewrite_;
  std::vector<spec::ManifestFile> kept_;
  std::vector<spec::ManifestFile> data_;     ///< to replace
  std::vector<spec::ManifestFile> deletes_;  ///< to replace
};

}  // namespace frazil::table
