#include "frazil/catalog/faults_from_environment.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frazil/base/log.h"
#include "frazil/catalog/fault_injecting_catalog.h"

namespace frazil::catalog {
namespace {

/// The N-th of something, from a variable; never when that is not set.
class Nth {
 public:
  explicit Nth(const char* variable) : variable_(variable) {
    if (const char* text = std::getenv(variable)) at_ = std::strtoull(text, nullptr, 10);
  }

  bool is_set() const { return at_ > 0; }
  /// Counts; true for the N-th.
  bool IsNow() { return count_.fetch_add(1) + 1 == at_; }
  const char* variable() const { return variable_; }

 private:
  const char* const variable_;
  uint64_t at_ = 0;
  std::atomic<uint64_t> count_{0};
};

struct Faults {
  Nth lost_request{"FRAZIL_LOSE_COMMIT_REQUEST"};
  Nth lost_reply{"FRAZIL_LOSE_COMMIT_REPLY"};
  Nth stale_load{"FRAZIL_STALE_CATALOG"};

  Status OnRequest(std::string_view operation, const TableName& name) {
    if (operation == "commit.before" && lost_request.IsNow()) {
      return Lose(ErrorCode::kUnavailable, "request to commit to", lost_request, name);
    }
    if (operation == "commit.after" && lost_reply.IsNow()) {
      return Lose(ErrorCode::kCommitUnknown, "reply to a commit to", lost_reply, name);
    }
    return {};
  }

  size_t AgeOfLoad(const TableName& name) {
    if (!stale_load.IsNow()) return 0;
    Log::Warn("{}: the catalog answers with the metadata of {} before the newest", stale_load.variable(),
              name.ToString());
    return 1;
  }

 private:
  static Status Lose(ErrorCode code, std::string_view what, const Nth& nth, const TableName& name) {
    Log::Warn("{}: the {} {} is lost", nth.variable(), what, name.ToString());
    return Fail(code, "the {} {} was lost ({})", what, name.ToString(), nth.variable());
  }
};

}  // namespace

std::shared_ptr<Catalog> WithFaultsFromEnvironment(std::shared_ptr<Catalog> inner) {
  const auto faults = std::make_shared<Faults>();
  if (!faults->lost_request.is_set() && !faults->lost_reply.is_set() && !faults->stale_load.is_set()) return inner;
  return MakeFaultInjectingCatalog(
      std::move(inner),
      [faults](std::string_view operation, const TableName& name) { return faults->OnRequest(operation, name); },
      [faults](const TableName& name) { return faults->AgeOfLoad(name); });
}

}  // namespace frazil::catalog
