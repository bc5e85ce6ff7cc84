#include "frazil/table/change_check.h"

#include <fmt/format.h>

#include "frazil/table/partition_key.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

constexpr char kUpgradeHint[] = "upgrade it: ALTER TABLE ... SET TBLPROPERTIES ('format-version'='3')";

std::string Name(const spec::DataFile& file) {
  return file.content_offset ? fmt::format("{} at {}", file.file_path, *file.content_offset) : file.file_path;
}

std::string Name(const spec::DeleteFileId& id) {
  return id.content_offset ? fmt::format("{} at {}", id.path, *id.content_offset) : id.path;
}

Status CheckSpec(const spec::TableMetadata& metadata, const spec::DataFile& file) {
  const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
  if (spec == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "cannot add a file of partition spec {}, which the table lacks: {}",
                file.spec_id, file.file_path);
  }
  if (file.partition.size() != spec->fields().size()) {
    return Fail(ErrorCode::kInvalidArgument, "cannot add a file with {} partition values for {} fields: {}",
                file.partition.size(), spec->fields().size(), file.file_path);
  }
  for (const spec::PartitionField& field : spec->fields()) {
    if (field.transform.kind() == spec::Transform::Kind::kUnknown) {
      return Fail(ErrorCode::kNotSupported, "writing with the partition transform {}: {}", field.transform.ToString(),
                  file.file_path);
    }
  }
  return {};
}

Status CheckAddedDelete(const spec::TableMetadata& metadata, const spec::DataFile& file) {
  if (metadata.format_version == 2 && file.content == spec::FileContent::kPositionDeletes) {
    if (file.is_deletion_vector()) {
      return Fail(ErrorCode::kInvalidArgument, "Must not use DVs for position deletes in V2: {}", file.file_path);
    }
    // Only those of one data file are written (spec section 4.6), and so only those can be checked.
    if (!file.referenced_data_file || file.record_count <= 0) {
      return Fail(ErrorCode::kInvalidArgument, "a position delete file needs one data file and a position: {}",
                  file.file_path);
    }
    return CheckSpec(metadata, file);
  }
  if (metadata.format_version < 3) {
    return tl::unexpected(Error(ErrorCode::kNotSupported, fmt::format("merge-on-read deletes on a v{} table: {}",
                                                                      metadata.format_version, file.file_path))
                              .WithHint(kUpgradeHint));
  }
  if (file.content == spec::FileContent::kEqualityDeletes) {
    return Fail(ErrorCode::kNotSupported, "writing equality deletes: {}", file.file_path);
  }
  if (file.content != spec::FileContent::kPositionDeletes) {
    return Fail(ErrorCode::kInvalidArgument, "not a delete file: {}", file.file_path);
  }
  if (!file.is_deletion_vector()) {
    return Fail(ErrorCode::kInvalidArgument, "Must use DVs for position deletes in V3: {}", file.file_path);
  }
  if (!file.referenced_data_file || !file.content_offset || !file.content_size_in_bytes) {
    return Fail(ErrorCode::kInvalidArgument,
                "a deletion vector needs referenced_data_file, content_offset and content_size_in_bytes: {}",
                Name(file));
  }
  if (file.record_count <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "a deletion vector must delete something: {}", Name(file));
  }
  return CheckSpec(metadata, file);
}

}  // namespace

ChangeCheck::ChangeCheck(const FileChanges& changes, const spec::TableMetadata& metadata)
    : changes_(changes),
      metadata_(metadata),
      removed_data_(changes.removed_data_files.begin(), changes.removed_data_files.end()),
      removed_deletes_(changes.removed_delete_files.begin(), changes.removed_delete_files.end()) {
  for (const spec::DataFile& file : changes.added_delete_files) {
    if (file.referenced_data_file) new_vectors_.emplace(*file.referenced_data_file, NewVector{&file});
  }
  // A vector may belong to a data file of the same change.
  for (const AddedDataFile& added : changes.added_data_files) {
    const auto vector = new_vectors_.find(added.file.file_path);
    if (vector == new_vectors_.end()) continue;
    Status placed = Place(vector->second, added.file);
    if (!placed && !misplaced_added_) misplaced_added_ = std::move(placed).error();
  }
}

