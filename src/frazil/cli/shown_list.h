#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/io/file_io.h"

namespace frazil::cli {

/// Options that decide what is shown, by name ("--older-than"), as they were written.
using ShownConditions = std::map<std::string, std::string>;

/// A local file in which a command without `--yes` has left what it showed, JSON lines: phase one of two. People may take out
/// lines, or delete it. The first line says under which conditions it was made.
struct ShownList {
  ShownConditions conditions;
  std::optional<int64_t> older_than_ms;  ///< what --older-than meant then
  std::vector<std::string> lines;        ///< those behind the first

  /// None: there is no such file, or it is older than a day. kCorruptData naming the file.
  static Result<std::optional<ShownList>> Read(const std::string& path, int64_t now_ms);
  /// In the place of an older one. `lines` end with a newline each.
  static Status Write(const std::string& path, const ShownConditions& conditions, std::optional<int64_t> older_than_ms,
                      const std::string& lines);
  static Status Forget(const std::string& path) { return io::MakeLocalFileIO()->Delete({path}); }
};

/// `--yes` does what was shown: kInvalidArgument when `given` holds an option that the list was not made with.
Status CheckSameConditions(const ShownConditions& given, const ShownConditions& listed, const std::string& path);

/// What an option said; empty: it was not given.
std::string TextOf(const ShownConditions& conditions, const std::string& option);

/// What `request.yes` goes by: what `list` (CandidateList, ExpiryList) holds; none without --yes, or when there is no list.
/// kInvalidArgument: the request has other conditions; kCorruptData.
template <typename List, typename Request>
auto ReadShown(const List& list, const Request& request) -> decltype(list.Read(0)) {
  if (!request.yes) return std::nullopt;
  FRAZIL_ASSIGN(auto shown, list.Read(Clock::System().NowMs()));
  if (shown) FRAZIL_TRY(CheckSameConditions(request.Conditions(), shown->conditions, list.path()));
  return shown;
}

}  // namespace frazil::cli
