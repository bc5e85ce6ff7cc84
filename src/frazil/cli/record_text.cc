#include "frazil/cli/record_text.h"

#include "frazil/base/bytes.h"
#include "frazil/cli/avro_text.h"

namespace frazil::cli {
namespace {

constexpr size_t kFrameBytes = 5;

/// UTF-8 without control characters other than tab and line ends.
bool IsText(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    if (lead < ' ' && lead != '\t' && lead != '\n' && lead != '\r') return false;
    const size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead < 0xF0 && lead >= 0xE0 ? 3 : 4;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || i + length > bytes.size()) return false;
    for (size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(bytes[i + j]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace

Result<format::AvroNodePtr> RecordTexts::SchemaOf(int32_t id) {
  if (const auto known = schemas_.find(id); known != schemas_.end()) return known->second;
  format::AvroNodePtr node;
  const auto registered = registry_->ById(id);
  if (registered) {
    if (auto parsed = format::ParseAvroSchema((*registered)->text); parsed && (*registered)->type == "AVRO")
      node = *parsed;
  } else if (registered.error().code() != ErrorCode::kNotFound) {
    return tl::unexpected(registered.error());
  }
  schemas_[id] = node;
  return node;
}

Result<RecordText> RecordTexts::Of(std::string_view bytes) {
  RecordText shown;
  if (bytes.size() >= kFrameBytes && bytes.front() == '\0') {
    shown.schema_id = LoadBig<int32_t>(reinterpret_cast<const std::byte*>(bytes.data() + 1));
    if (registry_ != nullptr) {
      FRAZIL_ASSIGN(const format::AvroNodePtr node, SchemaOf(*shown.schema_id));
      if (node != nullptr) {
        format::AvroDecoder decoder(AsBytes(bytes.substr(kFrameBytes)));
        shown.text = AvroText(*node, decoder);
        if (decoder.ok() && decoder.remaining() == 0) return shown;
      }
    }
  }
  shown.text = IsText(bytes) ? std::string(bytes) : "0x" + ToHex(AsBytes(bytes));
  return shown;
}

}  // namespace frazil::cli
