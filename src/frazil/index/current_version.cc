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
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const IndexVersion> version = version_;
  if (version->files == nullptr) return std::nullopt;
  for (uint32_t shard = 0; shard < version->shards.size(); ++shard) {
    if (damage_.contains(shard)) continue;
    const RunList& runs = version->shards[shard];
    const std::vector<MergeCandidate> candidates = CandidatesOf(*version, runs);
    // Hashes are spread evenly.
    const int64_t num_live = version->num_live_rows / static_cast<int64_t>(version->shards.size());
    const std::optional<MergeChoice> choice = ChooseMerge(candidates, num_live);
    if (!choice) continue;
    const bool in_memory = candidates[choice->begin].in_memory;
    if (in_memory ? is_flushing_ : directory_ == nullptr) continue;
    MergeJob job{.version = version,
                 .shard = shard,
                 .inputs = {runs.begin() + static_cast<std::ptrdiff_t>(choice->begin),
                            runs.begin() + static_cast<std::ptrdiff_t>(choice->end)},
                 .path = "",
                 .files = nullptr};
    if (!in_memory) {
      job.files = std::make_unique<NewFiles>(*directory_);
      job.path = job.files->NewRunPath();
    }
    return job;
  }
  return std::nullopt;
}

Result<bool> CurrentVersion::MergeOne(MergePace* pace) {
  std::optional<MergeJob> job = ChooseJob();
  if (!job) return false;
  SyncPoint::Hit("key_index.merge.before");
  auto merged = MergeAtVersion(*job->version, job->inputs, local_files(), job->path, pace, num_forwarded_);
  SyncPoint::Hit("key_index.merge.after");
  if (merged) {
    InstallMerged(*job, *std::move(merged));
    return true;
  }
  if (merged.error().code() != ErrorCode::kCorruptData) return tl::unexpected(std::move(merged).error());
  SetDamage(job->shard, merged.error().ToString());
  return true;
}

void CurrentVersion::InstallMerged(MergeJob& job, std::shared_ptr<const Run> merged) {
  const std::lock_guard lock(mutex_);
  if (is_flushing_ && job.path.empty()) return;  // a file will take the place of its inputs
  const RunList& now = version_->shards[job.shard];
  const auto at = std::search(now.begin(), now.end(), job.inputs.begin(), job.inputs.end());
  if (at == now.end()) return;  // a checkpoint or a repair was faster
  auto next = std::make_shared<IndexVersion>(*version_);
  RunList& runs = next->shards[job.shard];
  const auto begin = runs.begin() + (at - now.begin());
  const auto rest = runs.erase(begin, begin + static_cast<std::ptrdiff_t>(job.inputs.size()));
  if (merged != nullptr) runs.insert(rest, std::move(merged));
  has_merged_ = true;
  version_ = std::move(next);
  if (job.files != nullptr) job.files->Keep();
}

Result<std::shared_ptr<const IndexVersion>> CurrentVersion::Checkpoint(const std::string& table_uuid,
                                                                       const std::string& key_version,
                                                                       Executor* executor) {
  const std::lock_guard checkpoint_lock(checkpoint_mutex_);
  const auto in_use = [this] { return FilesInUse(); };
  const auto write = [&]() -> Result<std::shared_ptr<const IndexVersion>> {
    FRAZIL_ASSIGN(std::shared_ptr<const IndexVersion> version, FlushMemoryRuns(executor));
    FRAZIL_TRY(directory_->WriteManifest(MakeManifest(*version, table_uuid, key_version), in_use));
    return version;
  };
  auto written = write();
  // Runs that merges replaced since the last manifest take room that the next attempt may need.
  if (!written) (void)directory_->DeleteUnlisted(in_use);
  return written;
}

std::set<std::string> CurrentVersion::FilesInUse() const {
  const std::shared_ptr<const IndexVersion> version = Get();
  std::set<std::string> paths;
  for (const RunList& runs : version->shards) {
    for (const std::shared_ptr<const Run>& run : runs) {
      if (!run->in_memory()) paths.insert(run->path());
    }
  }
  version->dictionary.ForEach([&](const FileState& state) {
    if (state.forwarding != nullptr) paths.insert(state.forwarding->file_name);
  });
  return paths;
}

Result<std::shared_ptr<const IndexVersion>> CurrentVersion::FlushMemoryRuns(Executor* executor) {
  std::shared_ptr<const IndexVersion> version;
  {
    const std::lock_guard lock(mutex_);
    version = version_;
    is_flushing_ = true;
  }
  const size_t num_shards = version->shards.size();
  std::vector<RunList> memory_runs(num_shards);
  for (size_t shard = 0; shard < num_shards; ++shard) memory_runs[shard] = MemoryRuns(version->shards[shard]);
  RunList flushed(num_shards);
  NewFiles files(*directory_);
  const Status status = ParallelFor(executor, num_shards, [&](size_t shard) -> Status {
    if (memory_runs[shard].empty()) return {};
    FRAZIL_ASSIGN(flushed[shard], MergeAtVersion(*version, memory_runs[shard], local_files(), files.NewRunPath(),
                                                 nullptr, num_forwarded_));
    return {};
  });
  const std::lock_guard lock(mutex_);
  is_flushing_ = false;
  FRAZIL_TRY(status);
  files.Keep();
  return InstallFlushed(version, memory_runs, flushed);
}

/// The version that was flushed, with its files; the current one gets them too.
std::shared_ptr<const IndexVersion> CurrentVersion::InstallFlushed(const std::shared_ptr<const IndexVersion>& version,
                                                                   const std::vector<RunList>& memory_runs,
                                                                   const RunList& flushed) {
  const auto replace = [&](const IndexVersion& in) {
    auto next = std::make_shared<IndexVersion>(in);
    for (size_t shard = 0; shard < flushed.size(); ++shard) {
      const RunList& old = memory_runs[shard];
      if (old.empty()) continue;
      RunList& runs = next->shards[shard];
      const auto at = std::search(runs.begin(), runs.end(), old.begin(), old.end());
      if (at == runs.end()) continue;  // the shard was read from the table again
      const auto rest = runs.erase(at, at + static_cast<std::ptrdiff_t>(old.size()));
      if (flushed[shard] != nullptr) runs.insert(rest, flushed[shard]);
    }
    return next;
  };
  const bool has_moved_on = version_ != version;
  const std::shared_ptr<IndexVersion> durable = replace(*version);
  ForgetUnneeded(*durable);
  version_ = has_moved_on ? std::shared_ptr<const IndexVersion>(replace(*version_)) : durable;
  has_merged_ = has_moved_on;
  return durable;
}

}  // namespace frazil::index
