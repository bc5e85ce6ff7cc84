#include "frazil/table/snapshot_change.h"

#include <fmt/format.h>

#include "frazil/base/log.h"
#include "frazil/base/uuid.h"
#include "frazil/spec/table_metadata_builder.h"
#include "frazil/table/commit_backoff.h"
#include "frazil/table/commit_status.h"
#include "frazil/table/file_names.h"
#include "frazil/table/snapshot_producer.h"

namespace frazil::table {
namespace {

/// Attempts take over manifests of earlier ones, which no snapshot names: on a machine that slept meanwhile not for longer, since
/// orphan removal of any engine may have taken them (maintenance.md section 2).
constexpr int64_t kTakenOverForMs = int64_t{12} * 3600 * 1000;

bool IsEmpty(const FileChanges& changes) {
  return changes.added_data_files.empty() && changes.added_delete_files.empty() && changes.removed_data_files.empty() &&
         changes.removed_delete_files.empty() && !changes.manifest_rewrite;
}

/// The catalog did not say no, nor yes.
bool IsUnknown(const Error& error) {
  return error.code() == ErrorCode::kCommitUnknown || error.code() == ErrorCode::kUnavailable;
}

spec::SnapshotId FreshSnapshotId(const spec::TableMetadata& metadata) {
  for (;;) {
    const spec::SnapshotId id{RandomSnapshotNumber()};
    if (metadata.FindSnapshot(id) == nullptr) return id;
  }
}

/// Head of the branch that a commit goes to. A branch that does not exist yet begins at the current snapshot.
Result<const spec::Snapshot*> FindParent(const spec::TableMetadata& metadata, const std::string& branch) {
  const auto ref = metadata.refs.find(branch);
  if (ref != metadata.refs.end() && ref->second.type == spec::RefType::kTag) {
    return Fail(ErrorCode::kInvalidArgument, "cannot commit to a tag: {}", branch);
  }
  return ref == metadata.refs.end() ? metadata.current_snapshot() : metadata.FindSnapshot(ref->second.snapshot_id);
}

/// One call of CommitSnapshot.
class CommitLoop {
 public:
  CommitLoop(Table& table, SnapshotChange& change, const CommitOptions& options, Clock& clock,
             spec::SnapshotId snapshot_id, FileNames names)
      : table_(table),
        change_(change),
        options_(options),
        clock_(clock),
        snapshot_id_(snapshot_id),
        oldest_manifest_ms_(clock.NowMs()),
        producer_(table.manifests(), ManifestSink(table.io(), std::move(names), snapshot_id)) {}

  Result<CommitOutcome> Run(CommitBackoff backoff);

 private:
  enum class Step { kDone, kAgain };

  Result<Step> TryOnce();
  Status RefreshAfterLoss();
  Result<std::vector<spec::TableUpdate>> UpdatesFor(const FileChanges& changes);
  void Won(const std::string& manifest_list);
  Error Unknown() const;

