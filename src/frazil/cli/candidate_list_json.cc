#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/cli/candidate_list.h"

namespace frazil::cli {
namespace {

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

}  // namespace

CandidateList::CandidateList(const std::string& state_directory, const spec::TableMetadata& metadata)
    : folder_(state_directory + "/" + metadata.table_uuid.ToString()), path_(folder_ + "/orphans.jsonl") {}

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
  const auto io = io::MakeLocalFileIO();
  FRAZIL_ASSIGN(const auto files, io->List(folder_));
  const auto own =
      std::find_if(files.begin(), files.end(), [&](const io::FileInfo& file) { return file.path == path_; });
  std::optional<std::set<std::string>> paths;
  if (own == files.end() || own->modified_ms < now_ms - kDayMs) return paths;
  FRAZIL_ASSIGN(const Bytes bytes, io->ReadFile(path_));
  std::string_view rest = AsText(bytes);
  bool is_first = true;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (text.empty()) continue;
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
