#include <nlohmann/json.hpp>

#include "frazil/cli/candidate_list.h"

namespace frazil::cli {

Status CandidateList::Write(const ShownConditions& conditions, int64_t older_than_ms,
                            const std::vector<maintain::RemovalCandidate>& orphans) const {
  std::string lines;
  for (const maintain::RemovalCandidate& orphan : orphans) {
    const nlohmann::json line = {{"path", orphan.path}, {"reason", orphan.reason}};
    lines += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return ShownList::Write(path_, conditions, older_than_ms, lines);
}

Result<std::optional<ShownOrphans>> CandidateList::Read(int64_t now_ms) const {
  FRAZIL_ASSIGN(const auto list, ShownList::Read(path_, now_ms));
  if (!list) return std::nullopt;
  ShownOrphans shown{list->conditions, list->older_than_ms, {}};
  for (const std::string& text : list->lines) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("path") || !line["path"].is_string()) {
      return Fail(ErrorCode::kCorruptData, "a list of orphans has a line that is none: {}", path_);
    }
    shown.paths.insert(line["path"].get<std::string>());
  }
  return shown;
}

}  // namespace frazil::cli
