#include "frazil/index/index_manifest.h"

#include <algorithm>
#include <unordered_set>

namespace frazil::index {
namespace {

constexpr size_t kMaxShards = 256;
constexpr int64_t kMaxRecords = int64_t{1} << 32;  // an entry has 32 bits for the position
constexpr size_t kMaxFileName = 255;

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "{}", what); }

bool IsFileName(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  if (name.size() <= prefix.size() + suffix.size() || name.size() > kMaxFileName) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

Status CheckRuns(const IndexManifest& manifest) {
  const size_t count = manifest.shards.size();
  if (count != manifest.num_shards || count == 0 || count > kMaxShards || (count & (count - 1)) != 0) {
    return Fail(ErrorCode::kCorruptData, "number of shards: {}", count);
  }
  std::unordered_set<std::string_view> names;
  for (const std::vector<RunRecord>& runs : manifest.shards) {
    for (const RunRecord& run : runs) {
      // Names come back into paths of files to read and delete: nothing may lead out of the folder.
      if (!IsRunFileName(run.file_name)) return Fail(ErrorCode::kCorruptData, "not a run: '{}'", run.file_name);
      if (!names.insert(run.file_name).second) return Fail(ErrorCode::kCorruptData, "a run twice: {}", run.file_name);
      if (run.num_entries <= 0 || run.size_bytes <= 0) {
        return Fail(ErrorCode::kCorruptData, "a run of {} entries in {} bytes: {}", run.num_entries, run.size_bytes,
                    run.file_name);
      }
    }
  }
  return {};
}

Status CheckFile(const IndexedFileRecord& record, FileNumber next_number) {
  const IndexedFile& file = record.file;
  if (file.number >= next_number)
    return Fail(ErrorCode::kCorruptData, "a number that was never given: {}", file.number);
  if (file.path.empty()) return Fail(ErrorCode::kCorruptData, "no path of file {}", file.number);
  if (file.content == spec::FileContent::kPositionDeletes) {
    return Fail(ErrorCode::kCorruptData, "entries of position deletes: {}", file.path);
  }
  if (file.sequence_number.value() < 0 || file.spec_id.value() < 0 ||
      file.first_row_id.value_or(spec::RowId(0)).value() < 0 || file.record_count < 0 ||
      file.record_count > kMaxRecords) {
    return Fail(ErrorCode::kCorruptData, "a number is out of range: {}", file.path);
  }
  if (!record.row_map) {
    if (!record.forward_to.empty()) return Fail(ErrorCode::kCorruptData, "forwarded without a row map: {}", file.path);
    return {};
  }
  if (record.is_live) return Fail(ErrorCode::kCorruptData, "a live file is forwarded: {}", file.path);
  if (!IsRowMapFileName(*record.row_map)) return Fail(ErrorCode::kCorruptData, "not a row map: '{}'", *record.row_map);
  return {};
}

Status CheckForwarding(const IndexedFileRecord& record, const std::unordered_set<FileNumber>& numbers) {
  const FileNumber from = record.file.number;
  for (const std::optional<FileNumber>& to : record.forward_to) {
    if (!to) continue;
    if (*to <= from) return Fail(ErrorCode::kCorruptData, "file {} is forwarded to {}", from, *to);
    if (!numbers.contains(*to)) {
      return Fail(ErrorCode::kCorruptData, "file {} is forwarded to {}, which is not there", from, *to);
    }
  }
  return {};
}

}  // namespace

bool IsRunFileName(std::string_view name) { return IsFileName(name, "run-", ".run"); }
bool IsRowMapFileName(std::string_view name) { return IsFileName(name, "rowmap-", ".puffin"); }

Status CheckIndexManifest(const IndexManifest& manifest) {
  if (manifest.table_uuid.empty()) return Corrupt("no table uuid");
  if (manifest.key_version.empty()) return Corrupt("no key version");
  if (manifest.num_live_rows < 0) return Fail(ErrorCode::kCorruptData, "live rows: {}", manifest.num_live_rows);
  FRAZIL_TRY(CheckRuns(manifest));
  std::unordered_set<FileNumber> numbers;
  numbers.reserve(manifest.files.size());
  std::unordered_set<std::string_view> live_paths;
  live_paths.reserve(manifest.files.size());
  for (const IndexedFileRecord& record : manifest.files) {
    FRAZIL_TRY(CheckFile(record, manifest.next_number));
    const IndexedFile& file = record.file;
    if (!numbers.insert(file.number).second) return Fail(ErrorCode::kCorruptData, "a number twice: {}", file.number);
    if (record.is_live && !live_paths.insert(file.path).second) {
      return Fail(ErrorCode::kCorruptData, "a live file twice: {}", file.path);
    }
  }
  for (const IndexedFileRecord& record : manifest.files) FRAZIL_TRY(CheckForwarding(record, numbers));
  return {};
}

}  // namespace frazil::index
