#include <nlohmann/json.hpp>

#include "frazil/cli/candidate_list.h"
#include "frazil/cli/shown_list.h"

namespace frazil::cli {

CandidateList::CandidateList(const std::string& state_directory, const spec::TableMetadata& metadata)
    : path_(state_directory + "/" + metadata.table_uuid.ToString() + "/orphans.jsonl") {}

Status CandidateList::Write(const std::string& location, const std::vector<maintain::RemovalCandidate>& orphans) const {
  FRAZIL_TRY(Forget());
  std::string text = nlohmann::json{{"location", location}}.dump() + "\n";
  for (const maintain::RemovalCandidate& orphan : orphans) {
    const nlohmann::json line = {{"path", orphan.path}, {"reason", orphan.reason}};
    text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return io::MakeLocalFileIO()->WriteFile(path_, AsBytes(text));
}

Result<std::optional<std::set<std::string>>> CandidateList::Read(const std::string& location, int64_t now_ms) const {
  FRAZIL_ASSIGN(const auto lines, ReadShownList(path_, now_ms));
  std::optional<std::set<std::string>> paths;
  if (!lines) return paths;
  bool is_first = true;
  for (const std::string& text : *lines) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    const char* key = is_first ? "location" : "path";
    if (!line.is_object() || !line.contains(key) || !line[key].is_string()) {
      return Fail(ErrorCode::kCorruptData, "a list of orphans has a line that is none: {}", path_);
    }
    if (is_first && line[key].get<std::string>() != location) return paths;
    if (is_first) {
      paths.emplace();
    } else {
      paths->insert(line[key].get<std::string>());
    }
    is_first = false;
  }
  return paths;
}

Status CandidateList::Forget() const { return io::MakeLocalFileIO()->Delete({path_}); }

}  // namespace frazil::cli
