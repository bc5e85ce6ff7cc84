#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "frazil/base/hash.h"
#include "frazil/index/index_manifest.h"
#include "frazil/spec/hex.h"
#include "frazil/spec/json_access.h"

namespace frazil::index {
namespace {

using spec::Json;
using spec::JsonObject;
using spec::OrderedJson;

constexpr int64_t kFormatVersion = 1;

// The checksum stands first and at a fixed place, so that it is checked before anything is parsed:
// {"checksum":"0123456789abcdef",<the rest, which it is of>
constexpr std::string_view kChecksumStart = R"({"checksum":")";
constexpr std::string_view kChecksumEnd = R"(",)";
constexpr size_t kChecksumDigits = 16;
constexpr size_t kRestStart = kChecksumStart.size() + kChecksumDigits + kChecksumEnd.size();

constexpr char kFormat[] = "format";
constexpr char kTableUuid[] = "table-uuid";
constexpr char kKeyVersion[] = "key-version";
constexpr char kKeyReading[] = "key-reading";
constexpr char kSnapshotId[] = "snapshot-id";
constexpr char kMarkers[] = "markers";
constexpr char kLiveRows[] = "live-rows";
constexpr char kNextNumber[] = "next-number";
constexpr char kShards[] = "shards";
constexpr char kColumns[] = "file-columns";
constexpr char kFiles[] = "files";
// A run.
constexpr char kFile[] = "file";
constexpr char kEntries[] = "entries";
constexpr char kBytes[] = "bytes";
constexpr char kRunChecksum[] = "checksum";

// A file is an array of these: with 100,000 of them, objects would take a second to read.
constexpr std::array<const char*, 12> kFileColumns = {"number",   "path",    "sequence-number", "first-row-id",
                                                      "records",  "spec-id", "partition",       "content",
                                                      "own-keys", "live",    "deletes",         "row-map"};
enum FileColumn {
  kNumber,
  kPath,
  kSequenceNumber,
  kFirstRowId,
  kRecords,
  kSpecId,
  kPartition,
  kContent,
  kOwnKeys,
  kLive,
  kDeletes,
  kRowMap
};
enum DeletesColumn { kDeletesPath, kDeletesOffset, kDeletesBytes, kNumDeletesColumns };  // of "deletes"
enum RowMapColumn { kRowMapFile, kRowMapSource, kRowMapTo, kNumRowMapColumns };          // of "row-map"

std::string ChecksumText(std::string_view rest) { return fmt::format("{:016x}", HashKey(AsBytes(rest), 0).high); }

std::optional<uint64_t> ParseChecksum(std::string_view text) {
  const std::optional<Bytes> bytes = spec::ParseHex(text);
  if (!bytes || bytes->size() != sizeof(uint64_t)) return std::nullopt;
  return LoadBig<uint64_t>(bytes->data());
}

OrderedJson ToJson(const RunRecord& run) {
  return {{kFile, run.file_name},
          {kEntries, run.num_entries},
          {kBytes, run.size_bytes},
          {kRunChecksum, fmt::format("{:016x}", run.checksum)}};
}

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson ToJson(const IndexedFileRecord& record) {
  const IndexedFile& file = record.file;
  const spec::DeleteFileId& id = record.deletes_id;
  OrderedJson deletes;
  if (!id.path.empty()) deletes = {id.path, OrNull(id.content_offset), OrNull(id.content_size_in_bytes)};
  OrderedJson row_map;
  if (record.row_map) {
    OrderedJson to = OrderedJson::array();
    for (const std::optional<FileNumber>& number : record.forward_to) to.push_back(OrNull(number));
    row_map = {*record.row_map, record.row_map_source, std::move(to)};
  }
  OrderedJson first_row_id;
  if (file.first_row_id) first_row_id = file.first_row_id->value();
  return {file.number,
          file.path,
          file.sequence_number.value(),
          std::move(first_row_id),
          file.record_count,
          file.spec_id.value(),
          ToHex(file.partition),
          static_cast<int>(file.content),
          file.has_own_keys,
          record.is_live,
          std::move(deletes),
          std::move(row_map)};
}

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "{}", what); }

Result<RunRecord> ParseRun(const Json& json) {
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "run"));
  RunRecord run;
  FRAZIL_ASSIGN(run.file_name, object.String(kFile));
  FRAZIL_ASSIGN(run.num_entries, object.Int64(kEntries));
  FRAZIL_ASSIGN(run.size_bytes, object.Int64(kBytes));
  FRAZIL_ASSIGN(const std::string checksum, object.String(kRunChecksum));
  const std::optional<uint64_t> parsed = ParseChecksum(checksum);
  if (!parsed) return Fail(ErrorCode::kCorruptData, "run: not a checksum: '{}'", checksum);
  run.checksum = *parsed;
  return run;
}

