#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/cli/expiry_list.h"

namespace frazil::cli {
namespace {

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

std::string LineOf(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

ExpiryList::ExpiryList(const std::string& state_directory, const spec::TableMetadata& metadata)
    : folder_(state_directory + "/" + metadata.table_uuid.ToString()), path_(folder_ + "/expire.jsonl") {}

Status ExpiryList::Write(const maintain::ExpireResult& result) const {
  FRAZIL_TRY(Forget());
  std::string text;
  for (const spec::SnapshotId id : result.expired) text += LineOf({{"snapshot", id.value()}});
  for (const std::string& ref : result.removed_refs) text += LineOf({{"ref", ref}});
  for (const maintain::RemovalCandidate& file : result.removal.deleted) {
    text += LineOf({{"path", file.path}, {"kind", FileKindName(file.kind)}, {"reason", file.reason}});
  }
  return io::MakeLocalFileIO()->WriteFile(path_, AsBytes(text));
}

Result<std::optional<maintain::ExpiryScope>> ExpiryList::Read(int64_t now_ms) const {
  const auto io = io::MakeLocalFileIO();
  FRAZIL_ASSIGN(const auto files, io->List(folder_));
  const auto own =
      std::find_if(files.begin(), files.end(), [&](const io::FileInfo& file) { return file.path == path_; });
  if (own == files.end() || own->modified_ms < now_ms - kDayMs) return std::nullopt;
  FRAZIL_ASSIGN(const Bytes bytes, io->ReadFile(path_));
  maintain::ExpiryScope scope;
  std::string_view rest = AsText(bytes);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (text.empty()) continue;
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_object() && line.contains("snapshot") && line["snapshot"].is_number_integer()) {
      scope.snapshots.insert(spec::SnapshotId(line["snapshot"].get<int64_t>()));
    } else if (line.is_object() && line.contains("ref") && line["ref"].is_string()) {
      scope.refs.insert(line["ref"].get<std::string>());
    } else if (!line.is_object() || !line.contains("path")) {
      return Fail(ErrorCode::kCorruptData, "a list of snapshots to expire has a line that is none: {}", path_);
    }
  }
  return scope;
}

Status ExpiryList::Forget() const { return io::MakeLocalFileIO()->Delete({path_}); }

}  // namespace frazil::cli
