#include "frazil/table/delete_index.h"

#include "frazil/base/log.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

Status CheckVector(const spec::DataFile& vector) {
  const auto fail = [&](std::string_view what) {
    return Fail(ErrorCode::kInvalidTable, "a deletion vector's entry has no usable {}: {}", what, vector.file_path);
  };
  if (vector.content != spec::FileContent::kPositionDeletes) return fail("content");
  if (!vector.referenced_data_file || vector.referenced_data_file->empty()) return fail("referenced_data_file");
  if (!vector.content_offset || *vector.content_offset < 0) return fail("content_offset");
  if (!vector.content_size_in_bytes || *vector.content_size_in_bytes < 0) return fail("content_size_in_bytes");
  return {};
}

std::string Name(const spec::DataFile& vector) {
  return fmt::format("{} at {}", vector.file_path, vector.content_offset.value_or(-1));
}

const Bytes* PathBound(const std::map<spec::FieldId, Bytes>& bounds) {
  const auto found = bounds.find(spec::kDeleteFilePathColumnId);
  return found == bounds.end() ? nullptr : &found->second;
}

/// Whether the bounds of the file_path column prove that the delete file holds no position of `path`. An inverted pair
/// proves nothing (deleted rows came back in an engine that believed it), nor does an upper bound that begins the path:
/// it may have been cut.
bool CannotName(const spec::DataFile& position_delete, std::string_view path) {
  const Bytes* lower = PathBound(position_delete.lower_bounds);
  const Bytes* upper = PathBound(position_delete.upper_bounds);
  if (lower != nullptr && upper != nullptr && AsText(*lower) > AsText(*upper)) {
    Log::Warn("inverted bounds of file_path are ignored: {}", position_delete.file_path);
    return false;
  }
  if (lower != nullptr && path < AsText(*lower)) return true;
  return upper != nullptr && path > AsText(*upper) && !path.starts_with(AsText(*upper));
}

}  // namespace

bool IsScopedTo(const spec::DataFile& position_delete, const std::string& data_file_path) {
  if (position_delete.referenced_data_file) return *position_delete.referenced_data_file == data_file_path;
  const Bytes* lower = PathBound(position_delete.lower_bounds);
  const Bytes* upper = PathBound(position_delete.upper_bounds);
  return lower != nullptr && upper != nullptr && AsText(*lower) == data_file_path && *lower == *upper;
}

Result<DeleteIndex> DeleteIndex::Make(std::vector<LiveDelete> deletes, const spec::TableMetadata& metadata) {
  DeleteIndex index;
  index.deletes_ = std::move(deletes);
  for (size_t i = 0; i < index.deletes_.size(); ++i) {
    const spec::DataFile& file = index.deletes_[i].file;
    const PartitionKey key{file.spec_id, file.partition};
    if (file.is_deletion_vector()) {
      FRAZIL_TRY(CheckVector(file));
      const auto [known, is_new] = index.vectors_.emplace(*file.referenced_data_file, i);
      if (!is_new) {
        return Fail(ErrorCode::kInvalidTable, "two live deletion vectors for one data file: {} has {} and {}",
                    *file.referenced_data_file, Name(index.deletes_[known->second].file), Name(file));
      }
    } else if (file.content == spec::FileContent::kPositionDeletes) {
      if (file.referenced_data_file) {
        index.position_by_file_[*file.referenced_data_file].push_back(i);
      } else {
        index.position_by_partition_[key].push_back(i);
      }
    } else if (file.content == spec::FileContent::kEqualityDeletes) {
      FRAZIL_ASSIGN(const spec::PartitionSpec* spec, FindSpec(metadata, file.spec_id, file.file_path));
      if (spec->is_unpartitioned()) {
        index.global_equality_.push_back(i);
      } else {
        index.equality_by_partition_[key].push_back(i);
      }
    } else {
      return Fail(ErrorCode::kInvalidTable, "a delete manifest lists a data file: {}", file.file_path);
    }
  }
  return index;
}

const LiveDelete* DeleteIndex::VectorNaming(const std::string& data_file_path) const {
  const auto found = vectors_.find(data_file_path);
  return found == vectors_.end() ? nullptr : &deletes_[found->second];
}

Result<ApplicableDeletes> DeleteIndex::For(const LiveDataFile& data_file) const {
  ApplicableDeletes applicable;
  const spec::DataFile& file = data_file.file;
  const PartitionKey key{file.spec_id, file.partition};
  const auto same_partition = [&](const LiveDelete& other) {
    return PartitionKeyEqual()(key, {other.file.spec_id, other.file.partition});
  };

  if (const LiveDelete* vector = VectorNaming(file.file_path)) {
    if (same_partition(*vector) && data_file.sequence_number <= vector->sequence_number) {
      applicable.vector = vector;
    } else {
      Log::Warn(
          "a deletion vector does not apply, since it is older than its data file or of another partition: {} for {}",
          Name(vector->file), file.file_path);
    }
  }
  if (applicable.vector == nullptr) {
    const auto add = [&](const std::vector<size_t>& candidates) {
      for (const size_t i : candidates) {
        const LiveDelete& candidate = deletes_[i];
        if (data_file.sequence_number <= candidate.sequence_number && same_partition(candidate) &&
            !CannotName(candidate.file, file.file_path)) {
          applicable.position_deletes.push_back(&candidate);
        }
      }
    };
    if (const auto found = position_by_file_.find(file.file_path); found != position_by_file_.end()) add(found->second);
    if (const auto found = position_by_partition_.find(key); found != position_by_partition_.end()) add(found->second);
  }
  const auto add_equality = [&](const std::vector<size_t>& candidates) {
    for (const size_t i : candidates) {
      // Strictly less: rows of the commit that wrote the delete survive it.
      if (data_file.sequence_number < deletes_[i].sequence_number) applicable.equality_deletes.push_back(&deletes_[i]);
    }
  };
  add_equality(global_equality_);
  if (const auto found = equality_by_partition_.find(key); found != equality_by_partition_.end()) {
    add_equality(found->second);
  }
  return applicable;
}

}  // namespace frazil::table
