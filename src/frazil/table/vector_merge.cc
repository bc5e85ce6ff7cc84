#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "frazil/base/log.h"
#include "frazil/format/puffin.h"
#include "frazil/table/file_names.h"
#include "frazil/table/partition_key.h"
#include "frazil/table/vector_reader.h"
#include "frazil/table/vector_store.h"

namespace frazil::table {
namespace {

/// A vector to be written.
struct NewVector {
  const spec::DataFile* data_file;
  Bytes blob;
  int64_t cardinality;
};

bool IsPathBefore(const NewVector& left, const NewVector& right) {
  return left.data_file->file_path < right.data_file->file_path;
}

PartitionKey KeyOf(const spec::DataFile& file) { return {file.spec_id, file.partition}; }

/// One call of MergeDeletes.
class VectorMerge {
 public:
  VectorMerge(const Table& base, const LiveFiles& live, const DeleteIndex& index,
              const PositionDeleteReader& read_positions, const PositionDeleteWriter& write_positions)
      : base_(base),
        index_(index),
        read_positions_(read_positions),
        write_positions_(write_positions),
        reader_(*base.io()) {
    for (const LiveDataFile& file : live.data_files) data_files_.emplace(file.file.file_path, &file);
  }

  /// Data files come and go with the commit: before Run().
  Status Replace(const ReplacedFiles& replaced);
  Status Run(const OwnDeletes& own);
  Status Repack(const std::set<std::string>& puffins, const std::set<std::string>& data_files);
  Result<MergedDeletes> Finish() &&;
  /// Best effort: what was written is of no use after a failure.
  void Abandon();

 private:
  Status Merge(const std::string& path, const format::DeletionVector& own);
  Status AddDeletes(const LiveDataFile& data_file, const format::DeletionVector& positions);
  /// Live vectors of one partition, in the order in which they lie in Puffins: each is opened once.
  struct Siblings {
    PartitionKey partition;
    std::vector<const LiveDelete*> vectors;
  };
  std::vector<Siblings> TakeSiblings();
  Status Copy(const std::vector<const LiveDelete*>& vectors);
  Status Add(NewVector vector);
  Status WriteRest();
  void Remove(const LiveDelete& file);
  void RemoveMerged(const LiveDataFile& data_file, const ApplicableDeletes& deletes);
  Status WritePuffin(std::vector<NewVector> vectors);

