#include "frazil/index/current_version.h"

#include <algorithm>

#include "frazil/base/sync_point.h"
#include "frazil/index/index_checkpoint.h"
#include "frazil/index/index_merge.h"

namespace frazil::index {
namespace {

RunList MemoryRuns(const RunList& runs) {
  RunList chosen;
  for (const std::shared_ptr<const Run>& run : runs) {
    if (run->in_memory()) chosen.push_back(run);
  }
  return chosen;
}

/// Takes out runs and row maps that nobody can need any more.
void ForgetUnneeded(IndexVersion& version) {
  std::vector<FileNumber> named;
  for (RunList& runs : version.shards) {
    std::erase_if(runs, [&](const std::shared_ptr<const Run>& run) {
      const std::vector<FileNumber>& numbers = run->file_numbers();
      return std::none_of(numbers.begin(), numbers.end(),
                          [&](FileNumber number) { return version.dictionary.Find(number) != nullptr; });
    });
    for (const std::shared_ptr<const Run>& run : runs) {
      for (const FileNumber number : run->file_numbers()) {
        const FileState* state = version.dictionary.Find(number);
        if (state != nullptr && !state->is_live) named.push_back(number);
      }
    }
  }
  version.dictionary.ForgetUnneeded(named);
}

}  // namespace

CurrentVersion::CurrentVersion(std::shared_ptr<const IndexVersion> first, std::map<uint32_t, std::string> damage,
                               IndexDirectory* directory)
    : directory_(directory), version_(std::move(first)), damage_(std::move(damage)) {}

std::shared_ptr<io::FileIO> CurrentVersion::local_files() const {
  return directory_ == nullptr ? nullptr : directory_->shared_files();
}

std::shared_ptr<const IndexVersion> CurrentVersion::Get() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::map<uint32_t, std::string> CurrentVersion::damage() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

void CurrentVersion::SetDamage(uint32_t shard, std::string why) {
  const std::lock_guard lock(mutex_);
  damage_[shard] = std::move(why);
}

void CurrentVersion::Advance(std::shared_ptr<IndexVersion> next, std::vector<RunList> added,
                             const std::vector<bool>& refilled) {
  const std::lock_guard install_lock(install_mutex_);
  const std::lock_guard lock(mutex_);
  for (size_t shard = 0; shard < added.size(); ++shard) {
    RunList& runs = next->shards.emplace_back(std::move(added[shard]));
    if (refilled[shard]) {
      damage_.erase(static_cast<uint32_t>(shard));
    } else {
      const RunList& now = version_->shards[shard];
      runs.insert(runs.end(), now.begin(), now.end());
    }
  }
  if (has_merged_) ForgetUnneeded(*next);
  has_merged_ = false;
  version_ = std::move(next);
}

size_t CurrentVersion::MostRuns() const {
  const std::shared_ptr<const IndexVersion> version = Get();
  size_t most = 0;
  for (const RunList& runs : version->shards) most = std::max(most, runs.size());
  return most;
}

std::optional<CurrentVersion::MergeJob> CurrentVersion::ChooseJob() {
  const std::lock_guard install_lock(install_mutex_);
  const std::shared_ptr<const IndexVersion> version = Get();
  const std::map<uint32_t, std::string> damaged = damage();
  if (version->files == nullptr) return std::nullopt;
  for (uint32_t shard = 0; shard < version->shards.size(); ++shard) {
    if (damaged.contains(shard)) continue;
    const RunList& runs = version->shards[shard];
    const std::vector<MergeCandidate> candidates = CandidatesOf(*version, runs);
    const std::optional<MergeChoice> choice = ChooseMerge(candidates);
    if (!choice || (!candidates[choice->begin].in_memory && directory_ == nullptr)) continue;
    MergeJob job{.version = version,
                 .shard = shard,
                 .inputs = {runs.begin() + static_cast<std::ptrdiff_t>(choice->begin),
                            runs.begin() + static_cast<std::ptrdiff_t>(choice->end)},
                 .path = ""};
    if (!candidates[choice->begin].in_memory) {
      job.path = directory_->NewRunPath();
      being_merged_.insert(job.path);
    }
    return job;
  }
  return std::nullopt;
}

Result<bool> CurrentVersion::MergeOne(MergePace* pace) {
  const std::optional<MergeJob> job = ChooseJob();
  if (!job) return false;
  SyncPoint::Hit("key_index.merge.before");
  auto merged = MergeAtVersion(*job->version, job->inputs, local_files(), job->path, pace, num_forwarded_);
  SyncPoint::Hit("key_index.merge.after");
  const std::lock_guard install_lock(install_mutex_);
  being_merged_.erase(job->path);
  if (merged) {
    InstallMerged(*job, *std::move(merged));
    return true;
  }
  if (merged.error().code() != ErrorCode::kCorruptData) return tl::unexpected(std::move(merged).error());
  SetDamage(job->shard, merged.error().ToString());
  return true;
}

void CurrentVersion::InstallMerged(const MergeJob& job, std::shared_ptr<const Run> merged) {
  const std::lock_guard lock(mutex_);
  const RunList& now = version_->shards[job.shard];
  const auto at = std::search(now.begin(), now.end(), job.inputs.begin(), job.inputs.end());
  if (at == now.end()) {
    // A checkpoint or a repair was faster.
    if (!job.path.empty()) (void)directory_->files().Delete({job.path});
    return;
  }
  auto next = std::make_shared<IndexVersion>(*version_);
  RunList& runs = next->shards[job.shard];
  const auto begin = runs.begin() + (at - now.begin());
  const auto rest = runs.erase(begin, begin + static_cast<std::ptrdiff_t>(job.inputs.size()));
  if (merged != nullptr) runs.insert(rest, std::move(merged));
  has_merged_ = true;
  version_ = std::move(next);
}

Status CurrentVersion::FlushMemoryRuns(Executor* executor) {
  const std::shared_ptr<const IndexVersion> version = Get();
  const size_t num_shards = version->shards.size();
  std::vector<std::shared_ptr<const Run>> flushed(num_shards);
  std::vector<bool> had_some(num_shards);
  for (size_t shard = 0; shard < num_shards; ++shard) had_some[shard] = !MemoryRuns(version->shards[shard]).empty();
  const auto flush = [&](size_t shard) -> Status {
    if (!had_some[shard]) return {};
    FRAZIL_ASSIGN(flushed[shard], MergeAtVersion(*version, MemoryRuns(version->shards[shard]), local_files(),
                                                 directory_->NewRunPath(), nullptr, num_forwarded_));
    return {};
  };
  FRAZIL_TRY(ParallelFor(executor, num_shards, flush));
  const std::lock_guard install_lock(install_mutex_);
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<IndexVersion>(*version_);
  for (size_t shard = 0; shard < num_shards; ++shard) {
    if (!had_some[shard]) continue;
    // A merge of some of these may have been installed meanwhile: it holds nothing but their entries. One that is still
    // running will not find its inputs.
    std::erase_if(next->shards[shard], [](const std::shared_ptr<const Run>& run) { return run->in_memory(); });
    if (flushed[shard] != nullptr) next->shards[shard].insert(next->shards[shard].begin(), flushed[shard]);
  }
  has_merged_ = true;
  version_ = std::move(next);
  return {};
}

Result<std::shared_ptr<const IndexVersion>> CurrentVersion::WriteManifest(const std::string& table_uuid,
                                                                          const std::string& key_version,
                                                                          std::set<std::string> also_kept) {
  // No merge may come to its end between the list of runs and the deletion of all others.
  const std::lock_guard install_lock(install_mutex_);
  auto next = std::make_shared<IndexVersion>(*Get());
  ForgetUnneeded(*next);
  {
    const std::lock_guard lock(mutex_);
    has_merged_ = false;
    version_ = next;
  }
  also_kept.insert(being_merged_.begin(), being_merged_.end());
  FRAZIL_TRY(directory_->WriteManifest(MakeManifest(*next, table_uuid, key_version), also_kept));
  return next;
}

}  // namespace frazil::index
