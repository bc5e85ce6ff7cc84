#pragma once

#include <string>
#include <string_view>

#include "frazil/spec/manifest.h"
#include "frazil/spec/partition_spec.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::table {

/// Names and places of new files (spec sections 1.6, 8.10). Fresh UUID names; nothing is ever overwritten.
/// Rejects `write.location-provider.impl`, `write.object-storage.path`, `write.folder-storage.path` (kNotSupported).
class FileNames {
 public:
  static Result<FileNames> Make(spec::TableMetadataPtr metadata);

  /// `<data>/<partition path>/<%05d task>-0-<operation id>-<%05d counter>.parquet`; object-storage layout when asked.
  std::string NextDataFile(const spec::PartitionSpec& spec, const spec::PartitionTuple& tuple,
                           const spec::Schema& schema);
  /// `..-landing.parquet` in the data folder, see IsLandingFile().
  std::string NextLandingFile();
  /// Beside the data files of that partition: `..-deletes.parquet`.
  std::string NextPositionDeletes(const spec::PartitionSpec& spec, const spec::PartitionTuple& tuple,
                                  const spec::Schema& schema);
  /// `..-deletes.puffin` in the data folder.
  std::string NextPuffin();
  std::string Manifest(int number) const;  ///< `<metadata>/<commit uuid>-m<N>.avro`
  std::string ManifestList(spec::SnapshotId snapshot_id,
                           int attempt) const;  ///< `snap-<id>-<attempt>-<commit uuid>.avro`

 private:
  FileNames() = default;
  std::string InDataFolder(const std::string& partition_path, const std::string& file) const;

  std::string data_folder_;
  std::string metadata_folder_;
  std::string operation_id_;
  int counter_ = 0;
  bool object_storage_ = false;
  bool partitioned_paths_ = true;
  std::string table_location_;
};

/// Whether a pipeline landed the file: it is of a spec without fields, and has the name of such files. Files from before the
/// table was partitioned are none: what others delete by partition does not mean their rows.
bool IsLandingFile(const spec::TableMetadata& metadata, spec::SpecId spec_id, std::string_view path);
bool IsLandingFile(const spec::TableMetadata& metadata, const spec::DataFile& file);

/// "0110/1010/0011/11101000": the folders of a name in the object-storage layout (spec section 8.10).
std::string HashFolders(std::string_view name);

}  // namespace frazil::table