  const Table& base_;
  const DeleteIndex& index_;
  const PositionDeleteReader& read_positions_;
  const PositionDeleteWriter& write_positions_;
  VectorReader reader_;
  std::unordered_map<std::string, const LiveDataFile*> data_files_;
  std::deque<LiveDataFile> added_files_;
  /// Of one Puffin that is not full yet.
  struct Open {
    std::vector<NewVector> vectors;
    int64_t bytes = 0;
  };
  PartitionMap<Open> open_;
  std::optional<FileNames> names_;
  int64_t max_blobs_ = 0;
  std::set<spec::DeleteFileId> removed_;
  std::set<std::string> touched_puffins_;
  MergedDeletes result_;
};

Status VectorMerge::Replace(const ReplacedFiles& replaced) {
  for (const std::string& path : replaced.removed) {
    const auto found = data_files_.find(path);
    if (found == data_files_.end()) {
      return Fail(ErrorCode::kCommitConflict, "a data file to replace is no longer there: {}", path);
    }
    FRAZIL_ASSIGN(const ApplicableDeletes deletes, index_.For(*found->second));
    RemoveMerged(*found->second, deletes);
    data_files_.erase(found);
  }
  result_.num_removed_with_data_files = static_cast<int64_t>(result_.removed_delete_files.size());
  // No delete file that is live now is for a file that was not there.
  constexpr spec::SequenceNumber kNewest{std::numeric_limits<int64_t>::max()};
  for (const spec::DataFile& file : replaced.added) {
    added_files_.push_back({.file = file, .sequence_number = kNewest, .file_sequence_number = kNewest});
    data_files_[file.file_path] = &added_files_.back();
  }
  return {};
}

Status VectorMerge::Run(const OwnDeletes& own) {
  for (const auto& [path, positions] : own) FRAZIL_TRY(Merge(path, positions));
  for (const Siblings& part : TakeSiblings()) FRAZIL_TRY(Copy(part.vectors));
  return WriteRest();
}

void VectorMerge::Remove(const LiveDelete& file) {
  if (!removed_.insert(spec::IdOf(file.file)).second) return;
  result_.removed_delete_files.push_back(spec::IdOf(file.file));
  if (file.file.is_deletion_vector()) touched_puffins_.insert(file.file.file_path);
}

/// The deletes that the new vector of a file, or its removal, takes the place of (spec section 4.4 rule 2).
void VectorMerge::RemoveMerged(const LiveDataFile& data_file, const ApplicableDeletes& deletes) {
  // A vector that names the file but does not apply would be a second one.
  if (const LiveDelete* vector = index_.VectorNaming(data_file.file.file_path)) Remove(*vector);
  for (const LiveDelete* file : deletes.position_deletes) {
    if (IsScopedTo(file->file, data_file.file.file_path)) Remove(*file);
  }
}

Status VectorMerge::Merge(const std::string& path, const format::DeletionVector& own) {
  if (own.empty()) return {};
  const auto found = data_files_.find(path);
  if (found == data_files_.end()) {
    return Fail(ErrorCode::kCommitConflict, "rows to delete are in a data file that is no longer there: {}", path);
  }
  const LiveDataFile& data_file = *found->second;
  const int64_t record_count = data_file.file.record_count;
  if (own.Max().value() >= record_count) {
    return Fail(ErrorCode::kInvalidArgument, "a row to delete has position {}, but the data file has {} rows: {}",
                own.Max(), record_count, path);
  }
  FRAZIL_ASSIGN(const ApplicableDeletes deletes, index_.For(data_file));
  format::DeletionVector merged;
  if (deletes.vector != nullptr) {
    FRAZIL_ASSIGN(VectorReader::Vector old, reader_.Read(deletes.vector->file, record_count));
    merged = std::move(old.positions);
  } else {
    FRAZIL_ASSIGN(merged, ReadPositions(*base_.io(), data_file, deletes, read_positions_));
  }
  const int64_t before = merged.cardinality();
  merged.UnionWith(own);
  if (merged.cardinality() == before) return {};
  result_.num_newly_deleted += merged.cardinality() - before;
  RemoveMerged(data_file, deletes);
  if (merged.cardinality() == record_count) {
    result_.removed_data_files.push_back(path);
    return {};
  }
  return AddDeletes(data_file, merged);
}

/// All deleted positions of a file as its one vector, or v2 delete file.
Status VectorMerge::AddDeletes(const LiveDataFile& data_file, const format::DeletionVector& positions) {
  if (base_.metadata()->format_version == 2 && write_positions_) {
    FRAZIL_ASSIGN(spec::DataFile file, write_positions_(data_file.file, positions));
    result_.puffin_paths.push_back(file.file_path);
    result_.added_delete_files.push_back(std::move(file));
    return {};
  }
  if (base_.metadata()->format_version < 3) {
    return tl::unexpected(
        Error(ErrorCode::kNotSupported, fmt::format("merge-on-read deletes on a v{} table: {}",
                                                    base_.metadata()->format_version, base_.name().ToString()))
            .WithHint("upgrade it: ALTER TABLE ... SET TBLPROPERTIES ('format-version'='3')"));
  }
  NewVector vector{&data_file.file, {}, positions.cardinality()};
  FRAZIL_TRY(positions.EncodeTo(vector.blob));
  return Add(std::move(vector));
}

/// A Puffin is written as soon as it is full, so that no more than one a partition is in memory.
Status VectorMerge::Add(NewVector vector) {
  if (!names_) {
    FRAZIL_ASSIGN(names_, FileNames::Make(base_.metadata()));
    FRAZIL_ASSIGN(max_blobs_, MaxBlobsPerPuffin(*base_.metadata()));
  }
  Open& open = open_[KeyOf(*vector.data_file)];
  open.bytes += static_cast<int64_t>(vector.blob.size());
  open.vectors.push_back(std::move(vector));
  if (!IsFullPuffin(static_cast<int64_t>(open.vectors.size()), open.bytes, max_blobs_)) return {};
  return WritePuffin(std::exchange(open, {}).vectors);
}

/// Partition by partition, so that one Puffin is open at a time.
Status VectorMerge::Repack(const std::set<std::string>& puffins, const std::set<std::string>& data_files) {
  touched_puffins_ = puffins;
  PartitionMap<std::vector<std::pair<const LiveDataFile*, ApplicableDeletes>>> changed;
  for (const std::string& path : data_files) {
    const auto found = data_files_.find(path);
    if (found == data_files_.end()) {
      return Fail(ErrorCode::kCommitConflict, "deletes to rewrite are of a data file that is no longer there: {}",
                  path);
    }
    const LiveDataFile& data_file = *found->second;
    FRAZIL_ASSIGN(ApplicableDeletes deletes, index_.For(data_file));
    RemoveMerged(data_file, deletes);
    changed[KeyOf(data_file.file)].emplace_back(&data_file, std::move(deletes));
  }
  std::vector<Siblings> siblings = TakeSiblings();
  for (const auto& [key, files] : changed) {
    for (const auto& [data_file, deletes] : files) {
      FRAZIL_ASSIGN(const format::DeletionVector positions,
                    ReadPositions(*base_.io(), *data_file, deletes, read_positions_));
      if (!positions.empty()) FRAZIL_TRY(AddDeletes(*data_file, positions));
    }
    for (Siblings& part : siblings) {
      if (PartitionKeyEqual()(part.partition, key)) FRAZIL_TRY(Copy(std::exchange(part.vectors, {})));
    }
    FRAZIL_TRY(WriteRest());
  }
  for (const Siblings& part : siblings) {
    FRAZIL_TRY(Copy(part.vectors));
    FRAZIL_TRY(WriteRest());
  }
  return {};
}

/// Java's incremental expiry deletes the path of a replaced vector without looking at its siblings, so a path must be
/// wholly live or wholly dead (decisions.md). The blobs are copied as they are, after the checks of a reader.
std::vector<VectorMerge::Siblings> VectorMerge::TakeSiblings() {
  const std::set<std::string> puffins = touched_puffins_;
  PartitionMap<size_t> places;
  std::vector<Siblings> siblings;
  for (const LiveDelete& vector : index_.deletes()) {
    if (!vector.file.is_deletion_vector() || !puffins.contains(vector.file.file_path)) continue;
    if (removed_.contains(spec::IdOf(vector.file))) continue;
    Remove(vector);
    const PartitionKey key = KeyOf(vector.file);
    const auto [place, is_new] = places.try_emplace(key, siblings.size());
    if (is_new) siblings.push_back({.partition = key, .vectors = {}});
    siblings[place->second].vectors.push_back(&vector);
  }
  const auto lies_before = [](const LiveDelete* left, const LiveDelete* right) {
    return std::tie(left->file.file_path, left->file.content_offset) <
           std::tie(right->file.file_path, right->file.content_offset);
  };
  for (Siblings& part : siblings) std::stable_sort(part.vectors.begin(), part.vectors.end(), lies_before);
  return siblings;
}

Status VectorMerge::Copy(const std::vector<const LiveDelete*>& vectors) {
  for (const LiveDelete* vector : vectors) {
    const auto found = data_files_.find(*vector->file.referenced_data_file);
    if (found == data_files_.end()) continue;  // dangling: its data file is gone
    const LiveDataFile& data_file = *found->second;
    FRAZIL_ASSIGN(const ApplicableDeletes deletes, index_.For(data_file));
    // One that does not apply must not begin to: a rewritten vector gets a new sequence number.
    if (deletes.vector != vector) continue;
    FRAZIL_ASSIGN(VectorReader::Vector read, reader_.Read(vector->file, data_file.file.record_count));
    FRAZIL_TRY(Add({&data_file.file, std::move(read.blob), vector->file.record_count}));
  }
  return {};
}

/// What is left of every partition, by path, so that the same deletes on the same base give the same Puffins.
Status VectorMerge::WriteRest() {
  std::vector<std::vector<NewVector>> rest;
  for (auto& [key, open] : open_) {
    if (open.vectors.empty()) continue;
    std::stable_sort(open.vectors.begin(), open.vectors.end(), IsPathBefore);
    rest.push_back(std::move(open.vectors));
  }
  open_.clear();
  std::sort(rest.begin(), rest.end(),
            [](const auto& left, const auto& right) { return IsPathBefore(left.front(), right.front()); });
  for (auto& vectors : rest) FRAZIL_TRY(WritePuffin(std::move(vectors)));
  return {};
}

/// Small blobs first, and their entries in the same order: DuckDB's reader fetches a blob together with what lies between it
/// and a range it has already, if that is no more than the blob, and then takes the start of what it fetched for the blobs
/// in between (docs/decisions/0006-blobs-by-size.md).
Status VectorMerge::WritePuffin(std::vector<NewVector> vectors) {
  std::stable_sort(vectors.begin(), vectors.end(),
                   [](const NewVector& left, const NewVector& right) { return left.blob.size() < right.blob.size(); });
  const std::string path = names_->NextPuffin();
  FRAZIL_ASSIGN(auto file, base_.io()->Create(path));
  result_.puffin_paths.push_back(path);
  format::PuffinWriter writer(std::move(file));
  const size_t first = result_.added_delete_files.size();
  for (const NewVector& vector : vectors) {
    format::PuffinBlob metadata;
    metadata.type = format::kDeletionVectorBlobType;
    metadata.fields = {spec::kPosColumnId};
    metadata.properties = {{"referenced-data-file", vector.data_file->file_path},
                           {"cardinality", std::to_string(vector.cardinality)}};
    FRAZIL_ASSIGN(const format::PuffinBlob blob, writer.AddBlob(std::move(metadata), vector.blob));
    spec::DataFile entry;
    entry.content = spec::FileContent::kPositionDeletes;
    entry.file_path = path;
    entry.file_format = spec::FileFormat::kPuffin;
    entry.spec_id = vector.data_file->spec_id;
    entry.partition = vector.data_file->partition;
    entry.record_count = vector.cardinality;
    entry.referenced_data_file = vector.data_file->file_path;
    entry.content_offset = blob.offset;
    entry.content_size_in_bytes = blob.length;
    result_.added_delete_files.push_back(std::move(entry));
  }
  FRAZIL_ASSIGN(const int64_t file_size, writer.Finish());
  for (size_t i = first; i < result_.added_delete_files.size(); ++i) {
    result_.added_delete_files[i].file_size_in_bytes = file_size;
  }
  return {};
}

Result<MergedDeletes> VectorMerge::Finish() && { return std::move(result_); }

void VectorMerge::Abandon() {
  if (result_.puffin_paths.empty()) return;
  if (const Status deleted = base_.io()->Delete(result_.puffin_paths); !deleted) {
    Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
  }
}

}  // namespace

Result<int64_t> MaxBlobsPerPuffin(const spec::TableMetadata& metadata) {
  constexpr char kKey[] = "frazil.write.dv.max-blobs-per-puffin";
  constexpr int64_t kDefault = 32;
  FRAZIL_ASSIGN(const int64_t max_blobs, metadata.IntProperty(kKey, kDefault));
  if (max_blobs < 1) {
    return Fail(ErrorCode::kInvalidTable, "table property {} must be at least 1, but is {}", kKey, max_blobs);
  }
  return max_blobs;
}

bool IsFullPuffin(int64_t num_blobs, int64_t bytes, int64_t max_blobs) {
  return num_blobs >= max_blobs || bytes >= kFullPuffinBytes;
}

Result<MergedDeletes> MergeDeletes(const Table& base, const OwnDeletes& own, const LiveFiles& live,
                                   const PositionDeleteReader& read_positions,
                                   const PositionDeleteWriter& write_positions) {
  if (own.empty()) return MergedDeletes{};
  FRAZIL_ASSIGN(const DeleteIndex index, DeleteIndex::Make(live.delete_files, *base.metadata()));
  VectorMerge merge(base, live, index, read_positions, write_positions);
  if (Status written = merge.Run(own); !written) {
    merge.Abandon();
    return tl::unexpected(std::move(written).error());
  }
  return std::move(merge).Finish();
}

Result<MergedDeletes> RepackDeletes(const Table& base, const std::set<std::string>& puffins,
                                    const std::set<std::string>& data_files, const LiveFiles& live,
                                    const PositionDeleteReader& read_positions,
                                    const PositionDeleteWriter& write_positions) {
  FRAZIL_ASSIGN(const DeleteIndex index, DeleteIndex::Make(live.delete_files, *base.metadata()));
  VectorMerge merge(base, live, index, read_positions, write_positions);
  if (Status written = merge.Repack(puffins, data_files); !written) {
    merge.Abandon();
    return tl::unexpected(std::move(written).error());
  }
  return std::move(merge).Finish();
}

Result<MergedDeletes> CarryDeletes(const Table& base, const OwnDeletes& own, const ReplacedFiles& replaced,
                                   const LiveFiles& live, const PositionDeleteReader& read_positions,
                                   const PositionDeleteWriter& write_positions) {
  FRAZIL_ASSIGN(const DeleteIndex index, DeleteIndex::Make(live.delete_files, *base.metadata()));
  VectorMerge merge(base, live, index, read_positions, write_positions);
  FRAZIL_TRY(merge.Replace(replaced));
  if (Status written = merge.Run(own); !written) {
    merge.Abandon();
    return tl::unexpected(std::move(written).error());
  }
  return std::move(merge).Finish();
}

}  // namespace frazil::table
