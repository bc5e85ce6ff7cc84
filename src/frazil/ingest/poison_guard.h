#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/pipeline.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// Decides about records that cannot be taken (ingest.md rule 12): counts them by kind, keeps the first as a sample, and
/// sees when they are too many to be the records' fault. One thread.
class PoisonGuard {
 public:
  /// `dead_letters` may be null where the policy needs none.
  PoisonGuard(PoisonRule rule, DeadLetters* dead_letters, std::string source, Clock& clock)
      : rule_(rule), dead_letters_(dead_letters), source_(std::move(source)), clock_(clock) {}

  /// kInvalidArgument when the policy needs dead letters and there are none.
  Status CheckPolicy() const;

  /// Ok: the record is passed over. kInvalidArgument naming record and reason: the pipeline stops before it, by policy or
  /// because there were more than so many in a minute. Other errors: it could not be put with the dead letters, and does
  /// not count yet.
  Status Take(const SourceRecord& record, const std::string& why);

  int64_t count() const { return count_; }
  int64_t num_dead_letters() const { return num_dead_letters_; }
  /// By the first words of the reason; a bounded number of kinds, the rest under "other".
  const std::map<std::string, int64_t>& reasons() const { return reasons_; }
  const std::string& first() const { return first_; }

 private:
  bool IsTooMany();

  const PoisonRule rule_;
  DeadLetters* const dead_letters_;
  const std::string source_;
  Clock& clock_;
  int64_t count_ = 0;
  int64_t num_dead_letters_ = 0;
  std::map<std::string, int64_t> reasons_;
  std::string first_;
  int64_t minute_ = -1;
  int64_t count_in_minute_ = 0;
};

}  // namespace frazil::ingest
