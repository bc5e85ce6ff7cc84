#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/format/avro_file.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/schema.h"

namespace frazil::format {

/// Reads a manifest (any of v1, v2, v3; fields resolved by id) and applies inheritance from its list row (spec section
/// 3.6): snapshot id, both sequence numbers, spec id, first_row_id (assigned before any filtering, DELETED entries
/// neither get nor advance ids). Entries come in file order, DELETED ones included.
///
/// `specs`: partition values are decoded with the manifest's own spec found by partition_spec_id.
/// Errors: kCorruptData, kInvalidTable naming the manifest and the field.
Result<std::vector<spec::ManifestEntry>> ReadManifest(const io::FileIO& io, const spec::ManifestFile& manifest,
                                                      const std::vector<spec::PartitionSpec>& specs,
                                                      const spec::Schema& schema);

/// The same, some entries at a time: in memory a manifest is up to a hundred times as large as its file. One thread.
class ManifestReader {
 public:
  /// `specs` and `schema` must outlive it.
  static Result<std::unique_ptr<ManifestReader>> Open(const io::FileIO& io, const spec::ManifestFile& manifest,
                                                      const std::vector<spec::PartitionSpec>& specs,
                                                      const spec::Schema& schema);
  ~ManifestReader();

  /// The entries that follow, which the caller may move away; none at the end. Valid until the next call.
  Result<std::span<spec::ManifestEntry>> Next();

 private:
  class Impl;
  explicit ManifestReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// As above from bytes, without a table: the spec comes from the file's own header, nothing is inherited, and what the
/// bytes leave out stays out. For `inspect` and fuzzing.
Result<std::vector<spec::ManifestEntry>> ReadManifestBytes(Bytes bytes, const std::string& path);

Result<std::vector<spec::ManifestFile>> ReadManifestList(const io::FileIO& io, const std::string& path);
Result<std::vector<spec::ManifestFile>> ReadManifestListBytes(Bytes bytes, const std::string& path);

struct ManifestWriterOptions {
  int format_version = 3;  ///< 2 or 3
  spec::SnapshotId snapshot_id;
  /// Must hold the source columns of the spec: where one was dropped since, an older schema of the table.
  spec::SchemaPtr schema;
  spec::PartitionSpec partition_spec;
  spec::ManifestContent content = spec::ManifestContent::kData;
  AvroCodec codec = AvroCodec::kDeflate;
  std::optional<int> compression_level;  ///< see CompressAvroBlock
};

/// Writes one manifest of one spec and one content (spec sections 3.2-3.5, 3.8). One thread.
class ManifestWriter {
 public:
  static Result<std::unique_ptr<ManifestWriter>> Make(io::FileIO& io, std::string path, ManifestWriterOptions options);
  ~ManifestWriter();

  /// Writes the entry as it is: the caller has set status, ids and sequence numbers as section 3.8 says. kInvalidArgument
  /// naming the file when the entry does not belong here: other content, a vector in v2, a partition that does not fit, an
  /// existing or deleted file without its sequence numbers.
  Status Add(const spec::ManifestEntry& entry);
  int64_t bytes_written() const;
  int64_t num_entries() const;
  /// Closes and returns the list row: counts, partition summaries, min_sequence_number over live entries (the commit's
  /// when all inherit), first_row_id none. Destroying without Finish() leaves no file.
  Result<spec::ManifestFile> Finish(spec::SequenceNumber commit_sequence_number);

 private:
  class Impl;
  explicit ManifestWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ManifestListHeader {
  int format_version = 3;
  spec::SnapshotId snapshot_id;
  std::optional<spec::SnapshotId> parent_snapshot_id;
  spec::SequenceNumber sequence_number;
  std::optional<spec::RowId> first_row_id;  ///< v3: the table's next-row-id of this attempt
};

/// Writes a manifest list, deflated as Java does. Assignment of first_row_id (3.7) has been done by the caller.
/// kInvalidArgument when a row lacks its counts (old v1 lists) or, in v3, a data manifest its first_row_id.
Status WriteManifestList(io::FileIO& io, const std::string& path, const ManifestListHeader& header,
                         const std::vector<spec::ManifestFile>& manifests);

}  // namespace frazil::format
