#include "frazil/format/puffin_json.h"

#include "frazil/spec/json_access.h"

namespace frazil::format {
namespace {

constexpr char kBlobs[] = "blobs";
constexpr char kType[] = "type";
constexpr char kFields[] = "fields";
constexpr char kSnapshotId[] = "snapshot-id";
constexpr char kSequenceNumber[] = "sequence-number";
constexpr char kOffset[] = "offset";
constexpr char kLength[] = "length";
constexpr char kCompressionCodec[] = "compression-codec";
constexpr char kProperties[] = "properties";

Result<PuffinBlob> ParseBlob(const spec::Json& json) {
  FRAZIL_ASSIGN(const spec::JsonObject object, spec::JsonObject::Of(json, "blob"));
  PuffinBlob blob;
  FRAZIL_ASSIGN(blob.type, object.String(kType));
  FRAZIL_ASSIGN(const std::vector<int32_t> fields, object.Int32List(kFields));
  for (const int32_t field : fields) blob.fields.emplace_back(field);
  FRAZIL_ASSIGN(blob.snapshot_id, object.Int64(kSnapshotId));
  FRAZIL_ASSIGN(blob.sequence_number, object.Int64(kSequenceNumber));
  FRAZIL_ASSIGN(blob.offset, object.Int64(kOffset));
  FRAZIL_ASSIGN(blob.length, object.Int64(kLength));
  FRAZIL_ASSIGN(const std::optional<std::string> codec, object.OptionalString(kCompressionCodec));
  blob.compression_codec = codec.value_or("");
  FRAZIL_ASSIGN(blob.properties, object.OptionalStringMap(kProperties));
  return blob;
}

Result<PuffinFooter> Parse(std::string_view text) {
  FRAZIL_ASSIGN(const spec::Json json, spec::ParseJson(text, "footer"));
  FRAZIL_ASSIGN(const spec::JsonObject object, spec::JsonObject::Of(json, "footer"));
  FRAZIL_ASSIGN(const spec::Json* blobs, object.Array(kBlobs));
  PuffinFooter footer;
  for (const spec::Json& item : *blobs) {
    FRAZIL_ASSIGN(PuffinBlob blob, ParseBlob(item));
    footer.blobs.push_back(std::move(blob));
  }
  FRAZIL_ASSIGN(footer.properties, object.OptionalStringMap(kProperties));
  return footer;
}

}  // namespace

Result<PuffinFooter> ParsePuffinFooterJson(std::string_view json) {
  Result<PuffinFooter> footer = Parse(json);
  if (!footer) return Fail(ErrorCode::kCorruptData, "corrupt Puffin footer: {}", footer.error().message());
  return footer;
}

std::string WritePuffinFooterJson(const std::vector<PuffinBlob>& blobs,
                                  const std::map<std::string, std::string>& properties) {
  spec::OrderedJson items = spec::OrderedJson::array();
  for (const PuffinBlob& blob : blobs) {
    spec::OrderedJson item;
    item[kType] = blob.type;
    item[kFields] = spec::OrderedJson::array();
    for (const spec::FieldId field : blob.fields) item[kFields].push_back(field.value());
    item[kSnapshotId] = blob.snapshot_id;
    item[kSequenceNumber] = blob.sequence_number;
    item[kOffset] = blob.offset;
    item[kLength] = blob.length;
    if (!blob.compression_codec.empty()) item[kCompressionCodec] = blob.compression_codec;
    if (!blob.properties.empty()) item[kProperties] = blob.properties;
    items.push_back(std::move(item));
  }
  spec::OrderedJson footer;
  footer[kBlobs] = std::move(items);
  if (!properties.empty()) footer[kProperties] = properties;
  return spec::DumpJson(footer);
}

}  // namespace frazil::format