  Table& table_;
  SnapshotChange& change_;
  const CommitOptions& options_;
  Clock& clock_;
  const spec::SnapshotId snapshot_id_;
  int64_t oldest_manifest_ms_;  ///< none that is taken over is older
  SnapshotProducer producer_;
  CommitOutcome outcome_;
  bool may_still_arrive_ = false;  ///< a request was sent, its reply lost, and the table has not moved since
  std::string pending_location_;   ///< the base of that request
  bool is_unknown_ = false;        ///< nothing may be deleted
  std::optional<Error> last_loss_;
};

void CommitLoop::Won(const std::string& manifest_list) {
  outcome_.snapshot_id = snapshot_id_;
  outcome_.committed_attempt = producer_.AttemptOf(manifest_list);
  producer_.DeleteAllBut(manifest_list);
}

/// The updates of one attempt: the change's own, then the snapshot and the branch.
Result<std::vector<spec::TableUpdate>> CommitLoop::UpdatesFor(const FileChanges& changes) {
  const spec::TableMetadataPtr& base = table_.metadata();
  std::vector<spec::TableUpdate> updates = changes.other_updates;
  if (IsEmpty(changes) && !options_.allow_empty) return updates;
  spec::TableMetadataPtr next = base;
  if (!updates.empty()) {
    spec::TableMetadataBuilder builder(base, "");
    for (const spec::TableUpdate& update : updates) FRAZIL_TRY(builder.Apply(update));
    FRAZIL_ASSIGN(next, std::move(builder).Build(clock_.NowMs()));
  }
  FRAZIL_ASSIGN(const spec::Snapshot* parent, FindParent(*next, options_.branch));
  if (const int64_t now_ms = clock_.NowMs(); now_ms - oldest_manifest_ms_ > kTakenOverForMs) {
    producer_.ForgetAdded();
    oldest_manifest_ms_ = now_ms;
  }
  FRAZIL_ASSIGN(spec::Snapshot snapshot, producer_.Produce(*next, parent, changes, outcome_.attempts, clock_.NowMs()));
  spec::SnapshotRef ref;
  if (const auto known = next->refs.find(options_.branch); known != next->refs.end()) ref = known->second;
  ref.snapshot_id = snapshot_id_;
  updates.emplace_back(spec::update::AddSnapshot{std::move(snapshot)});
  updates.emplace_back(spec::update::SetSnapshotRef{options_.branch, ref});
  return updates;
}

Result<CommitLoop::Step> CommitLoop::TryOnce() {
  ++outcome_.attempts;
  FRAZIL_ASSIGN(const FileChanges changes, change_.Prepare(table_, snapshot_id_));
  FRAZIL_ASSIGN(const auto updates, UpdatesFor(changes));
  if (updates.empty()) return Step::kDone;
  const bool adds_snapshot = updates.size() > changes.other_updates.size();
  const std::string base_location = table_.metadata_location();
  auto committed =
      table_.catalog()->CommitTable(table_.name(), spec::RequirementsFor(updates, table_.metadata().get()), updates);
  if (committed) {
    table_.Adopt(*std::move(committed));
    const spec::Snapshot* snapshot = table_.metadata()->FindSnapshot(snapshot_id_);
    if (snapshot != nullptr) {
      Won(snapshot->manifest_list);
    } else if (adds_snapshot) {
      // The reply does not show our snapshot: nothing that it may need is deleted.
      Log::Warn("the catalog's reply lacks the committed snapshot: {}", snapshot_id_);
      outcome_.snapshot_id = snapshot_id_;
      outcome_.committed_attempt = outcome_.attempts;
    }
    return Step::kDone;
  }
  last_loss_ = std::move(committed).error();
  if (IsUnknown(*last_loss_)) {
    Log::Warn("no answer to a commit to {}, so the table is asked: {}", table_.name().ToString(),
              last_loss_->ToString());
    if (!adds_snapshot) {
      is_unknown_ = true;
      return tl::unexpected(Error(ErrorCode::kCommitUnknown, last_loss_->ToString()));
    }
    std::string manifest_list;
    const CommitFate fate = RefreshPatiently(table_, clock_)
                                ? FateIn(table_, snapshot_id_, base_location, manifest_list)
                                : CommitFate::kUnknown;
    switch (fate) {
      case CommitFate::kApplied: Won(manifest_list); return Step::kDone;
      case CommitFate::kLost: may_still_arrive_ = false; return Step::kAgain;
      case CommitFate::kPending:
        may_still_arrive_ = true;
        pending_location_ = base_location;
        return Step::kAgain;
      case CommitFate::kUnknown: break;
    }
    is_unknown_ = true;
    return tl::unexpected(Unknown());
  }
  if (last_loss_->code() == ErrorCode::kCommitConflict) return Step::kAgain;
  return tl::unexpected(*last_loss_);
}

/// After a loss the winner's metadata is needed, whether we try again or not: a "conflict" may be our own first request
/// that a proxy sent twice, and then our files are the table's.
Status CommitLoop::RefreshAfterLoss() {
  if (const Status refreshed = RefreshPatiently(table_, clock_); !refreshed) {
    is_unknown_ = true;
    return tl::unexpected(Error(ErrorCode::kCommitUnknown, "after a lost commit the table's state cannot be read")
                              .WithContext(refreshed.error().ToString())
                              .WithContext(last_loss_->ToString()));
  }
  if (const spec::Snapshot* found = table_.metadata()->FindSnapshot(snapshot_id_)) {
    Won(found->manifest_list);
    return {};
  }
  // A definite answer needs no proof; a lost one does.
  if (!may_still_arrive_) return {};
  std::string manifest_list;
  switch (FateIn(table_, snapshot_id_, pending_location_, manifest_list)) {
    case CommitFate::kApplied: Won(manifest_list); return {};
    case CommitFate::kLost: may_still_arrive_ = false; return {};
    case CommitFate::kPending: return {};
    case CommitFate::kUnknown: break;
  }
  is_unknown_ = true;
  return tl::unexpected(Unknown());
}

Error CommitLoop::Unknown() const {
  return Error(ErrorCode::kCommitUnknown,
               fmt::format("it is unknown whether snapshot {} was committed to {}; its files stay", snapshot_id_,
                           table_.name().ToString()))
      .WithContext(last_loss_->ToString());
}

Result<CommitOutcome> CommitLoop::Run(CommitBackoff backoff) {
  Result<Step> step = Step::kAgain;
  for (;;) {
    step = TryOnce();
    if (!step || *step == Step::kDone) break;
    const bool tries_again = backoff.Wait();
    if (const Status refreshed = RefreshAfterLoss(); !refreshed) {
      step = tl::unexpected(refreshed.error());
      break;
    }
    if (outcome_.snapshot_id) return outcome_;
    if (!tries_again) {
      step = tl::unexpected(Error(ErrorCode::kCommitConflict, fmt::format("gave up after {} attempts to commit to {}",
                                                                          outcome_.attempts, table_.name().ToString()))
                                .WithContext(last_loss_->ToString()));
      break;
    }
  }
  if (step && outcome_.snapshot_id) return outcome_;
  // "Nothing to do" after a lost reply is no reason to clean up: the first attempt may have done it.
  if (step && !may_still_arrive_) {
    producer_.DeleteAllBut("");
    return outcome_;
  }
  if (is_unknown_ && !step) return tl::unexpected(std::move(step).error());
  if (may_still_arrive_) {
    return tl::unexpected(step ? Unknown() : Unknown().WithContext(step.error().ToString()));
  }
  producer_.DeleteAllBut("");
  return tl::unexpected(std::move(step).error());
}

}  // namespace

Result<CommitOutcome> CommitSnapshot(Table& table, SnapshotChange& change, const CommitOptions& options, Clock& clock) {
  FRAZIL_TRY(table.Refresh());
  FRAZIL_ASSIGN(FileNames names, FileNames::Make(table.metadata()));
  FRAZIL_ASSIGN(CommitBackoff backoff, CommitBackoff::ForCommits(*table.metadata(), clock));
  CommitLoop loop(table, change, options, clock, FreshSnapshotId(*table.metadata()), std::move(names));
  return loop.Run(std::move(backoff));
}

}  // namespace frazil::table
