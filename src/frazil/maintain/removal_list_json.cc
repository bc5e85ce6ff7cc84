#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/base/uuid.h"
#include "frazil/maintain/removal_list.h"

namespace frazil::maintain {
namespace {

constexpr char kTableUuid[] = "table-uuid";
constexpr char kLocation[] = "location";

FileKind ParseKind(const std::string& name) {
  for (int kind = 0; kind <= static_cast<int>(FileKind::kUnknown); ++kind) {
    if (FileKindName(static_cast<FileKind>(kind)) == name) return static_cast<FileKind>(kind);
  }
  return FileKind::kUnknown;
}

std::string LineOf(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// Empty: there is none.
std::string TextOf(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Status CheckHeader(const nlohmann::json& line, const spec::TableMetadata& table, const std::string& path) {
  const std::string uuid = TextOf(line, kTableUuid);
  const std::string location = TextOf(line, kLocation);
  if (uuid == table.table_uuid.ToString() && PlaceOf(location) == PlaceOf(table.location)) return {};
  return tl::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format("a list of files to delete is of another table, {} in {}: {}", uuid, location, path))
          .WithHint("if this table's folder was copied from there, delete the list"));
}

}  // namespace

Result<std::string> RemovalList::Write(io::FileIO& io, const spec::TableMetadata& table, const std::string& what,
                                       const std::vector<RemovalCandidate>& candidates) {
  const std::string path = Folder(table.location) + "/" + what + "-" + Uuid::Random().ToString() + ".jsonl";
  FRAZIL_ASSIGN(const auto file, io.Create(path));
  const nlohmann::json header = {{kTableUuid, table.table_uuid.ToString()}, {kLocation, table.location}};
  FRAZIL_TRY(file->Append(AsBytes(LineOf(header))));
  for (const RemovalCandidate& candidate : candidates) {
    nlohmann::json line = {
        {"path", candidate.path}, {"kind", FileKindName(candidate.kind)}, {"reason", candidate.reason}};
    if (candidate.modified_ms > 0) line["modified-ms"] = candidate.modified_ms;
    FRAZIL_TRY(file->Append(AsBytes(LineOf(line))));
  }
  FRAZIL_TRY(file->Close());
  return path;
}

Result<std::vector<RemovalCandidate>> RemovalList::Read(const io::FileIO& io, const spec::TableMetadata& table,
                                                        const std::string& path) {
  FRAZIL_ASSIGN(const Bytes bytes, io.ReadFile(path));
  std::vector<RemovalCandidate> candidates;
  std::string_view rest = AsText(bytes);
  bool is_header = true;
  while (is_header || !rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const nlohmann::json line = nlohmann::json::parse(rest.substr(0, end), nullptr, false);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.is_object() || (!is_header && TextOf(line, "path").empty())) {
      return Fail(ErrorCode::kCorruptData, "a list of files to delete has a line that is none: {}", path);
    }
    if (std::exchange(is_header, false)) {
      FRAZIL_TRY(CheckHeader(line, table, path));
      continue;
    }
    RemovalCandidate candidate;
    candidate.path = TextOf(line, "path");
    candidate.kind = ParseKind(TextOf(line, "kind"));
    candidate.reason = TextOf(line, "reason");
    const auto modified = line.find("modified-ms");
    if (modified != line.end() && modified->is_number_integer()) candidate.modified_ms = modified->get<int64_t>();
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

bool RemovalList::IsLeft(const std::string& path) { return path.find("/_frazil/orphans/" + Left("")) != path.npos; }

Result<std::vector<io::FileInfo>> RemovalList::Find(const io::FileIO& io, const std::string& table_location,
                                                    const std::string& what) {
  FRAZIL_ASSIGN(std::vector<io::FileInfo> files, io.List(Folder(table_location)));
  std::erase_if(files, [&](const io::FileInfo& file) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    return !name.ends_with(".jsonl") || !(name.starts_with(what + "-") || name.starts_with(Left(what) + "-"));
  });
  std::sort(files.begin(), files.end(), [](const io::FileInfo& left, const io::FileInfo& right) {
    return std::pair(left.modified_ms, left.path) < std::pair(right.modified_ms, right.path);
  });
  return files;
}

}  // namespace frazil::maintain
