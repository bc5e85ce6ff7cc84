#include "frazil/table/manifest_rewrite.h"

#include <algorithm>
#include <numeric>

#include "frazil/table/manifest_sort.h"

namespace frazil::table {
namespace {

constexpr char kTargetSize[] = "commit.manifest.target-size-bytes";
constexpr int64_t kDefaultTargetSize = int64_t{8} << 20;

bool IsWellGrouped(const std::vector<spec::ManifestFile>& manifests, int64_t target_size) {
  return manifests.empty() || (manifests.size() == 1 && manifests[0].manifest_length <= target_size);
}

}  // namespace

Result<ManifestRewritePlan> ManifestRewritePlan::Make(const spec::TableMetadata& metadata,
                                                      const std::vector<spec::ManifestFile>& manifests,
                                                      const ManifestRewrite& rewrite) {
  ManifestRewritePlan plan;
  plan.rewrite_ = rewrite;
  const spec::PartitionSpec* spec = metadata.FindSpec(rewrite.spec_id);
  if (spec == nullptr) return Fail(ErrorCode::kInvalidArgument, "partition spec not found: {}", rewrite.spec_id);
  if (plan.rewrite_.sort_by.empty()) {
    plan.rewrite_.sort_by.resize(spec->fields().size());
    std::iota(plan.rewrite_.sort_by.begin(), plan.rewrite_.sort_by.end(), size_t{0});
  }
  FRAZIL_ASSIGN(const int64_t target_size, metadata.IntProperty(kTargetSize, kDefaultTargetSize));
  for (const spec::ManifestFile& row : manifests) {
    const bool is_data = row.content == spec::ManifestContent::kData;
    auto& group = row.partition_spec_id != rewrite.spec_id ? plan.kept_ : is_data ? plan.data_ : plan.deletes_;
    if (row.has_live_files()) group.push_back(row);
  }
  for (auto* group : {&plan.data_, &plan.deletes_}) {
    if (!IsWellGrouped(*group, target_size)) continue;
    std::move(group->begin(), group->end(), std::back_inserter(plan.kept_));
    group->clear();
  }
  return plan;
}

int64_t ManifestRewritePlan::replaced_bytes() const {
  int64_t bytes = 0;
  for (const auto* manifests : {&data_, &deletes_}) {
    for (const spec::ManifestFile& manifest : *manifests) bytes += manifest.manifest_length;
  }
  return bytes;
}

Result<std::vector<spec::ManifestFile>> ManifestRewritePlan::Write(ManifestCache& cache, ManifestSink& sink,
                                                                   const spec::TableMetadata& metadata,
                                                                   spec::ManifestContent content,
                                                                   spec::SequenceNumber commit_sequence,
                                                                   int64_t& num_entries) const {
  const auto& replaced = content == spec::ManifestContent::kData ? data_ : deletes_;
  ManifestSort sort(cache, metadata, replaced, PartitionOrder(rewrite_.sort_by), rewrite_.budget);
  FRAZIL_ASSIGN(auto rows, sink.WriteExisting(
                               metadata, rewrite_.spec_id, content,
                               [&](const ManifestSort::Take& take) { return sort.ForEach(take); }, commit_sequence));
  num_entries += sort.num_entries();
  for (const spec::ManifestFile& row : kept_) {
    if (row.content == content) rows.push_back(row);
  }
  return rows;
}

}  // namespace frazil::table
