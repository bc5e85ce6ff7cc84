#include "frazil/index/run_merge.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace frazil::index {
namespace {

// Entries in order, some at a time; what it gives is valid until the next call. None: the end.
class EntryStream {
 public:
  virtual ~EntryStream() = default;
  virtual Result<std::span<const Entry>> Next() = 0;
};

class RunStream : public EntryStream {
 public:
  explicit RunStream(const Run& run) : cursor_(run) {}
  Result<std::span<const Entry>> Next() override { return cursor_.NextPage(); }

 private:
  Run::Cursor cursor_;
};

bool IsBelow(const Entry& a, const Entry& b) {
  return std::tie(a.hash, a.file, a.position) < std::tie(b.hash, b.file, b.position);
}

// Two streams as one. Of equal entries those of the first come first. Many runs are merged by a tree of these: each
// level is one comparison that takes no branch.
class MergeOfTwo : public EntryStream {
 public:
  MergeOfTwo(std::unique_ptr<EntryStream> first, std::unique_ptr<EntryStream> second)
      : first_{.stream = std::move(first)}, second_{.stream = std::move(second)}, out_(kBlock) {}

  Result<std::span<const Entry>> Next() override {
    Entry* out = out_.data();
    Entry* const out_end = out + kBlock;
    while (out < out_end) {
      FRAZIL_TRY(first_.Fill());
      FRAZIL_TRY(second_.Fill());
      if (first_.AtEnd() || second_.AtEnd()) {
        Input& rest = first_.AtEnd() ? second_ : first_;
        const auto count = std::min(rest.end - rest.next, out_end - out);
        if (count == 0) break;
        out = std::copy(rest.next, rest.next + count, out);
        rest.next += count;
        continue;
      }
      // So many steps need no look at the ends.
      const auto count = std::min({first_.end - first_.next, second_.end - second_.next, out_end - out});
      out = Merge(first_.next, second_.next, out, count);
    }
    return std::span<const Entry>(out_.data(), out);
  }

 private:
  static constexpr size_t kBlock = 512;

  struct Input {
    std::unique_ptr<EntryStream> stream;
    const Entry* next = nullptr;
    const Entry* end = nullptr;
    bool has_ended = false;

    bool AtEnd() const { return next == end; }
    Status Fill() {
      if (next < end || has_ended) return {};
      FRAZIL_ASSIGN(const auto entries, stream->Next());
      next = entries.data();
      end = next + entries.size();
      has_ended = entries.empty();
      return {};
    }
  };

  static Entry* Merge(const Entry*& first, const Entry*& second, Entry* out, std::ptrdiff_t count) {
    const Entry* a = first;
    const Entry* b = second;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      bool takes_b = b->hash.high < a->hash.high;
      if (b->hash.high == a->hash.high) [[unlikely]]
        takes_b = IsBelow(*b, *a);
      *out++ = *(takes_b ? b : a);
      a += takes_b ? 0 : 1;
      b += takes_b ? 1 : 0;
    }
    first = a;
    second = b;
    return out;
  }

  Input first_;
  Input second_;
  std::vector<Entry> out_;
};

std::unique_ptr<EntryStream> StreamOf(std::span<const std::shared_ptr<const Run>> runs) {
  if (runs.size() == 1) return std::make_unique<RunStream>(*runs[0]);
  const size_t half = runs.size() / 2;
  return std::make_unique<MergeOfTwo>(StreamOf(runs.first(half)), StreamOf(runs.subspan(half)));
}

// Rewrites and drops entries. Those of one key may have to change their order by it, so the last key's wait for more.
class KeyRewriter {
 public:
  KeyRewriter(const RewriteEntries& rewrite, RunWriter& out) : rewrite_(rewrite), out_(out) {}

  Status Add(std::span<const Entry> entries) {
    const size_t num_waiting = kept_.size();
    kept_.insert(kept_.end(), entries.begin(), entries.end());
    FRAZIL_ASSIGN(const size_t num_stay, rewrite_(std::span(kept_).subspan(num_waiting)));
    kept_.resize(num_waiting + num_stay);
    if (kept_.empty()) return {};
    SortEachKey();
    size_t last_key = kept_.size() - 1;
    while (last_key > 0 && kept_[last_key - 1].hash == kept_.back().hash) --last_key;
    FRAZIL_TRY(out_.Add(std::span(kept_).first(last_key)));
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(last_key));
    return {};
  }

  Status Flush() { return out_.Add(kept_); }

 private:
  void SortEachKey() {
    const auto is_same_key = [](const Entry& a, const Entry& b) { return a.hash == b.hash; };
    for (auto begin = std::adjacent_find(kept_.begin(), kept_.end(), is_same_key); begin != kept_.end();) {
      const auto end = std::find_if(begin, kept_.end(), [&](const Entry& entry) { return entry.hash != begin->hash; });
      std::stable_sort(begin, end, IsBelow);
      begin = std::adjacent_find(end, kept_.end(), is_same_key);
    }
  }

  const RewriteEntries& rewrite_;
  RunWriter& out_;
  std::vector<Entry> kept_;  // in order
};

}  // namespace

Status MergeRuns(std::span<const std::shared_ptr<const Run>> runs, const RewriteEntries& rewrite, RunWriter& out,
                 MergePace* pace) {
  constexpr int64_t kEntriesBetweenPauses = (1 << 20) / 20;
  if (runs.empty()) return {};
  const std::unique_ptr<EntryStream> stream = StreamOf(runs);
  KeyRewriter rewriter(rewrite, out);
  int64_t paused_at = out.num_entries();
  while (true) {
    FRAZIL_ASSIGN(const std::span<const Entry> entries, stream->Next());
    if (entries.empty()) break;
    FRAZIL_TRY(rewrite ? rewriter.Add(entries) : out.Add(entries));
    if (pace != nullptr && out.num_entries() - paused_at >= kEntriesBetweenPauses) {
      FRAZIL_TRY(pace->Pause());
      paused_at = out.num_entries();
    }
  }
  return rewriter.Flush();
}

}  // namespace frazil::index