Status ChangeCheck::CheckShape() const {
  if (metadata_.format_version < 2) {
    return tl::unexpected(Error(ErrorCode::kNotSupported, "writing to a v1 table").WithHint(kUpgradeHint));
  }
  std::unordered_set<std::string> paths;
  for (const AddedDataFile& added : changes_.added_data_files) {
    const spec::DataFile& file = added.file;
    if (file.content != spec::FileContent::kData) {
      return Fail(ErrorCode::kInvalidArgument, "not a data file: {}", file.file_path);
    }
    if (!paths.insert(file.file_path).second) {
      return Fail(ErrorCode::kInvalidArgument, "a data file is added twice: {}", file.file_path);
    }
    FRAZIL_TRY(CheckSpec(metadata_, file));
    if (added.sequence_number &&
        (added.sequence_number->value() < 0 || *added.sequence_number > metadata_.last_sequence_number)) {
      return Fail(ErrorCode::kInvalidArgument, "an explicit sequence number must not be above the table's {}: {} of {}",
                  metadata_.last_sequence_number, *added.sequence_number, file.file_path);
    }
  }
  std::unordered_map<std::string, const spec::DataFile*> referenced;
  for (const spec::DataFile& file : changes_.added_delete_files) {
    FRAZIL_TRY(CheckAddedDelete(metadata_, file));
    const auto [other, is_new] = referenced.emplace(*file.referenced_data_file, &file);
    if (!is_new) {
      return Fail(ErrorCode::kInvalidArgument, "two deletion vectors for one data file: {} gets {} and {}",
                  *file.referenced_data_file, Name(*other->second), Name(file));
    }
    if (removed_data_.contains(*file.referenced_data_file)) {
      return Fail(ErrorCode::kInvalidArgument, "a data file is removed and gets a deletion vector: {} gets {}",
                  *file.referenced_data_file, Name(file));
    }
  }
  if (misplaced_added_) return tl::unexpected(*misplaced_added_);
  return {};
}

Status ChangeCheck::Place(NewVector& vector, const spec::DataFile& data_file) {
  const spec::DataFile& entry = *vector.entry;
  if (entry.spec_id != data_file.spec_id || !spec::PartitionTupleEqual()(entry.partition, data_file.partition)) {
    return Fail(ErrorCode::kInvalidArgument, "a deletion vector has another partition than its data file: {} for {}",
                Name(entry), data_file.file_path);
  }
  if (entry.record_count > data_file.record_count) {
    return Fail(ErrorCode::kInvalidArgument, "a deletion vector deletes {} rows of a data file with {}: {} for {}",
                entry.record_count, data_file.record_count, Name(entry), data_file.file_path);
  }
  vector.has_data_file = true;
  return {};
}

Result<Verdict> ChangeCheck::JudgeData(const spec::ManifestEntry& entry) {
  const spec::DataFile& file = entry.data_file;
  if (const auto vector = new_vectors_.find(file.file_path); vector != new_vectors_.end()) {
    FRAZIL_TRY(Place(vector->second, file));
  }
  if (!removed_data_.contains(file.file_path)) return Verdict::kKeep;
  found_data_.insert(file.file_path);
  return Verdict::kRemove;
}

Status ChangeCheck::CheckDataFiles() const {
  for (const std::string& path : changes_.removed_data_files) {
    if (!found_data_.contains(path)) {
      return Fail(ErrorCode::kCommitConflict, "Missing required files to delete: {}", path);
    }
  }
  for (const auto& [path, vector] : new_vectors_) {
    if (!vector.has_data_file) {
      return Fail(ErrorCode::kCommitConflict, "Cannot commit, missing data files: {} of deletion vector {}", path,
                  Name(*vector.entry));
    }
  }
  return {};
}

Result<Verdict> ChangeCheck::JudgeDelete(const spec::ManifestEntry& entry, spec::SequenceNumber min_sequence) {
  const spec::DataFile& file = entry.data_file;
  const spec::DeleteFileId id = spec::IdOf(file);
  const bool is_named = removed_deletes_.contains(id);
  if (is_named) found_deletes_.insert(id);
  const spec::SequenceNumber sequence = entry.sequence_number.value_or(spec::SequenceNumber{0});
  const bool is_dangling =
      file.is_deletion_vector() && file.referenced_data_file && removed_data_.contains(*file.referenced_data_file);
  if (is_named || is_dangling || (sequence.value() > 0 && sequence < min_sequence)) return Verdict::kRemove;
  if (file.is_deletion_vector() && file.referenced_data_file) {
    const auto vector = new_vectors_.find(*file.referenced_data_file);
    if (vector != new_vectors_.end()) {
      return Fail(ErrorCode::kCommitConflict, "Found concurrently added DV for {}: it has {} and would get {}",
                  *file.referenced_data_file, Name(file), Name(*vector->second.entry));
    }
  }
  return Verdict::kKeep;
}

Status ChangeCheck::CheckDeleteFiles() const {
  for (const spec::DeleteFileId& id : removed_deletes_) {
    if (!found_deletes_.contains(id)) {
      return Fail(ErrorCode::kCommitConflict, "Missing required files to delete: {}", Name(id));
    }
  }
  return {};
}

}  // namespace frazil::table
