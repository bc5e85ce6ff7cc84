#include "frazil/index/shard_cursor.h"

#include <algorithm>

namespace frazil::index {

ShardCursor::ShardCursor(std::vector<std::shared_ptr<const Run>> runs) : runs_(std::move(runs)) {}

Status ShardCursor::Start() {
  has_started_ = true;
  for (const std::shared_ptr<const Run>& run : runs_) {
    Head head{.cursor = std::make_unique<Run::Cursor>(*run), .entry = {}};
    FRAZIL_ASSIGN(const bool has_entry, head.cursor->Next(head.entry));
    if (has_entry) heads_.push_back(std::move(head));
  }
  return {};
}

Result<bool> ShardCursor::NextKey(std::vector<Entry>& entries) {
  entries.clear();
  if (!has_started_) FRAZIL_TRY(Start());
  if (heads_.empty()) return false;
  // Few runs: a look at every head costs less than a heap.
  const Hash96 hash = std::min_element(heads_.begin(), heads_.end(), [](const Head& left, const Head& right) {
                        return left.entry.hash < right.entry.hash;
                      })->entry.hash;
  bool any_at_end = false;
  for (Head& head : heads_) {
    while (!head.at_end && head.entry.hash == hash) {
      entries.push_back(head.entry);
      FRAZIL_ASSIGN(const bool has_entry, head.cursor->Next(head.entry));
      head.at_end = !has_entry;
      any_at_end |= head.at_end;
    }
  }
  if (any_at_end) std::erase_if(heads_, [](const Head& head) { return head.at_end; });
  return true;
}

}  // namespace frazil::index
