#include <nlohmann/json.hpp>

#include "frazil/cli/expiry_list.h"
#include "frazil/cli/shown_list.h"

namespace frazil::cli {
namespace {

std::string LineOf(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

ExpiryList::ExpiryList(const std::string& state_directory, const spec::TableMetadata& metadata)
    : path_(state_directory + "/" + metadata.table_uuid.ToString() + "/expire.jsonl") {}

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
  FRAZIL_ASSIGN(const auto lines, ReadShownList(path_, now_ms));
  if (!lines) return std::nullopt;
  maintain::ExpiryScope scope;
  for (const std::string& text : *lines) {
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
