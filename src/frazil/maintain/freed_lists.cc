#include "frazil/maintain/freed_lists.h"

namespace frazil::maintain {

Status FreedLists::Add(RemovalCandidate file) {
  if (listed_ && listed_->Contains(file.path)) return {};
  if (collector_.Add(file)) return {};
  if (!listed_) listed_.emplace(room_);
  FRAZIL_TRY(WriteList());
  // It may have been among them.
  if (listed_->Contains(file.path) || collector_.Add(std::move(file))) return {};
  return tl::unexpected(Error(ErrorCode::kResourceExhausted, "no memory is left to list the files that an expiry frees")
                            .WithHint("raise --memory-limit"));
}

Status FreedLists::Finish() {
  listed_.reset();
  return WriteList();
}

void FreedLists::Drop() {
  if (!paths_.empty()) static_cast<void>(table_.io()->Delete(paths_));
  paths_.clear();
}

Status FreedLists::WriteList() {
  std::vector<RemovalCandidate> files = collector_.TakeFiles();
  if (listed_) {
    for (const RemovalCandidate& file : files) FRAZIL_TRY(listed_->Add(file.path));
  }
  if (only_) {
    num_taken_out_ += static_cast<int64_t>(
        std::erase_if(files, [this](const RemovalCandidate& file) { return !only_->contains(file.path); }));
  }
  if (files.empty()) return {};
  FRAZIL_ASSIGN(const std::string path, RemovalList::Write(*table_.io(), *table_.metadata(),
                                                           RemovalOperationName(RemovalOperation::kExpire), files));
  paths_.push_back(path);
  for (const RemovalCandidate& file : files) ++num_by_reason_[file.reason];
  return {};
}

}  // namespace frazil::maintain
