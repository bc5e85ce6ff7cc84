#include "frazil/table/file_names.h"

#include <bitset>

#include <fmt/format.h>

#include "frazil/base/hash.h"
#include "frazil/base/uuid.h"
#include "frazil/spec/checked_property.h"

namespace frazil::table {
namespace {

constexpr char kLandingEnding[] = "-landing.parquet";
constexpr char kObjectStorage[] = "write.object-storage.enabled";
constexpr char kPartitionedPaths[] = "write.object-storage.partitioned-paths";

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/') && !path.ends_with("://")) path.pop_back();
  return path;
}

/// "<parent>/<folder>" of a table's location: tells tables apart that share an object-store prefix.
std::string ContextOf(const std::string& location) {
  const size_t last = location.find_last_of('/');
  if (last == std::string::npos || last == 0) return location;
  const size_t before = location.find_last_of('/', last - 1);
  return before == std::string::npos ? location : location.substr(before + 1);
}

}  // namespace

std::string HashFolders(std::string_view name) {
  const uint32_t hash = Murmur3(AsBytes(name)) | 0x8000'0000U;
  const std::string bits = std::bitset<32>(hash).to_string().substr(12);
  return fmt::format("{}/{}/{}/{}", bits.substr(0, 4), bits.substr(4, 4), bits.substr(8, 4), bits.substr(12));
}

bool IsLandingFile(const spec::TableMetadata& metadata, spec::SpecId spec_id, std::string_view path) {
  const spec::PartitionSpec* spec = metadata.FindSpec(spec_id);
  return spec != nullptr && spec->fields().empty() && path.ends_with(kLandingEnding);
}

bool IsLandingFile(const spec::TableMetadata& metadata, const spec::DataFile& file) {
  return IsLandingFile(metadata, file.spec_id, file.file_path);
}

Result<FileNames> FileNames::Make(spec::TableMetadataPtr metadata) {
  const auto& properties = metadata->properties;
  for (const char* key : {"write.location-provider.impl", "write.object-storage.path", "write.folder-storage.path"}) {
    if (properties.contains(key)) {
      return tl::unexpected(
          Error(ErrorCode::kNotSupported, fmt::format("table property {}", key)).WithHint("use write.data.path"));
    }
  }
  FileNames names;
  names.table_location_ = WithoutTrailingSlashes(metadata->location);
  names.data_folder_ = WithoutTrailingSlashes(metadata->Property("write.data.path", names.table_location_ + "/data"));
  names.metadata_folder_ =
      WithoutTrailingSlashes(metadata->Property("write.metadata.path", names.table_location_ + "/metadata"));
  FRAZIL_ASSIGN(names.object_storage_, spec::TruthProperty(*metadata, kObjectStorage, false));
  FRAZIL_ASSIGN(names.partitioned_paths_, spec::TruthProperty(*metadata, kPartitionedPaths, true));
  names.operation_id_ = Uuid::Random().ToString();
  return names;
}

std::string FileNames::InDataFolder(const std::string& partition_path, const std::string& file) const {
  const std::string in_partition = partition_path.empty() ? file : partition_path + "/" + file;
  if (!object_storage_) return data_folder_ + "/" + in_partition;
  const std::string& name = partitioned_paths_ ? in_partition : file;
  const std::string folders = HashFolders(name);
  // A plain prefix test, as in Java: other tools compute the same place.
  if (!data_folder_.starts_with(table_location_)) {
    return fmt::format("{}/{}/{}/{}", data_folder_, folders, ContextOf(table_location_), name);
  }
  return fmt::format("{}/{}{}{}", data_folder_, folders, partitioned_paths_ ? "/" : "-", name);
}

std::string FileNames::NextDataFile(const spec::PartitionSpec& spec, const spec::PartitionTuple& tuple,
                                    const spec::Schema& schema) {
  return InDataFolder(spec.Path(tuple, schema), fmt::format("{:05}-0-{}-{:05}.parquet", 0, operation_id_, ++counter_));
}

std::string FileNames::NextLandingFile() {
  return InDataFolder("", fmt::format("{:05}-0-{}-{:05}{}", 0, operation_id_, ++counter_, kLandingEnding));
}

std::string FileNames::NextPositionDeletes(const spec::PartitionSpec& spec, const spec::PartitionTuple& tuple,
                                           const spec::Schema& schema) {
  return InDataFolder(spec.Path(tuple, schema),
                      fmt::format("{:05}-0-{}-{:05}-deletes.parquet", 0, operation_id_, ++counter_));
}

std::string FileNames::NextPuffin() {
  return InDataFolder("", fmt::format("{:05}-0-{}-{:05}-deletes.puffin", 0, operation_id_, ++counter_));
}

std::string FileNames::Manifest(int number) const {
  return fmt::format("{}/{}-m{}.avro", metadata_folder_, operation_id_, number);
}

std::string FileNames::ManifestList(spec::SnapshotId snapshot_id, int attempt) const {
  return fmt::format("{}/snap-{}-{}-{}.avro", metadata_folder_, snapshot_id, attempt, operation_id_);
}

}  // namespace frazil::table
