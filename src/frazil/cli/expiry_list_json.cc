#include <nlohmann/json.hpp>

#include "frazil/cli/expiry_list.h"
#include "frazil/spec/single_value.h"

namespace frazil::cli {
namespace {

std::string LineOf(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string SnapshotTimeText(int64_t timestamp_ms) {
  return spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTimestamp), timestamp_ms * 1000);
}

Status ExpiryList::Write(const ShownConditions& conditions, std::optional<int64_t> older_than_ms,
                         const maintain::ExpireResult& result) const {
  std::string lines;
  for (const maintain::ExpiredSnapshot& snapshot : result.snapshots) {
    lines += LineOf({{"snapshot", snapshot.id.value()},
                     {"committed-at", SnapshotTimeText(snapshot.timestamp_ms)},
                     {"operation", snapshot.operation},
                     {"files", snapshot.num_files},
                     {"reason", snapshot.reason}});
  }
  for (const std::string& ref : result.removed_refs) lines += LineOf({{"ref", ref}});
  for (const auto* files : {&result.freed, &result.unfinished.files}) {
    for (const maintain::RemovalCandidate& file : *files) {
      lines += LineOf({{"path", file.path}, {"kind", FileKindName(file.kind)}, {"reason", file.reason}});
    }
  }
  return ShownList::Write(path_, conditions, older_than_ms, lines);
}

Result<std::optional<ShownExpiry>> ExpiryList::Read(int64_t now_ms) const {
  FRAZIL_ASSIGN(const auto list, ShownList::Read(path_, now_ms));
  if (!list) return std::nullopt;
  ShownExpiry shown{list->conditions, list->older_than_ms, {}, {}};
  for (const std::string& text : list->lines) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_object() && line.contains("snapshot") && line["snapshot"].is_number_integer()) {
      shown.scope.snapshots.insert(spec::SnapshotId(line["snapshot"].get<int64_t>()));
    } else if (line.is_object() && line.contains("ref") && line["ref"].is_string()) {
      shown.scope.refs.insert(line["ref"].get<std::string>());
    } else if (line.is_object() && line.contains("path") && line["path"].is_string()) {
      shown.files.insert(line["path"].get<std::string>());
    } else {
      return Fail(ErrorCode::kCorruptData, "a list of snapshots to expire has a line that is none: {}", path_);
    }
  }
  return shown;
}

}  // namespace frazil::cli
