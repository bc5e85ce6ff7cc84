#include "frazil/maintain/candidate_collector.h"

#include <algorithm>
#include <utility>

namespace frazil::maintain {
namespace {

constexpr int64_t kShareOfLimit = 4;
constexpr int64_t kStepsToShare = 64;
constexpr size_t kFirstSettle = 1024;

/// With the copy that is shown to people.
int64_t BytesOf(const RemovalCandidate& file) {
  constexpr size_t kHeap = 16;  // of a string
  return 2 * static_cast<int64_t>(sizeof(file) + file.path.capacity() + file.reason.capacity() + 2 * kHeap);
}

}  // namespace

CandidateCollector::CandidateCollector(MemoryBudget* budget) : budget_(budget), settles_at_(kFirstSettle) {
  if (budget != nullptr) collected_.room = MemoryBudget::Reservation(budget, 0);
}

bool CandidateCollector::HasRoomFor(int64_t bytes) {
  if (budget_ == nullptr || bytes <= collected_.room.bytes()) return true;
  const int64_t share = budget_->limit_bytes() / kShareOfLimit;
  const int64_t wish = std::min(share, bytes + share / kStepsToShare);
  return bytes <= wish && collected_.room.Resize(wish).has_value();
}

bool CandidateCollector::Add(RemovalCandidate candidate) {
  // Snapshots share files: what was found again and again takes no room.
  if (collected_.files.size() >= settles_at_) {
    Settle();
    settles_at_ = std::max(kFirstSettle, 2 * collected_.files.size());
  }
  const int64_t bytes = BytesOf(candidate);
  const bool has_grown = collected_.files.size() - num_settled_ > num_settled_ / 8;
  if (!HasRoomFor(bytes_ + bytes) && has_grown) Settle();
  if (!HasRoomFor(bytes_ + bytes)) {
    const auto settled_end = collected_.files.begin() + static_cast<std::ptrdiff_t>(num_settled_);
    const auto known =
        std::lower_bound(collected_.files.begin(), settled_end, candidate.path,
                         [](const RemovalCandidate& file, const std::string& path) { return file.path < path; });
    if (known != settled_end && known->path == candidate.path) return true;
    ++collected_.num_left_out;
    return false;
  }
  bytes_ += bytes;
  collected_.files.push_back(std::move(candidate));
  return true;
}

void CandidateCollector::Settle() {
  std::vector<RemovalCandidate>& files = collected_.files;
  std::stable_sort(files.begin(), files.end(),
                   [](const RemovalCandidate& left, const RemovalCandidate& right) { return left.path < right.path; });
  files.erase(
      std::unique(files.begin(), files.end(),
                  [](const RemovalCandidate& left, const RemovalCandidate& right) { return left.path == right.path; }),
      files.end());
  num_settled_ = files.size();
  bytes_ = 0;
  for (const RemovalCandidate& file : files) bytes_ += BytesOf(file);
}

std::vector<RemovalCandidate> CandidateCollector::TakeFiles() {
  Settle();
  num_settled_ = 0;
  bytes_ = 0;
  settles_at_ = kFirstSettle;
  return std::exchange(collected_.files, {});
}

CollectedCandidates CandidateCollector::Take() && {
  Settle();
  return std::move(collected_);
}

}  // namespace frazil::maintain
