#include "frazil/ingest/poison_guard.h"

#include "frazil/base/log.h"

namespace frazil::ingest {
namespace {

constexpr size_t kMaxKinds = 20;
constexpr size_t kMaxKindLength = 60;

/// Messages say the fixed text first and the value last: up to the first colon or digit is the kind.
std::string KindOf(const std::string& why) {
  std::string kind = why.substr(0, std::min(why.find_first_of(":0123456789'\""), kMaxKindLength));
  while (!kind.empty() && kind.back() == ' ') kind.pop_back();
  return kind.empty() ? "other" : kind;
}

}  // namespace

Status PoisonGuard::CheckPolicy() const {
  const bool needs_letters =
      rule_.policy == PoisonRule::Policy::kDeadLetterTopic || rule_.policy == PoisonRule::Policy::kDeadLetterTable;
  if (!needs_letters || dead_letters_ != nullptr) return {};
  return Fail(ErrorCode::kInvalidArgument, "the policy for poison records needs a place for dead letters");
}

bool PoisonGuard::IsTooMany() {
  const int64_t minute = clock_.NowMs() / 60'000;
  if (minute != minute_) {
    minute_ = minute;
    count_in_minute_ = 0;
  }
  return ++count_in_minute_ > rule_.max_per_minute;
}

Status PoisonGuard::Take(const SourceRecord& record, const std::string& why) {
  const std::string text =
      fmt::format("partition {} offset {} of {}: {}", record.partition, record.offset, source_, why);
  if (rule_.policy == PoisonRule::Policy::kFail) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "a record cannot be taken: " + text)
                              .WithHint("mend the topic, or set a policy for poison records: skip or dead letters"));
  }
  if (IsTooMany()) {
    return tl::unexpected(
        Error(
            ErrorCode::kInvalidArgument,
            fmt::format("more than {} records a minute cannot be taken, the last one: {}", rule_.max_per_minute, text))
            .WithHint("the schema or the format of the topic is probably another one than configured"));
  }
  if (rule_.policy != PoisonRule::Policy::kSkip) {
    if (Status added = dead_letters_->Add(record, why); !added) {
      --count_in_minute_;
      return added;
    }
    ++num_dead_letters_;
  }
  if (count_++ == 0) first_ = text;
  std::string kind = KindOf(why);
  if (!reasons_.contains(kind) && reasons_.size() >= kMaxKinds) kind = "other";
  // One of each kind is enough to see what is wrong.
  if (reasons_[kind]++ == 0) Log::Warn("a record cannot be taken: {}", text);
  return {};
}

}  // namespace frazil::ingest
