#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/base/uuid.h"
#include "frazil/maintain/removal_list.h"

namespace frazil::maintain {
namespace {

FileKind ParseKind(const std::string& name) {
  for (int kind = 0; kind <= static_cast<int>(FileKind::kUnknown); ++kind) {
    if (FileKindName(static_cast<FileKind>(kind)) == name) return static_cast<FileKind>(kind);
  }
  return FileKind::kUnknown;
}

}  // namespace

Result<std::string> RemovalList::Write(io::FileIO& io, const std::string& table_location, const std::string& what,
                                       const std::vector<RemovalCandidate>& candidates) {
  const std::string path = Folder(table_location) + "/" + what + "-" + Uuid::Random().ToString() + ".jsonl";
  FRAZIL_ASSIGN(const auto file, io.Create(path));
  for (const RemovalCandidate& candidate : candidates) {
    const nlohmann::json line = {
        {"path", candidate.path}, {"kind", FileKindName(candidate.kind)}, {"reason", candidate.reason}};
    const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    FRAZIL_TRY(file->Append(AsBytes(text)));
  }
  FRAZIL_TRY(file->Close());
  return path;
}

Result<std::vector<RemovalCandidate>> RemovalList::Read(const io::FileIO& io, const std::string& path) {
  FRAZIL_ASSIGN(const Bytes bytes, io.ReadFile(path));
  std::vector<RemovalCandidate> candidates;
  std::string_view rest = AsText(bytes);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const nlohmann::json line = nlohmann::json::parse(rest.substr(0, end), nullptr, false);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.is_object() || !line.contains("path") || !line["path"].is_string()) {
      return Fail(ErrorCode::kCorruptData, "a list of files to delete has a line that is none: {}", path);
    }
    RemovalCandidate candidate;
    candidate.path = line["path"].get<std::string>();
    if (const auto kind = line.find("kind"); kind != line.end() && kind->is_string()) {
      candidate.kind = ParseKind(kind->get<std::string>());
    }
    if (const auto reason = line.find("reason"); reason != line.end() && reason->is_string()) {
      candidate.reason = reason->get<std::string>();
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

bool RemovalList::IsLeft(const std::string& path) { return path.find("/_frazil/orphans/" + Left("")) != path.npos; }

Result<std::vector<io::FileInfo>> RemovalList::Find(const io::FileIO& io, const std::string& table_location) {
  FRAZIL_ASSIGN(std::vector<io::FileInfo> files, io.List(Folder(table_location)));
  std::erase_if(files, [](const io::FileInfo& file) { return !file.path.ends_with(".jsonl"); });
  std::sort(files.begin(), files.end(), [](const io::FileInfo& left, const io::FileInfo& right) {
    return std::pair(left.modified_ms, left.path) < std::pair(right.modified_ms, right.path);
  });
  return files;
}

}  // namespace frazil::maintain
