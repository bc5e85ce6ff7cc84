#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "frazil/maintain/expire_snapshots.h"
#include "frazil/maintain/maintain_test_support.h"

namespace frazil::maintain {

using table::TestTable;

inline constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

inline ExpireOptions KeepOnlyHeads(const TestTable& test) {
  ExpireOptions options;
  options.older_than_ms = test.clock.NowMs() + 1;
  options.retain_last = 1;
  return options;
}

inline Status SetRef(TestTable& test, const std::string& name, spec::SnapshotRef ref) {
  return table::CommitUpdates(
      test.table,
      [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{name, ref}};
      },
      test.clock);
}

inline Status RemoveRef(TestTable& test, const std::string& name) {
  return table::CommitUpdates(
      test.table,
      [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::RemoveSnapshotRef{name}};
      },
      test.clock);
}

/// A commit each.
inline void AppendEach(TestTable& test, std::initializer_list<const char*> names) {
  for (const char* name : names) ASSERT_THAT(table::Append(test, {WrittenFile(test, name, 1)}), IsOk());
}

/// A tag of the head that lives for so many days.
inline spec::SnapshotRef TagOfHead(const TestTable& test, int64_t days) {
  return {.snapshot_id = test.head().id, .type = spec::RefType::kTag, .max_ref_age_ms = days * kDayMs};
}

/// Runs `action` once, between the plan and the commit of what `test` does next.
inline void Meanwhile(TestTable& test, std::function<Status(table::Table& other)> action) {
  test.decide = [&test, action = std::move(action), done = false](std::string_view operation) mutable -> Status {
    if (operation != "commit.before" || std::exchange(done, true)) return {};
    table::Table other = test.Other();
    EXPECT_THAT(action(other), IsOk());
    return {};
  };
}

inline Status Update(table::Table& table, const std::vector<spec::TableUpdate>& updates, Clock& clock) {
  return table::CommitUpdates(
      table, [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> { return updates; }, clock);
}

}  // namespace frazil::maintain
