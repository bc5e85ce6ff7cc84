#include "frazil/spec/statistics_json_internal.h"

namespace frazil::spec {
namespace {

OrderedJson BlobMetadataToJson(const BlobMetadata& blob) {
  OrderedJson json = OrderedJson::object();
  json["type"] = blob.type;
  json["snapshot-id"] = blob.snapshot_id.value();
  json["sequence-number"] = blob.sequence_number.value();
  OrderedJson& fields = json["fields"] = OrderedJson::array();
  for (FieldId field : blob.fields) fields.push_back(field.value());
  if (!blob.properties.empty()) json["properties"] = blob.properties;
  return json;
}

Result<BlobMetadata> BlobMetadataFromJson(const Json& json) {
  FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "blob-metadata"));
  BlobMetadata blob;
  FRAZIL_ASSIGN(blob.type, object.String("type"));
  FRAZIL_ASSIGN(int64_t snapshot_id, object.Int64("snapshot-id"));
  blob.snapshot_id = SnapshotId{snapshot_id};
  FRAZIL_ASSIGN(int64_t sequence_number, object.Int64("sequence-number"));
  blob.sequence_number = SequenceNumber{sequence_number};
  FRAZIL_ASSIGN(std::vector<int32_t> fields, object.Int32List("fields"));
  for (int32_t field : fields) blob.fields.emplace_back(field);
  FRAZIL_ASSIGN(blob.properties, object.OptionalStringMap("properties"));
  return blob;
}

}  // namespace

OrderedJson StatisticsFileToJson(const StatisticsFile& file) {
  OrderedJson json = OrderedJson::object();
  json["snapshot-id"] = file.snapshot_id.value();
  json["statistics-path"] = file.statistics_path;
  json["file-size-in-bytes"] = file.file_size_in_bytes;
  json["file-footer-size-in-bytes"] = file.file_footer_size_in_bytes;
  if (file.key_metadata) json["key-metadata"] = *file.key_metadata;
  OrderedJson& blobs = json["blob-metadata"] = OrderedJson::array();
  for (const BlobMetadata& blob : file.blob_metadata) blobs.push_back(BlobMetadataToJson(blob));
  return json;
}

Result<StatisticsFile> StatisticsFileFromJson(const Json& json) {
  FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "statistics"));
  StatisticsFile file;
  FRAZIL_ASSIGN(int64_t snapshot_id, object.Int64("snapshot-id"));
  file.snapshot_id = SnapshotId{snapshot_id};
  FRAZIL_ASSIGN(file.statistics_path, object.String("statistics-path"));
  FRAZIL_ASSIGN(file.file_size_in_bytes, object.Int64("file-size-in-bytes"));
  FRAZIL_ASSIGN(file.file_footer_size_in_bytes, object.Int64("file-footer-size-in-bytes"));
  FRAZIL_ASSIGN(file.key_metadata, object.OptionalString("key-metadata"));
  FRAZIL_ASSIGN(const Json* blobs, object.Array("blob-metadata"));
  for (const Json& item : *blobs) {
    FRAZIL_ASSIGN(BlobMetadata blob, BlobMetadataFromJson(item));
    file.blob_metadata.push_back(std::move(blob));
  }
  return file;
}

OrderedJson PartitionStatisticsFileToJson(const PartitionStatisticsFile& file) {
  OrderedJson json = OrderedJson::object();
  json["snapshot-id"] = file.snapshot_id.value();
  json["statistics-path"] = file.statistics_path;
  json["file-size-in-bytes"] = file.file_size_in_bytes;
  return json;
}

Result<PartitionStatisticsFile> PartitionStatisticsFileFromJson(const Json& json) {
  FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "partition-statistics"));
  PartitionStatisticsFile file;
  FRAZIL_ASSIGN(int64_t snapshot_id, object.Int64("snapshot-id"));
  file.snapshot_id = SnapshotId{snapshot_id};
  FRAZIL_ASSIGN(file.statistics_path, object.String("statistics-path"));
  FRAZIL_ASSIGN(file.file_size_in_bytes, object.Int64("file-size-in-bytes"));
  return file;
}

OrderedJson EncryptedKeyToJson(const EncryptedKey& key) {
  OrderedJson json = OrderedJson::object();
  json["key-id"] = key.key_id;
  json["encrypted-key-metadata"] = key.encrypted_key_metadata;
  if (key.encrypted_by_id) json["encrypted-by-id"] = *key.encrypted_by_id;
  if (!key.properties.empty()) json["properties"] = key.properties;
  return json;
}

Result<EncryptedKey> EncryptedKeyFromJson(const Json& json) {
  FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "encryption key"));
  EncryptedKey key;
  FRAZIL_ASSIGN(key.key_id, object.String("key-id"));
  FRAZIL_ASSIGN(key.encrypted_key_metadata, object.String("encrypted-key-metadata"));
  FRAZIL_ASSIGN(key.encrypted_by_id, object.OptionalString("encrypted-by-id"));
  FRAZIL_ASSIGN(key.properties, object.OptionalStringMap("properties"));
  return key;
}

}  // namespace frazil::spec
