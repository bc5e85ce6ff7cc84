#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/maintain/file_place.h"
#include "frazil/maintain/place_run.h"

namespace frazil::maintain {

/// Where a set of very many files lies.
struct SetRoom {
  MemoryBudget* budget = nullptr;  ///< null: as much memory as it takes
  std::string temp_directory;      ///< what does not fit; empty: the system's for temporary files
};

/// A set of files by place, in bounded memory: an eighth of the limit, the rest in sorted runs in temporary files. Knows paths
/// by a 64-bit hash: a collision makes it hold one file too many, which only keeps that file. One thread.
class FileSet {
 public:
  enum class Match {
    kNone,
    kSame,
    kOtherRoot,  ///< the path is known under another scheme or authority only
  };

  explicit FileSet(SetRoom room = {}, EqualNames schemes = EqualNames({}, {{"s3n,s3a", "s3"}}),
                   EqualNames authorities = EqualNames({}))
      : room_(std::move(room)), schemes_(std::move(schemes)), authorities_(std::move(authorities)) {}

  /// kResourceExhausted, kIo: the path is not in the set, so nothing may be deleted by it.
  Status Add(const std::string& path);
  /// A root that one side does not say equals every other.
  Match Find(const FilePlace& place) const;
  bool Contains(const std::string& path) const { return Find(PlaceOf(path)) != Match::kNone; }
  /// Scheme and authority under which the path is known; empty when it is not.
  std::string RootOf(const FilePlace& place) const;
  /// Reads all of it.
  int64_t Count() const;
  size_t num_runs() const { return runs_.size(); }

 private:
  struct Root {
    std::string scheme;
    std::string authority;
    bool operator==(const Root&) const = default;
  };
  /// In the place of an index into roots_: the path is known under several.
  static constexpr uint32_t kSeveral = UINT32_MAX;

  Status AddPlace(const FilePlace& place);
  Root ResolvedRoot(const FilePlace& place) const;
  std::optional<uint32_t> RootIndexOf(uint64_t hash) const;
  Status MakeRoom();
  Status Spill();
  void Settle() const;
  void Unite(const std::function<void(const KnownPlace&)>& visit) const;

  SetRoom room_;
  EqualNames schemes_;
  EqualNames authorities_;
  std::vector<Root> roots_;
  mutable std::vector<KnownPlace> recent_;  ///< sorted, each hash once, unless is_sorted_ says no
  mutable bool is_sorted_ = true;
  MemoryBudget::Reservation recent_room_;
  std::vector<PlaceRun> runs_;
};

}  // namespace frazil::maintain