auto WrongColumn(int column) { return Fail(ErrorCode::kCorruptData, "file: wrong '{}'", kFileColumns[column]); }

/// A whole number of at most `most` in `value`; false for anything else.
template <typename T>
bool Take(const Json& json, T& value, int64_t most = std::numeric_limits<T>::max()) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(most)) return false;
  const auto number = json.get<int64_t>();
  if (number < 0 || number > most) return false;
  value = static_cast<T>(number);
  return true;
}

/// The same, or null.
template <typename T>
bool TakeOptional(const Json& json, std::optional<T>& value) {
  if (json.is_null()) return true;
  return Take(json, value.emplace());
}

bool Take(const Json& json, std::string& value) {
  if (!json.is_string()) return false;
  value = json.get_ref<const std::string&>();
  return true;
}

bool TakeDeletes(const Json& json, spec::DeleteFileId& id) {
  if (json.is_null()) return true;
  return json.is_array() && json.size() == kNumDeletesColumns && Take(json[kDeletesPath], id.path) &&
         !id.path.empty() && TakeOptional(json[kDeletesOffset], id.content_offset) &&
         TakeOptional(json[kDeletesBytes], id.content_size_in_bytes);
}

bool TakeRowMap(const Json& json, IndexedFileRecord& record) {
  if (json.is_null()) return true;
  if (!json.is_array() || json.size() != kNumRowMapColumns || !json[kRowMapTo].is_array()) return false;
  if (!Take(json[kRowMapFile], record.row_map.emplace()) || !Take(json[kRowMapSource], record.row_map_source))
    return false;
  record.forward_to.reserve(json[kRowMapTo].size());
  for (const Json& number : json[kRowMapTo]) {
    if (!TakeOptional(number, record.forward_to.emplace_back())) return false;
  }
  return true;
}

Result<IndexedFileRecord> ParseFile(const Json& json) {
  if (!json.is_array() || json.size() != kFileColumns.size()) return Corrupt("file: not an array of its columns");
  IndexedFileRecord record;
  IndexedFile& file = record.file;
  int64_t sequence_number = 0;
  std::optional<int64_t> first_row_id;
  int32_t spec_id = 0;
  int32_t content = 0;
  if (!Take(json[kNumber], file.number)) return WrongColumn(kNumber);
  if (!Take(json[kPath], file.path)) return WrongColumn(kPath);
  if (!Take(json[kSequenceNumber], sequence_number)) return WrongColumn(kSequenceNumber);
  if (!TakeOptional(json[kFirstRowId], first_row_id)) return WrongColumn(kFirstRowId);
  if (!Take(json[kRecords], file.record_count)) return WrongColumn(kRecords);
  if (!Take(json[kSpecId], spec_id)) return WrongColumn(kSpecId);
  if (!Take(json[kContent], content, static_cast<int64_t>(spec::FileContent::kEqualityDeletes)))
    return WrongColumn(kContent);
  if (!json[kOwnKeys].is_boolean()) return WrongColumn(kOwnKeys);
  if (!json[kLive].is_boolean()) return WrongColumn(kLive);
  if (!TakeDeletes(json[kDeletes], record.deletes_id)) return WrongColumn(kDeletes);
  if (!TakeRowMap(json[kRowMap], record)) return WrongColumn(kRowMap);
  std::optional<Bytes> partition;
  if (json[kPartition].is_string()) partition = spec::ParseHex(json[kPartition].get_ref<const std::string&>());
  if (!partition) return WrongColumn(kPartition);
  file.sequence_number = spec::SequenceNumber(sequence_number);
  if (first_row_id) file.first_row_id = spec::RowId(*first_row_id);
  file.spec_id = spec::SpecId(spec_id);
  file.partition = *std::move(partition);
  file.content = static_cast<spec::FileContent>(content);
  file.has_own_keys = json[kOwnKeys].get<bool>();
  record.is_live = json[kLive].get<bool>();
  return record;
}

Status ParseShards(const JsonObject& object, IndexManifest& manifest) {
  FRAZIL_ASSIGN(const Json* shards, object.Array(kShards));
  manifest.num_shards = static_cast<uint32_t>(std::min(shards->size(), size_t{UINT32_MAX}));
  for (const Json& runs : *shards) {
    if (!runs.is_array()) return Corrupt("a shard is no array");
    std::vector<RunRecord>& shard = manifest.shards.emplace_back();
    for (const Json& json : runs) {
      FRAZIL_ASSIGN(shard.emplace_back(), ParseRun(json));
    }
  }
  return {};
}

Result<IndexManifest> Parse(std::string_view text) {
  if (text.size() < kRestStart || !text.starts_with(kChecksumStart) ||
      text.substr(kRestStart - kChecksumEnd.size(), kChecksumEnd.size()) != kChecksumEnd) {
    return Corrupt("does not begin with a checksum");
  }
  if (text.substr(kChecksumStart.size(), kChecksumDigits) != ChecksumText(text.substr(kRestStart))) {
    return Corrupt("wrong checksum");
  }
  FRAZIL_ASSIGN(const Json json, spec::ParseJson(text, "manifest"));
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "manifest"));
  FRAZIL_ASSIGN(const int64_t format, object.Int64(kFormat));
  if (format != kFormatVersion) return Fail(ErrorCode::kCorruptData, "unknown format version: {}", format);

  IndexManifest manifest;
  FRAZIL_ASSIGN(manifest.table_uuid, object.String(kTableUuid));
  FRAZIL_ASSIGN(manifest.key_version, object.String(kKeyVersion));
  FRAZIL_ASSIGN(manifest.key_reading, object.String(kKeyReading));
  FRAZIL_ASSIGN(const std::optional<int64_t> snapshot_id, object.OptionalInt64(kSnapshotId));
  if (snapshot_id) manifest.snapshot_id = spec::SnapshotId(*snapshot_id);
  FRAZIL_ASSIGN(const std::optional<std::string> markers, object.OptionalString(kMarkers));
  manifest.markers = markers.value_or("");
  FRAZIL_ASSIGN(const std::optional<int64_t> live_rows, object.OptionalInt64(kLiveRows));
  manifest.num_live_rows = live_rows.value_or(0);
  FRAZIL_ASSIGN(const Json* next_number, object.Require(kNextNumber));
  if (!Take(*next_number, manifest.next_number)) return Corrupt("wrong 'next-number'");
  FRAZIL_TRY(ParseShards(object, manifest));
  FRAZIL_ASSIGN(const std::vector<std::string> columns, object.StringList(kColumns));
  if (!std::equal(columns.begin(), columns.end(), kFileColumns.begin(), kFileColumns.end())) {
    return Corrupt("unknown columns of files");
  }
  FRAZIL_ASSIGN(const Json* files, object.Array(kFiles));
  manifest.files.reserve(files->size());
  for (const Json& item : *files) {
    FRAZIL_ASSIGN(manifest.files.emplace_back(), ParseFile(item));
  }
  FRAZIL_TRY(CheckIndexManifest(manifest));
  return manifest;
}

}  // namespace

std::string WriteIndexManifestJson(const IndexManifest& manifest) {
  OrderedJson json;
  json[kFormat] = kFormatVersion;
  json[kTableUuid] = manifest.table_uuid;
  json[kKeyVersion] = manifest.key_version;
  json[kKeyReading] = manifest.key_reading;
  if (manifest.snapshot_id) json[kSnapshotId] = manifest.snapshot_id->value();
  if (!manifest.markers.empty()) json[kMarkers] = manifest.markers;
  json[kLiveRows] = manifest.num_live_rows;
  json[kNextNumber] = manifest.next_number;
  OrderedJson shards = OrderedJson::array();
  for (const std::vector<RunRecord>& runs : manifest.shards) {
    OrderedJson shard = OrderedJson::array();
    for (const RunRecord& run : runs) shard.push_back(ToJson(run));
    shards.push_back(std::move(shard));
  }
  json[kShards] = std::move(shards);
  json[kColumns] = kFileColumns;
  OrderedJson files = OrderedJson::array();
  for (const IndexedFileRecord& record : manifest.files) files.push_back(ToJson(record));
  json[kFiles] = std::move(files);

  const std::string text = spec::DumpJson(json);
  const std::string_view rest = std::string_view(text).substr(1);  // without the bracket
  return fmt::format("{}{}{}{}", kChecksumStart, ChecksumText(rest), kChecksumEnd, rest);
}

Result<IndexManifest> ParseIndexManifestJson(std::string_view text, const std::string& name) {
  Result<IndexManifest> manifest = Parse(text);
  if (!manifest) {
    return Fail(ErrorCode::kCorruptData, "corrupt manifest of a key index: {}: {}", manifest.error().message(), name);
  }
  return manifest;
}

}  // namespace frazil::index
